"""Too much of something, or bytes that should not be: bounded, told, and nothing crashes."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from lobu_provider import sse
from lobu_provider.promptfoo import size_limits
from lobu_provider.promptfoo.json_cuts import json_bytes
from tests.faults.fault_rows import INFRA, TURN, heard, held
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    complete,
    created,
    event,
    output,
    queued,
    stream,
    tool_use,
)
from tests.wire.wire_gateway import SESSION_ID, SESSION_TOKEN, Answer, Exchange

pytestmark = pytest.mark.anyio

MEGABYTE: Final = 1_000_000


def endless(beginning: bytes, piece: bytes) -> Answer:
    """A stream that never ends what it began, until the client has gone or 30 MB are sent."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD)
        await exchange.chunk(CONNECTED)
        await exchange.gateway.message_answered(1)
        await exchange.chunk(TURN + beginning)
        for _ in range(30):
            await exchange.chunk(piece)
        await exchange.client_gone()

    return answer


async def test_an_event_of_more_than_ten_megabytes_is_not_read_on() -> None:
    big = output("x" * (sse.MAX_EVENT_CHARACTERS + MEGABYTE))
    row = await heard(TURN, big, complete(finalText="fine"))
    row.failed("gateway", INFRA, "turn", retryable=False).kept()
    assert row.error is not None
    assert "more than 10 million characters" in row.error
    assert row.count("events") == 1, "it would be as big the next time"


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"event: output\ndata: ", b"x" * MEGABYTE),
        (b"", b"x" * MEGABYTE),
        (b"event: output\n", b"data: x\n" * (MEGABYTE // 8)),
        (b": ", b"\xff" * MEGABYTE),
    ],
)
async def test_a_line_or_an_event_without_end_is_not_read_on(
    beginning: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_CHARACTERS", 5 * MEGABYTE)
    row = await held(events=endless(beginning, piece))
    row.failed("gateway", INFRA, "turn", retryable=False).kept()


@pytest.mark.not_recorded  # where a text is cut depends on how many digits the times have
async def test_an_event_just_under_the_limit_is_read() -> None:
    text = "x" * 3 * MEGABYTE
    row = await heard(output(text), complete(finalText=text))
    row.passed(text)
    assert row.warns("metadata was cut")


async def test_metadata_is_cut_and_no_tool_call_goes() -> None:
    calls = [
        event("tool_use", name="read", toolCallId=f"c{n}", input={"q": "x" * 9000}, messageId="m-1")
        for n in range(80)
    ]
    row = await heard(*calls, complete(finalText="fine"))
    row.passed("fine", *(f"c{n}" for n in range(80)))
    assert json_bytes(row.metadata) <= 256 * 1024
    assert row.metadata["truncated"]["cut"] == ["toolCalls[].input"]
    assert row.warns("maxMetadataKb")


async def test_an_answer_that_is_too_long_for_a_row_is_an_error_with_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(size_limits, "MAX_OUTPUT", 1000)
    row = await heard(*[output("x" * 400, timestamp=n) for n in range(4)], complete())
    row.failed("gateway", INFRA, "turn", retryable=False)
    assert row.output.startswith("x" * 1000)
    assert row.metadata["truncated"]["output"] == {"limitCharacters": 1000, "characters": 1600}


async def test_ten_thousand_events_at_once_are_all_counted() -> None:
    deltas = b"".join(output(f"{n} ", timestamp=n) for n in range(10_000))
    row = await heard(deltas, complete())
    row.passed("".join(f"{n} " for n in range(10_000)))


@pytest.mark.parametrize(("kind", "phase"), [("create", "create"), ("message", "send")])
async def test_a_plain_reply_without_end_is_read_to_one_megabyte(kind: str, phase: str) -> None:
    answer, sent = hundred_megabytes()
    special: dict[str, Any] = {kind: answer}
    row = await held(**special)
    row.failed("gateway", INFRA, phase, retryable=True)
    assert row.error is not None
    assert "not a JSON object" in row.error
    assert (row.count(kind), len(sent) < 50) == (1, True)


async def test_a_reply_without_end_to_a_deletion_is_read_to_one_megabyte() -> None:
    answer, sent = hundred_megabytes()
    row = await held(delete=answer)
    row.passed("fine")
    assert (row.count("delete"), len(sent) < 50) == (1, True)


def hundred_megabytes() -> tuple[Answer, list[int]]:
    """A plain reply of so much, and a list of the megabytes that went out.

    More go out than are read: the sockets' buffers take some.
    """
    sent: list[int] = []

    async def answer(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        await exchange.send(b"Transfer-Encoding: chunked\r\n\r\n")
        for number in range(100):
            await exchange.chunk(b"x" * MEGABYTE)
            sent.append(number)

    return answer, sent


async def test_headers_without_end_are_no_reply() -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 201 Created\r\nX-Big: ")
        await exchange.send(b"x" * MEGABYTE)
        await exchange.client_gone()

    row = await held(create=answer)
    row.failed("gateway", INFRA, "create", retryable=True)


async def test_headers_of_many_kilobytes_are_fine() -> None:
    more = [f"X-Header-{number}: {'x' * 1000}" for number in range(30)]
    body = {"agentId": SESSION_ID, "token": SESSION_TOKEN}

    async def answer(exchange: Exchange) -> None:
        await exchange.reply(201, json.dumps(body).encode(), "application/json", more)

    row = await held(create=answer)
    row.passed("fine")


def with_input(text: str) -> bytes:
    """A tool call whose input is this JSON text."""
    data = f'{{"name":"t","toolCallId":"call_1","messageId":"m-1","input":{text}}}'
    return f"event: tool_use\ndata: {data}\n\n".encode()


@pytest.mark.parametrize("levels", [90, 600, 100_000])
async def test_json_of_any_depth_is_a_row(levels: int) -> None:
    row = await heard(with_input("[" * levels + "]" * levels), complete(finalText="fine"))
    # How deep Python reads differs from version to version.
    if levels == 90 or (levels == 600 and row.error is None):
        row.passed("fine", "call_1")
    else:
        row.failed("gateway", INFRA, "turn", retryable=True)


async def test_bytes_that_are_not_utf8_end_nothing() -> None:
    frame = output("caf?").replace(b"?", b"\xe9\xff")
    row = await heard(frame, complete())
    row.passed("caf\ufffd\ufffd")


@pytest.mark.parametrize("text", ["a\x00b", "\x1b[31m", "\ud83d", "\u2028", "\ufeff x", "\x7f"])
async def test_characters_of_every_kind_are_a_row(text: str) -> None:
    data = json.dumps({"content": f"<{text}>", "messageId": "m-1"})
    row = await heard(f"event: output\ndata: {data}\n\n".encode(), complete())
    assert row.error is None
    assert row.output.startswith("<")
    assert row.output.endswith(">")


async def test_raw_nul_bytes_between_events_end_nothing() -> None:
    row = await heard(b"\x00\x00\n\n", TURN, b"\x00: x\n\n", complete(finalText="fine"))
    row.passed("fine", "call_1")


NUMBERS: Final = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "-0.0", "9007199254740993"]


@pytest.mark.parametrize("number", NUMBERS)
async def test_numbers_of_every_kind_are_a_row(number: str) -> None:
    row = await heard(with_input(f'{{"n":{number}}}'), complete(finalText="fine"))
    row.passed("fine", "call_1")


@pytest.mark.parametrize("value", [None, 7, [], {}, True, "\x00"])
async def test_keys_of_any_type_end_nothing(value: Any) -> None:
    odd = event("tool_use", name=value, toolCallId=value, input=value, result_summary=value)
    row = await heard(
        odd.replace(b"}\n", b',"messageId":"m-1","timestamp":[]}\n'), complete(finalText="fine")
    )
    assert (row.error, row.output) == (None, "fine")
    assert len(row.metadata["toolCalls"]) == 1


async def test_a_message_of_a_megabyte_arrives_whole() -> None:
    row = await held("x" * MEGABYTE)
    row.passed("fine")
    assert len(row.gateway.of_kind("message")[0].json["content"]) == MEGABYTE
    assert row.warns("32,000")


async def test_many_turns_are_all_in_the_row() -> None:
    parts: list[bytes | AfterMessage] = []
    for number in range(1, 101):
        parts += [
            tool_use("t", f"c{number}", f"m-{number}"),
            complete(f"m-{number}", finalText=str(number)),
            AfterMessage(number + 1),
        ]
    messages = tuple(f"message {number}" for number in range(1, 101))
    row = await held(
        *messages,
        events=stream(CONNECTED, AfterMessage(1), *parts[:-1]),
        create=created,
        message=queued,
    )
    row.passed("100", *(f"c{number}" for number in range(1, 101)))
    assert len(row.turns) == 100
