"""The server: pipes and signals around the calls, on one event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import lobu_provider
from lobu_provider.abort import Abort
from lobu_provider.config.token import end_running_commands
from lobu_provider.promptfoo.provider import LobuProvider
from lobu_provider.stdio_bridge.calls import Answer, Calls
from lobu_provider.stdio_bridge.pipes import ROOM_BYTES, Reader, Room, Writer
from lobu_provider.stdio_bridge.protocol import (
    Call,
    Cancel,
    UnreadableLineError,
    decode,
    encode_alive,
    encode_ending,
    encode_fault,
    encode_ready,
)

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool

ALIVE_S: Final = 5.0
"""How often the client hears of us; it gives up after 30 s of silence."""

STOP_S: Final = 1.5
"""How long the calls may take to delete their sessions at the end."""


def answer_with(pool: AiohttpPool | None) -> Answer:
    """Answer calls as every other door does; promptfoo sets this one no limit of its own."""

    async def answer(call: Call, abort: Abort) -> Mapping[str, Any]:
        provider = LobuProvider(call.options, pool=pool, spans_in_response=call.makes_spans)
        return await provider.call_api(call.prompt, call.context, abort=abort)

    return answer


@asynccontextmanager
async def shared_pool() -> AsyncIterator[AiohttpPool | None]:
    """One pool for all calls, where aiohttp is installed (the extra ``speed``)."""
    try:
        from lobu_provider.http_over_aiohttp import AiohttpPool
    except ImportError:
        yield None
        return
    async with AiohttpPool() as pool:
        yield pool


def serve(reading: int, writing: int, answer: Answer | None = None) -> NoReturn:
    """Serve until the client is gone or a signal comes, then end the process.

    Args:
        reading: file descriptor that the client's lines come from.
        writing: file descriptor that ours go to.
        answer: replaces the provider, for tests.
    """
    asyncio.run(_Server(answer).run(reading, writing))
    raise AssertionError("unreachable")


class _Server:
    def __init__(self, answer: Answer | None) -> None:
        self._answer = answer
        self._end: asyncio.Future[int]
        self._room = Room(ROOM_BYTES)
        self._faults: set[asyncio.Future[None]] = set()

    async def run(self, reading: int, writing: int) -> None:
        loop = asyncio.get_running_loop()
        self._end = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        writer = Writer(writing, on_gone=partial(self._end_with, 0))
        self._send = writer.send
        async with shared_pool() as pool:
            self._calls = Calls(self._answer or answer_with(pool), writer.send)
            await writer.send(encode_ready(_version()))
            Reader(reading, self._room, self._on_line, partial(self._end_with, 0)).start()
            alive = asyncio.create_task(self._show_life())
            code = await self._end
            alive.cancel()
            # Told before the aborted calls answer; nobody may be reading any more.
            told = asyncio.ensure_future(writer.send(encode_ending(self._calls.close())))
            stopped = asyncio.ensure_future(self._calls.stop(STOP_S))
            await asyncio.wait([told, stopped], timeout=STOP_S)
            _leave(code)

    async def _show_life(self) -> None:
        """Tell the client now and then that this loop turns; else it would wait for ever."""
        while True:
            await asyncio.sleep(ALIVE_S)
            await self._send(encode_alive())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._end.get_loop().call_soon_threadsafe(self._end_with, 128 + number)

    def _end_with(self, code: int) -> None:
        if not self._end.done():
            self._end.set_result(code)

    def _on_line(self, line: bytes) -> None:
        give_back = partial(self._room.give, len(line))
        if self._end.done():
            return
        try:
            message = decode(line)
        except UnreadableLineError as exc:
            self._complain(exc.call_id, str(exc), give_back)
            return
        if isinstance(message, Cancel):
            self._calls.cancel(message.id)
            give_back()
        elif message.id in self._calls:
            # Without the id: the answer that it names is still to come.
            self._complain(None, f"The id {message.id!r} is in use", give_back)
        else:
            self._calls.begin(message, give_back)

    def _complain(self, call_id: int | str | None, message: str, then: partial[None]) -> None:
        async def send(sending: Awaitable[None]) -> None:
            await sending
            then()

        fault = asyncio.ensure_future(send(self._send(encode_fault(call_id, message))))
        self._faults.add(fault)
        fault.add_done_callback(self._faults.discard)


def _version() -> str:
    try:
        return str(lobu_provider.__version__)
    except PackageNotFoundError:  # run from its source, without an installation
        return "unknown"


def _leave(code: int) -> NoReturn:
    """End now: threads that wait for the network or for a full pipe are not waited for."""
    end_running_commands()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
