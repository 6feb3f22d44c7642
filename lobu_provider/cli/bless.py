"""``lobu-provider bless``: keep a run as the baseline of later ones."""

from __future__ import annotations

from pathlib import Path

import click

from lobu_provider.cli.common import ExitCode, print_json
from lobu_provider.cli.results_options import (
    FILE,
    ResultsCommand,
    json_option,
    make_folder,
    refuse_overwriting,
    results_argument,
    shards_option,
    tell,
    write_lines,
)


@click.command(cls=ResultsCommand, short_help="Keep a run as a baseline to compare with.")
@results_argument
@click.option("--to", "target", type=FILE, required=True, metavar="FILE", help="The baseline.")
@click.option(
    "--force",
    is_flag=True,
    help="Also bless a run that is not whole, and replace a FILE that is no baseline.",
)
@shards_option
@json_option
def bless(
    results: tuple[Path, ...], target: Path, force: bool, shards: int | None, as_json: bool
) -> None:
    """Write a baseline that `lobu-provider compare` takes as OLD, small enough to commit.

    It holds verdicts, scores, latencies, tool calls with their arguments, and the reasons of
    failures; no variables, answers or ids. What looks like a secret is replaced by ***. An older
    baseline in FILE is replaced; a folder that is missing is made. A run with failures can be
    blessed: they are then known.

    \b
    Example:
      lobu-provider bless results.json --to evals/baseline.json

    \b
    Exit codes:
      0  written
      2  wrong option, a file that is no results file, or FILE cannot be written or is no baseline
      3  the run is not whole; nothing was written
    """
    from lobu_provider.results.baseline import baseline_lines, is_other_file
    from lobu_provider.results.completeness import gaps_of
    from lobu_provider.results.runs import group_tests, read_run
    from lobu_provider.results.summary import summarize

    refuse_overwriting(results, target)
    if not force and is_other_file(target):
        raise click.UsageError(
            f"{target} is there and no baseline; name another file, or --force to replace it."
        )
    run = read_run(results)
    gaps = gaps_of(run, shards)
    for gap in gaps:
        tell(gap)
    if gaps and not force:
        tell("Nothing was written. --force blesses it all the same.")
        raise click.exceptions.Exit(ExitCode.GATEWAY)
    make_folder(target)
    write_lines(target, baseline_lines(run))
    grouped = group_tests(run.rows)
    unjudged = [test.name for test in grouped if summarize(test.rows).verdict == "unjudged"]
    if as_json:
        told = {"file": str(target), "tests": len(grouped), "rows": len(run.rows), "gaps": gaps}
        print_json({**told, "unjudged": unjudged})
        return
    tell(f"{target}: {len(run.rows):,} rows of {len(grouped):,} tests")
    if unjudged:
        tell(
            f"{len(unjudged):,} of them could not be judged, so there is nothing to compare them "
            f"with: {', '.join(map(repr, unjudged[:20]))}. Run them again, and bless that."
        )
