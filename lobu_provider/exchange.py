"""Exchange: what is known of one message and its turn, while it runs and afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import uuid4

from lobu_provider.errors import Failure, Phase, failure
from lobu_provider.events import Event
from lobu_provider.gateway_client import SentMessage
from lobu_provider.turn import Turn, fold_turn
from lobu_provider.turn_events import (
    belongs_to_turn,
    ends_turn,
    events_of_turn,
    is_late_evidence,
)


class Exchange:
    """One message, the events that came since it was sent, and how the wait for it ended.

    Args:
        text: the message.
        number: of the turn, from 1.
        started_s: when the message was sent, on the clock of the events.
        replays_before_ms: events that name no message and are older are replays.
        may_repeat: the stream may tell an event twice, replayed and live.
    """

    def __init__(
        self,
        text: str,
        *,
        number: int,
        started_s: float,
        replays_before_ms: float | None = None,
        may_repeat: bool = False,
    ) -> None:
        self.text = text
        self.number = number
        self.started_s = started_s
        self.ended_s: float | None = None
        self.message_id = str(uuid4())
        self.phase: Phase = "send"
        self.sent: SentMessage | None = None
        self.stopped: Failure | None = None
        """Why the wait ended before the turn did."""
        self._replays_before_ms = replays_before_ms
        self._told: set[str] | None = set() if may_repeat else None
        self._events: list[Event] = []
        self._ended = False

    @property
    def message_ids(self) -> frozenset[str]:
        """The id that we sent, and the one that the gateway answered with."""
        echoed = {self.sent.message_id} if self.sent is not None else set()
        return frozenset({self.message_id} | echoed)

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended, or nobody waits for it any more."""
        return self._ended or self.ended_s is not None

    def add(self, event: Event) -> bool:
        """Take in an event; return whether it is this turn's as far as can be told now.

        Others are kept too while the turn runs: its end can tell that it was merged with them.
        """
        own = belongs_to_turn(event, self.message_ids, connected_ms=self._replays_before_ms) and (
            not self.is_over or is_late_evidence(event)
        )
        if self._is_repeat(event):
            return False
        if own or not self.is_over:
            self._events.append(event)
        self._ended = self._ended or ends_turn(event, self.message_ids)
        return own

    def _is_repeat(self, event: Event) -> bool:
        if self._told is None:
            return False
        key = event.name + json.dumps(event.data, sort_keys=True, default=str)
        repeated = key in self._told
        self._told.add(key)
        return repeated

    def turn(self, *, final_text_expected: bool = False) -> Turn:
        """Fold what has come so far."""
        own = events_of_turn(self._events, self.message_ids, connected_ms=self._replays_before_ms)
        turn = fold_turn(self.text, own, final_text_expected=final_text_expected)
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
        )

    def out_of_time(self) -> Failure:
        """Return the failure of a turn that the call's time limit cut off."""
        if self.phase == "send":
            where = "while the message was being sent"
        elif not self._events:
            where = "before the gateway sent any event"
        else:
            where = f"while the turn was running; the last event was {self._events[-1].name!r}"
        return failure(
            "timeout",
            f"The time limit of the call ran out in turn {self.number}, {where}. "
            "Raise timeoutMs if the agent needs longer; the turn may still run at the gateway.",
            phase=self.phase,
        )
