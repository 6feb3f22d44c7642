"""``lobu-provider explain``: what happened in one test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lobu_provider.cli.common import print_json
from lobu_provider.cli.explain_choice import chosen_row, fitting_tests, listed, ways_to_choose
from lobu_provider.cli.results_options import (
    FILE,
    ResultsCommand,
    json_option,
    print_lines,
    tell,
)

if TYPE_CHECKING:
    from lobu_provider.results.rerun import Rerun
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

    TEST is the test's name, a pattern with *, its number in the run (that of `cases`, if all ran),
    or a part of its name; without it, the first test that did not pass. Of several rows the first
    that did not pass is shown, and others are told of.

    \b
    Examples:
      lobu-provider explain results.json
      lobu-provider explain results.json "refunds an order" --provider gpt --repeat 2

    \b
    Exit codes:
      0  shown; or no TEST was named and every row passed, which one line says
      2  wrong option, a file that is no results file, no such test, or several that fit
      3  a file is missing or cut off
    """
    from lobu_provider.results.explanation import explain as explained
    from lobu_provider.results.explanation import explanation_lines
    from lobu_provider.results.rerun import rerun_command
    from lobu_provider.results.runs import column_names, group_tests, place_of, read_run, whole_rows

    run = read_run([results, *more])
    tests = group_tests(run.rows)
    fitting = fitting_tests(tests, test, provider, prompt)
    if not fitting:
        _tell_of_a_good_run(tests, as_json)
        return
    chosen = fitting[0]
    row = chosen_row(chosen, repeat)
    whole = whole_rows(run, {place_of(row)})[place_of(row)]
    own_tests = _config_tests(config_path) if config_path else _tests_of_folder(whole)
    again = rerun_command(
        whole,
        own_tests if own_tests is not None else run.files[row.file].config_tests(),
        config=str(config_path) if config_path else None,
        several_providers=len({one.column.provider for one in tests}) > 1,
        several_prompts=len({one.column.prompt for one in tests}) > 1,
    )
    answered = {one.column for one in tests if one.first.provider == row.provider}
    if len({column.provider for column in answered}) > 1:  # of one name: promptfoo selects all
        again = again._replace(is_exact=False)
    names = column_names(one.column for one in tests)
    told = {
        **explained(whole),
        "test": chosen.name,
        "repeat": chosen.rows.index(row) + 1,
        "repeats": len(chosen.rows),
        "alsoFit": [f"{one.name} ({names[one.column]})" for one in fitting[1:]],
        "rerun": again.command,
        "rerunIsExact": again.is_exact,
        "rerunConfigIsKnown": config_path is not None or own_tests is not None,
        "rerunBeginsAnew": again.begins_anew,
    }
    if as_json:
        print_json(told)
        return
    print_lines(explanation_lines(told))
    if told["repeats"] > 1:
        passed = sum(one.outcome == "passed" for one in chosen.rows)
        click.echo(f"row {told['repeat']} of {told['repeats']}, of which {passed} passed")
    print_lines([f"again: {again.command}"])
    _tell_of_the_command(again, told["rerunConfigIsKnown"])
    if told["alsoFit"]:
        tell(f"Not shown: {listed(told['alsoFit'])}. Choose by {ways_to_choose(fitting)}.")


def _tell_of_the_command(again: Rerun, is_config_known: bool) -> None:
    if not is_config_known:
        tell(
            "The results do not tell which config file they are of, and this folder has none with "
            "the test: name it by -c."
        )
    if again.begins_anew:
        tell(
            "The test goes on in a conversation (metadata.conversationId); the command may leave "
            "out the tests before it, and the agent then sees a new one."
        )
    if not again.is_exact:
        tell("The command may select more than this row's test and provider. See docs/results.md.")


def _tell_of_a_good_run(tests: Sequence[Test], as_json: bool) -> None:
    names = list(dict.fromkeys(one.name for one in tests))
    if as_json:
        print_json({"test": None, "outcome": "passed", "alsoFit": names})
    else:
        print_lines([f"Every row passed. Name the TEST to be shown: {listed(names)}"])


def _tests_of_folder(row: Mapping[str, Any]) -> list[Any] | None:
    """Return the tests of the config that promptfoo finds here, if the row's test is one of them;
    what cannot be read is not it."""
    from lobu_provider.cli.checks.config_file import find_config, read_config
    from lobu_provider.results.outcomes import mapping
    from lobu_provider.results.rerun import place_of_test
    from lobu_provider.structured_file import UnreadableFileError

    path = find_config(Path())
    try:
        config = read_config(path) if path is not None else None
    except UnreadableFileError:
        return None
    if config is None or config.not_read:
        return None
    tests = list(config.own_tests)
    return tests if place_of_test(mapping(row.get("testCase")), tests) is not None else None


def _config_tests(path: Path) -> list[Any] | None:
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    try:
        config = read_config(path)
    except UnreadableFileError as error:
        raise click.UsageError(f"{error}. {error.fix}") from None
    return None if config.not_read else list(config.tests)
