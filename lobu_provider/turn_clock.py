"""The limits of one turn, which of them runs out first, and the alarm that it sets off."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

Limit = Literal["call", "turn", "idle", "grace", "notice"]


@dataclass(frozen=True)
class TurnLimits:
    """How long a turn may take, in seconds."""

    turn_s: float = math.inf
    """From sending the message to the end of its turn."""
    idle_s: float = math.inf
    """Without any event of the turn; heartbeats do not count."""


class TurnClock:
    """Deadlines of one turn, on the clock of the event loop. It is told the time.

    Args:
        now_s: when the turn begins.
        limits: of the turn.
        call_deadline_s: when the whole call must end.
    """

    def __init__(self, now_s: float, limits: TurnLimits, *, call_deadline_s: float) -> None:
        self._idle_s = limits.idle_s
        self._deadlines: dict[Limit, float] = {
            "call": call_deadline_s,
            "turn": now_s + limits.turn_s,
            "idle": now_s + limits.idle_s,
            "grace": math.inf,
            "notice": math.inf,
        }

    def heard(self, now_s: float, *, grace_s: float = math.inf) -> None:
        """Something of the turn has come; it goes on for at most ``grace_s`` more."""
        self._deadlines["idle"] = now_s + self._idle_s
        self._deadlines["grace"] = min(self._deadlines["grace"], now_s + grace_s)

    def noticed(self, now_s: float, *, grace_s: float) -> None:
        """Look after ``grace_s`` whether what has come ended the turn, or the agent goes on."""
        self._deadlines["notice"] = now_s + grace_s

    def noticed_again(self, now_s: float, *, grace_s: float) -> None:
        """What has come neither shows that the agent goes on nor that it does not."""
        if self._deadlines["notice"] < math.inf:
            self.noticed(now_s, grace_s=grace_s)

    def went_on(self) -> None:
        """What had come did not end the turn after all."""
        self._deadlines["notice"] = self._deadlines["grace"] = math.inf

    @property
    def deadline_s(self) -> float:
        """When the wait ends."""
        return min(self._deadlines.values())

    @property
    def first(self) -> Limit:
        """Whose deadline that is; the wider one where two are equal."""
        return min(self._deadlines, key=lambda limit: self._deadlines[limit])


class Alarm:
    """Calls ``ring`` once when a deadline has come that mostly moves away.

    Each event moves it, and a timer set anew for each costs more than to look, when it goes off,
    how long there still is.
    """

    def __init__(self, deadline_s: Callable[[], float], ring: Callable[[], object]) -> None:
        self._deadline_s = deadline_s
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def set(self) -> Iterator[None]:
        """Be on as long as the block lasts."""
        self._look()
        try:
            yield
        finally:
            self._stop()

    def moved_up(self) -> None:
        """The deadline may now be an earlier one."""
        self._stop()
        self._look()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        deadline_s = self._deadline_s()
        if deadline_s <= self._loop.time():
            self._ring()
        elif deadline_s < math.inf:
            self._timer = self._loop.call_at(deadline_s, self._look)
