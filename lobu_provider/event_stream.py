"""EventStream: a session's one event stream, read in the background for a whole conversation.

It must be open before the first message: a gateway of version 11 delivers the end of a turn only
to a stream that is open then or within 30 s, and replays at most 100 events of the last two
minutes to a later one. So a lost stream is opened again at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final

import anyio

from lobu_provider.errors import Failure, LobuError, error_for, failure
from lobu_provider.events import Closed, Connected, Event, Ping, Reconnected, parse_event
from lobu_provider.gateway_client import GatewayClient, Session
from lobu_provider.outage import MAX_OUTAGE_S, Outage
from lobu_provider.replay import ReplayFilter

BUFFER_EVENTS: Final = 1000
"""Events held while nobody reads; beyond it the gateway is made to wait, nothing is dropped."""

FIRST_BYTE_S: Final = 5.0
"""How long to wait for a sign that the stream is registered. A server that sends nothing before
the first event is no fault, so then the message is sent all the same."""


class EventStream:
    """An async context manager that reads on its own task until closed.

    Args:
        client: the gateway.
        session: whose events to read.
        has_past: the session's thread was talked in before.
    """

    def __init__(self, client: GatewayClient, session: Session, *, has_past: bool = False) -> None:
        self._client = client
        self._session = session
        self._events: deque[Event] = deque()
        self._news = asyncio.Event()
        """Set when an event has come, or none will any more."""
        self._room = asyncio.Event()
        self._alive = asyncio.Event()
        """Set while a connection has shown a sign of life, and when none will any more."""
        self._ending = asyncio.Event()
        self._replay = ReplayFilter()
        self._outage = Outage()
        self._task: asyncio.Task[None] | None = None
        self._end: LobuError | None = None
        self._has_past = has_past
        self._now_s = asyncio.get_running_loop().time
        self._expects_answer = False
        self._is_silent = False
        self._watched: tuple[frozenset[str], Callable[[], None]] | None = None

    async def __aenter__(self) -> EventStream:
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._task is not None  # noqa: S101 - entered, so there is one
        self._task.cancel()
        with anyio.CancelScope(shield=True):  # closing a socket; its own bound is in the client
            await asyncio.wait([self._task])

    async def wait_until_open(self) -> None:
        """Wait for the first byte, at most 5 s, or until a lost stream is open again, at most 30 s.

        Raises:
            LobuError: the stream could not be opened, or has ended for good.
        """
        if not self._alive.is_set() and (not self._is_silent or self._outage.is_down):
            tries_s = MAX_OUTAGE_S if self._outage.is_down else 0.0
            with anyio.move_on_after(tries_s + FIRST_BYTE_S):
                await self._alive.wait()
            self._is_silent = not self._alive.is_set()
        if self._end is not None:
            raise self._end

    def expect_answer(self) -> None:
        """A message is about to be sent: a connection that begins later may miss events of it."""
        self._expects_answer = True

    def expect_end(self) -> None:
        """The session is about to be deleted: the end of the stream is no fault any more."""
        self._ending.set()

    async def next_event(self) -> Event:
        """Return the next event.

        Raises:
            LobuError: ``stream_lost`` when the stream has ended, or why it could not be opened.
        """
        while not self._events:
            if self._end is not None:
                raise self._end
            self._news.clear()
            await self._news.wait()
        self._room.set()
        return self._events.popleft()

    def when_heard(self, message_ids: frozenset[str], then: Callable[[], None]) -> None:
        """Call ``then`` when the next event comes that names one of the messages, and only then."""
        self._watched = (message_ids, then)

    def take_waiting(self) -> list[Event]:
        """Return what has arrived and was not read: it precedes the message to be sent next."""
        waiting = list(self._events)
        self._events.clear()
        self._room.set()
        return waiting

    async def _read(self) -> None:
        try:
            while self._end is None:
                await self._read_one_connection()
        except Exception as exc:  # noqa: BLE001 - handed to whoever waits for the next event
            self._finish(exc if isinstance(exc, LobuError) else error_for(_internal(exc)))
        finally:
            self._finish(error_for(_ended("ended")))

    async def _read_one_connection(self) -> None:
        """Read until the connection is lost; then wait for the time to open the next.

        Raises:
            LobuError: there will be no other.
        """
        self._outage.begin(self._now_s())
        try:
            await self._read_events()
            lost = error_for(_ended("ended"))
        except LobuError as exc:
            lost = exc
        if self._ending.is_set() or self._end is not None:
            raise lost
        self._alive.clear()
        wait_s = self._outage.wait_s(lost.failure, self._now_s())
        if wait_s is None:
            raise error_for(self._outage.verdict(lost.failure))
        with anyio.move_on_after(wait_s):
            await self._ending.wait()
            raise lost

    async def _read_events(self) -> None:
        stream = self._client.stream_events(
            self._session, on_bytes=self._on_bytes, last_id=self._replay.last_id
        )
        async with stream as frames:
            async for frame in frames:
                event = parse_event(frame, received_s=self._now_s())
                if not self._replay.admits(frame, event):
                    continue
                if not isinstance(event, (Connected, Ping)):  # each new connection brings those
                    self._outage.over()
                if self._end is None:
                    await self._keep(event)
                if isinstance(event, Closed):
                    # The end also where a proxy keeps the connection open after it.
                    told = str(event.data.get("reason", "no reason"))
                    reason = self._client.redactor.shortened(told, 200)
                    self._finish(error_for(_ended(f"was closed by the gateway ({reason})")))

    def _on_bytes(self) -> None:
        if self._alive.is_set():
            return
        self._alive.set()
        self._outage.opened()
        self._replay.begin(has_backlog=self._has_past or self._expects_answer)
        if self._expects_answer:  # nobody listened for a while
            self._events.append(Reconnected(name="reconnected", data={}))
            self._news.set()

    async def _keep(self, event: Event) -> None:
        if self._watched is not None and event.concerns(self._watched[0]):
            (_, then), self._watched = self._watched, None
            then()
        while len(self._events) >= BUFFER_EVENTS:
            self._room.clear()
            await self._room.wait()
        self._events.append(event)
        self._news.set()

    def _finish(self, reason: LobuError) -> None:
        """No more events; the first reason counts. What waits to be read can still be read."""
        self._end = self._end or reason
        self._news.set()
        self._alive.set()


def _ended(how: str) -> Failure:
    return failure(
        "stream_lost",
        f"The event stream {how} before the turn did. The gateway was stopped, a proxy cut the "
        "connection, or someone deleted the session (two runs on one thread delete each other's).",
        phase="turn",
        repeatable=how == "ended",
    )


def _internal(exc: Exception) -> Failure:
    return failure(
        "internal",
        f"Reading the event stream failed: {type(exc).__name__}: {exc}. Please report this.",
        phase="turn",
    )
