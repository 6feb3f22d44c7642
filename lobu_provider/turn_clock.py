"""The limits of one turn, and which of them runs out first. Pure: it is told the time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Limit = Literal["call", "turn", "idle", "grace"]


@dataclass(frozen=True)
class TurnLimits:
    """How long a turn may take, in seconds."""

    turn_s: float = math.inf
    """From sending the message to the end of its turn."""
    idle_s: float = math.inf
    """Without any event of the turn; heartbeats do not count."""


class TurnClock:
    """Deadlines of one turn, on the clock of the event loop.

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
        }

    def heard(self, now_s: float, *, grace_s: float = math.inf) -> None:
        """Something of the turn has come; it goes on for at most ``grace_s`` more."""
        self._deadlines["idle"] = now_s + self._idle_s
        self._deadlines["grace"] = min(self._deadlines["grace"], now_s + grace_s)

    @property
    def deadline_s(self) -> float:
        """When the wait ends."""
        return min(self._deadlines.values())

    @property
    def first(self) -> Limit:
        """Whose deadline that is; the wider one where two are equal."""
        return min(self._deadlines, key=lambda limit: self._deadlines[limit])
