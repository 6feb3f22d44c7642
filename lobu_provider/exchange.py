"""Exchange: what is known of one message and its turn, while it runs and afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    ids_of,
    is_late_evidence,
)


class Exchange:
    """One message, the events that came since it was sent, and how the wait for it ended.

    Args:
        text: the message.
        number: of the turn, from 1.
        started_s: when the message was sent, on the clock of the events.
        connected_ms: asks for the gateway's time of the connection: what names no message and is
            older is a replay. ``None`` where nothing can be one.
        may_repeat: the stream may tell an event twice, replayed and live.
    """

    def __init__(
        self,
        text: str,
        *,
        number: int,
        started_s: float,
        connected_ms: Callable[[], float | None] | None = None,
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
        self._connected_ms = connected_ms
        self._told: set[str] | None = set() if may_repeat else None
        self._events: list[Event] = []
        self._ended = False
        self._merged_ids: frozenset[str] = frozenset()

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
        ids = self.message_ids | self._merged_ids if self.is_over else self.message_ids
        own = belongs_to_turn(event, ids, connected_ms=self._replays_before_ms) and (
            not self.is_over or is_late_evidence(event)
        )
        if self._is_repeat(event):
            return False
        if own or not self.is_over:
            self._events.append(event)
        if not self._ended and ends_turn(event, self.message_ids):
            self._ended = True
            self._merged_ids = ids_of(event)
        return own

    @property
    def _replays_before_ms(self) -> float | None:
        """Older events that name no message are replays; asked anew, as it may come late."""
        if self._connected_ms is None:
            return None
        told_ms = self._connected_ms()
        if told_ms is not None:
            return told_ms
        own = [e.timestamp_ms for e in self._events if e.concerns(self.message_ids)]
        return min((ms for ms in own if ms is not None), default=None)

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
