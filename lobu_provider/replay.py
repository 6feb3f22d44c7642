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
from typing import Final

from lobu_provider.events import Closed, Connected, Event, Frame, Ping
from lobu_provider.turn_events import needs_its_name

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

    A card names no message, so only its timestamp tells whether it is of now. Each connection has
    a backlog, so that holds for all of them and as long as they last. Where the clocks of two
    replicas differ, a card of now may be taken for a replay: a turn that fails for want of it is
    better than one that passes by a card of an earlier turn.
    """

    def __init__(self) -> None:
        self._opened_ms: float | None = None
        self._own_ms: float | None = None

    def heard(self, event: Event) -> None:
        """Take in each event, in order, before it is asked about."""
        if self._opened_ms is None and isinstance(event, Connected):
            self._opened_ms = event.timestamp_ms

    def heard_own(self, event: Event) -> None:
        """``event`` names a message of ours: what is older than the first such one is a replay.

        It only counts where it came before ``connected``.
        """
        if self._own_ms is None and self._opened_ms is None:
            self._own_ms = event.timestamp_ms

    @property
    def before_ms(self) -> float:
        """What names no message and is older than this is a replay; infinite until that is known.

        It never grows: an event that was no replay is never one later.
        """
        known = (self._opened_ms, self._own_ms)
        return min((told for told in known if told is not None), default=math.inf)

    def leaves_open(self, event: Event) -> bool:
        """Return whether nobody knows yet if ``event`` is a replay."""
        is_open = event.timestamp_ms is not None and self.before_ms == math.inf
        return is_open and not needs_its_name(event)


def _key(event: Event) -> int:
    """The same for the same data, however it is written."""
    return hash((event.name, json.dumps(event.data, sort_keys=True)))
