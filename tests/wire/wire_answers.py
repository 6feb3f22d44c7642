"""Answers for a :class:`WireGateway`: the good ones, the bad ones, and a call to try them on."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final, Literal, NamedTuple

import anyio

from lobu_provider import LobuProvider
from lobu_provider.http_over_aiohttp import AiohttpPool
from tests.wire.wire_gateway import (
    LIMIT_S,
    SESSION_ID,
    SESSION_TOKEN,
    TOKEN,
    Answer,
    Exchange,
    Kind,
    WireGateway,
)

ELSEWHERE: Final = "http://127.0.0.1:9/lobu"
"""Where the create reply says that its URLs are: nothing listens there."""

STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)

Cut = Callable[[bytes], Iterable[bytes]]


class AfterMessage(NamedTuple):
    """A point in a stream that is not passed before a message."""

    number: int
    answered: bool = True
    """Not before it was answered; else not before it arrived."""


def event(name: str, /, **data: Any) -> bytes:
    """One event with LF framing, as the gateway writes it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()


def output(content: str, message: str = "m-1", timestamp: int = 2) -> bytes:
    return event("output", type="delta", content=content, timestamp=timestamp, messageId=message)


def tool_use(name: str, call_id: str, message: str = "m-1") -> bytes:
    body = {"name": name, "input": {}, "isError": False, "toolCallId": call_id}
    return event("tool_use", **body, timestamp=2, messageId=message)


def complete(message: str = "m-1", **more: Any) -> bytes:
    """The end of a turn; without ``finalText`` unless given."""
    return event(
        "complete",
        type="complete",
        messageId=message,
        processedMessageIds=[message],
        **more,
        timestamp=3,
    )


def failed(text: str, message: str = "m-1") -> bytes:
    """What follows a turn that failed: the error twice, then ``complete``."""
    data: dict[str, Any] = {"type": "error", "error": text, "messageId": message, "timestamp": 3}
    return event("error", **data) + event("agent-error", **data) + complete(message)


CONNECTED: Final = event("connected", agentId="support-agent", timestamp=1)


def json_reply(status: int, body: Any, *headers: str) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(status, json.dumps(body).encode(), "application/json", headers)

    return answer


def html(status: int, text: str = "<html><body><h1>Oops</h1></body></html>") -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(status, text.encode(), "text/html; charset=UTF-8")

    return answer


def raw(data: bytes) -> Answer:
    """Send exactly these bytes and close the connection."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(data)
        exchange.close()

    return answer


async def echo_request(exchange: Exchange) -> None:
    """A careless server: its error page shows the request's headers, the token among them."""
    token = exchange.request.headers["authorization"].removeprefix("Bearer ")
    page = f"<html>500 sent with {token}: {dict(exchange.request.headers)}</html>"
    await exchange.reply(500, page.encode(), "text/html")


async def silence(exchange: Exchange) -> None:
    """Accept the request and never answer; ends when the client gives up."""
    await exchange.client_gone()


async def reset(exchange: Exchange) -> None:
    exchange.reset()


async def created(exchange: Exchange) -> None:
    """The reply to a good create request."""
    await json_reply(
        201,
        {
            "success": True,
            "agentId": SESSION_ID,
            "token": SESSION_TOKEN,
            "expiresAt": 1796112665070,
            "sseUrl": f"{ELSEWHERE}/api/v1/agents/{SESSION_ID}/events",
            "messagesUrl": f"{ELSEWHERE}/api/v1/agents/{SESSION_ID}/messages",
        },
    )(exchange)


async def queued(exchange: Exchange) -> None:
    """The reply to a message; its id, ``m-1`` and so on, is the gateway's own."""
    message_id = f"m-{exchange.number}"
    body = {"success": True, "messageId": message_id, "jobId": "13", "queued": True}
    await json_reply(200, body)(exchange)


async def deleted(exchange: Exchange) -> None:
    body = {"success": True, "message": "Agent deleted", "agentId": SESSION_ID}
    await json_reply(200, body)(exchange)


def stream(
    *parts: bytes | AfterMessage,
    end: Literal["hold", "eof", "cut", "reset"] = "hold",
    cut: Cut = lambda data: (data,),
    head: bytes = STREAM_HEAD,
    early_head: bool = True,
) -> Answer:
    """An event stream.

    Args:
        parts: bytes, and points to wait at.
        end: stay open until the client goes; end in order; end within a chunk; break with RST.
        cut: how to cut each of the parts into chunks.
        head: status line and headers.
        early_head: send the headers at once, not together with the first bytes.
    """

    async def write(exchange: Exchange) -> None:
        waiting = b"" if early_head else head
        if early_head:
            await exchange.send(head)
        for part in parts:
            if isinstance(part, AfterMessage):
                await _wait(exchange.gateway, part)
                continue
            for chunk in filter(None, cut(part)):
                await exchange.send(waiting)
                waiting = b""
                await exchange.chunk(chunk)

    async def answer(exchange: Exchange) -> None:
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                await exchange.client_gone()
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await write(exchange)
            if end != "hold":
                group.cancel_scope.cancel()
        if end == "eof":
            await exchange.chunk(b"")
        elif end == "cut":
            await exchange.send(b"400\r\nevent: comp")
            exchange.close()
        elif end == "reset":
            exchange.reset()

    return answer


async def _wait(gateway: WireGateway, point: AfterMessage) -> None:
    if point.answered:
        await gateway.message_answered(point.number)
    else:
        await gateway.message_arrived(point.number)


Answers = Mapping[Kind, Answer | Sequence[Answer]]


def answers(**special: Answer | Sequence[Answer]) -> Answers:
    """A gateway that does everything right except for what is named."""
    good: dict[Kind, Answer | Sequence[Answer]] = {
        "create": created,
        "events": stream(CONNECTED, AfterMessage(1), complete(finalText="fine")),
        "message": queued,
        "delete": deleted,
        "other": html(404),
    }
    for kind, answer in special.items():
        assert kind in good
        good[kind] = answer
    return good


open_pool: Callable[[], AbstractAsyncContextManager[AiohttpPool | None]] = nullcontext
"""Replaced for the tests of the second library. The gateway waits for its connections to end, so
the pool lasts no longer than a call."""


ReplayToo = Callable[
    [Mapping[str, Any], str, "Mapping[str, Any] | None", Mapping[str, Any]], Awaitable[None]
]

replay_too: ReplayToo | None = None
"""Set where each call is recorded: replays it, and compares."""


async def call(
    url: str, *messages: str, more_context: Mapping[str, Any] | None = None, **config: Any
) -> dict[str, Any]:
    """Hold a conversation through the provider, bounded."""
    options = {
        "config": {"agent": "support-agent", "gateway": url, "timeoutMs": 60_000, **config},
        "env": {"LOBU_TOKEN": TOKEN},
    }
    context: dict[str, Any] | None = None
    if len(messages) > 1:
        context = {"vars": {"transcript": [list(messages)]}}
    if more_context is not None:
        context = {**(context or {}), **more_context}
    prompt = messages[0] if len(messages) == 1 else ""
    with anyio.fail_after(LIMIT_S):
        async with open_pool() as pool:
            provider = LobuProvider(options, pool=pool)
            response = await provider.call_api(prompt, context)
    if replay_too is not None:
        await replay_too(options, prompt, context, response)
    return response
