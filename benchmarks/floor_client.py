"""The least that Python can do: our client's requests over bare sockets, the same events parsed.

python benchmarks/floor_client.py '{"url": ..., "agent": ..., "conversations": ..., ...}'

One event stream for a conversation, one connection for everything else. No limits, no checks, no
errors: this is the floor to measure against, not a client to use. It knows that the load gateway
sends one event in each chunk and a length with each reply.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

from work import Sums, Work, main

API = "/lobu/api/v1/agents"


class Connection(asyncio.Protocol):
    """A connection to the gateway; what arrived and was not read yet is in ``data``."""

    def __init__(self, host: str) -> None:
        self.data = b""
        self._host = host
        self._news: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep the data and wake who waits for it."""
        self.data += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake who waits: there will be no more."""
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def more(self) -> None:
        """Wait for data."""
        if self._transport.is_closing():
            raise ConnectionError("the gateway closed the connection")
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    def send(self, method: str, path: str, token: str, body: Any = None) -> None:
        """Send a request."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self._transport.write(head.encode() + content)

    async def head(self) -> bytes:
        """Return the head of a reply."""
        while (end := self.data.find(b"\r\n\r\n")) < 0:
            await self.more()
        head, self.data = self.data[:end], self.data[end + 4 :]
        return head

    async def ask(self, method: str, path: str, token: str, body: Any = None) -> Any:
        """Send a request and return the JSON of the reply."""
        self.send(method, path, token, body)
        length = int((await self.head()).lower().partition(b"content-length:")[2].split()[0])
        while len(self.data) < length:
            await self.more()
        content, self.data = self.data[:length], self.data[length:]
        return json.loads(content)

    async def events(self) -> list[tuple[bytes, Any]]:
        """Return the events that have arrived in full, at least one."""
        while True:
            *whole, self.data = self.data.split(b"\n\n\r\n")  # a chunk's end is an event's end
            if whole:
                return [_event(chunk) for chunk in whole]
            await self.more()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


def _event(chunk: bytes) -> tuple[bytes, Any]:
    _, name, data = chunk.split(b"\n", 2)
    return name[7:], json.loads(data[6:])


async def converse(work: Work, sums: Sums) -> None:
    """Hold one conversation."""
    plain, stream = await connect(work.url), await connect(work.url)
    thread = f"promptfoo-{uuid4()}"
    wish = {"agentId": work.agent, "thread": thread, "forceNew": True}
    session = await plain.ask("POST", API, "user-token", wish)
    path, token = f"{API}/{quote(session['agentId'], safe='')}", session["token"]
    stream.send("GET", f"{path}/events", token)
    await stream.head()
    for n in range(1, work.turns + 1):
        message = {"content": f"message {n}", "messageId": str(uuid4())}
        await plain.ask("POST", f"{path}/messages", token, message)
        await read_turn(stream, message["messageId"], sums)
    stream.close()
    await plain.ask("DELETE", path, token)
    plain.close()


async def connect(url: str) -> Connection:
    """Open a connection."""
    address = urlsplit(url)
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: Connection(address.netloc), address.hostname or "", address.port or 80
    )
    return connection


async def read_turn(stream: Connection, message_id: str, sums: Sums) -> None:
    """Read until the turn is complete."""
    text: list[str] = []
    while True:
        for name, data in await stream.events():
            if data.get("messageId") != message_id:
                continue
            if name == b"output":
                text.append(data["content"])
            elif name == b"tool_use":
                sums.tool_calls += 1
            elif name == b"complete":
                sums.characters += len("".join(text))
                return


if __name__ == "__main__":
    main(converse)
