"""``lobu-provider explain``: what happened in one test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lobu_provider.cli.common import print_json
from lobu_provider.cli.explain_again import command_again
from lobu_provider.cli.explain_choice import (
    asked_tests,
    chosen_row,
    fitting_tests,
    listed,
    ways_to_choose,
)
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
      0  shown; or no TEST was named and every row asked for passed, which one line says
      2  wrong option, a file that is no results file, no such test, or several that fit
      3  a file is missing or cut off
    """
    from lobu_provider.results.explanation import explain as explained
    from lobu_provider.results.explanation import explanation_lines
    from lobu_provider.results.runs import column_names, group_tests, place_of, read_run, whole_rows

    run = read_run([results, *more])
    tests = group_tests(run.rows)
    asked = asked_tests(tests, provider, prompt)
    fitting = fitting_tests(asked, test, tests)
    if not fitting:
        _tell_of_good_rows(asked, provider, prompt, repeat, as_json)
        return
    chosen = fitting[0]
    row = chosen_row(chosen, repeat)
    whole = whole_rows(run, {place_of(row)})[place_of(row)]
    again, is_config_known = command_again(row, whole, tests, run.files[row.file], config_path)
    names = column_names(one.column for one in tests)
    told = {
        **explained(whole),
        "test": chosen.name,
        "repeat": chosen.rows.index(row) + 1,
        "repeats": len(chosen.rows),
        "alsoFit": [f"{one.name} ({names[one.column]})" for one in fitting[1:]],
        "rerun": again.command,
        "rerunIsExact": again.is_exact,
        "rerunConfigIsKnown": is_config_known,
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
    _tell_of_the_command(again, is_config_known)
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


def _tell_of_good_rows(
    tests: Sequence[Test],
    provider: str | None,
    prompt: str | None,
    repeat: int | None,
    as_json: bool,
) -> None:
    """Tell that every row passed of those that were asked for, which need not be the whole run."""
    names = list(dict.fromkeys(one.name for one in tests))
    filters = (("provider", provider), ("prompt", prompt))
    asked = " and ".join(f"{name} {value!r}" for name, value in filters if value is not None)
    rows = f"every row of {asked}" if asked else "every row"
    if repeat is not None:
        raise click.UsageError(f"--repeat needs a TEST: {rows} passed. There are: {listed(names)}")
    if as_json:
        print_json({"test": None, "outcome": "passed", **dict(filters), "alsoFit": names})
    else:
        print_lines(
            [f"{rows[0].upper()}{rows[1:]} passed. Name the TEST to be shown: {listed(names)}"]
        )
