"""``lobu-provider compare``: what changed between two runs."""

from __future__ import annotations

from pathlib import Path

import click

from lobu_provider.cli.common import ExitCode, print_json
from lobu_provider.cli.results_options import (
    FILE,
    ResultsCommand,
    json_option,
    print_lines,
    shards_option,
    tell,
)


@click.command(cls=ResultsCommand, short_help="Show what changed between two runs.")
@click.argument("old", type=FILE)
@click.argument("new", metavar="NEW...", nargs=-1, required=True, type=FILE)
@click.option(
    "--old-shard",
    "more_old",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="A further results file of the old run; may be given again.",
)
@click.option(
    "--ignore-argument",
    "ignored",
    multiple=True,
    metavar="NAME",
    help="A tool argument that differs in every run, such as a request id; may be given again.",
)
@click.option(
    "--allow-removed",
    is_flag=True,
    help="NEW may lack tests that OLD has: they were renamed, deleted or filtered away on purpose.",
)
@shards_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown for a pull request.")
@json_option
def compare(
    old: Path,
    new: tuple[Path, ...],
    more_old: tuple[Path, ...],
    ignored: tuple[str, ...],
    allow_removed: bool,
    shards: int | None,
    as_markdown: bool,
    as_json: bool,
) -> None:
    """Show what changed from OLD to NEW: regressions, fixes, tools, latency.

    OLD is a results file or a baseline of `lobu-provider bless`; several NEW files are one run.
    Tests are matched by description and variables (or metadata.testCaseId), provider and prompt,
    not by place; where each run has one provider, two models are compared. A regression is a
    verdict that got worse: stable, flaky, failing. Tool calls are compared turn by turn.

    \b
    Examples:
      lobu-provider compare main.json branch.json
      lobu-provider compare evals/baseline.json results.json --markdown > comment.md

    \b
    Exit codes:
      0  no regression
      1  a regression
      2  wrong option, or a file that is no results file
      3  no regression is known, but NEW is not whole, or a test could not be judged that was or
         that is new, or did not pass and could not be judged in OLD, or was judged in OLD and is
         not there (unless --allow-removed), or nothing was judged, or tests cannot be told apart
    """
    from lobu_provider.results.baseline import read_run_or_baseline
    from lobu_provider.results.comparison import compare as compared
    from lobu_provider.results.comparison_doubts import doubts_of
    from lobu_provider.results.comparison_report import (
        comparison_json,
        comparison_markdown,
        comparison_text,
    )
    from lobu_provider.results.completeness import gaps_of
    from lobu_provider.results.runs import read_run

    if as_json and as_markdown:
        raise click.UsageError(
            "--json and --markdown cannot stand together: stdout is one document."
        )
    before, after = read_run_or_baseline([old, *more_old]), read_run(new)
    found = compared(before.rows, after.rows, frozenset(ignored))
    gaps, old_gaps = gaps_of(after, shards), gaps_of(before) if before.files else []
    doubts = doubts_of(found, allow_removed=allow_removed)
    if as_json:
        told = {"doubts": doubts, "gaps": gaps, "oldGaps": old_gaps}
        print_json({**comparison_json(found), **told})
    else:
        print_lines((comparison_markdown if as_markdown else comparison_text)(found))
    for text in [*gaps, *doubts]:
        tell(text)
    for gap in old_gaps:
        tell(f"OLD: {gap}")
    if found.of("regression"):
        raise click.exceptions.Exit(ExitCode.FAILED)
    if gaps or doubts:
        raise click.exceptions.Exit(ExitCode.GATEWAY)
