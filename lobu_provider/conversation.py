"""Conversation: one session with an agent, turn after turn, and its orderly end.

Turns are strictly sequential on one event stream that is opened before the first message. What a
turn runs into is a value (``turn.failure``), with everything that had arrived kept.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import anyio
import anyio.lowlevel

from lobu_provider.errors import LobuError, Phase, error_for, failure
from lobu_provider.event_stream import EventStream
from lobu_provider.events import Ephemeral, Event, TurnError, UnreadableEvent
from lobu_provider.exchange import Exchange
from lobu_provider.gateway_client import GatewayClient, Session
from lobu_provider.turn import Turn
from lobu_provider.turn_events import is_late_evidence, sends_final_text

ERROR_GRACE_S: Final = 2.0
"""How long to wait for the ``complete`` that follows every error, so that it cannot be taken for
the end of the next turn."""

NOTICE_GRACE_S: Final = 3.0
"""How long a turn may go on after an ``ephemeral`` notice; usually nothing follows it."""


LATE_S: Final = 0.1
"""How much silence after the end means that nothing more comes for turns that are over. Deleting
the session ends the stream, so this is waited for only where the session stays."""


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
        turns: the turns so far, a failed or interrupted last one included. A tool call or an error
            that comes after the end of its turn is put in its place here.
    """

    def __init__(
        self,
        client: GatewayClient,
        session: Session,
        stream: EventStream,
        *,
        deadline: float = math.inf,
        resumed: bool = False,
    ) -> None:
        self.session = session
        self.turns: list[Turn] = []
        self._client = client
        self._stream = stream
        self._deadline = deadline
        self._resumed = resumed
        self._exchanges: list[Exchange] = []
        self._final_text_expected = False
        self._changed: set[int] = set()
        """Numbers of the turns to be folded anew."""

    async def say(self, text: str, on_event: Callable[[Event], None] | None = None) -> Turn:
        """Send one user message and wait for the end of its turn.

        Args:
            text: the message.
            on_event: called with each event of this turn as it arrives.

        Returns:
            The turn. When it failed, ``turn.failure`` says why and the turn holds what had
            arrived; ``turn.raise_for_failure()`` turns that into an exception.
        """
        self._take_late_events()
        exchange = Exchange(
            text,
            number=len(self.turns) + 1,
            started_s=anyio.current_time(),
            # Only a thread with a past can be told of it again.
            connected_ms=(lambda: self._stream.connected_ms) if self._resumed else None,
            # A stream that opens after the message replays what it also sends live.
            may_repeat=not self._stream.is_open,
        )
        self._exchanges.append(exchange)
        self.turns.append(exchange.turn())
        try:
            with anyio.CancelScope(deadline=self._deadline) as limit:
                await self._exchange(exchange, on_event)
            if limit.cancelled_caught:
                exchange.stopped = exchange.out_of_time()
        except LobuError as exc:
            exchange.stopped = exc.failure
        except anyio.get_cancelled_exc_class():
            exchange.stopped = failure(
                "cancelled", "The run was interrupted during this turn.", phase="turn"
            )
            raise
        except Exception as exc:
            exchange.stopped = failure(
                "internal", f"{type(exc).__name__} during this turn.", phase="turn"
            )
            raise
        finally:
            exchange.ended_s = anyio.current_time()
            self._changed.add(exchange.number)
            self._fold_changed()
        return self.turns[-1]

    async def _exchange(self, exchange: Exchange, on_event: Callable[[Event], None] | None) -> None:
        self._stream.raise_if_ended()  # nobody would hear the answer
        exchange.sent = await self._client.send_message(
            self.session, exchange.text, message_id=exchange.message_id
        )
        self._refuse_used_id(exchange)
        exchange.phase = "turn"
        grace = anyio.CancelScope()
        with grace:
            while not exchange.is_over:
                event = await self._stream.next_event()
                self._note(event)
                if not exchange.add(event):
                    self._deliver_late(event)
                    continue
                if on_event is not None:
                    on_event(event)
                grace.deadline = min(grace.deadline, anyio.current_time() + _grace_s(event))

    def _refuse_used_id(self, exchange: Exchange) -> None:
        used = [e for e in self._exchanges[:-1] if e.message_ids & exchange.message_ids]
        if used:
            raise error_for(
                failure(
                    "gateway",
                    f"The gateway gave turn {exchange.number} the message id of turn "
                    f"{used[0].number}, so their events cannot be told apart.",
                    phase="send",
                )
            )

    async def listen_to_end(self) -> None:
        """Read what still comes, until the stream ends or is silent; it goes to its turns.

        For the moment between the end of the last turn and the end of the stream.
        """
        try:
            silent = False
            while not silent:
                with anyio.move_on_after(LATE_S) as wait:
                    event = await self._stream.next_event()
                    self._note(event)
                    self._deliver_late(event)
                    await anyio.lowlevel.checkpoint()  # events may come faster than time runs out
                silent = wait.cancelled_caught
        except LobuError:
            return  # the stream is over, which is what was waited for
        finally:
            self._fold_changed()

    def _take_late_events(self) -> None:
        for event in self._stream.take_waiting():
            self._note(event)
            self._deliver_late(event)

    def _note(self, event: Event) -> None:
        if not self._final_text_expected and sends_final_text(event):
            self._final_text_expected = True
            # What was taken for the habit of an old gateway was a turn cut short.
            self._changed.update(e.number for e in self._exchanges)

    def _deliver_late(self, event: Event) -> None:
        """Give an event to the earlier turn that it names; without a name to the last one."""
        if not is_late_evidence(event):
            return
        for exchange in reversed(self._exchanges):
            if exchange.is_over and exchange.add(event):
                self._changed.add(exchange.number)
                return

    def _fold_changed(self) -> None:
        expected = self._final_text_expected
        for number in self._changed:
            turn = self._exchanges[number - 1].turn(final_text_expected=expected)
            self.turns[number - 1] = turn
        self._changed.clear()


def _grace_s(event: Event) -> float:
    """How much longer a turn is waited for after ``event``; without end for most."""
    if isinstance(event, Ephemeral):
        return NOTICE_GRACE_S
    if isinstance(event, TurnError) or (
        isinstance(event, UnreadableEvent) and event.name in ("complete", "error", "agent-error")
    ):
        return ERROR_GRACE_S
    return math.inf


@asynccontextmanager
async def open_conversation(
    client: GatewayClient,
    plan: SessionPlan,
    *,
    timeout_s: float = 120.0,
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
        timeout_s: one limit over session, stream and all turns, in seconds; 120 by default. The
            deletion comes after it and has its own bound, ``client.limits.delete_s``.
        warnings: gets a sentence when the session could not be deleted.

    Raises:
        LobuError: the session could not be created, or its stream not opened.
    """
    deadline = anyio.current_time() + timeout_s
    thread = plan.thread or f"promptfoo-{uuid4()}"
    notes = [] if warnings is None else warnings
    with _time_limit(deadline, "create", "creating the session"):
        session = await _create(client, plan, thread, notes, deadline)
    async with EventStream(client, session) as stream:
        conversation = Conversation(client, session, stream, deadline=deadline, resumed=plan.resume)
        try:
            with _time_limit(deadline, "connect", "opening the event stream"):
                await stream.wait_until_open()
            yield conversation
        finally:
            ended_s = anyio.current_time()
            with anyio.CancelScope(shield=True):  # an interrupted run cleans up too
                if not plan.keep:
                    await _delete(client, session, notes)
                left_s = client.limits.delete_s - (anyio.current_time() - ended_s)
                with anyio.move_on_after(max(LATE_S, left_s)):
                    await conversation.listen_to_end()


async def _create(
    client: GatewayClient, plan: SessionPlan, thread: str, warnings: list[str], deadline: float
) -> Session:
    """Create the session; when interrupted, wait a little for the reply and delete it again."""
    creating = asyncio.ensure_future(
        client.create_session(
            plan.agent_id,
            thread=thread,
            force_new=not plan.resume,
            dry_run=plan.dry_run,
            provider=plan.provider,
            model=plan.model,
        )
    )
    try:
        return await asyncio.shield(creating)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            left_s = max(deadline - anyio.current_time(), client.limits.delete_s / 2)
            await asyncio.wait([creating], timeout=min(1.0, left_s))
            if creating.done() and not creating.cancelled() and creating.exception() is None:
                if not plan.keep:
                    await _delete(client, creating.result(), warnings)
            elif not creating.done():
                creating.cancel()
                await asyncio.wait([creating], timeout=1)
                warnings.append(
                    "The call was interrupted while the session was being created; the gateway "
                    "may have kept it. It ends by itself after 24 hours."
                )
        raise


async def _delete(client: GatewayClient, session: Session, warnings: list[str]) -> None:
    try:
        await client.delete_session(session)  # bounded by the client
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
