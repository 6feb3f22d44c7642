"""``lobu-provider stats``: how often each test passes."""

from __future__ import annotations

from pathlib import Path

import click

from lobu_provider.cli.common import ExitCode, print_json
from lobu_provider.cli.results_options import (
    ResultsCommand,
    json_option,
    print_lines,
    rate_options,
    results_argument,
    shards_option,
    tell,
)


@click.command(cls=ResultsCommand, short_help="Count how often each test passes.")
@results_argument
@rate_options
@click.option(
    "--k",
    type=click.IntRange(min=1),
    metavar="K",
    help="Tries for pass^K and pass@K. Default: the fewest judged rows of any test.",
)
@shards_option
@json_option
def stats(
    results: tuple[Path, ...],
    min_pass_rate: float | None,
    min_test_pass_rate: float | None,
    k: int | None,
    shards: int | None,
    as_json: bool,
) -> None:
    """Count how often each test passes over its repeats (promptfoo's --repeat).

    RESULTS are files of `promptfoo eval -o results.json`; several are one run. For each test and
    provider: passes of judged rows, pass rate with Wilson's 95 % interval, pass^K (all of K tries
    pass) and pass@K (at least one does), both unbiased, mean score, latency, and a verdict:
    stable, flaky, failing or unjudged. Infrastructure errors, broken checks and rows that were
    not run say nothing of the agent; they are counted apart and are in no rate.

    \b
    Examples:
      lobu-provider stats results.json
      lobu-provider stats shard-*.json --min-pass-rate 90% --min-test-pass-rate 60% --json

    \b
    Exit codes:
      0  printed; every rate that was asked for is reached
      1  a rate is below what was asked for
      2  wrong option, or a file that is no results file
      3  a rate was asked for, and the run is not whole or a test was not judged; or a file is
         missing or cut off
    """
    from lobu_provider.results.completeness import gaps_of
    from lobu_provider.results.gate import Rates, rate_failures
    from lobu_provider.results.runs import group_tests, read_run
    from lobu_provider.results.stats_report import smallest_k, stats_json, stats_text
    from lobu_provider.results.summary import summarize

    run = read_run(results)
    tests, whole = group_tests(run.rows), summarize(run.rows)
    tries = k or smallest_k(tests)
    gaps = gaps_of(run, shards)
    rates = Rates(min_pass_rate, min_test_pass_rate)
    below = rate_failures(tests, whole, rates)
    if as_json:
        print_json({**stats_json(tests, whole, tries), "gaps": gaps, "below": below})
    else:
        print_lines(stats_text(tests, whole, tries))
    for text in [*gaps, *below]:
        tell(text)
    if below:
        raise click.exceptions.Exit(ExitCode.FAILED)
    asked = rates.overall is not None or rates.each is not None
    unknown = gaps or any(summarize(test.rows).verdict == "unjudged" for test in tests)
    if asked and unknown:
        tell("The rates are reached by what was judged, which is not all.")
        raise click.exceptions.Exit(ExitCode.GATEWAY)
