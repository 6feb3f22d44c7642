"""A gate that lets in so many at once, whichever event loop or thread they come from."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass


@dataclass(eq=False)
class _Waiter:
    limit: int
    loop: asyncio.AbstractEventLoop
    let_in: asyncio.Future[None]
    counted: bool = False
    """Whether it holds a place already, though its task may not have run since."""

    def tell(self) -> bool:
        """Wake the task; ``False`` when its loop is gone."""
        try:
            self.loop.call_soon_threadsafe(self._wake)
        except RuntimeError:  # closed with the task still waiting: nobody is there any more
            return False
        return True

    def _wake(self) -> None:
        if not self.let_in.done():
            self.let_in.set_result(None)


class Gate:
    """Counts who is inside; who waits longest is next.

    Each comer brings its own limit, since two configurations may name the same gateway. One that
    waits holds back those behind it, also where their limits are higher.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._waiting: deque[_Waiter] = deque()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def enter(self, limit: int) -> None:
        """Wait until fewer than ``limit`` are inside. Cancelling the task gives the place back."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if not self._waiting and self._inside < limit:
                self._inside += 1
                return
            waiter = _Waiter(limit, loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter.let_in
        except BaseException:
            with self._lock:
                if waiter.counted:
                    self._inside -= 1
                elif waiter in self._waiting:  # else its loop was found closed
                    self._waiting.remove(waiter)
                self._admit()
            raise

    def leave(self) -> None:
        """Give a place back."""
        with self._lock:
            self._inside -= 1
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._inside < self._waiting[0].limit:
            waiter = self._waiting.popleft()
            if waiter.tell():
                waiter.counted = True
                self._inside += 1
