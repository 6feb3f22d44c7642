"""The calls of one client: which run, which wait for a place, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.abort import Abort
from lobu_provider.errors import failure
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.response import build_response
from lobu_provider.stdio_bridge.protocol import Call, CallId, encode_result

MAX_RUNNING: Final = 256
"""Calls that run at once; a call holds its place until its result is written."""

Answer = Callable[[Call, Abort], Awaitable[Mapping[str, Any]]]


@dataclass(eq=False)
class _Held:
    call: Call
    on_done: Callable[[], object]
    abort: Abort = field(default_factory=Abort)
    task: asyncio.Task[None] | None = None
    """``None`` while it waits for a place."""


class Calls:
    """Runs calls on the event loop.

    Args:
        answer: holds the conversation; what it raises becomes the call's error.
        send: writes a line; while it waits, the call keeps its place.
        limit: how many run at once.
    """

    def __init__(
        self,
        answer: Answer,
        send: Callable[[bytes], Awaitable[None]],
        *,
        limit: int = MAX_RUNNING,
    ) -> None:
        self._answer = answer
        self._send = send
        self._limit = limit
        self._waiting: dict[CallId, _Held] = {}
        self._running: dict[CallId, _Held] = {}

    def __contains__(self, call_id: CallId) -> bool:
        """Whether the call is not answered yet."""
        return call_id in self._waiting or call_id in self._running

    def begin(self, call: Call, on_done: Callable[[], object] = lambda: None) -> None:
        """Run a call, or have it wait for a place. Its time starts when it runs.

        ``on_done`` is called when its result is written.
        """
        self._waiting[call.id] = _Held(call, on_done)
        self._fill()

    def cancel(self, call_id: CallId) -> None:
        """Stop a call; its result follows. Nothing happens if it has one already."""
        held = self._waiting.pop(call_id, None)
        if held is not None:
            held.abort.set()
            self._start(held)  # needs no place: it ends before its first request
        elif call_id in self._running:
            self._running[call_id].abort.set()

    def close(self) -> list[CallId]:
        """Begin no call any more, drop what waits, and return what runs."""
        self._limit = 0
        self._waiting.clear()
        return list(self._running)

    async def stop(self, within_s: float) -> None:
        """Begin no call any more, abort what runs, and give that ``within_s`` to clean up."""
        self.close()
        tasks = []
        for held in list(self._running.values()):
            held.abort.set()
            if held.task is not None:
                tasks.append(held.task)
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._limit:
            self._start(self._waiting.pop(next(iter(self._waiting))))

    def _start(self, held: _Held) -> None:
        self._running[held.call.id] = held
        held.task = asyncio.get_running_loop().create_task(self._run(held))

    async def _run(self, held: _Held) -> None:
        try:
            try:
                line = encode_result(held.call.id, await self._answer(held.call, held.abort))
            except BaseException as exc:  # noqa: BLE001 - SystemExit too: nothing ends the server
                line = encode_result(held.call.id, _fault_of_ours(exc))
            await self._send(line)
        finally:
            del self._running[held.call.id]
            held.on_done()
            self._fill()


def _fault_of_ours(exc: BaseException) -> dict[str, Any]:
    message = f"lobu-provider failed: {type(exc).__name__}: {exc}. Please report this."
    return build_response(CallRecord(failure=failure("internal", message, phase="turn")))
