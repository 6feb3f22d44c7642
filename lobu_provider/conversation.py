"""Conversation: the turns of one thread, one after the other, on one event stream.

What a turn runs into is a value (``turn.failure``), with everything that had arrived kept.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
import anyio.lowlevel

from lobu_provider.errors import Failure, LobuError, error_for, failure
from lobu_provider.event_stream import EventStream
from lobu_provider.events import Card, Ephemeral, Event, Reconnected, TurnError, UnreadableEvent
from lobu_provider.exchange import MAX_CHARACTERS, MAX_EVENTS, Exchange
from lobu_provider.gateway_client import GatewayClient, SentMessage, Session
from lobu_provider.replay import Past
from lobu_provider.turn import Turn
from lobu_provider.turn_clock import Alarm, TurnClock, TurnLimits
from lobu_provider.turn_events import is_late_evidence, sends_final_text
from lobu_provider.turn_story import TurnRules

ERROR_GRACE_S: Final = 2.0
"""How long to wait for the ``complete`` that follows every error, so that it cannot be taken for
the end of the next turn."""

NOTICE_GRACE_S: Final = 3.0
"""How long the agent may take to go on after an ``ephemeral`` notice; usually it does not. No event
tells that a tool has begun, so a tool that runs longer without a sign looks like the end."""

LATE_S: Final = 0.1
"""How much silence after the end means that nothing more comes for turns that are over."""

StopWhen = Callable[[Event], "str | Failure | None"]
"""Asked about each event of a turn. A sentence leaves the turn as it is by then, a failure fails
it, and ``None`` goes on."""


@dataclass(frozen=True)
class TalkRules:
    """How the turns of a conversation are held and judged."""

    limits: TurnLimits = field(default_factory=TurnLimits)
    ephemeral_context: str | None = None
    """Told to the agent with each message; newer gateways otherwise tell it of their own accord
    what is going on in the workspace."""
    judging: TurnRules = field(default_factory=TurnRules)
    """What the user lets pass; what is known of the gateway is found out on the way."""


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
        rules: TalkRules | None = None,
    ) -> None:
        self.session = session
        self.turns: list[Turn] = []
        self._client = client
        self._stream = stream
        self._deadline = deadline
        # Only a thread with a past can be told of it again.
        self._past = Past() if resumed else None
        self._rules = rules or TalkRules()
        self._exchanges: list[Exchange] = []
        self._judging = self._rules.judging
        self._turn_of_id: dict[str, int] = {}
        self._now_s = asyncio.get_running_loop().time
        self._changed: set[int] = set()
        """Numbers of the turns to be folded anew."""

    async def say(
        self,
        text: str,
        on_event: Callable[[Event], None] | None = None,
        stop_when: StopWhen | None = None,
    ) -> Turn:
        """Send one user message and wait for the end of its turn.

        Args:
            text: the message.
            on_event: called with each event of this turn as it arrives.
            stop_when: may leave the turn early; nothing more can be said then.

        Returns:
            The turn. When it failed, ``turn.failure`` says why and the turn holds what had
            arrived; ``turn.raise_for_failure()`` turns that into an exception.
        """
        self._take_late_events()
        exchange = Exchange(
            text,
            number=len(self.turns) + 1,
            started_s=self._now_s(),
            past=self._past,
        )
        self._exchanges.append(exchange)
        clock = TurnClock(exchange.started_s, self._rules.limits, call_deadline_s=self._deadline)
        try:
            exchange.stopped = await self._hold(exchange, clock, on_event, stop_when)
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
            exchange.ended_s = self._now_s()
            self.turns.append(exchange.turn(self._judging))
            self._changed.discard(exchange.number)
            self._fold_changed()
        return self.turns[-1]

    async def _hold(
        self,
        exchange: Exchange,
        clock: TurnClock,
        on_event: Callable[[Event], None] | None,
        stop_when: StopWhen | None,
    ) -> Failure | None:
        """Send the message and hear its turn; return why that is not waited for any longer."""
        while True:
            with anyio.CancelScope() as wait:
                alarm = Alarm(lambda: clock.deadline_s, wait.cancel)
                with alarm.set():
                    if exchange.sent is None:
                        await self._send(exchange)
                    await self._hear(exchange, clock, alarm, on_event, stop_when)
            if not wait.cancelled_caught:
                return None
            cause = self._why_no_longer(exchange, clock)
            if cause is not None:
                return cause
            clock.went_on()

    async def _send(self, exchange: Exchange) -> None:
        await self._stream.wait_until_open()  # else nobody would hear the answer
        self._stream.expect_answer()
        sent = await self._client.send_message(
            self.session,
            exchange.text,
            message_id=exchange.message_id,
            ephemeral_context=self._rules.ephemeral_context,
            when_heard=lambda then: self._stream.when_heard(exchange.message_ids, then),
        )
        self._refuse_used_id(exchange, sent)
        exchange.was_sent(sent)

    async def _hear(
        self,
        exchange: Exchange,
        clock: TurnClock,
        alarm: Alarm,
        on_event: Callable[[Event], None] | None,
        stop_when: StopWhen | None,
    ) -> None:
        while not exchange.is_over:
            event = await self._stream.next_event()
            self._note(event)
            known = exchange.add(event)
            if exchange.is_too_big:
                raise error_for(_too_big())
            if event not in known[-1:]:
                self._deliver_late(event)
            for own in known:
                if on_event is not None:
                    on_event(own)
                _tell(clock, own, self._now_s())
                if isinstance(own, _ENDING):
                    alarm.moved_up()
                stop = stop_when(own) if stop_when is not None else None
                if isinstance(stop, Failure):
                    raise error_for(stop)
                if stop is not None:
                    exchange.cut_short = stop
                    return

    def _why_no_longer(self, exchange: Exchange, clock: TurnClock) -> Failure | None:
        """Return the failure; ``None`` where the turn goes on, by all the events so far."""
        if clock.first in ("grace", "notice"):
            # Later events must not undo it. The clock hears events one by one, and some late: only
            # all of them, in their order, tell whether the last notice ended the turn.
            return exchange.turn(self._judging).failure
        return exchange.out_of_time(clock.first, self._rules.limits)

    def _refuse_used_id(self, exchange: Exchange, sent: SentMessage) -> None:
        for message_id in (exchange.message_id, sent.message_id):
            number = self._turn_of_id.setdefault(message_id, exchange.number)
            if number != exchange.number:
                raise error_for(
                    failure(
                        "gateway",
                        f"The gateway gave turn {exchange.number} the message id of turn "
                        f"{number}, so their events cannot be told apart.",
                        phase="send",
                    )
                )

    async def listen_to_end(self) -> None:
        """Read what still comes, until the stream ends or is silent; it goes to its turns.

        For the moment between the end of the last turn and the end of the stream.
        """
        try:
            with anyio.move_on_after(LATE_S) as silence:
                while True:
                    event = await self._stream.next_event()
                    self._note(event)
                    self._deliver_late(event)
                    await anyio.lowlevel.checkpoint()  # events may come faster than time runs out
                    silence.deadline = anyio.current_time() + LATE_S
        except LobuError:
            return  # the stream is over, which is what was waited for
        finally:
            self._fold_changed()

    def _take_late_events(self) -> None:
        for event in self._stream.take_waiting():
            self._note(event)
            self._deliver_late(event)

    def _note(self, event: Event) -> None:
        if self._past is not None:
            self._past.heard(event)
        if not self._judging.final_text_expected and sends_final_text(event):
            self._judging = replace(self._judging, final_text_expected=True)
            # What was taken for the habit of an old gateway was a turn cut short.
            self._changed.update(e.number for e in self._exchanges)

    def _deliver_late(self, event: Event) -> None:
        """Give an event to the earlier turn that it names; without a name to the last one."""
        is_open = self._past is not None and self._past.leaves_open(event)
        if is_open or not is_late_evidence(event):
            return
        for exchange in reversed(self._exchanges):
            if exchange.is_over and exchange.add(event):
                self._changed.add(exchange.number)
                return

    def _fold_changed(self) -> None:
        for number in self._changed:
            self.turns[number - 1] = self._exchanges[number - 1].turn(self._judging)
        self._changed.clear()


def _too_big() -> Failure:
    return failure(
        "gateway",
        f"The turn was left after more than {MAX_EVENTS:,} events or {MAX_CHARACTERS:,} characters "
        "of them; what came until then is kept.",
        phase="turn",
        retryable=False,
    )


_ENDING: Final = (Ephemeral, TurnError, UnreadableEvent)
"""After which a turn may not be waited for much longer."""


def _tell(clock: TurnClock, event: Event, now_s: float) -> None:
    """Have the clock know how much longer a turn is waited for after ``event``."""
    if isinstance(event, (Card, Reconnected)):
        clock.noticed_again(now_s, grace_s=NOTICE_GRACE_S)
    if isinstance(event, Reconnected):  # made by us, and no sign of the turn
        return
    is_error = isinstance(event, TurnError) or (
        isinstance(event, UnreadableEvent) and event.name in ("complete", "error", "agent-error")
    )
    clock.heard(now_s, grace_s=ERROR_GRACE_S if is_error else math.inf)
    if isinstance(event, Ephemeral):
        clock.noticed(now_s, grace_s=NOTICE_GRACE_S)
