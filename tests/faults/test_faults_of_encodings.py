"""A reply that is compressed as nobody asked: each library tells of it in the same words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.faults.fault_rows import INFRA, held
from tests.wire.wire_answers import CONNECTED, STREAM_HEAD, AfterMessage, complete, stream
from tests.wire.wire_gateway import SESSION_ID, SESSION_TOKEN, Answer, Exchange

pytestmark = pytest.mark.anyio

BODIES = {
    "create": {"success": True, "agentId": SESSION_ID, "token": SESSION_TOKEN},
    "message": {"success": True, "messageId": "m-1"},
}
PHASES = {"create": "create", "events": "connect", "message": "send"}


def encoded(kind: str, *encodings: str) -> Answer:
    """The good answer, which says that it is compressed."""
    lines = [f"Content-Encoding: {encoding}" for encoding in encodings]
    if kind == "events":
        head = b"".join(f"{line}\r\n".encode() for line in lines) + b"\r\n"
        fine = (CONNECTED, AfterMessage(1), complete(finalText="fine"))
        return stream(*fine, head=STREAM_HEAD.removesuffix(b"\r\n") + head)

    async def answer(exchange: Exchange) -> None:
        body = json.dumps(BODIES[kind]).encode()
        await exchange.reply(201, body, "application/json", lines)

    return answer


@pytest.mark.parametrize("kind", PHASES)
@pytest.mark.parametrize("encoding", ["br", "ZSTD", "compress", "x-gzip", "gzip, br"])
async def test_a_reply_that_is_compressed_unasked_is_told_as_that(kind: str, encoding: str) -> None:
    special: dict[str, Any] = {kind: encoded(kind, encoding)}
    row = await held(**special)
    row.failed("gateway", INFRA, PHASES[kind], retryable=True)
    told = (
        f"cannot be read: it is compressed in a way that was not asked for, as {encoding.lower()}"
    )
    assert told in (row.error or "")
    assert row.count(kind) == 1  # it would be no better the next time
    assert row.count("message") == (kind == "message")
    assert row.warns("may have kept it") == (kind == "create")


@pytest.mark.parametrize("kind", PHASES)
@pytest.mark.parametrize(
    "encodings",
    [("identity",), ("identity, identity",), ("Identity", "IDENTITY"), ("",), ("utf-8",)],
)
async def test_what_says_that_it_is_not_compressed_is_read(
    kind: str, encodings: tuple[str, ...]
) -> None:
    special: dict[str, Any] = {kind: encoded(kind, *encodings)}
    (await held(**special)).passed("fine")
