"""Which limit of a turn runs out first."""

from __future__ import annotations

import math

from lobu_provider.turn_clock import TurnClock, TurnLimits

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


def test_without_limits_there_is_no_deadline() -> None:
    assert TurnClock(0, TurnLimits(), call_deadline_s=math.inf).deadline_s == math.inf
