"""The estimators: pass rates and what can be said of them. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

_Z_95: Final = 1.959963984540054
"""Normal quantile of a two-sided 95 % interval."""


class Interval(NamedTuple):
    """Lower and upper bound, between 0 and 1."""

    low: float
    high: float


def wilson(passed: int, total: int) -> Interval:
    """Return Wilson's 95 % interval of a pass rate; 0 to 1 where nothing was judged."""
    _check(passed, total)
    if total == 0:
        return Interval(0.0, 1.0)
    rate, square = passed / total, _Z_95**2
    centre = rate + square / (2 * total)
    spread = _Z_95 * math.sqrt(rate * (1 - rate) / total + square / (4 * total**2))
    scale = 1 + square / total
    low = 0.0 if passed == 0 else (centre - spread) / scale
    high = 1.0 if passed == total else (centre + spread) / scale
    return Interval(low, high)


def pass_at(k: int, passed: int, total: int) -> float | None:
    """Return the unbiased estimate that at least one of ``k`` tries passes (pass@k).

    ``None`` where there are fewer than ``k`` tries.
    """
    _check(passed, total)
    if not 1 <= k <= total:
        return None
    return 1 - math.comb(total - passed, k) / math.comb(total, k)


def pass_all(k: int, passed: int, total: int) -> float | None:
    """Return the unbiased estimate that all of ``k`` tries pass (pass^k).

    ``None`` where there are fewer than ``k`` tries.
    """
    _check(passed, total)
    if not 1 <= k <= total:
        return None
    return math.comb(passed, k) / math.comb(total, k)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which ``share`` (0 to 1) of the values lie, interpolated linearly."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; ``None`` of nothing."""
    return math.fsum(values) / len(values) if values else None


def _check(passed: int, total: int) -> None:
    if not 0 <= passed <= total:
        raise ValueError(f"{passed} of {total} is no count of passes")
