"""Fixtures: a scripted gateway reached in process or over a socket, and a tiny SSE reader."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from lobu_provider.scripted_gateway import ScriptedGateway, ScriptedTransport, parse_script
from lobu_provider.scripted_gateway.server import running

API = "/lobu/api/v1/agents"
LIMIT_S = 5


class Caller:
    """A raw HTTP client of one gateway, with the session it opened last."""

    def __init__(self, gateway: ScriptedGateway, http: httpx.AsyncClient) -> None:
        self.gateway = gateway
        self.http = http
        self.conversation_id = ""
        self.created: dict[str, Any] = {}

    async def create(self, **fields: Any) -> httpx.Response:
        body = {"agentId": "support-agent", "thread": "t-1", **fields}
        response = await self.http.post(API, json=body)
        if response.status_code == 201:
            self.created = response.json()
            self.conversation_id = self.created["agentId"]
        return response

    def url(self, tail: str = "") -> str:
        return f"{API}/{self.conversation_id}{tail}"

    async def say(self, content: str, **fields: Any) -> httpx.Response:
        return await self.http.post(self.url("/messages"), json={"content": content, **fields})

    @asynccontextmanager
    async def events(self, **headers: str) -> AsyncIterator[Reader]:
        with anyio.fail_after(LIMIT_S):
            async with self.http.stream("GET", self.url("/events"), headers=headers) as response:
                assert response.status_code == 200, await response.aread()
                assert response.headers["content-type"] == "text/event-stream"
                yield Reader(response)

    async def turn(self, content: str, **fields: Any) -> list[Received]:
        """Say ``content`` with a stream open and return the turn's events."""
        async with self.events() as reader:
            assert (await reader.next()).name == "connected"
            await self.say(content, **fields)
            return await reader.until("complete")


class Received:
    """One event as it arrived."""

    def __init__(self, lines: list[str]) -> None:
        self.fields = dict(line.split(": ", 1) for line in lines)
        self.name = self.fields["event"]
        self.data: dict[str, Any] = json.loads(self.fields["data"])

    def __repr__(self) -> str:
        return f"{self.name} {self.data}"


class Reader:
    """Reads events with LF framing, one at a time."""

    def __init__(self, response: httpx.Response) -> None:
        self._chunks = response.aiter_bytes()
        self._buffer = b""

    async def next(self) -> Received:
        while b"\n\n" not in self._buffer:
            self._buffer += await self._chunks.__anext__()
        frame, _, self._buffer = self._buffer.partition(b"\n\n")
        return Received(frame.decode().split("\n"))

    async def until(self, name: str) -> list[Received]:
        seen = [await self.next()]
        while seen[-1].name != name:
            seen.append(await self.next())
        return seen

    async def rest(self) -> bytes:
        """Return everything up to the end of the stream."""
        async for chunk in self._chunks:
            self._buffer += chunk
        return self._buffer


Connect = Callable[..., AbstractAsyncContextManager[Caller]]


@asynccontextmanager
async def in_process(script: dict[str, Any], **options: Any) -> AsyncIterator[Caller]:
    gateway = ScriptedGateway(parse_script({"version": 1, **script}), **options)
    client = httpx.AsyncClient(
        transport=ScriptedTransport(gateway),
        base_url="http://script",
        headers={"authorization": "Bearer owl_pat_any"},
    )
    async with client:
        yield Caller(gateway, client)


@asynccontextmanager
async def over_a_socket(script: dict[str, Any], **options: Any) -> AsyncIterator[Caller]:
    gateway = ScriptedGateway(parse_script({"version": 1, **script}), **options)
    with running(gateway) as url:
        headers = {"authorization": "Bearer owl_pat_any"}
        async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as client:
            yield Caller(gateway, client)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=[in_process, over_a_socket], ids=["in_process", "socket"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Return a context manager that runs a script behind one of the transports."""
    made: Connect = request.param
    return made


@pytest.fixture
def connect_in_process() -> Connect:
    return in_process
