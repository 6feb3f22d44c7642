"""Conversation: one session with an agent, turn after turn, and its orderly end.

Turns are strictly sequential on one event stream that is opened before the first message. What a
turn runs into is a value (``turn.failure``), with everything that had arrived kept.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

import anyio

from lobu_provider.errors import Failure, LobuError, Phase, error_for, failure
from lobu_provider.event_stream import EventStream
from lobu_provider.events import Complete, Ephemeral, Event, TurnError, UnreadableEvent
from lobu_provider.gateway_client import GatewayClient, SentMessage, Session
from lobu_provider.turn import Turn, belongs_to_turn, events_of_turn, fold_turn

ERROR_GRACE_S: Final = 2.0
"""How long to wait for the ``complete`` that follows every error, so that it cannot be taken for
the end of the next turn."""

NOTICE_GRACE_S: Final = 3.0
"""How long a turn may go on after an ``ephemeral`` notice; usually nothing follows it."""


@dataclass(frozen=True)
class SessionPlan:
    """Which thread to talk in and what becomes of its session.

    ``keep`` leaves the session at the gateway when the conversation ends.
    """

    agent_id: str
    thread: str = ""
    """Blank for a fresh one, ``promptfoo-<uuid>``."""
    resume: bool = False
    """Go on in an existing thread instead of beginning it anew."""
    keep: bool = False
    dry_run: bool | None = None
    provider: str | None = None
    model: str | None = None


class Conversation:
    """An open session; made by :func:`open_conversation`.

    Attributes:
        session: the gateway's session.
        turns: the turns so far, a failed or interrupted last one included.
    """

    def __init__(
        self, client: GatewayClient, session: Session, stream: EventStream, deadline: float
    ) -> None:
        self.session = session
        self.turns: list[Turn] = []
        self._client = client
        self._stream = stream
        self._deadline = deadline

    async def say(self, text: str, on_event: Callable[[Event], None] | None = None) -> Turn:
        """Send one user message and wait for the end of its turn.

        Args:
            text: the message.
            on_event: called with each event of this turn as it arrives.

        Returns:
            The turn. When it failed, ``turn.failure`` says why and the turn holds what had
            arrived; ``turn.raise_for_failure()`` turns that into an exception.
        """
        exchange = _Exchange(text, number=len(self.turns) + 1, started_s=anyio.current_time())
        with anyio.CancelScope(deadline=self._deadline) as limit:
            try:
                await self._exchange(exchange, on_event)
            except LobuError as exc:
                exchange.stopped = exc.failure
            except anyio.get_cancelled_exc_class():
                if anyio.current_time() < self._deadline:  # interrupted from outside
                    exchange.stopped = failure(
                        "cancelled", "The run was interrupted during this turn.", phase="turn"
                    )
                    self.turns.append(exchange.turn(self._stream.connected_ms))
                raise
        if limit.cancelled_caught:
            exchange.stopped = exchange.out_of_time()
        turn = exchange.turn(self._stream.connected_ms)
        self.turns.append(turn)
        return turn

    async def _exchange(
        self, exchange: _Exchange, on_event: Callable[[Event], None] | None
    ) -> None:
        self._stream.discard_waiting()
        exchange.sent = await self._client.send_message(
            self.session, exchange.text, message_id=exchange.message_id
        )
        exchange.phase = "turn"
        grace = anyio.CancelScope()
        with grace:
            while True:
                event = await self._stream.next_event()
                exchange.events.append(event)
                if not exchange.owns(event, self._stream.connected_ms):
                    continue
                if on_event is not None:
                    on_event(event)
                if isinstance(event, Complete):
                    return
                grace.deadline = min(grace.deadline, anyio.current_time() + _grace_s(event))


def _grace_s(event: Event) -> float:
    """How much longer a turn is waited for after ``event``; without end for most."""
    if isinstance(event, Ephemeral):
        return NOTICE_GRACE_S
    if isinstance(event, TurnError) or (
        isinstance(event, UnreadableEvent) and event.name in ("complete", "error", "agent-error")
    ):
        return ERROR_GRACE_S
    return math.inf


class _Exchange:
    """What is known of one turn while it runs."""

    def __init__(self, text: str, *, number: int, started_s: float) -> None:
        self.text = text
        self.number = number
        self.started_s = started_s
        self.message_id = str(uuid4())
        self.phase: Phase = "send"
        self.sent: SentMessage | None = None
        self.events: list[Event] = []
        self.stopped: Failure | None = None

    @property
    def message_ids(self) -> frozenset[str]:
        echoed = {self.sent.message_id} if self.sent is not None else set()
        return frozenset({self.message_id} | echoed)

    def owns(self, event: Event, connected_ms: float | None) -> bool:
        return belongs_to_turn(event, self.message_ids, connected_ms=connected_ms)

    def turn(self, connected_ms: float | None) -> Turn:
        own = events_of_turn(self.events, self.message_ids, connected_ms=connected_ms)
        turn = fold_turn(self.text, own)
        # What the gateway itself reported says more than how the wait for it ended.
        cause = turn.failure or self.stopped
        return replace(
            turn,
            failure=cause.in_turn(self.number) if cause is not None else None,
            message_id=self.sent.message_id if self.sent is not None else self.message_id,
            trace_id=self.sent.trace_id if self.sent is not None else None,
            latency_s=anyio.current_time() - self.started_s,
            sent_s=self.started_s,
        )

    def out_of_time(self) -> Failure:
        if self.phase == "send":
            where = "while the message was being sent"
        elif not self.events:
            where = "before the gateway sent any event"
        else:
            where = f"while the turn was running; the last event was {self.events[-1].name!r}"
        return failure(
            "timeout",
            f"The time limit of the call ran out in turn {self.number}, {where}. "
            "Raise timeoutMs if the agent needs longer; the turn may still run at the gateway.",
            phase=self.phase,
        )


@asynccontextmanager
async def open_conversation(
    client: GatewayClient,
    plan: SessionPlan,
    *,
    timeout_s: float = math.inf,
    warnings: list[str] | None = None,
) -> AsyncIterator[Conversation]:
    """Create the session, open its event stream, and at the end delete the session.

    Example::

        plan = SessionPlan("support-agent")
        async with open_conversation(client, plan, timeout_s=60) as conversation:
            turn = await conversation.say("Hello")

    Args:
        client: an open client.
        plan: which thread, and whether its session stays.
        timeout_s: one limit over session, stream and all turns, in seconds. The deletion comes
            after it and has its own bound, ``client.limits.delete_s``.
        warnings: gets a sentence when the session could not be deleted.

    Raises:
        LobuError: the session could not be created, or its stream not opened.
    """
    deadline = anyio.current_time() + timeout_s
    thread = plan.thread or f"promptfoo-{uuid4()}"
    with _time_limit(deadline, "create", "creating the session"):
        session = await client.create_session(
            plan.agent_id,
            thread=thread,
            force_new=not plan.resume,
            dry_run=plan.dry_run,
            provider=plan.provider,
            model=plan.model,
        )
    try:
        async with EventStream(client, session) as stream:
            with _time_limit(deadline, "connect", "opening the event stream"):
                await stream.wait_until_open()
            yield Conversation(client, session, stream, deadline)
    finally:
        if not plan.keep:
            await _delete(client, session, [] if warnings is None else warnings)


async def _delete(client: GatewayClient, session: Session, warnings: list[str]) -> None:
    with anyio.CancelScope(shield=True):  # bounded by the client; an interrupted run cleans up too
        try:
            await client.delete_session(session)
        except LobuError as exc:
            warnings.append(f"The session was left at the gateway: {exc.failure.message}")


@contextmanager
def _time_limit(deadline: float, phase: Phase, doing: str) -> Iterator[None]:
    with anyio.CancelScope(deadline=deadline) as scope:
        yield
    if scope.cancelled_caught:
        raise error_for(
            failure(
                "timeout",
                f"The time limit of the call ran out while {doing}. The gateway is slow or stuck; "
                "raise timeoutMs if it only needs longer.",
                phase=phase,
            )
        )
