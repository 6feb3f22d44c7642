"""One session: the events it has published, the ones to come, and the streams that read them.

No background task: a session is brought up to date (:meth:`Session.settle`) whenever somebody
looks at it, and an open stream wakes itself at the time of the next event. Nothing here belongs
to an event loop while no stream is waiting, so one gateway can be used from several loops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lobu_provider.scripted_gateway.frames import EndOfStream, Event, Frame, RawBytes
from lobu_provider.scripted_gateway.script import Flavour
from lobu_provider.scripted_gateway.streams import EventStream
from lobu_provider.scripted_gateway.timeline import TimedFrame

BACKLOG_EVENTS: Final = 100
BACKLOG_S: Final = 120.0
HOLD_S: Final = 30.0
"""How long a terminal event waits for a stream."""


class Scheduled(NamedTuple):
    """A frame that is due at a time of the gateway's clock."""

    due: float
    frame: Frame


class Published(NamedTuple):
    """A frame that has been sent to whoever was listening."""

    at: float
    frame: Frame
    event_id: int
    """Strictly increasing; written as ``id:`` by flavour ``n``."""


@dataclass
class Session:
    """A conversation while its record exists."""

    conversation_id: str
    agent: str
    user: str
    created_ms: int
    flavour: Flavour
    clock: Callable[[], float]
    active_ms: int = 0
    deleted: bool = False
    streams: list[EventStream] = field(default_factory=list)
    history: list[Published] = field(default_factory=list)
    _pending: deque[Scheduled] = field(default_factory=deque)
    _held: list[Scheduled] = field(default_factory=list)
    _forgotten: int = 0
    _busy_until: float = 0.0

    def schedule(self, timeline: list[TimedFrame], start: float) -> None:
        """Queue a turn that starts at ``start``."""
        self._pending.extend(Scheduled(start + delay, frame) for delay, frame in timeline)
        self._busy_until = self._pending[-1].due if self._pending else start
        self.wake()

    def next_start(self) -> float:
        """Return when the next turn can start: turns of a conversation do not overlap."""
        return max(self.clock(), self._busy_until)

    def settle(self) -> None:
        """Publish what is due; hold or drop what needs a stream and has none."""
        now = self.clock()
        if self.streams:
            held, self._held = self._held, []
            for item in held:
                self._publish(item.frame, now)
        while self._pending and self._pending[0].due <= now:
            self._offer(self._pending.popleft(), now)
        if not self.streams:
            self._expire(now)

    def next_due(self) -> float | None:
        """Return when the next frame is due, on the gateway's clock."""
        return self._pending[0].due if self._pending else None

    def backlog(self) -> list[Published]:
        """Return what a new stream is told of the past: at most 100 events of two minutes.

        Flavour ``n`` keeps text and progress apart from the rest, 100 of each.
        """
        oldest = self.clock() - BACKLOG_S
        events = [
            item
            for item in self.history[self._forgotten :]
            if isinstance(item.frame, Event) and item.at >= oldest
        ]
        if self.flavour != "n":
            return events[-BACKLOG_EVENTS:]
        chatty = [item for item in events if _is_chatty(item)][-BACKLOG_EVENTS:]
        others = [item for item in events if not _is_chatty(item)][-BACKLOG_EVENTS:]
        return sorted([*chatty, *others], key=lambda item: item.event_id)

    def forget(self) -> None:
        """Empty the backlog; a running turn goes on."""
        self.settle()
        self._forgotten = len(self.history)

    def delete(self) -> None:
        """End every stream; what was still to come is lost."""
        self.settle()
        self.deleted = True
        self._pending.clear()
        self._held.clear()
        self.wake()

    def wake(self) -> None:
        """Let every waiting stream look again."""
        for stream in self.streams:
            stream.wake()

    def _offer(self, item: Scheduled, now: float) -> None:
        frame = item.frame
        if isinstance(frame, Event) and frame.needs_stream and not self.streams:
            self._held.append(item)
        elif not isinstance(frame, RawBytes) or self.streams:
            self._publish(frame, min(item.due, now))

    def _expire(self, now: float) -> None:
        """Drop what waited too long; flavour ``n`` puts it into the backlog instead."""
        kept = []
        for item in self._held:
            if now < item.due + HOLD_S:
                kept.append(item)
            elif self.flavour == "n":
                self._publish(item.frame, item.due + HOLD_S)
        self._held = kept

    def _publish(self, frame: Frame, at: float) -> None:
        stamp = frame.data.get("timestamp") if isinstance(frame, Event) else None
        last = self.history[-1].event_id if self.history else 0
        event_id = max(last + 1, stamp if isinstance(stamp, int) else 0)
        self.history.append(Published(at, frame, event_id))
        if isinstance(frame, EndOfStream):
            # They count as gone at once: a terminal event due now waits for the next stream.
            self.wake()
            self.streams.clear()
            if frame.forgets:
                self._forgotten = len(self.history)


def _is_chatty(item: Published) -> bool:
    return isinstance(item.frame, Event) and item.frame.name in ("output", "status")
