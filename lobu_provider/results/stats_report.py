"""The numbers of a run as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lobu_provider.results.markdown import decimal, percent
from lobu_provider.results.run_report import milliseconds, unjudged_words
from lobu_provider.results.runs import Test, column_names
from lobu_provider.results.summary import Summary, mean_of, summarize


def smallest_k(tests: Sequence[Test]) -> int:
    """Return the fewest judged rows of any test that was judged; 1 where none was."""
    counts = [summarize(test.rows).judged for test in tests]
    return min((count for count in counts if count), default=1)


def stats_json(tests: Sequence[Test], whole: Summary, k: int) -> dict[str, Any]:
    """Return the numbers under the names of ``--json``; rates lie between 0 and 1."""
    summaries = [summarize(test.rows) for test in tests]
    return {
        "k": k,
        "overall": {**whole.as_json(), **_powers(summaries, k)},
        "tests": [
            {
                "test": test.name,
                "id": test.digest,
                "provider": test.column.provider,
                "prompt": test.column.prompt,
                "verdict": summary.verdict,
                **summary.as_json(),
                **_powers([summary], k),
            }
            for test, summary in zip(tests, summaries, strict=True)
        ],
    }


def _powers(summaries: Sequence[Summary], k: int) -> dict[str, float | None]:
    """The means over the tests that were judged at least ``k`` times."""
    return {
        "passAllK": mean_of(summary.pass_all(k) for summary in summaries),
        "passAtK": mean_of(summary.pass_at(k) for summary in summaries),
    }


def stats_text(tests: Sequence[Test], whole: Summary, k: int) -> Iterator[str]:
    """Yield the numbers for a terminal."""
    names = column_names(test.column for test in tests)
    head = ("passed", "rate", "95 %", f"pass^{k}", f"pass@{k}", "score", "p50", "p95")
    yield f"{'verdict':<9}{_columns(head)}  test"
    for test in tests:
        summary = summarize(test.rows)
        owner = f" ({names[test.column]})" if len(names) > 1 else ""
        apart = f"  [not judged: {unjudged_words(summary)}]" if summary.unjudged else ""
        cells = _columns(_cells([summary], summary, k))
        yield f"{summary.verdict:<9}{cells}  {test.name}{owner}{apart}"
    summaries = [summarize(test.rows) for test in tests]
    apart = f"  [not judged: {unjudged_words(whole)}]" if whole.unjudged else ""
    yield f"{'all':<9}{_columns(_cells(summaries, whole, k))}  {len(tests)} tests{apart}"


def _cells(summaries: Sequence[Summary], whole: Summary, k: int) -> tuple[str, ...]:
    powers, (low, high) = _powers(summaries, k), whole.interval
    return (
        f"{whole.passed}/{whole.judged}",
        percent(whole.rate),
        f"{low:.0%}-{high:.0%}" if whole.judged else "-",
        decimal(powers["passAllK"]),
        decimal(powers["passAtK"]),
        decimal(whole.score),
        milliseconds(whole.latency_p50_ms),
        milliseconds(whole.latency_p95_ms),
    )


def _columns(cells: Sequence[str]) -> str:
    widths = (9, 7, 10, 8, 8, 7, 11, 11)
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
