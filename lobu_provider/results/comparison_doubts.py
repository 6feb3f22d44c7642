"""Why a comparison without a regression is not yet a yes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lobu_provider.results.comparison import Comparison, Pair
from lobu_provider.results.runs import Column, Test, column_names
from lobu_provider.results.texts import times

_MOST: Final = 20
"""Tests that are named."""


def doubts_of(found: Comparison, *, allow_removed: bool = False) -> list[str]:
    """Return what may hide a regression; an empty list where nothing does.

    Args:
        found: the comparison.
        allow_removed: whether tests that were judged before may be missing.
    """
    names = column_names(pair.column for pair in found.pairs)
    removed = [pair for pair in found.of("removed") if pair.before and pair.before.judged]
    added = [p for p in found.of("added") if p.now and p.now.verdict == "unjudged"]
    again = [pair for pair in found.of("judged again") if pair.now and pair.now.verdict != "stable"]
    return [
        *_named(found.of("unjudged"), names, "judged in OLD and could not be in NEW"),
        *_named(added, names, "not in OLD and could not be judged in NEW"),
        *_named(again, names, "could not be judged in OLD and did not pass in NEW"),
        *_named([] if allow_removed else removed, names, "judged in OLD and not in NEW", _REMOVED),
        *_nothing_judged(found),
        *_by_place_alone(found),
        *_held_as_one(found),
    ]


_REMOVED: Final = ". If that is meant (renamed, deleted, filtered away), give --allow-removed"


def _named(
    pairs: Sequence[Pair], names: Mapping[Column, str], what: str, fix: str = ""
) -> Iterator[str]:
    if pairs:
        told = ", ".join(f"{pair.name!r} ({names[pair.column]})" for pair in pairs[:_MOST])
        more = f" and {len(pairs) - _MOST:,} more" if len(pairs) > _MOST else ""
        yield f"{times(len(pairs), 'test')} {what}: {told}{more}{fix}"


def _nothing_judged(found: Comparison) -> Iterator[str]:
    """What could be judged on neither side is known, but not where that is all."""
    now = [pair.now for pair in found.pairs if pair.now is not None]
    is_told = found.of("unjudged") or not now
    if not is_told and not any(summary.judged for summary in now):
        yield "no test of NEW could be judged"


def _by_place_alone(found: Comparison) -> Iterator[str]:
    stripped = [
        pair.new
        for pair in found.pairs
        if pair.new is not None and pair.new.first.distinction.is_stripped
    ]
    alike = Counter((test.identity._replace(place=""), test.column) for test in stripped)
    for (identity, _), count in alike.items():
        if count > 1:
            yield (
                f"{times(count, 'test')} of NEW named {identity.name!r} are matched by their place "
                "alone, because promptfoo left out their variables (PROMPTFOO_STRIP_TEST_VARS): "
                "give each a description of its own, or keep the variables"
            )


def _held_as_one(found: Comparison) -> Iterator[str]:
    """Tests that an old baseline does not tell apart."""
    sides: dict[tuple[str, str, Column], tuple[list[Test], list[Test]]] = defaultdict(
        lambda: ([], [])
    )
    for pair in found.pairs:
        for side, test in enumerate((pair.old, pair.new)):
            if test is not None:
                sides[test.digest, test.checks, pair.column][side].append(test)
    for old, new in sides.values():
        if any(test.identity.metadata is None for test in old) and len(old) < len(new):
            yield (
                f"{times(len(new), 'test')} of NEW named {new[0].identity.name!r} stand against "
                f"{len(old)} of a baseline by an older lobu-provider, which did not tell such "
                "tests apart: bless a run again"
            )
