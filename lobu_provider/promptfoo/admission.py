"""Hold calls back where others of this process must come first.

Calls on one thread go one after the other: a gateway would merge their messages into one turn.
With ``maxConcurrentSessions`` only so many calls talk to one gateway at once, and with
``sessionStartGapMs`` their sessions start apart, since a gateway has few workers and starts them
badly all at once. A wait takes none of a call's own time, and an abort ends it.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, insort
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import anyio

from lobu_provider.config.settings import Settings
from lobu_provider.promptfoo.gate import Gate
from lobu_provider.session_life import SessionPlan

_registry_lock = threading.Lock()
_gates: dict[Hashable, Gate] = {}
_users: dict[Hashable, int] = {}


Gates = Sequence[tuple[Hashable, int]]
"""Which gates a call passes, in order, and how many calls may be behind each at once."""


def gates_of(settings: Settings, session: SessionPlan) -> Gates:
    """Return the gates of a call; most calls have none.

    A call on a thread that goes on waits for the earlier ones on it before it takes a place, so
    that it keeps none from others meanwhile.
    """
    gates: list[tuple[Hashable, int]] = []
    if session.resume:
        gates.append(((settings.gateway, settings.org, session.agent_id, session.thread), 1))
    if settings.config.max_concurrent_sessions is not None:
        gates.append((settings.gateway, settings.config.max_concurrent_sessions))
    return gates


@asynccontextmanager
async def place(gates: Gates) -> AsyncIterator[None]:
    """Wait for this call's turn at each gate, and hold it until the block ends."""
    async with AsyncExitStack() as held:
        for key, limit in gates:
            await held.enter_async_context(_held(key, limit))
        yield


@asynccontextmanager
async def _held(key: Hashable, limit: int) -> AsyncIterator[None]:
    with _registry_lock:
        gate = _gates.setdefault(key, Gate())
        _users[key] = _users.get(key, 0) + 1
    try:
        await gate.enter(limit)
        try:
            yield
        finally:
            gate.leave()
    finally:
        with _registry_lock:
            _users[key] -= 1
            if not _users[key]:
                del _gates[key], _users[key]


class StartGaps:
    """Keeps the starts of sessions at one gateway apart.

    Args:
        now_s: a clock that all event loops of the process share, in seconds.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    ) -> None:
        self._now_s = now_s
        self._sleep = sleep
        self._lock = threading.Lock()
        self._starts_s: dict[str, list[float]] = {}
        """Those to come, and those of the last gap, in order."""

    async def wait(self, gateway: str, gap_s: float) -> None:
        """Wait until a session may start. Who stops waiting gives the start to the next comer."""
        if gap_s <= 0:
            return
        now_s = self._now_s()
        start_s = self._take(gateway, now_s, gap_s)
        if start_s <= now_s:
            return
        try:
            await self._sleep(start_s - now_s)
        except BaseException:
            with self._lock:
                self._starts_s[gateway].remove(start_s)
            raise

    def _take(self, gateway: str, now_s: float, gap_s: float) -> float:
        """Return the first moment that is a gap away from every other start."""
        with self._lock:
            starts_s = self._starts_s.setdefault(gateway, [])
            del starts_s[: bisect_left(starts_s, now_s - _LONGEST_GAP_S)]
            start_s = now_s
            for other_s in starts_s:
                if abs(other_s - start_s) < gap_s - _ROUNDING_S:
                    start_s = other_s + gap_s
            insort(starts_s, start_s)
            return start_s


_LONGEST_GAP_S: Final = 60.0
"""What the config allows."""

_ROUNDING_S: Final = 1e-6

START_GAPS: Final = StartGaps()
"""Those of this process."""
