"""The event stream is lost, is opened again, brings things twice, or never comes back."""

from __future__ import annotations

import gzip
from typing import Any, Final

import pytest

from lobu_provider import outage
from tests.faults.fault_rows import BARE_END, END, INFRA, TURN, held
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    complete,
    echo_request,
    event,
    failed,
    html,
    json_reply,
    output,
    raw,
    reset,
    silence,
    stream,
    tool_use,
)
from tests.wire.wire_gateway import Answer

pytestmark = pytest.mark.anyio

GONE: Final = json_reply(404, {"success": False, "error": "Agent not found"})
BUSY: Final = json_reply(429, {"success": False, "error": "Maximum 5 connections"})
REFUSED: Final = json_reply(401, {"success": False, "error": "Unauthorized"})

LOST: Final = stream(CONNECTED, AfterMessage(1), TURN, end="eof")
BACK: Final = stream(CONNECTED, TURN, END)
"""A later connection: the whole backlog again, then the rest."""


def lost(end: Any) -> Answer:
    return stream(CONNECTED, AfterMessage(1), TURN, end=end)


@pytest.mark.parametrize("end", ["eof", "cut", "reset"])
async def test_a_lost_stream_is_opened_again_and_text_and_tools_are_told_once(end: Any) -> None:
    row = await held(events=[lost(end), BACK])
    row.passed("Half an answer.", "call_1")
    assert "streamedText" not in row.turns[0], "the streamed text is the same"
    assert row.warns("was not open all the time")
    assert row.turns[0]["reconnects"] == 1
    assert "possiblyTruncated" not in row.metadata
    assert row.count("message") == 1


async def test_a_stream_that_breaks_again_and_again_while_it_brings_news_is_followed() -> None:
    deltas = [output(f"{n} ", timestamp=n) for n in range(30)]
    broken = [
        stream(CONNECTED, AfterMessage(1), b"".join(deltas[: n + 1]), end="eof") for n in range(30)
    ]
    row = await held(events=[*broken, stream(CONNECTED, *deltas, complete())])
    row.passed("".join(f"{n} " for n in range(30)))
    assert row.turns[0]["reconnects"] == 30


async def test_a_frame_that_the_break_cut_in_two_counts_when_it_comes_whole() -> None:
    half = output("wer.", timestamp=3)[:-9]
    row = await held(events=[stream(CONNECTED, AfterMessage(1), TURN + half, end="eof"), BACK])
    row.passed("Half an answer.", "call_1")


def with_id(number: int, data: bytes) -> bytes:
    return b"id: %d\n" % number + data


async def test_a_gateway_with_ids_is_told_where_to_go_on() -> None:
    first = stream(CONNECTED, AfterMessage(1), with_id(7, output("Half an ans")), end="eof")
    row = await held(events=[first, stream(CONNECTED, with_id(8, END))])
    row.passed("Half an answer.")
    begun, resumed = row.gateway.of_kind("events")
    assert "last-event-id" not in begun.headers
    assert "?" not in begun.target
    assert resumed.headers["last-event-id"] == "7"
    assert resumed.target.endswith("/events?since=7")


async def test_a_gateway_that_ignores_the_id_and_replays_all_changes_nothing() -> None:
    first = stream(CONNECTED, AfterMessage(1), with_id(7, TURN), end="eof")
    row = await held(events=[first, stream(CONNECTED, with_id(7, TURN), END)])
    row.passed("Half an answer.", "call_1")


async def test_an_event_of_the_turn_before_connected_on_a_new_connection_counts_once() -> None:
    news = tool_use("refund", "call_2")
    row = await held(events=[LOST, stream(news, CONNECTED, TURN, news, END)])
    row.passed("Half an answer.", "call_1", "call_2")


async def test_what_comes_live_and_replayed_on_a_new_connection_counts_once() -> None:
    news = output("wer.", timestamp=3)
    row = await held(events=[LOST, stream(CONNECTED, news, TURN, news, complete())])
    row.passed("Half an answer.", "call_1")
    assert row.metadata["possiblyTruncated"] is True


async def test_an_end_before_connected_waits_for_the_text_that_was_missed() -> None:
    missed = output("wer.", timestamp=3)
    row = await held(events=[LOST, stream(complete(), CONNECTED, TURN, missed, complete())])
    row.passed("Half an answer.", "call_1")


async def test_an_end_before_connected_is_flagged_where_text_may_be_missing() -> None:
    missed = output("wer.", timestamp=3)
    row = await held(events=[LOST, stream(complete(), CONNECTED, TURN, missed, complete())])
    assert row.metadata["possiblyTruncated"] is True
    assert row.warns("text too: no final text came")


async def test_honest_equal_pieces_are_kept_over_a_reconnect() -> None:
    ha, later = output("ha ", timestamp=50_000), output("ha ", timestamp=50_001)
    row = await held(
        events=[
            stream(CONNECTED, AfterMessage(1), ha * 3, end="eof"),
            stream(CONNECTED, ha * 3 + later + complete(finalText="")),
        ]
    )
    assert row.turns[0]["streamedText"] == "ha ha ha ha "


async def test_a_gap_without_a_final_text_is_told_as_possibly_truncated() -> None:
    row = await held(events=[LOST, stream(CONNECTED, BARE_END)])
    row.passed("Half an answer.", "call_1")
    assert row.metadata["possiblyTruncated"] is True
    assert row.warns("text too: no final text came")


@pytest.mark.parametrize("answer", [GONE, html(200), html(500), echo_request])
async def test_a_stream_that_cannot_be_opened_again_is_lost_with_what_had_come(
    answer: Answer,
) -> None:
    row = await held(events=[LOST, answer])
    row.failed("stream_lost", INFRA, "turn", retryable=True).kept()
    assert row.error is not None
    assert "could not be opened again" in row.error
    assert row.count("events") == 2


async def test_a_token_that_is_refused_on_the_new_connection_is_told_as_that() -> None:
    row = await held(events=[LOST, REFUSED])
    row.failed("auth", INFRA, "connect", retryable=True).kept()
    assert row.count("events") == 2


@pytest.mark.parametrize("answer", [BUSY, html(502), html(503), html(504), reset, raw(b"")])
async def test_a_busy_or_restarting_gateway_is_asked_again_for_the_stream(answer: Answer) -> None:
    row = await held(events=[LOST, answer, answer, BACK])
    row.passed("Half an answer.", "call_1")


async def test_a_stream_that_opens_at_the_third_try_is_good() -> None:
    good = stream(CONNECTED, AfterMessage(1), complete(finalText="fine"))
    row = await held(events=[BUSY, html(503), good])
    row.passed("fine")
    assert row.warnings == []


@pytest.mark.parametrize("end", ["eof", "cut", "reset"])
async def test_a_stream_that_closes_at_once_every_time_is_given_up(end: Any) -> None:
    row = await held(events=[LOST, stream(CONNECTED, TURN, end=end)])
    row.failed("stream_lost", INFRA, "turn", retryable=True).kept()
    # The library may repeat one that broke before its head.
    assert 1 + len(outage.WAITS_S) <= row.count("events") <= 2 * (2 + len(outage.WAITS_S))


@pytest.mark.parametrize("answer", [BUSY, html(503), reset])
async def test_a_gateway_that_does_not_come_back_is_given_up(answer: Answer) -> None:
    row = await held(events=[LOST, answer])
    row.failed("stream_lost", INFRA, "turn", retryable=True).kept()
    assert row.error is not None
    assert "could not be opened again" in row.error
    assert 1 + len(outage.WAITS_S) <= row.count("events") <= 2 * (1 + len(outage.WAITS_S))


async def test_a_stream_that_ends_before_its_first_byte_every_time_is_given_up() -> None:
    row = await held(events=stream(end="eof"))
    row.failed("stream_lost", INFRA, "turn", retryable=True)
    assert row.count("message") == 0


async def test_a_gateway_that_restarts_tells_its_dead_turn_on_the_new_connection() -> None:
    """Its backlog is gone; the liveness check of the new process ends the turn."""
    words = "The worker handling your request stopped responding before it could reply."
    row = await held(events=[lost("reset"), html(502), stream(CONNECTED, failed(words))])
    row.failed("worker", INFRA, "turn", retryable=True)
    assert row.turns[0]["reconnects"] == 1


async def test_a_stream_that_is_lost_between_two_turns_costs_neither() -> None:
    one = TURN + complete(finalText="one")
    first = stream(CONNECTED, AfterMessage(1), one, end="eof")
    second = stream(CONNECTED, one, AfterMessage(2), complete("m-2", finalText="two"))
    row = await held("1", "2", events=[first, second])
    row.passed("two", "call_1")
    assert [turn["output"] for turn in row.turns] == ["one", "two"]


async def test_a_session_that_was_deleted_between_two_turns_keeps_the_first() -> None:
    first = stream(CONNECTED, AfterMessage(1), TURN + complete(finalText="one"), end="eof")
    row = await held("1", "2", events=[first, GONE])
    row.failed("stream_lost", INFRA, "turn", retryable=True).kept("", "call_1")
    assert row.turns[0]["output"] == "one"
    assert row.metadata["error"]["turn"] == 2


@pytest.mark.parametrize("end", ["hold", "eof"])
async def test_closed_is_final_and_the_stream_is_not_opened_again(end: Any) -> None:
    closed = event("closed", reason="agent_deleted")
    row = await held(events=stream(CONNECTED, AfterMessage(1), TURN + closed, end=end))
    row.failed("stream_lost", INFRA, "turn", retryable=True).kept()
    assert row.error is not None
    assert "agent_deleted" in row.error
    assert row.count("events") == 1


async def test_a_new_connection_that_never_answers_ends_by_the_limit() -> None:
    row = await held(events=[LOST, silence], config={"timeoutMs": 1000})
    row.failed("timeout", INFRA, "turn", retryable=True).kept()


async def test_a_compressed_stream_that_is_cut_is_opened_again() -> None:
    packed = gzip.compress(CONNECTED + TURN)[:-12]
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    first = stream(AfterMessage(1, answered=False), packed, head=head, end="eof")
    row = await held(events=[first, BACK])
    row.passed("Half an answer.", "call_1")


async def test_a_stream_that_opens_only_after_the_message_may_have_lost_something() -> None:
    row = await held(events=stream(AfterMessage(1), CONNECTED, output("late") + complete()))
    row.passed("late")
    assert row.metadata["possiblyTruncated"] is True
    assert row.warns("was not open all the time")


async def test_text_after_an_end_without_final_text_still_belongs_to_the_answer() -> None:
    late = output("NOT possible.", timestamp=9)
    row = await held(events=stream(CONNECTED, AfterMessage(1), output("It is "), complete() + late))
    row.passed("It is NOT possible.")


@pytest.mark.parametrize("error", ["boom", {"message": "boom"}, ["boom"]])
async def test_an_end_that_names_an_error_is_one(error: Any) -> None:
    end = complete(finalText="fine", error=error)
    row = await held(events=stream(CONNECTED, AfterMessage(1), end))
    row.failed("worker", "agent", "turn", retryable=False)
    assert row.error is not None
    assert "boom" in row.error
