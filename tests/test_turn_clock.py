"""Which limit of a turn runs out first, and when its alarm rings."""

from __future__ import annotations

import math

import anyio
import pytest

from lobu_provider.turn_clock import Alarm, TurnClock, TurnLimits

LIMITS = TurnLimits(turn_s=60, idle_s=20)


def test_the_nearest_deadline_counts() -> None:
    clock = TurnClock(100, LIMITS, call_deadline_s=400)
    assert (clock.deadline_s, clock.first) == (120, "idle")


def test_an_event_of_the_turn_refills_the_idle_limit_and_no_other() -> None:
    clock = TurnClock(100, LIMITS, call_deadline_s=400)
    clock.heard(150)
    assert (clock.deadline_s, clock.first) == (160, "turn")


def test_the_calls_deadline_is_never_passed() -> None:
    clock = TurnClock(100, LIMITS, call_deadline_s=110)
    clock.heard(109)
    assert (clock.deadline_s, clock.first) == (110, "call")


def test_a_grace_is_never_made_longer_by_what_follows() -> None:
    clock = TurnClock(100, LIMITS, call_deadline_s=400)
    clock.heard(101, grace_s=2)
    clock.heard(102.5, grace_s=2)
    clock.heard(102.6)
    assert (clock.deadline_s, clock.first) == (103, "grace")


def test_of_equal_deadlines_the_wider_is_named() -> None:
    clock = TurnClock(0, TurnLimits(turn_s=10, idle_s=10), call_deadline_s=10)
    assert clock.first == "call"


def test_after_a_notice_is_looked_whether_the_agent_goes_on() -> None:
    clock = TurnClock(100, LIMITS, call_deadline_s=400)
    clock.noticed(100, grace_s=3)
    assert (clock.deadline_s, clock.first) == (103, "notice")
    clock.heard(101)  # a sign of the turn that is nothing of the agent's
    assert clock.deadline_s == 103
    clock.went_on()
    assert (clock.deadline_s, clock.first) == (121, "idle")


def test_what_decides_nothing_after_a_notice_begins_its_grace_anew_and_none_without_one() -> None:
    clock = TurnClock(100, LIMITS, call_deadline_s=400)
    clock.noticed_again(100, grace_s=3)
    assert (clock.deadline_s, clock.first) == (120, "idle")
    clock.noticed(101, grace_s=3)
    clock.noticed_again(103, grace_s=3)
    assert (clock.deadline_s, clock.first) == (106, "notice")


def test_a_turn_that_went_on_is_waited_for_as_if_nothing_had_ended_it() -> None:
    clock = TurnClock(100, LIMITS, call_deadline_s=400)
    clock.heard(100, grace_s=2)
    clock.noticed(100, grace_s=3)
    clock.went_on()
    assert (clock.deadline_s, clock.first) == (120, "idle")


def test_without_limits_there_is_no_deadline() -> None:
    assert TurnClock(0, TurnLimits(), call_deadline_s=math.inf).deadline_s == math.inf


class Bell:
    """Rings when its deadline has come, and tells when that was."""

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.rung = anyio.Event()
        self.rung_s = 0.0
        self.alarm = Alarm(lambda: self.deadline_s, self._ring)

    def _ring(self) -> None:
        assert not self.rung.is_set(), "rung twice"
        self.rung_s = anyio.current_time()
        self.rung.set()


@pytest.mark.anyio
async def test_an_alarm_rings_at_once_when_its_deadline_is_past() -> None:
    bell = Bell(anyio.current_time() - 1)
    with bell.alarm.set():
        assert bell.rung.is_set()


@pytest.mark.anyio
async def test_an_alarm_waits_for_a_deadline_that_moves_away_without_being_told() -> None:
    bell = Bell(anyio.current_time() + 0.01)
    with bell.alarm.set(), anyio.fail_after(10):
        bell.deadline_s += 0.05
        await bell.rung.wait()
    assert bell.rung_s >= bell.deadline_s


@pytest.mark.anyio
async def test_an_alarm_that_is_told_rings_at_an_earlier_deadline() -> None:
    bell = Bell(anyio.current_time() + 1000)
    with bell.alarm.set(), anyio.fail_after(10):
        bell.deadline_s = anyio.current_time() + 0.01
        bell.alarm.moved_up()
        await bell.rung.wait()


@pytest.mark.anyio
async def test_an_alarm_that_is_over_or_has_no_deadline_stays_silent() -> None:
    never, over = Bell(math.inf), Bell(anyio.current_time() + 0.01)
    with never.alarm.set(), over.alarm.set():
        pass
    later = Bell(over.deadline_s + 0.01)
    with later.alarm.set(), anyio.fail_after(10):
        await later.rung.wait()
    assert [bell.rung.is_set() for bell in (never, over)] == [False, False]
