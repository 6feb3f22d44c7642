"""Choose the events of one turn from everything that a stream brings.

Pure functions over events. A stream carries the turns of a whole thread, replays of earlier ones,
and, when several messages were merged, events under another message's id.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lobu_provider.events import (
    Card,
    Complete,
    Ephemeral,
    Event,
    Output,
    Reconnected,
    Status,
    ToolUse,
    TurnError,
    UnreadableEvent,
)

_UNADDRESSED = (Card, Ephemeral, TurnError, ToolUse, Output, UnreadableEvent, Reconnected)
"""What is taken for the turn in flight when it names no message: nothing may get lost."""

_LATE = (Card, TurnError, ToolUse, Output, UnreadableEvent)
"""What still counts after the end of its turn; text only where no ``finalText`` came."""


@dataclass(frozen=True)
class Backlog:
    """What a connection to a thread with a past may bring again of that."""

    before_ms: float
    """The gateway's timestamp on ``connected``."""
    until_s: float = math.inf
    """When the last of it has come, on the clock of the events. The timestamps of two replicas
    may differ; what comes later is of now, whatever its own says."""

    def holds(self, event: Event) -> bool:
        """Return whether an event that names no message is a replay."""
        return (
            event.timestamp_ms is not None
            and event.timestamp_ms < self.before_ms
            and event.received_s <= self.until_s
        )


def belongs_to_turn(
    event: Event, message_ids: frozenset[str], *, backlog: Backlog | None = None
) -> bool:
    """Return whether an event belongs to the one turn in flight.

    An event that names no message is this turn's, unless it is of the backlog. A ``complete``
    always has to name the message.

    Args:
        event: received since the message was sent.
        message_ids: the id that we sent and the one that the gateway answered with.
        backlog: ``None`` where nothing can be a replay, as in a fresh thread.
    """
    if needs_its_name(event):
        return event.concerns(message_ids)
    return backlog is None or not backlog.holds(event)


def needs_its_name(event: Event) -> bool:
    """Return whether only the messages that an event names tell whose it is."""
    return event.is_addressed or not isinstance(event, _UNADDRESSED)


def ends_turn(event: Event, message_ids: frozenset[str]) -> bool:
    """Return whether ``event`` is the end of the turn of ``message_ids``."""
    return isinstance(event, Complete) and event.concerns(message_ids)


def ids_of(event: Event) -> frozenset[str]:
    """Return every message that an event names."""
    return frozenset({event.message_id, *event.processed_message_ids} - {None})  # type: ignore[arg-type]


def shows_that_the_agent_goes_on(event: Event) -> bool:
    """Return whether a turn's own ``event`` shows that a notice before it was not the turn's end.

    Cards and further notices show it no more than the notice: they ask a person too. What an
    agent does on a tool shows only when the tool has ended.
    """
    return not isinstance(event, (Card, Ephemeral, Reconnected, TurnError))


def is_late_evidence(event: Event) -> bool:
    """Return whether ``event`` matters to its turn even after the turn's end."""
    return isinstance(event, _LATE)


def events_of_turn(
    events: Sequence[Event], message_ids: frozenset[str], *, backlog: Backlog | None = None
) -> list[Event]:
    """Return the events that belong to the messages ``message_ids``, in order.

    The turn ends with the first ``complete`` that names one of them; tool calls, errors and cards
    that come later still count. A merged turn runs under another message's id and names ours in
    ``processedMessageIds``: then that id's events are ours too, from the end of that message's own
    turn on.
    """
    end = next((i for i, e in enumerate(events) if ends_turn(e, message_ids)), len(events))
    merged = {
        event.message_id
        for event in events[: end + 1]
        if event.concerns(message_ids) and event.message_id not in {*message_ids, None}
    }
    begin = 1 + max(
        (
            i
            for i, e in enumerate(events[:end])
            if isinstance(e, Complete) and e.message_id in merged
        ),
        default=-1,
    )
    own = [
        event
        for i, event in enumerate(events[: end + 1])
        if belongs_to_turn(event, message_ids, backlog=backlog)
        or (i >= begin and event.message_id in merged)
    ]
    late_ids = message_ids.union(*(ids_of(event) for event in events[end : end + 1]))
    late = [
        event
        for event in events[end + 1 :]
        if is_late_evidence(event) and belongs_to_turn(event, late_ids, backlog=backlog)
    ]
    return own + late


def sends_final_text(event: Event) -> bool:
    """Return whether the event shows a gateway that ends each turn with ``finalText``.

    Stock gateways of version 11 never send it; all later ones do, and mark a session that timed
    out by a ``complete`` without it.
    """
    data = event.data
    if isinstance(event, Complete):
        told = ("awaitingHumanDecision", "suggestions")
        return event.final_text is not None or any(key in data for key in told)
    return (
        event.id is not None
        or "turnMessageId" in data
        or (isinstance(event, TurnError) and event.error_code is not None)
        or (isinstance(event, Status) and isinstance(data.get("status"), str))
    )
