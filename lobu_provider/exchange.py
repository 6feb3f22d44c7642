"""Exchange: what is known of one message and its turn, while it runs and afterwards."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final
from uuid import uuid4

from lobu_provider.errors import Failure, Phase, failure
from lobu_provider.events import Event
from lobu_provider.gateway_client import SentMessage
from lobu_provider.replay import Past
from lobu_provider.turn import Turn, fold_turn
from lobu_provider.turn_clock import Limit, TurnLimits
from lobu_provider.turn_events import (
    belongs_to_turn,
    ends_turn,
    events_of_turn,
    ids_of,
    is_late_evidence,
    is_merged,
)
from lobu_provider.turn_story import TurnRules

MAX_EVENTS: Final = 100_000
MAX_CHARACTERS: Final = 40_000_000
"""Of all events that come while a turn runs. Beyond it no verdict would be given in time."""


class Exchange:
    """One message, the events that came since it was sent, and how the wait for it ended.

    Args:
        text: the message.
        number: of the turn, from 1.
        started_s: when the message was sent, on the clock of the events.
        past: what the connection may bring of earlier turns; ``None`` where there were none.
    """

    def __init__(
        self,
        text: str,
        *,
        number: int,
        started_s: float,
        past: Past | None = None,
    ) -> None:
        self.text = text
        self.number = number
        self.started_s = started_s
        self.ended_s: float | None = None
        self.message_id = str(uuid4())
        self.message_ids = frozenset({self.message_id})
        """The id that we send, and the one that the gateway answers with."""
        self.phase: Phase = "send"
        self.sent: SentMessage | None = None
        self.stopped: Failure | None = None
        """Why the wait ended before the turn did."""
        self.cut_short: str | None = None
        """Why the turn was left before its end, without that being a failure."""
        self._past = past
        self._events: list[Event] = []
        self._open: list[Event] = []
        """Those of which nobody knows yet whether they are of an earlier turn."""
        self._characters = 0
        self._ended = False
        self._merged_ids: frozenset[str] = frozenset()
        """Other messages under whose ids the turn's events come, as far as that is known."""

    def was_sent(self, sent: SentMessage) -> None:
        """The gateway has taken the message."""
        self.sent = sent
        self.message_ids |= {sent.message_id}
        self.phase = "turn"

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended, or nobody waits for it any more."""
        return self._ended or self.ended_s is not None

    def add(self, event: Event) -> list[Event]:
        """Take in an event; return which are now known to be this turn's and were not before.

        Mostly that is ``event`` or nothing. One that may be of an earlier turn waits until that is
        clear, so that none of those ends this turn. All are kept while the turn runs: its end can
        tell that it was merged with others.
        """
        if event.concerns(self.message_ids):
            self._heard_own(event)
        clear = self._clear_with(event) if not self.is_over else filter(is_late_evidence, [event])
        own = [one for one in clear if self._is_own(one)]
        if (own or not self.is_over) and not self.is_too_big:
            self._events.append(event)
            self._characters += event.size
        if not self._ended and ends_turn(event, self.message_ids):
            self._ended = True
            self._merged_ids = ids_of(event)
        return own

    def _heard_own(self, event: Event) -> None:
        if self._past is not None:
            self._past.heard_own(event)
        if not self.is_over and event.message_id is not None:
            self._merged_ids |= {event.message_id} - self.message_ids

    def _is_own(self, event: Event) -> bool:
        """As in :func:`events_of_turn`, as far as that is known by now."""
        if self.is_over:
            ids = self.message_ids | self._merged_ids
            return belongs_to_turn(event, ids, before_ms=self._before_ms)
        return is_merged(event, self._merged_ids) or belongs_to_turn(
            event, self.message_ids, before_ms=self._before_ms
        )

    def _clear_with(self, event: Event) -> list[Event]:
        """Return the events whose turn can be told now and could not before, ``event`` the last."""
        if self._past is None:
            return [event]
        if self._past.leaves_open(event):
            self._open.append(event)
            return []
        if not self._open or self._past.before_ms == math.inf:
            return [event]
        clear, self._open = [*self._open, event], []
        return clear

    @property
    def is_too_big(self) -> bool:
        """Whether more has come than a turn may hold; what comes then is not kept."""
        return len(self._events) > MAX_EVENTS or self._characters > MAX_CHARACTERS

    @property
    def _before_ms(self) -> float:
        return self._past.before_ms if self._past is not None else -math.inf

    def turn(self, rules: TurnRules) -> Turn:
        """Fold what has come so far."""
        own = events_of_turn(self._events, self.message_ids, before_ms=self._before_ms)
        turn = fold_turn(self.text, own, rules)
        # What the gateway itself reported says more than how the wait for it ended.
        cause = turn.failure or self.stopped
        ended_s = self.ended_s
        return replace(
            turn,
            failure=cause.in_turn(self.number) if cause is not None else None,
            message_id=self.sent.message_id if self.sent is not None else self.message_id,
            trace_id=self.sent.trace_id if self.sent is not None else None,
            latency_s=None if ended_s is None else ended_s - self.started_s,
            sent_s=self.started_s,
            cut_short=None if turn.completed else self.cut_short,
            times_sent=self.sent.tries if self.sent is not None else 1,
        )

    def out_of_time(self, limit: Limit, limits: TurnLimits) -> Failure:
        """Return the failure of a turn that a time limit cut off."""
        if self.phase == "send":
            where = "while the message was being sent"
        elif not self._events:
            where = "before the gateway sent any event"
        else:
            where = f"while the turn was running; the last event was {self._events[-1].name!r}"
        what, key = {
            "idle": (f"No event of the turn came for {limits.idle_s:g} s", "idleTimeoutMs"),
            "turn": (f"The time limit of {limits.turn_s:g} s for a turn ran out", "turnTimeoutMs"),
        }.get(limit, ("The time limit of the call ran out", "timeoutMs"))
        return failure(
            "timeout",
            f"{what} in turn {self.number}, {where}. "
            f"Raise {key} if the agent needs longer; the turn may still run at the gateway.",
            phase=self.phase,
        )
