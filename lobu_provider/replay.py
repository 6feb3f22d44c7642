"""Tell what a stream brings again from what it brings for the first time.

A gateway begins each connection with its backlog: at most 100 events of the last two minutes, the
old turns' included, with no mark where the backlog ends. Version 11 registers the connection
before it writes ``connected`` and the backlog, so that an event of that moment comes twice, or
before ``connected``. Newer versions leave out what ``Last-Event-ID`` names as known.

An event is known by its name and its whole data, which holds the gateway's timestamp.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from lobu_provider.events import Closed, Connected, Event, Frame, Ping

OVERLAP_MS: Final = 2000.0
"""How far a gateway's clocks may differ: an event this much younger than the connection can still
have come twice on it."""


class ReplayFilter:
    """Remembers what was told, over all connections of a session."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        """The last ``id:`` that was seen."""
        self._told: Counter[int] = Counter()
        self._repeatable: Counter[int] = Counter()
        """What this connection may bring again, and how often."""
        self._told_here: set[int] = set()
        """What this connection brought while its backlog and its live events may overlap."""
        self._connected_ms: float | None = None

    def begin(self) -> None:
        """A new connection follows."""
        self._repeatable = self._told.copy()
        self._told_here = set()
        self._connected_ms = None

    def admits(self, frame: Frame, event: Event) -> bool:
        """Return whether ``event``, read from ``frame``, is new."""
        if frame.id is not None:
            self.last_id = frame.id
        if isinstance(event, Connected) and self._connected_ms is None:
            self._connected_ms = event.timestamp_ms
        if isinstance(event, (Connected, Ping, Closed)):
            return True
        key = hash((frame.event, frame.data))
        if self._repeatable[key] > 0:
            self._repeatable[key] -= 1
            return False
        if self._may_overlap(event):
            if key in self._told_here:
                return False
            self._told_here.add(key)
        self._told[key] += 1
        return True

    def _may_overlap(self, event: Event) -> bool:
        if self._connected_ms is None:
            return True
        return event.timestamp_ms is not None and (
            event.timestamp_ms <= self._connected_ms + OVERLAP_MS
        )
