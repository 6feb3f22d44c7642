"""Create, message and delete: refused, broken, or asked to come back later."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any, Final

import anyio
import pytest

from tests.faults.fault_rows import INFRA, TURN, held
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    complete,
    created,
    deleted,
    html,
    json_reply,
    output,
    queued,
    raw,
    reset,
    silence,
    stream,
)
from tests.wire.wire_gateway import SESSION_ID, SESSION_TOKEN, Answer, Exchange

pytestmark = pytest.mark.anyio

REFUSED: Final = {"success": False, "error": "Refused"}


def ids_of(row: Any) -> list[str]:
    return [request.json["messageId"] for request in row.gateway.of_kind("message")]


BROKEN: Final = [reset, raw(b""), html(502), html(503), html(504)]


@pytest.mark.parametrize("answer", BROKEN)
async def test_a_create_request_that_fails_twice_is_sent_a_third_time(answer: Answer) -> None:
    row = await held(create=[answer, answer, created])
    row.passed("fine")
    bodies = {request.body for request in row.gateway.of_kind("create")}
    assert (row.count("create"), len(bodies)) == (3, 1)
    assert row.count("delete") == 1


@pytest.mark.parametrize("answer", BROKEN)
async def test_a_message_whose_reply_is_lost_is_sent_again_under_its_id(answer: Answer) -> None:
    row = await held(message=[answer, answer, queued], events=answered_after(3))
    row.passed("fine")
    assert (row.count("message"), len(set(ids_of(row)))) == (3, 1)


def answered_after(number: int) -> Answer:
    """A turn whose events come when so many requests have been answered."""
    return stream(CONNECTED, AfterMessage(number), complete(f"m-{number}", finalText="fine"))


@pytest.mark.parametrize(
    ("status", "code", "error_class", "retryable"),
    [
        (400, "config", "config", False),
        (401, "auth", INFRA, True),
        (403, "not_found", INFRA, True),
        (404, "not_found", "config", False),
        (429, "rate_limit", INFRA, True),
        (500, "gateway", INFRA, True),
    ],
)
async def test_a_message_that_is_refused_is_not_sent_again(
    status: int, code: str, error_class: str, retryable: bool
) -> None:
    row = await held(message=json_reply(status, REFUSED))
    row.failed(code, error_class, "send", retryable=retryable)
    assert row.count("message") == 1
    assert row.turns[0]["user"] == "hello"


async def test_a_message_that_never_gets_through_is_tried_three_times() -> None:
    row = await held(message=html(503))
    row.failed("gateway", INFRA, "send", retryable=True)
    assert row.error is not None
    assert "Tried 3 times." in row.error
    assert (row.count("message"), len(set(ids_of(row)))) == (3, 1)


async def test_a_message_that_was_queued_and_whose_reply_was_lost_is_not_sent_twice() -> None:
    """Its events are the proof; a second message would be a second turn."""
    got: list[str] = []
    read = anyio.Event()

    async def events(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD)
        await exchange.chunk(CONNECTED)
        await exchange.gateway.message_arrived(1)
        await anyio.wait_all_tasks_blocked()  # the message's answer is under way
        await exchange.chunk(output("fi", got[0]))
        await anyio.wait_all_tasks_blocked()  # the client has read it
        read.set()
        await exchange.chunk(output("ne", got[0], 3) + complete(got[0], finalText="fine"))
        await exchange.client_gone()

    async def lost(exchange: Exchange) -> None:
        got.append(exchange.request.json["messageId"])
        await read.wait()
        exchange.reset()

    row = await held(events=events, message=lost)
    row.passed("fine")
    assert row.count("message") == 1


@pytest.mark.parametrize("answer", BROKEN)
async def test_a_deletion_that_fails_twice_is_tried_a_third_time(answer: Answer) -> None:
    row = await held(delete=[answer, answer, deleted])
    row.passed("fine")
    assert row.count("delete") == 3
    assert not row.warns("left at the gateway")


@pytest.mark.parametrize("answer", BROKEN)
async def test_a_deletion_that_never_gets_through_is_told_and_changes_no_verdict(
    answer: Answer,
) -> None:
    row = await held(delete=answer)
    row.passed("fine")
    assert row.warns("left at the gateway")
    assert row.warns("Tried 3 times.")


@pytest.mark.parametrize("status", [400, 401, 429, 500, 501])
async def test_a_deletion_that_is_refused_is_told_and_changes_no_verdict(status: int) -> None:
    row = await held(delete=json_reply(status, REFUSED), config={"timeoutMs": 20_000})
    row.passed("fine")
    assert row.warns("left at the gateway")


def later(text: str, status: int = 503) -> Answer:
    return json_reply(status, REFUSED, f"Retry-After: {text}")


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_in_seconds_is_obeyed(naps: list[float], status: int) -> None:
    row = await held(create=[later("7", status), created])
    row.passed("fine")
    assert naps == [7.0]


async def test_retry_after_as_a_date_is_obeyed(naps: list[float]) -> None:
    date = datetime.now(tz=timezone.utc) + timedelta(seconds=8)
    row = await held(create=[later(format_datetime(date, usegmt=True)), created])
    row.passed("fine")
    [waited] = naps
    assert 0 < waited <= 8


async def test_retry_after_of_a_message_is_obeyed(naps: list[float]) -> None:
    row = await held(message=[later("2"), queued], events=answered_after(2))
    row.passed("fine")
    assert naps == [2.0]
    assert row.warns("sent 2 times")
    assert row.turns[0]["timesSent"] == 2


@pytest.mark.parametrize("text", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT"])
async def test_a_gateway_that_wants_to_be_left_alone_for_long_is(
    naps: list[float], text: str
) -> None:
    row = await held(create=later(text, 429))
    row.failed("rate_limit", INFRA, "create", retryable=True)
    assert row.error is not None
    assert "asks to be left alone for" in row.error
    assert (row.count("create"), naps) == (1, [])


@pytest.mark.parametrize("text", ["soon", "-5", "", "1e9", "\u0663"])
async def test_a_retry_after_that_means_nothing_is_as_good_as_none(
    naps: list[float], text: str
) -> None:
    row = await held(create=[raw_later(text), created])
    row.passed("fine")
    assert naps == [0.0]


def raw_later(text: str) -> Answer:
    lines = ["HTTP/1.1 503 Busy", "Connection: close", f"Retry-After: {text}", "Content-Length: 0"]
    return raw("\r\n".join([*lines, "", ""]).encode())


async def test_retries_repeat_the_whole_case_on_a_fresh_thread(naps: list[float]) -> None:
    del naps
    broken = json_reply(500, REFUSED)
    second = stream(CONNECTED, AfterMessage(2), complete("m-2", finalText="fine"))
    row = await held(
        message=[broken, queued], events=[stream(CONNECTED), second], config={"retries": 1}
    )
    row.passed("fine")
    threads = [request.json["thread"] for request in row.gateway.of_kind("create")]
    assert len(set(threads)) == 2
    assert row.metadata["attempts"][0]["error"] == "gateway"
    [warning] = row.warnings
    assert warning.startswith("Attempt 1 failed after 0 completed turns and 0 tool calls")
    assert row.count("delete") == 2


async def test_without_retries_a_case_is_held_once() -> None:
    row = await held(message=json_reply(500, REFUSED))
    row.failed("gateway", INFRA, "send", retryable=True)
    assert row.count("create") == 1
    assert "attempts" not in row.metadata


async def test_a_refused_second_message_keeps_the_first_turn() -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN + complete(finalText="one"))
    row = await held("1", "2", events=events, message=[queued, json_reply(429, REFUSED)])
    row.failed("rate_limit", INFRA, "send", retryable=True).kept("", "call_1")
    assert [turn["output"] for turn in row.turns] == ["one", ""]


@pytest.mark.parametrize(
    "told",
    [
        {"error": "nope"},
        {"success": None, "error": "nope"},
        {"success": True, "error": "nope"},
        {"success": "false", "note": "nope"},
        {"status": "FAILED", "note": "nope"},
        {"ok": False, "errors": ["nope"]},
    ],
)
async def test_a_message_reply_that_tells_an_error_is_one(told: dict[str, Any]) -> None:
    row = await held(message=json_reply(200, told))
    row.failed("gateway", INFRA, "send", retryable=True)
    assert "nope" in (row.error or "")


@pytest.mark.parametrize(
    "told",
    [
        {"success": None, "error": None, "errorCode": "", "status": None},
        {"success": True, "error": "", "isError": "false"},
        {"error": False},
        {"error": {}, "status": "queued"},
        {"error": "N/A", "errorCode": "OK", "errors": []},
    ],
)
async def test_a_reply_whose_error_is_nothing_is_a_good_one(told: dict[str, Any]) -> None:
    row = await held(message=json_reply(200, {"messageId": "m-1", **told}))
    row.passed("fine")


async def test_replies_that_begin_with_a_byte_order_mark_are_read() -> None:
    def marked(status: int, **told: Any) -> Answer:
        async def answer(exchange: Exchange) -> None:
            body = b"\xef\xbb\xbf" + json.dumps({"success": True, **told}).encode()
            await exchange.reply(status, body, "application/json")

        return answer

    session = marked(201, agentId=SESSION_ID, token=SESSION_TOKEN)
    refused = marked(200, success=False)
    row = await held(create=session, message=marked(200, messageId="m-1"), delete=refused)
    row.passed("fine")
    assert row.warns("left at the gateway")


async def test_a_reply_that_is_not_modified_is_told_as_that_and_not_as_a_redirect() -> None:
    row = await held(message=raw(b"HTTP/1.1 304 Not Modified\r\n\r\n"))
    row.failed("gateway", INFRA, "send", retryable=True)
    assert "answered 304 (not modified), without content." in (row.error or "")
    assert row.count("message") == 1


@pytest.mark.parametrize("encoding", ["br", "zstd"])
async def test_a_stream_that_is_compressed_unasked_is_told_before_a_message_is_sent(
    encoding: str,
) -> None:
    async def compressed(exchange: Exchange) -> None:
        head = STREAM_HEAD.removesuffix(b"\r\n") + f"Content-Encoding: {encoding}\r\n\r\n".encode()
        await exchange.send(head + b"4\r\nabcd\r\n")
        await silence(exchange)  # the body never ends

    row = await held(events=compressed)
    row.failed("gateway", INFRA, "connect", retryable=True)
    assert encoding in (row.error or "")
    assert row.count("message") == 0
