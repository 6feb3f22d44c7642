"""``lobu-provider explain``: what happened in one test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lobu_provider.cli.common import print_json
from lobu_provider.cli.results_options import (
    FILE,
    ResultsCommand,
    json_option,
    print_lines,
    tell,
)

if TYPE_CHECKING:
    from lobu_provider.results.rows import Row
    from lobu_provider.results.runs import Test


@click.command(cls=ResultsCommand, short_help="Show what happened in one test.")
@click.argument("results", type=FILE)
@click.argument("test", required=False)
@click.option("--provider", metavar="NAME", help="The provider's label. Default: any.")
@click.option("--prompt", metavar="TEXT", help="The prompt's label, or a part of it. Default: any.")
@click.option(
    "--repeat", type=click.IntRange(min=1), metavar="N", help="The N-th row of the test, from 1."
)
@click.option(
    "--shard",
    "more",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="A further results file of the same run; may be given again.",
)
@click.option(
    "-c",
    "--config",
    "config_path",
    type=FILE,
    metavar="FILE",
    help="promptfoo's config file: for the command that runs the test again.",
)
@json_option
def explain(
    results: Path,
    test: str | None,
    provider: str | None,
    prompt: str | None,
    repeat: int | None,
    more: tuple[Path, ...],
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Show one test: turns, tools with arguments and errors, checks, ids, how to run it again.

    TEST is the test's name, a part of it, or a pattern with *; without it, the first test that
    did not pass. Of several rows the first that did not pass is shown, and others are told of.

    \b
    Examples:
      lobu-provider explain results.json
      lobu-provider explain results.json "refunds an order" --provider gpt --repeat 2

    \b
    Exit codes:
      0  shown
      2  wrong option, a file that is no results file, no such test, or several that fit
      3  a file is missing or cut off
    """
    from lobu_provider.results.explanation import explain as explained
    from lobu_provider.results.explanation import explanation_lines
    from lobu_provider.results.rerun import rerun_command
    from lobu_provider.results.runs import column_names, group_tests, place_of, read_run, whole_rows

    run = read_run([results, *more])
    tests = group_tests(run.rows)
    fitting = _fitting_tests(tests, test, provider, prompt)
    chosen = fitting[0]
    row = _chosen_row(chosen, repeat)
    whole = whole_rows(run, {place_of(row)})[place_of(row)]
    config_tests = _config_tests(config_path) if config_path else run.files[row.file].config_tests()
    command, exact = rerun_command(
        whole,
        config_tests,
        config=str(config_path) if config_path else None,
        several_providers=len({one.column.provider for one in tests}) > 1,
        several_prompts=len({one.column.prompt for one in tests}) > 1,
    )
    answered = {one.column for one in tests if one.first.provider == row.provider}
    if len({column.provider for column in answered}) > 1:  # of one name: promptfoo selects all
        exact = False
    names = column_names(one.column for one in tests)
    told = {
        **explained(whole),
        "test": chosen.name,
        "repeat": chosen.rows.index(row) + 1,
        "repeats": len(chosen.rows),
        "alsoFit": [f"{one.name} ({names[one.column]})" for one in fitting[1:]],
        "rerun": command,
        "rerunIsExact": exact,
    }
    if as_json:
        print_json(told)
        return
    print_lines(explanation_lines(told))
    if told["repeats"] > 1:
        passed = sum(one.outcome == "passed" for one in chosen.rows)
        click.echo(f"row {told['repeat']} of {told['repeats']}, of which {passed} passed")
    print_lines([f"again: {command}"])
    if not exact:
        tell("The command may select more than this row's test and provider. See docs/results.md.")
    if told["alsoFit"]:
        tell(f"Not shown: {_listed(told['alsoFit'])}. Choose by {_ways(fitting)}.")


def _ways(fitting: Sequence[Test]) -> str:
    """Return what tells some tests apart: the argument or options of the command."""
    values = {
        "TEST": {one.name for one in fitting},
        "--provider": {one.column.provider for one in fitting},
        "--prompt": {one.column.prompt for one in fitting},
    }
    return " and ".join(way for way, found in values.items() if len(found) > 1)


def _fitting_tests(
    tests: Sequence[Test], name: str | None, provider: str | None, prompt: str | None
) -> list[Test]:
    """Return the test to show, and after it the others that were as well asked for."""
    if provider is not None:
        known = sorted({one.column.provider for one in tests})
        tests = [one for one in tests if one.column.provider == provider]
        if not tests:
            raise click.UsageError(f"No provider {provider!r}. There are: {', '.join(known)}")
    if prompt is not None:
        labels = sorted({one.column.prompt for one in tests})
        exact = [one for one in tests if one.column.prompt == prompt]
        tests = exact or [one for one in tests if prompt.lower() in one.column.prompt.lower()]
        if not tests:
            raise click.UsageError(f"No prompt {prompt!r}. There are: {_listed(labels)}")
    if name is None:
        bad = [one for one in tests if any(row.outcome != "passed" for row in one.rows)]
        failed = [one for one in bad if any(row.outcome == "failed" for row in one.rows)]
        if not bad:
            raise click.UsageError("Every row passed. Name the TEST to be shown.")
        return failed or bad
    return _named(tests, name)


def _named(tests: Sequence[Test], name: str) -> list[Test]:
    from lobu_provider.results.required import matches

    found = [one for one in tests if one.name == name]
    found = found or [one for one in tests if matches(name, one)]
    found = found or [one for one in tests if name.lower() in one.name.lower()]
    names = list(dict.fromkeys(one.name for one in found or tests))
    if not found:
        raise click.UsageError(f"No test {name!r}. There are: {_listed(names)}")
    if len(names) > 1:
        raise click.UsageError(f"{len(names)} tests fit {name!r}: {_listed(names)}")
    return sorted(found, key=lambda one: all(row.outcome == "passed" for row in one.rows))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")


def _chosen_row(test: Test, repeat: int | None) -> Row:
    if repeat is None:
        failed = [row for row in test.rows if row.outcome == "failed"]
        return next(iter([*failed, *(r for r in test.rows if r.outcome != "passed"), test.first]))
    if repeat > len(test.rows):
        raise click.UsageError(f"{test.name} has {len(test.rows)} rows; there is no row {repeat}.")
    return test.rows[repeat - 1]


def _config_tests(path: Path) -> list[Any] | None:
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    try:
        config = read_config(path)
    except UnreadableFileError as error:
        raise click.UsageError(f"{error}. {error.fix}") from None
    return None if config.not_read else list(config.tests)
