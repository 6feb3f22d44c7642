"""One open event stream of a session."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import anyio

from lobu_provider.scripted_gateway.frames import (
    EndOfStream,
    Event,
    Framing,
    RawBytes,
    encode_event,
)

if TYPE_CHECKING:
    from lobu_provider.scripted_gateway.sessions import Published, Session


class ConnectionBroken(Exception):  # noqa: N818 - what happened, not an error of ours
    """The script breaks the connection here; a transport acts it out."""


class EventStream(AsyncIterator[bytes]):
    """The body of one events response; iterate it for chunks, then call :meth:`close`.

    It holds one of the session's places from the moment it is made until it is closed or ends.
    It starts with ``connected`` and the backlog. Iterating raises :class:`ConnectionBroken` where
    the script resets the connection. A cancelled iteration can be taken up again.
    """

    def __init__(
        self,
        session: Session,
        *,
        framing: Framing,
        chunk_bytes: int | None,
        ping_ms: int,
        opened_ms: int,
        connected_late: bool = False,
        after_id: int | None = None,
    ) -> None:
        self._session = session
        self._framing = framing
        self._chunk_bytes = chunk_bytes
        self._ping_s = ping_ms / 1000
        self._opened = session.clock()
        self._opened_ms = opened_ms
        self._next_ping = self._opened + self._ping_s
        self._ready: deque[bytes] = deque()
        self._ended: EndOfStream | None = None
        self._woken: anyio.Event | None = None
        session.settle()
        connected = self._named("connected", {"agentId": session.agent, "timestamp": opened_ms})
        if not connected_late:
            self._write(connected)
        for item in session.backlog():
            if after_id is None or item.event_id > after_id:
                self._write_published(item)
        if connected_late:
            self._write(connected)
        self._cursor = len(session.history)
        session.streams.append(self)
        # What waited for a stream is live, and older than any message that follows.
        session.settle()
        session.wake()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> bytes:
        while not self._ready:
            if self._ended is None:
                self._advance()
            if self._ready:
                break
            if self._ended is not None:
                self._finish(self._ended)
            await self._wait()
        return self._ready.popleft()

    def close(self) -> None:
        """Give up the place; an iteration that waits ends. Safe to call twice."""
        if self in self._session.streams:
            # Before it leaves: what was due until now was delivered to it.
            self._session.settle()
            self._session.streams.remove(self)
        self._ended = self._ended or EndOfStream(clean=True)
        self.wake()

    def wake(self) -> None:
        """Let a waiting iteration look again."""
        if self._woken is not None:
            self._woken.set()

    def _finish(self, end: EndOfStream) -> None:
        self.close()
        if not end.clean:
            raise ConnectionBroken
        raise StopAsyncIteration

    def _advance(self) -> None:
        """Take over what the session has published since the last look."""
        session = self._session
        session.settle()
        while self._cursor < len(session.history) and self._ended is None:
            item = session.history[self._cursor]
            self._cursor += 1
            if isinstance(item.frame, EndOfStream):
                self._ended = item.frame
            else:
                self._write_published(item)
        if self._ended is None and session.deleted:
            if session.flavour == "n":
                self._write(self._named("closed", {"reason": "agent_deleted"}))
            self._ended = EndOfStream(clean=True)
        elif self._ping_s and self._next_ping <= session.clock():
            at = self._opened_ms + int((session.clock() - self._opened) * 1000)
            self._write(self._named("ping", {"timestamp": at}))
            self._next_ping += self._ping_s

    async def _wait(self) -> None:
        """Wait for the next frame's time, the next ping, or :meth:`wake`."""
        times = [self._session.next_due(), self._next_ping if self._ping_s else None]
        known = [at for at in times if at is not None]
        delay = max(min(known) - self._session.clock(), 0) if known else None
        self._woken = anyio.Event()
        try:
            with anyio.move_on_after(delay):
                await self._woken.wait()
        finally:
            self._woken = None

    def _write_published(self, item: Published) -> None:
        if isinstance(item.frame, RawBytes):
            self._write(item.frame.content)
        elif isinstance(item.frame, Event):
            event_id = item.event_id if self._session.flavour == "n" else None
            self._write(encode_event(item.frame, framing=self._framing, event_id=event_id))

    def _named(self, name: str, data: dict[str, object]) -> bytes:
        return encode_event(Event(name, data), framing=self._framing)

    def _write(self, content: bytes) -> None:
        size = self._chunk_bytes or len(content) or 1
        self._ready.extend(content[i : i + size] for i in range(0, len(content), size))
