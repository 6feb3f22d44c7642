"""Which frames of a connection are new, over all connections of a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lobu_provider.events import Frame, parse_event
from lobu_provider.replay import OVERLAP_S, ReplayFilter


def frame(name: str, at: float | None = None, event_id: str | None = None, **data: Any) -> Frame:
    stamp = {} if at is None else {"timestamp": at}
    return Frame(name, json.dumps({**data, **stamp}), event_id)


def text(content: str, at: float | None = None, event_id: str | None = None) -> Frame:
    return frame("output", at, event_id, content=content)


CONNECTED = frame("connected", 1000)


def admitted(
    replay: ReplayFilter, *frames: Frame, has_backlog: bool = True, pace_s: float = 0.0
) -> list[Frame]:
    """Return what a new connection brings for the first time, one frame every ``pace_s``."""
    replay.begin(has_backlog=has_backlog)
    return [
        one
        for number, one in enumerate(frames)
        if replay.admits(one, parse_event(one, received_s=number * pace_s))
    ]


def test_a_backlog_is_told_once() -> None:
    replay = ReplayFilter()
    first = [CONNECTED, text("a", 5000), text("b", 5001)]
    assert admitted(replay, *first) == first
    assert admitted(replay, *first, text("c", 5002)) == [CONNECTED, text("c", 5002)]
    assert admitted(replay, *first, text("c", 5002)) == [CONNECTED]


def test_equal_pieces_count_as_often_as_they_came() -> None:
    replay, ha = ReplayFilter(), text("ha", 50_000)
    assert admitted(replay, CONNECTED, ha, ha, has_backlog=False).count(ha) == 2
    assert admitted(replay, CONNECTED, ha, ha, ha).count(ha) == 1


def test_equal_pieces_at_other_times_are_other_pieces() -> None:
    replay = ReplayFilter()
    assert len(admitted(replay, CONNECTED, text("a", 1), text("a", 2))) == 3


def test_what_comes_before_connected_comes_once() -> None:
    early = text("a", 500)
    assert admitted(ReplayFilter(), early, CONNECTED, early) == [early, CONNECTED]


def test_live_and_replayed_in_the_moment_of_connecting_is_once() -> None:
    both = text("a", 1500)
    assert admitted(ReplayFilter(), CONNECTED, both, both) == [CONNECTED, both]


def test_long_after_connecting_equal_data_is_two_events() -> None:
    late = text("a", 900_000)
    told = admitted(ReplayFilter(), CONNECTED, late, late, pace_s=OVERLAP_S + 1)
    assert told == [CONNECTED, late, late]


def test_without_a_past_equal_data_is_two_events() -> None:
    twice = text("a", 1)
    told = admitted(ReplayFilter(), CONNECTED, twice, twice, has_backlog=False)
    assert told == [CONNECTED, twice, twice]


def test_without_timestamps_equal_data_is_two_events_on_one_connection() -> None:
    bare = text("ha ")
    assert admitted(ReplayFilter(), bare, bare, bare) == [bare, bare, bare]


def test_clocks_that_differ_do_not_hide_a_repeat() -> None:
    both = text("a", 900_000)
    assert admitted(ReplayFilter(), CONNECTED, both, both) == [CONNECTED, both]


def test_a_repeat_may_be_written_otherwise() -> None:
    replay = ReplayFilter()
    one = Frame("output", '{"type":"delta","content":"a","timestamp":5000}')
    same = Frame("output", '{ "timestamp": 5000, "content": "\\u0061", "type": "delta" }')
    assert admitted(replay, one) == [one]
    assert admitted(replay, same) == []


@pytest.mark.parametrize("odd", ["\u00e9", "1\x01", "9" * 70_000, ""])
def test_an_id_that_no_header_can_hold_is_not_remembered(odd: str) -> None:
    replay = ReplayFilter()
    admitted(replay, text("a", 1, event_id="7"), text("b", 2, event_id=odd))
    assert replay.last_id == "7"


def test_pings_and_the_ends_of_streams_are_never_repeats() -> None:
    replay, ping, closed = ReplayFilter(), frame("ping", 1), frame("closed")
    for _ in range(2):
        assert admitted(replay, CONNECTED, ping, ping, closed) == [CONNECTED, ping, ping, closed]


def test_the_last_id_is_remembered_also_of_a_repeat() -> None:
    replay = ReplayFilter()
    assert replay.last_id is None
    admitted(replay, CONNECTED, text("a", 5000, event_id="7"), text("b", 5001))
    assert replay.last_id == "7"
    admitted(replay, CONNECTED, text("a", 5000, event_id="9"))
    assert replay.last_id == "9"
