"""When to open a lost event stream again, and when to give up. Pure: it is told the time."""

from __future__ import annotations

from typing import Final

from lobu_provider.errors import Failure, failure
from lobu_provider.repeating import MAX_RETRY_AFTER_S

WAITS_S: Final = (0.0, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 5.0)
"""Before each new try. A wait that would go beyond :data:`MAX_OUTAGE_S` ends there instead."""

FIRST_WAITS_S: Final = (0.5, 1.0)
"""The same for a stream that was never open."""

MAX_OUTAGE_S: Final = 25.0
"""After the loss, the last try begins. Well under the 30 s for which a gateway of version 11 keeps
the end of a turn for a stream that is not there."""

STEADY_S: Final = 5.0
"""A connection that lasted this long was no failed try."""

FREE_LOSSES: Final = 3
"""Losses, each within :data:`STEADY_S` of the one before, after which the tries are backed off even
where each connection brings something new."""


class Outage:
    """The tries to open one session's stream. Times are those of the event loop, in seconds."""

    def __init__(self) -> None:
        self.is_down = False
        """Lost, and not open again yet."""
        self._was_open = False
        self._tries = 0
        self._since_s = 0.0
        self._first_loss: Failure | None = None
        self._began_s = 0.0
        self._opened_here = False
        self._lost_s: float | None = None
        self._quick_losses = 0

    def begin(self, now_s: float) -> None:
        """A try begins."""
        self._began_s = now_s
        self._opened_here = False

    def opened(self) -> None:
        """The try has shown a sign of life. It counts as one until something new comes, or it
        proves steady."""
        self._opened_here = True
        self.is_down = False

    def over(self) -> None:
        """Something new has come: what may be lost next is another outage."""
        self.is_down = False
        self._was_open = self._opened_here = True
        self._tries = 0
        self._first_loss = None

    def wait_s(self, lost: Failure, now_s: float) -> float | None:
        """Return how long to wait before the next try; ``None`` to give up.

        Args:
            lost: why the connection ended, or was not opened.
            now_s: the time of it.
        """
        if self._opened_here and now_s - self._began_s >= STEADY_S:
            self.over()
        self._was_open = self._was_open or self._opened_here
        self.is_down = True
        if self._first_loss is None:
            self._first_loss, self._since_s = lost, now_s
        is_quick = self._lost_s is not None and now_s - self._lost_s < STEADY_S
        self._quick_losses = self._quick_losses + 1 if is_quick else 0
        self._lost_s = now_s
        waits = WAITS_S if self._was_open else FIRST_WAITS_S
        asked_s = lost.retry_after_s or 0.0
        if not lost.repeatable or self._tries >= len(waits) or asked_s > MAX_RETRY_AFTER_S:
            return None
        quick = min(max(self._quick_losses - FREE_LOSSES, 0), len(WAITS_S) - 1)
        wait_s = max(waits[self._tries], WAITS_S[quick], asked_s)
        self._tries += 1
        left_s = MAX_OUTAGE_S - (now_s - self._since_s)
        if wait_s < left_s:
            return wait_s
        self._tries = len(waits)
        return left_s if left_s > 0 and asked_s <= left_s else None

    def verdict(self, lost: Failure) -> Failure:
        """Return the failure of the stream that is given up."""
        first = self._first_loss or lost
        if lost is first or not self._was_open or lost.code in ("auth", "config"):
            return lost
        return failure(
            "stream_lost",
            f"{first.message} It could not be opened again: {lost.message}",
            phase="turn",
        )
