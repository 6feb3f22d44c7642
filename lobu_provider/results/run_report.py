"""A run as a Markdown document: the models side by side, rubrics, and the rows that failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lobu_provider.results.explanation import explain, transcript_lines
from lobu_provider.results.junit import details_of
from lobu_provider.results.markdown import block, decimal, escaped, percent, table
from lobu_provider.results.rows import Row
from lobu_provider.results.runs import Column, Place, Test, column_names, place_of
from lobu_provider.results.summary import Summary, summarize

MOST_TRANSCRIPTS: Final = 20
MOST_TESTS: Final = 200


def transcript_places(tests: Sequence[Test]) -> list[Place]:
    """Return which rows are shown with their conversation: the first bad one of each test."""
    shown = [_worst(test) for test in tests]
    return [place_of(row) for row in shown if row is not None][:MOST_TRANSCRIPTS]


def report_lines(
    tests: Sequence[Test],
    gaps: Sequence[str],
    whole: Mapping[Place, Mapping[str, Any]],
) -> Iterator[str]:
    """Yield the document.

    Args:
        tests: all tests of the run.
        gaps: why the run is not whole.
        whole: the rows of :func:`transcript_places` as promptfoo wrote them.
    """
    yield "# Evaluation report"
    yield ""
    for gap in gaps:
        yield f"**Not whole:** {escaped(gap, 500)}"
        yield ""
    names = column_names(test.column for test in tests)
    yield from _providers(tests, names)
    yield from _tests(tests, names)
    yield from _rubrics(tests, names)
    yield from _failures(tests, names, whole)


def _providers(tests: Sequence[Test], names: Mapping[Column, str]) -> Iterator[str]:
    rows: dict[Column, list[Row]] = defaultdict(list)
    for test in tests:
        rows[test.column] += test.rows
    head = ["model", "passed", "pass rate", "95 %", "average score", "latency p50", "p95", "tokens"]
    unjudged = any(summarize(found).unjudged for found in rows.values())
    yield "## Models"
    yield ""
    yield from table(
        head + (["not judged"] if unjudged else []),
        (
            [escaped(names[column]), *_numbers(summarize(found), unjudged)]
            for column, found in rows.items()
        ),
    )
    yield ""


def _numbers(summary: Summary, unjudged: bool) -> list[str]:
    low, high = summary.interval
    return [
        f"{summary.passed} of {summary.judged}",
        percent(summary.rate),
        f"{low:.0%} to {high:.0%}" if summary.judged else "-",
        decimal(summary.score),
        milliseconds(summary.latency_p50_ms),
        milliseconds(summary.latency_p95_ms),
        "-" if summary.tokens is None else f"{summary.tokens:,}",
        *([unjudged_words(summary) or "0"] if unjudged else []),
    ]


def milliseconds(value: float | None) -> str:
    """Return milliseconds, or ``-`` for what is unknown."""
    return "-" if value is None else f"{value:,.0f} ms"


def unjudged_words(summary: Summary) -> str:
    """Return how many rows were not judged, and why."""
    return ", ".join(f"{count} {name}" for name, count in summary.unjudged.items())


def _tests(tests: Sequence[Test], names: Mapping[Column, str]) -> Iterator[str]:
    columns = list(names)
    by_name: dict[tuple[str, str], dict[Column, Test]] = defaultdict(dict)
    for test in tests:
        by_name[test.digest, test.name][test.column] = test
    yield "## Tests"
    yield ""
    yield from table(
        ["test", *(escaped(names[column]) for column in columns)],
        (
            [escaped(name), *(_cell(found.get(column)) for column in columns)]
            for (_, name), found in list(by_name.items())[:MOST_TESTS]
        ),
    )
    yield ""
    if len(by_name) > MOST_TESTS:
        yield f"{len(by_name) - MOST_TESTS} more tests are in the results file."
        yield ""


def _cell(test: Test | None) -> str:
    if test is None:
        return "-"
    summary = summarize(test.rows)
    words = f"{summary.verdict} {summary.passed}/{summary.judged}" if summary.judged else ""
    return ", ".join(part for part in (words, unjudged_words(summary)) if part)


def _rubrics(tests: Sequence[Test], names: Mapping[Column, str]) -> Iterator[str]:
    found: dict[tuple[str, Column], list[tuple[bool, float | None]]] = defaultdict(list)
    for test in tests:
        for row in test.rows:
            for rubric in row.rubrics:
                found[rubric.text, test.column].append((rubric.passed, rubric.score))
    if not found:
        return
    yield "## Rubrics"
    yield ""
    yield from table(
        ["rubric", "model", "passed", "average score"],
        (
            [escaped(text), escaped(names[column]), _passed(verdicts), _average(verdicts)]
            for (text, column), verdicts in list(found.items())[:MOST_TESTS]
        ),
    )
    yield ""


def _passed(verdicts: Sequence[tuple[bool, float | None]]) -> str:
    return f"{sum(passed for passed, _ in verdicts)} of {len(verdicts)}"


def _average(verdicts: Sequence[tuple[bool, float | None]]) -> str:
    scores = [score for _, score in verdicts if score is not None]
    return decimal(sum(scores) / len(scores) if scores else None)


def _failures(
    tests: Sequence[Test], names: Mapping[Column, str], whole: Mapping[Place, Mapping[str, Any]]
) -> Iterator[str]:
    bad = [(test, row) for test in tests if (row := _worst(test)) is not None]
    if not bad:
        return
    yield "## Not passed"
    yield ""
    for test, row in bad[:MOST_TRANSCRIPTS]:
        yield f"### {escaped(test.name)} ({escaped(names[test.column])}): {row.outcome}"
        yield ""
        lines = details_of(row)
        if (told := whole.get(place_of(row))) is not None:
            lines += ["", *transcript_lines(explain(told))]
        yield from block("\n".join(lines))
        yield ""
    if len(bad) > MOST_TRANSCRIPTS:
        yield f"{len(bad) - MOST_TRANSCRIPTS} more tests did not pass."
        yield ""


def _worst(test: Test) -> Row | None:
    failed = next((row for row in test.rows if row.outcome == "failed"), None)
    return failed or next((row for row in test.rows if row.outcome != "passed"), None)
