"""Tell what a stream brings again from what it brings for the first time.

A gateway begins each connection with its backlog: at most 100 events of the last two minutes, the
old turns' included, with no mark where the backlog ends. Version 11 registers the connection
before it writes ``connected`` and the backlog, so that an event of that moment comes twice, or
before ``connected``. Newer versions leave out what ``Last-Event-ID`` names as known.

An event is known by its name and its whole data, which holds the gateway's timestamp.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Final

from lobu_provider.events import Closed, Connected, Event, Frame, Ping
from lobu_provider.turn_events import Backlog, needs_its_name

OVERLAP_S: Final = 2.0
"""How long after a connection's first event, or its ``connected``, its backlog and its live events
may overlap."""

MAX_ID: Final = 256
"""Characters of an ``id:`` that is worth sending back; a gateway's are integers."""


class ReplayFilter:
    """Remembers what was told, over all connections of a session."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        """The last ``id:`` that was seen and that a header can hold."""
        self._told: Counter[int] = Counter()
        self._told_last: list[Event] = []
        """By this connection; not yet in ``_told``, which only another connection asks."""
        self._repeatable: Counter[int] = Counter()
        """What this connection may bring again, and how often."""
        self._told_here: set[int] = set()
        """What this connection brought while its backlog and its live events may overlap."""
        self._has_backlog = False
        self._first_s: float | None = None

    def begin(self, *, has_backlog: bool) -> None:
        """A new connection follows; ``has_backlog`` if something may have happened before it."""
        self._told.update(map(_key, self._told_last))
        self._told_last = []
        self._repeatable = self._told.copy()
        self._told_here = set()
        self._has_backlog = has_backlog
        self._first_s = None

    def admits(self, frame: Frame, event: Event) -> bool:
        """Return whether ``event``, read from ``frame``, is new."""
        given = frame.id
        if given and len(given) <= MAX_ID and given.isascii() and given.isprintable():
            self.last_id = given
        if self._first_s is None:
            self._first_s = event.received_s
        if isinstance(event, (Connected, Ping, Closed)):
            return True
        if self._is_known(event):
            return False
        self._told_last.append(event)
        return True

    def _is_known(self, event: Event) -> bool:
        may_overlap = self._may_overlap(event)
        if not (may_overlap or self._repeatable):  # a first connection: nothing can come again
            return False
        key = _key(event)
        if self._repeatable[key] > 0:
            self._repeatable[key] -= 1
            return True
        if may_overlap:
            if key in self._told_here:
                return True
            self._told_here.add(key)
        return False

    def _may_overlap(self, event: Event) -> bool:
        """Without a timestamp two events may be equal and both true."""
        return (
            self._has_backlog
            and event.timestamp_ms is not None
            and event.received_s - (self._first_s or 0.0) <= OVERLAP_S
        )


class Past:
    """What is known by now of the replays in a thread with a past; of all turns of a conversation.

    A card names no message, so only its timestamp tells whether it is of now. What that is held
    against may come after it: ``connected``, or else the first event that names a message of ours.

    Args:
        told: what ``connected`` told, ``None`` until it has come.
    """

    def __init__(self, told: Callable[[], Backlog | None]) -> None:
        self._told = told
        self._over_s = math.inf
        self._before_ms = math.inf

    def heard_own(self, event: Event) -> None:
        """``event`` names a message of ours: with the first such one the backlog is over."""
        if self._over_s < math.inf:
            return
        self._over_s = event.received_s
        if self._told() is None:
            told_ms = event.timestamp_ms
            self._before_ms = -math.inf if told_ms is None else told_ms

    @property
    def backlog(self) -> Backlog | None:
        """What is a replay; ``None`` where nobody knows yet.

        It holds ever less: an event that was none is never one later.
        """
        told = self._told() or Backlog(math.inf)
        before_ms = min(told.before_ms, self._before_ms)
        if before_ms == math.inf:
            return None
        return Backlog(before_ms, until_s=min(told.until_s, self._over_s))

    def leaves_open(self, event: Event) -> bool:
        """Return whether nobody knows yet if ``event`` is a replay."""
        return not needs_its_name(event) and event.timestamp_ms is not None and self.backlog is None


def _key(event: Event) -> int:
    """The same for the same data, however it is written."""
    return hash((event.name, json.dumps(event.data, sort_keys=True)))
