"""The estimators, against tables worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.results.statistics import mean, pass_all, pass_at, percentile, wilson


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n) with z = 1.959964
        (0, 0, 0.0, 1.0),
        (0, 3, 0.0, 0.561497),
        (3, 3, 0.438503, 1.0),
        (1, 2, 0.094531, 0.905469),
        (2, 3, 0.207660, 0.938508),
        (8, 10, 0.490162, 0.943318),
        (50, 100, 0.403832, 0.596168),
    ],
)
def test_the_interval_is_wilsons(passed: int, total: int, low: float, high: float) -> None:
    assert wilson(passed, total) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(
    ("k", "passed", "total", "all_pass", "one_passes"),
    [
        # of 5 tries 3 passed: C(3,k)/C(5,k) and 1 - C(2,k)/C(5,k)
        (1, 3, 5, 3 / 5, 3 / 5),
        (2, 3, 5, 3 / 10, 1 - 1 / 10),
        (3, 3, 5, 1 / 10, 1.0),
        (4, 3, 5, 0.0, 1.0),
        (5, 3, 5, 0.0, 1.0),
        (2, 0, 4, 0.0, 0.0),
        (2, 4, 4, 1.0, 1.0),
    ],
)
def test_pass_all_and_pass_at_count_the_choices_of_k_tries(
    k: int, passed: int, total: int, all_pass: float, one_passes: float
) -> None:
    assert pass_all(k, passed, total) == pytest.approx(all_pass)
    assert pass_at(k, passed, total) == pytest.approx(one_passes)


def test_of_fewer_than_k_tries_nothing_is_said() -> None:
    assert pass_all(3, 2, 2) is None
    assert pass_at(3, 2, 2) is None
    assert pass_at(1, 0, 0) is None


def test_percentiles_lie_between_the_values() -> None:
    assert percentile([], 0.5) is None
    assert percentile([7], 0.95) == 7
    assert percentile([40, 10, 30, 20], 0.5) == 25
    assert percentile([0, 100], 0.95) == 95
    assert mean([]) is None
    assert mean([1, 2, 6]) == 3


def test_more_passes_than_tries_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate_and_the_estimators_agree_for_one_try(
    counts: tuple[int, int],
) -> None:
    passed, total = counts
    low, high = wilson(passed, total)
    assert 0 <= low <= passed / total <= high <= 1
    assert pass_all(1, *counts) == pytest.approx(passed / total)
    assert pass_at(1, *counts) == pytest.approx(passed / total)
