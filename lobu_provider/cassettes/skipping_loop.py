"""Run a replay on a clock of its own, on which nobody waits.

Limits, pauses, silences and latencies are all measured by the event loop's clock. Here it moves on
to the next moment at which something happens, at once. So a turn that ran into a limit after two
minutes runs into it again, by the same code, within a millisecond, and a row tells the recorded
times.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
import time
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final, TypeVar

from lobu_provider.event_loop import run

T = TypeVar("T")

MAX_IDLE_ROUNDS: Final = 10_000
"""Rounds of the loop without a timer or :func:`note_progress`. anyio asks a task that shields
itself to end in each round, so that the loop is never idle, and time would stand still. The client
works off the 1000 events that it holds in far fewer."""


def run_skipping(
    main: Callable[[], Coroutine[Any, Any, T]], *, start_s: float, speed: float | None = None
) -> T:
    """Run a coroutine to its end on an event loop of its own.

    Args:
        main: makes the coroutine.
        start_s: what the clock shows at first, in seconds.
        speed: how many times faster than the real clock; ``None`` without any wait.
    """
    clock = _SkippingClock(start_s) if speed is None else _FastClock(start_s, speed)
    return run(main(), loop=_Loop(clock))


def note_progress() -> None:
    """Have time stand still a little longer: something new has come."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, _Loop):
        loop.clock.idle_rounds = 0


class _SkippingClock(selectors.DefaultSelector):
    """A selector that lets time pass instead of waiting for it."""

    def __init__(self, start_s: float) -> None:
        super().__init__()
        self.now_s = start_s
        self.timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self.idle_rounds = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; where nothing is, go on to the next timer."""
        if timeout is None:  # no timer: only another thread can bring something
            return super().select(None)
        ready = super().select(0)
        if ready:
            return ready
        self.idle_rounds += 1
        if timeout > 0 or self.idle_rounds > MAX_IDLE_ROUNDS:
            self.idle_rounds = 0
            while self.timers and (
                self.timers[0][2].cancelled() or self.timers[0][0] <= self.now_s
            ):
                heapq.heappop(self.timers)
            self.now_s = self.timers[0][0] if self.timers else self.now_s + timeout
        return ready


class _FastClock(selectors.DefaultSelector):
    """A selector that waits less than it is asked to."""

    def __init__(self, start_s: float, speed: float) -> None:
        super().__init__()
        self.timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self.idle_rounds = 0
        self._start_s = start_s
        self._speed = speed
        self._began_s = time.monotonic()

    @property
    def now_s(self) -> float:
        return self._start_s + (time.monotonic() - self._began_s) * self._speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, or becomes so in time."""
        self.timers.clear()
        return super().select(None if timeout is None else timeout / self._speed)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: _SkippingClock | _FastClock) -> None:
        self.clock = clock
        self._number = 0
        super().__init__(clock)

    def time(self) -> float:
        """Return the time on the loop's clock, in seconds."""
        return self.clock.now_s

    def call_at(  # type: ignore[override]  # its own annotation needs a newer Python
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Schedule a callback, and let the clock know of it."""
        handle = super().call_at(when, callback, *args, context=context)
        self._number += 1
        heapq.heappush(self.clock.timers, (when, self._number, handle))
        return handle
