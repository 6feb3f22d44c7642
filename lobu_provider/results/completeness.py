"""Whether a run is whole: promptfoo ends with exit code 0 also where nothing was tested."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from lobu_provider.results.faults import ResultsError
from lobu_provider.results.files import FileFacts
from lobu_provider.results.texts import times

if TYPE_CHECKING:
    from lobu_provider.results.runs import Run


class Range(NamedTuple):
    """A ``--filter-range``: tests from ``start`` up to, not including, ``end``."""

    start: int
    end: int | None


def gaps_of(run: Run, shards: int | None = None) -> list[str]:
    """Return why the run is not whole, or cannot be read with certainty; an empty list where
    nothing speaks against it.

    Args:
        run: what was read.
        shards: how many shards there should be, where that is known.
    """
    rows = Counter(row.file for row in run.rows)
    return [
        *(gap for n, facts in enumerate(run.files) for gap in _file_gaps(facts, rows[n])),
        *_shard_gaps(run.files, shards),
        *run.mixed,
    ]


def stale_files(files: Sequence[FileFacts], now: datetime, most: timedelta) -> list[str]:
    """Return which files are of runs that began too long ago, or do not tell when.

    Args:
        files: what was read.
        now: with a time zone.
        most: the greatest age.
    """
    found = []
    for facts in files:
        began = _time(facts.started)
        if began is None:
            found.append(f"{facts.path} does not tell when the run began")
        elif now - began > most:
            found.append(
                f"{facts.path} is of a run that began at {facts.started}, which is too long ago: "
                "the run that should have written it anew was paused, or failed"
            )
    return found


def _time(text: str | None) -> datetime | None:
    """Return a time of JavaScript's; Python 3.10 does not know its ``Z``."""
    try:
        found = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _file_gaps(facts: FileFacts, rows: int) -> Iterator[str]:
    if not rows:
        yield f"{facts.path} has no rows: no test was selected, or the run was stopped"
    if facts.shape == "lines":
        yield (
            f"{facts.path} is JSON Lines, which does not tell whether the run ended: give the "
            "file of `-o results.json` instead"
        )
    elif facts.counted is not None and facts.counted != rows:
        yield (
            f"{facts.path} has {times(rows, 'row')} and promptfoo counted {facts.counted:,}: the "
            "run was aborted (for example by HTTP status 401, 403, 404 or 501 of a provider)"
        )
    elif rows and facts.ended is False:
        yield (
            f"{facts.path} does not tell how long the run took, so it did not end: it was paused "
            "(end it with `promptfoo eval --resume "
            f"{facts.eval_id or 'ID'}`), or aborted"
        )


def range_of(facts: FileFacts) -> Range | None:
    """Return which tests a shard was given; ``None`` of a run that is no shard.

    Raises:
        ResultsError: the range is none that promptfoo takes.
    """
    if facts.filter_range is None:
        return None
    found = re.fullmatch(r"\s*(\d*)\s*:\s*(\d*)\s*", facts.filter_range)
    if found is None or found.group().strip() == ":":
        raise ResultsError(f"{facts.path}: filterRange {facts.filter_range!r} is not START:END")
    start, end = found.groups()
    return Range(int(start or 0), int(end) if end else None)


def _shard_gaps(files: Sequence[FileFacts], shards: int | None) -> Iterator[str]:
    ranges = [(found, facts) for facts in files if (found := range_of(facts)) is not None]
    if shards is not None and len(files) != shards:
        yield f"{times(len(files), 'file')} of {times(shards, 'shard')} given: a shard is missing"
    if not ranges:
        if shards is not None and shards > 1:
            yield (
                "no file tells a filterRange, so nothing tells which tests each was given: run "
                "each shard with the --filter-range that `lobu-provider shard` prints"
            )
        return
    for facts in files:
        if facts.filter_range is None:
            yield f"{facts.path} is no shard, and others are: tests may be counted twice"
    ranges.sort(key=lambda pair: pair[0].start)
    reached: int | None = 0
    for found, facts in ranges:
        if reached is None or found.start < reached:
            yield f"{facts.path} ({_words(found)}) overlaps another shard: tests are counted twice"
        elif found.start > reached:
            yield f"tests {reached} to {found.start - 1} are in no shard: a shard is missing"
        if reached is not None:
            reached = None if found.end is None else max(reached, found.end)
    if reached is not None:
        yield from _end_gaps(ranges[-1][1], reached)


def _end_gaps(last: FileFacts, reached: int) -> Iterator[str]:
    if last.tests is None:
        yield (
            f"the last shard ends before test {reached} and nothing tells whether that is the end: "
            "give its range without an end, as `lobu-provider shard` does"
        )
    elif reached < last.tests:
        yield f"tests {reached} to {last.tests - 1} are in no shard: a shard is missing"


def _words(found: Range) -> str:
    return f"{found.start}:{'' if found.end is None else found.end}"
