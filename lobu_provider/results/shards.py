"""Cut a suite into ranges of tests for several machines, about equally many rows in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lobu_provider.results.outcomes import mapping


class Shard(NamedTuple):
    """The part of one machine."""

    start: int
    end: int
    is_last: bool
    rows: int
    """Rows of one provider, one prompt and one repeat."""

    @property
    def filter_range(self) -> str:
        """The value of ``--filter-range``. The last has no end, so that no test can be missed and
        a set of results shows by itself that it is whole."""
        return f"{self.start}:" if self.is_last else f"{self.start}:{self.end}"


def shards_of(weights: Sequence[int], count: int) -> list[Shard]:
    """Return ``count`` neighbouring ranges whose heaviest is as light as can be.

    Args:
        weights: rows of each test, at least 1.
        count: how many machines; at least 1 and at most as many as there are tests.

    Raises:
        ValueError: ``count`` is out of bounds.
    """
    if not 1 <= count <= len(weights):
        raise ValueError(f"{len(weights)} tests cannot be cut into {count} shards")
    low, high = max(weights), sum(weights)
    while low < high:
        middle = (low + high) // 2
        if len(list(_ends(weights, middle))) <= count:
            high = middle
        else:
            low = middle + 1
    return list(_cut(weights, count, low))


def _ends(weights: Sequence[int], most: int) -> Iterator[int]:
    """Yield where each range ends when each takes as much as it may."""
    held = 0
    for place, weight in enumerate(weights):
        if held and held + weight > most:
            yield place
            held = 0
        held += weight
    yield len(weights)


def _cut(weights: Sequence[int], count: int, most: int) -> Iterator[Shard]:
    start = 0
    for number in range(count):
        left, end, held = count - number - 1, start, 0
        while end < len(weights) - left and (not held or held + weights[end] <= most):
            held += weights[end]
            end += 1
        yield Shard(start, end, left == 0, held)
        start = end


def rows_of_test(test: Mapping[str, Any], default_test: Mapping[str, Any]) -> int:
    """Return into how many tests promptfoo splits one: a list of texts is one test per text."""
    options = {**mapping(default_test.get("options")), **mapping(test.get("options"))}
    if options.get("disableVarExpansion"):
        return 1
    rows = 1
    for value in {**mapping(default_test.get("vars")), **mapping(test.get("vars"))}.values():
        if isinstance(value, list) and value and isinstance(value[0], str):
            rows *= len(value)
    return rows
