"""A comparison as text, as Markdown for a pull request, and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from lobu_provider.results.comparison import Change, Comparison, Pair
from lobu_provider.results.markdown import bounded, decimal, escaped, percent, table
from lobu_provider.results.rows import Row
from lobu_provider.results.run_report import milliseconds, unjudged_words
from lobu_provider.results.runs import Column, column_names
from lobu_provider.results.summary import Summary, summarize

_TITLES: Final[dict[Change, str]] = {
    "regression": "Regressions",
    "unjudged": "No longer judged",
    "fix": "Fixes",
    "judged again": "Judged again",
    "added": "Added",
    "removed": "Removed",
}
_MOST: Final = 100
_MOST_OF_A_COMMENT: Final = 60_000
"""GitHub takes 65,536 characters."""


def comparison_json(found: Comparison) -> dict[str, Any]:
    """Return the comparison under the names of ``--json``."""
    return {
        "regressions": len(found.of("regression")),
        "tests": [_pair_json(pair) for pair in found.pairs if _is_told(pair)],
        "unchanged": sum(not _is_told(pair) for pair in found.pairs),
        "providers": [
            {"provider": name, "old": _json(old), "new": _json(new)}
            for name, old, new in _providers(found)
        ],
        "notes": list(found.notes),
    }


def _json(summary: Summary | None) -> dict[str, Any] | None:
    return None if summary is None else summary.as_json()


def _pair_json(pair: Pair) -> dict[str, Any]:
    reason = reason_of(pair)
    return {
        "test": pair.name,
        "provider": pair.column.provider,
        "prompt": pair.column.prompt,
        "change": "flip" if pair.is_flip else pair.change,
        "old": _json(pair.before),
        "new": _json(pair.now),
        "tools": [
            {"turn": c.turn, "kind": c.kind, "change": c.text, "rows": c.rows, "of": c.of}
            for c in pair.tools
        ],
        "checksChanged": _checks_changed(pair),
        **({"reason": reason} if reason else {}),
    }


def _is_told(pair: Pair) -> bool:
    return pair.change != "same" or pair.is_flip or bool(pair.tools)


def _checks_changed(pair: Pair) -> bool:
    return pair.old is not None and pair.new is not None and pair.old.checks != pair.new.checks


def reason_of(pair: Pair) -> str:
    """Return why the first row that did not pass now did not."""
    rows = pair.new.rows if pair.new is not None else ()
    bad = sorted((row for row in rows if row.reason), key=lambda row: row.outcome != "failed")
    return bad[0].reason if bad else ""


def _providers(found: Comparison) -> Iterator[tuple[str, Summary | None, Summary | None]]:
    names = column_names(pair.column for pair in found.pairs)
    old: dict[Column, list[Row]] = defaultdict(list)
    new: dict[Column, list[Row]] = defaultdict(list)
    for pair in found.pairs:
        old[pair.column] += pair.old.rows if pair.old is not None else ()
        new[pair.column] += pair.new.rows if pair.new is not None else ()
    for column, name in names.items():
        sides = (old[column], new[column])
        yield name, *((summarize(rows) if rows else None) for rows in sides)  # type: ignore[misc]


def comparison_text(found: Comparison) -> Iterator[str]:
    """Yield the comparison for a terminal."""
    names = column_names(pair.column for pair in found.pairs)
    for title, pairs in _sections(found):
        yield f"{title}: {len(pairs)}"
        for pair in pairs[:_MOST]:
            yield f"  {pair.name} ({names[pair.column]}): {_states(pair)}"
            if pair.change in ("regression", "unjudged"):
                yield f"    {reason_of(pair)}".replace("\n", "\n    ")
            if _checks_changed(pair):
                yield "    its checks are others now"
            yield from (f"    turn {change.turn}: {change.words}" for change in pair.tools)
        if len(pairs) > _MOST:
            yield f"  and {len(pairs) - _MOST} more"
    yield f"Unchanged: {sum(not _is_told(pair) for pair in found.pairs)}"
    yield ""
    for name, old, new in _providers(found):
        cells = ", ".join(f"{label} {was} -> {now}" for label, was, now in _numbers(old, new))
        yield f"{name}: {cells}"
    yield from found.notes


def comparison_markdown(found: Comparison) -> Iterator[str]:
    """Yield the comparison as Markdown for a comment on a pull request, bounded to fit in one."""
    return bounded(_markdown(found), _MOST_OF_A_COMMENT)


def _markdown(found: Comparison) -> Iterator[str]:
    count = len(found.of("regression"))
    yield f"## Evaluation: {count or 'no'} regression{'' if count == 1 else 's'}"
    yield ""
    for note in found.notes:
        yield escaped(note, 500)
        yield ""
    names = column_names(pair.column for pair in found.pairs)
    rows = list(_providers(found))
    labels = [label for label, _, _ in _numbers(None, None)]
    yield from table(
        ["model", *labels],
        (
            [escaped(name), *(f"{was} -> {now}" for _, was, now in _numbers(o, n))]
            for name, o, n in rows
        ),
    )
    for title, pairs in _sections(found):
        yield ""
        yield f"### {title}: {len(pairs)}"
        yield ""
        yield from table(
            ["test", "model", "passed", "what"],
            (
                [escaped(pair.name), escaped(names[pair.column]), _states(pair), _what(pair)]
                for pair in pairs[:_MOST]
            ),
        )
        if len(pairs) > _MOST:
            yield ""
            yield f"And {len(pairs) - _MOST} more."


def _sections(found: Comparison) -> Iterator[tuple[str, list[Pair]]]:
    for change, title in _TITLES.items():
        if pairs := found.of(change):
            yield title, pairs
    if flips := [pair for pair in found.pairs if pair.is_flip]:
        yield "Flips without another verdict", flips
    moved = [pair for pair in found.of("same") if pair.tools and not pair.is_flip]
    if moved:
        yield "Other tool calls, same verdict", moved


def _what(pair: Pair) -> str:
    parts = [f"turn {change.turn}: {change.words}" for change in pair.tools]
    if pair.change in ("regression", "unjudged"):
        parts.insert(0, reason_of(pair))
    if _checks_changed(pair):
        parts.append("its checks are others now")
    return "<br>".join(escaped(part, 300) for part in parts)


def _states(pair: Pair) -> str:
    return " -> ".join(_state(side) for side in (pair.before, pair.now) if side is not None)


def _state(summary: Summary) -> str:
    if not summary.judged:
        return unjudged_words(summary)
    return f"{summary.verdict} {summary.passed}/{summary.judged}"


def _numbers(old: Summary | None, new: Summary | None) -> list[tuple[str, str, str]]:
    """Return label, old and new value of each number of a provider."""

    def both(label: str, show: Any) -> tuple[str, str, str]:
        was, now = (("-" if side is None else show(side)) for side in (old, new))
        return label, was, now

    return [
        both("pass rate", lambda side: percent(side.rate)),
        both("average score", lambda side: decimal(side.score)),
        both("latency p50", lambda side: milliseconds(side.latency_p50_ms)),
        both("p95", lambda side: milliseconds(side.latency_p95_ms)),
        both("not judged", lambda side: str(sum(side.unjudged.values()))),
    ]
