"""When a lost stream is opened again, and when it is given up; told the time, waiting for none."""

from __future__ import annotations

import pytest

from lobu_provider.errors import Failure, failure
from lobu_provider.outage import FIRST_WAITS_S, FREE_LOSSES, MAX_OUTAGE_S, STEADY_S, WAITS_S, Outage

LOST = failure("stream_lost", "It broke.", phase="turn", repeatable=True)
GONE = failure("not_found", "No such session.", phase="connect")


def busy(seconds: float) -> Failure:
    return failure("rate_limit", "Busy.", phase="connect", repeatable=True, retry_after_s=seconds)


def open_one(now_s: float = 0.0) -> Outage:
    outage = Outage()
    outage.begin(now_s)
    outage.opened()
    outage.over()
    return outage


def tries(outage: Outage, lost: Failure = LOST) -> list[float]:
    """Return the waits until it is given up, each try failing at once."""
    waits: list[float] = []
    now_s = 0.0
    while (wait_s := outage.wait_s(lost, now_s)) is not None:
        waits.append(wait_s)
        now_s += wait_s
        outage.begin(now_s)
    return waits


def test_an_open_stream_is_tried_for_well_under_thirty_seconds() -> None:
    waits = tries(open_one())
    assert waits[:-1] == list(WAITS_S[:-1])
    assert waits[0] == 0
    assert sum(waits) == MAX_OUTAGE_S < 30


def test_the_last_try_comes_at_the_end_of_the_window_however_long_the_others_took() -> None:
    for each_s in (0.1, 0.7, 2.0, 3.3, 6.0):
        outage, now_s, begun = open_one(), 0.0, [0.0]
        while (wait_s := outage.wait_s(LOST, now_s)) is not None:
            outage.begin(now_s + wait_s)
            begun.append(now_s + wait_s)
            now_s = begun[-1] + each_s
        assert begun[-1] == pytest.approx(MAX_OUTAGE_S) or begun[-1] + each_s > MAX_OUTAGE_S
        assert max(begun) <= MAX_OUTAGE_S + 1e-9


def test_a_wait_that_the_gateway_asks_for_is_not_cut_short_by_the_end_of_the_window() -> None:
    outage = open_one()
    assert outage.wait_s(busy(1), 0.0) == 1
    outage.begin(1.0)
    assert outage.wait_s(busy(9), MAX_OUTAGE_S - 8) is None


def test_a_stream_that_was_never_open_is_tried_three_times() -> None:
    assert tries(Outage()) == list(FIRST_WAITS_S)


def test_what_cannot_be_mended_by_another_try_gets_none() -> None:
    assert open_one().wait_s(GONE, 0.0) is None


def test_a_wait_that_the_gateway_asks_for_is_kept_unless_it_is_too_long() -> None:
    assert open_one().wait_s(busy(9), 0.0) == 9
    assert open_one().wait_s(busy(11), 0.0) is None


def test_a_connection_that_shows_life_and_breaks_at_once_counts_as_a_try() -> None:
    outage = open_one()
    for _ in WAITS_S:
        assert outage.wait_s(LOST, 0.0) is not None
        outage.begin(0.0)
        outage.opened()
    assert outage.wait_s(LOST, 0.0) is None


def test_a_connection_that_lasted_begins_the_count_anew() -> None:
    outage = open_one()
    for number in range(50):
        outage.begin(number * STEADY_S)
        outage.opened()
        assert outage.wait_s(LOST, (number + 1) * STEADY_S) == WAITS_S[0]


def test_news_begin_the_count_anew() -> None:
    outage = open_one()
    for number in range(50):
        assert outage.wait_s(LOST, number * STEADY_S) == WAITS_S[0]
        outage.begin(number * STEADY_S)
        outage.opened()
        outage.over()


def test_a_gateway_that_breaks_each_connection_after_one_event_is_asked_ever_more_rarely() -> None:
    outage, now_s, waits = open_one(), 0.0, []
    for _ in range(12):
        wait_s = outage.wait_s(LOST, now_s)
        assert wait_s is not None
        waits.append(wait_s)
        now_s += wait_s
        outage.begin(now_s)
        outage.opened()
        outage.over()
    assert waits[: FREE_LOSSES + 1] == [0.0] * (FREE_LOSSES + 1)
    assert waits[FREE_LOSSES + 1 :][:5] == [0.5, 1.0, 2.0, 4.0, 5.0]
    assert outage.wait_s(LOST, now_s + STEADY_S) == WAITS_S[0]


def test_a_stream_is_down_from_its_loss_to_its_next_sign_of_life() -> None:
    outage = Outage()
    outage.begin(0.0)
    assert not outage.is_down
    outage.wait_s(LOST, 0.0)
    assert outage.is_down
    outage.begin(0.0)
    outage.opened()
    assert not outage.is_down


def test_the_verdict_tells_the_first_loss_and_the_last_refusal() -> None:
    outage = open_one()
    outage.wait_s(LOST, 0.0)
    found = outage.verdict(GONE)
    assert (found.code, found.phase, found.retryable) == ("stream_lost", "turn", True)
    assert found.message == "It broke. It could not be opened again: No such session."


def test_the_verdict_of_a_refused_token_is_the_token() -> None:
    outage, refused = open_one(), failure("auth", "No.", phase="connect")
    outage.wait_s(LOST, 0.0)
    assert outage.verdict(refused) is refused


def test_the_verdict_of_a_stream_that_was_never_open_is_why_it_was_not() -> None:
    outage = Outage()
    outage.begin(0.0)
    outage.wait_s(GONE, 0.0)
    assert outage.verdict(GONE) is GONE
