"""``lobu-provider report``: a run for machines and for pull requests, and the gate of a release."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lobu_provider.cli.common import ExitCode, print_json
from lobu_provider.cli.results_options import (
    FILE,
    ResultsCommand,
    json_option,
    rate_options,
    refuse_overwriting,
    results_argument,
    shards_option,
    tell,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lobu_provider.results.gate import Gate
    from lobu_provider.results.runs import Run

MOST_OF_A_SUMMARY: Final = 900_000
"""Bytes. GitHub refuses a step's summary of more than 1 MiB as a whole."""


@click.command(cls=ResultsCommand, short_help="Report a run, and decide whether it is good.")
@results_argument
@click.option("--junit", type=FILE, metavar="FILE", help="Write JUnit XML.")
@click.option(
    "--markdown", type=FILE, metavar="FILE", help="Write a Markdown report across the models."
)
@click.option(
    "--github",
    is_flag=True,
    help="Print annotations for GitHub Actions (at most ten) and add the Markdown report to "
    "$GITHUB_STEP_SUMMARY.",
)
@click.option("--gate", is_flag=True, help="Decide: the exit code says whether the run is good.")
@click.option(
    "--required",
    multiple=True,
    metavar="PATTERN",
    help="With --gate: tests that must have run and passed, by name with *, or key=value of their "
    "metadata; may be given again. One that matches nothing fails.",
)
@click.option(
    "--max-age",
    type=click.FloatRange(min=0),
    metavar="MINUTES",
    help="The run must not have begun longer ago: a paused or failed run leaves an older file as "
    "it was.",
)
@rate_options
@shards_option
@json_option
def report(
    results: tuple[Path, ...],
    junit: Path | None,
    markdown: Path | None,
    github: bool,
    gate: bool,
    required: tuple[str, ...],
    max_age: float | None,
    min_pass_rate: float | None,
    min_test_pass_rate: float | None,
    shards: int | None,
    as_json: bool,
) -> None:
    """Report a run as JUnit XML, GitHub annotations or Markdown; with --gate, decide on it.

    promptfoo ends with exit code 0 for a run without rows, one that was paused and one that was
    aborted. `report --gate` does not: run it after promptfoo, whatever promptfoo's exit code was,
    and trust its own. Without a pass rate, every judged row must pass. Rows that were not judged
    (infrastructure, broken checks) are never a pass.

    \b
    Examples:
      lobu-provider report results.json --gate --junit junit.xml
      lobu-provider report shard-*.json --gate --shards 4 --github --required "safety=*"

    \b
    Exit codes:
      0  written; with --gate: the run is good
      1  with --gate: the agent failed, or a required test did
      2  wrong option, or a file that is no results file
      3  with --gate: the agent is not known to have failed, but the run is not whole or not all
         was judged; a file is missing or cut off
    """
    from lobu_provider.results.completeness import gaps_of, stale_files
    from lobu_provider.results.gate import Rates, decide
    from lobu_provider.results.runs import read_run

    if not gate and (required or min_pass_rate is not None or min_test_pass_rate is not None):
        raise click.UsageError("--required and the pass rates are for --gate: add it.")
    if as_json and github:
        raise click.UsageError("--json and --github cannot stand together: both write to stdout.")
    refuse_overwriting(results, junit, markdown)
    run = read_run(results)
    gaps = gaps_of(run, shards)
    if max_age is not None:
        gaps += stale_files(run.files, datetime.now(timezone.utc), timedelta(minutes=max_age))
    asked = min_pass_rate is not None or min_test_pass_rate is not None
    rates = Rates(min_pass_rate, min_test_pass_rate) if asked else None
    decision = decide(run, gaps, required, rates)
    _write(run, gaps, junit, markdown, github)
    if as_json:
        print_json(_document(run, decision, gate))
    else:
        _tell(run, decision, gate)
    if gate and decision.answer != "ok":
        failed = decision.answer == "failed"
        raise click.exceptions.Exit(ExitCode.FAILED if failed else ExitCode.GATEWAY)


def _write(
    run: Run, gaps: Sequence[str], junit: Path | None, markdown: Path | None, github: bool
) -> None:
    from lobu_provider.results.github import annotation_commands
    from lobu_provider.results.junit import junit_lines
    from lobu_provider.results.markdown import bounded
    from lobu_provider.results.run_report import report_lines, transcript_places
    from lobu_provider.results.runs import group_tests, whole_rows

    tests = group_tests(run.rows)
    if junit is not None:
        write_lines(junit, junit_lines(run, gaps))
    summary = os.environ.get("GITHUB_STEP_SUMMARY", "").strip() if github else ""
    if markdown is not None or summary:
        whole = whole_rows(run, set(transcript_places(tests)))
        lines = list(report_lines(tests, gaps, whole))
        if markdown is not None:
            write_lines(markdown, lines)
        if summary:
            write_lines(Path(summary), bounded(lines, MOST_OF_A_SUMMARY), append=True)
    if github:
        for command in annotation_commands(tests, gaps):
            click.echo(command)


def _document(run: Run, decision: Gate, gate: bool) -> dict[str, object]:
    from lobu_provider.results.summary import summarize

    told: dict[str, object] = {"overall": summarize(run.rows).as_json()}
    return {**told, "gate": decision.as_json()} if gate else told


def _tell(run: Run, decision: Gate, gate: bool) -> None:
    from lobu_provider.results.run_report import unjudged_words
    from lobu_provider.results.summary import summarize

    whole = summarize(run.rows)
    apart = f"; not judged: {unjudged_words(whole)}" if whole.unjudged else ""
    tell(f"{whole.passed} of {whole.judged} judged rows passed{apart}")
    if not gate:
        return
    for state in decision.required:
        tell(f"required {state.state:<8}{state.about}: {state.why}")
    for text in decision.failures:
        tell(f"failed: {text}")
    for text in decision.doubts:
        tell(f"unknown: {text}")
    for text in decision.notes:
        tell(f"note: {text}")
    tell(f"gate: {decision.answer}")
