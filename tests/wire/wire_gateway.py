"""A gateway made of raw bytes on a real socket: hand-written HTTP/1.1 that the test controls.

Each kind of request has an :data:`Answer`, a coroutine that may send anything: a good reply, a
broken one, half of one, or nothing. Leaving the ``async with`` block waits until the client has
closed every connection and fails if it has not, or if a task was left behind.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel

API: Final = "/lobu/api/v1/agents"
LIMIT_S: Final = 20.0
"""Bound on everything; reached only by a client that hangs."""

TOKEN: Final = "canary-of-the-user-7f3a91"
SESSION_TOKEN: Final = "canary-of-the-session-c04d55"
SESSION_ID: Final = "support-agent_u-1_org-1_t/1"

Kind = Literal["create", "events", "message", "delete", "other"]


@dataclass(frozen=True)
class Request:
    """One request as it came over the socket; header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without a query, and without the origin that a proxy is told."""
        return urlsplit(self.target).path

    @property
    def kind(self) -> Kind:
        if not self.path.startswith(API):
            return "other"
        if self.path == API:
            return "create"
        if self.method == "DELETE":
            return "delete"
        last = self.path.rpartition("/")[2]
        return "events" if last == "events" else "message" if last == "messages" else "other"

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Exchange:
    """One request and the means to answer it, byte by byte."""

    def __init__(
        self,
        gateway: WireGateway,
        request: Request,
        number: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.gateway = gateway
        self.request = request
        self.number = number
        """Which request of its kind, counted from 1."""
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def reply(
        self, status: int, body: bytes, content_type: str, headers: Iterable[str] = ()
    ) -> None:
        """Send a whole reply with its length."""
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(body)}",
            *headers,
        ]
        await self.send("\r\n".join([*lines, "", ""]).encode() + body)

    async def chunk(self, data: bytes) -> None:
        """Send one chunk of a chunked body; an empty one ends it."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def reset(self) -> None:
        """Break the connection with RST, as a process that dies does."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def close(self) -> None:
        """Close the connection, whatever has been announced."""
        self._writer.close()

    async def client_gone(self) -> None:
        """Wait until the client has closed the connection; it says nothing more before that."""
        try:
            assert await self._reader.read() == b""
        except ConnectionError:
            return  # it went without reading all that was sent


Answer = Callable[[Exchange], Awaitable[None]]


class WireGateway:
    """Listens on a free port; an async context manager.

    Args:
        answers: for each kind one answer, or a list: one for each request of that kind, of which
            the last is for all that follow.
        host: the one address that is listened at.
        certificates: of the gateway itself; plain HTTP without.

    Attributes:
        requests: everything that arrived, in order.
    """

    def __init__(
        self,
        answers: Mapping[Kind, Answer | Sequence[Answer]],
        *,
        host: str = "127.0.0.1",
        certificates: ssl.SSLContext | None = None,
    ) -> None:
        self._answers = answers
        self._host = host
        self._certificates = certificates
        self.requests: list[Request] = []
        self._counts: Counter[str] = Counter()
        self._answered_messages = 0
        self._news = asyncio.Condition()
        self._connections: set[asyncio.Task[Any]] = set()
        self._faults: list[Exception] = []
        self.url = ""
        self.port = 0

    async def __aenter__(self) -> WireGateway:
        self._before = asyncio.all_tasks()
        self._server = await asyncio.start_server(
            self._serve, self._host, 0, ssl=self._certificates
        )
        self.port = self._server.sockets[0].getsockname()[1]
        scheme = "http" if self._certificates is None else "https"
        self.url = f"{scheme}://{self._host}:{self.port}"
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        if exc is not None:
            for task in self._connections:
                task.cancel()
        if self._connections:
            with anyio.fail_after(LIMIT_S):  # else: the client left a connection open
                await asyncio.wait(self._connections)
        await self._server.wait_closed()
        if exc is None:
            if self._faults:
                raise self._faults[0]
            left = await self._tasks_left()
            assert not left, f"tasks left behind: {left}"

    async def _tasks_left(self) -> set[asyncio.Task[Any]]:
        left: set[asyncio.Task[Any]] = set()
        for _ in range(5):  # the loop itself closes dropped generators, in its next rounds
            left = asyncio.all_tasks() - self._before
            if not left:
                break
            await anyio.lowlevel.checkpoint()
        return left

    def of_kind(self, kind: Kind) -> list[Request]:
        return [request for request in self.requests if request.kind == kind]

    @property
    def kinds(self) -> list[Kind]:
        return [request.kind for request in self.requests]

    async def message_arrived(self, number: int) -> None:
        """Wait for the message with this number."""
        async with self._news:
            await self._news.wait_for(lambda: self._counts["message"] >= number)

    async def message_answered(self, number: int) -> None:
        """Wait until the message with this number has had its answer."""
        async with self._news:
            await self._news.wait_for(lambda: self._answered_messages >= number)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while not writer.is_closing():
                request = await _read_request(reader)
                if request is None:
                    break
                await self._answer(request, reader, writer)
        except ConnectionError:
            pass  # the client may go whenever it likes
        except Exception as exc:  # noqa: BLE001 - raised again when the block is left
            self._faults.append(exc)
        finally:
            writer.close()

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        kind = request.kind
        self.requests.append(request)
        self._counts[kind] += 1
        await self._tell()
        answers = self._answers[kind]
        number = self._counts[kind]
        if not callable(answers):
            answers = answers[min(number, len(answers)) - 1]
        await answers(Exchange(self, request, number, reader, writer))
        if kind == "message":
            self._answered_messages += 1
            await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:  # the client has closed the connection
        return None
    first, *lines = head.decode("ascii").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, target, headers, body)
