"""Choose the events of one turn from everything that a stream brings.

Pure functions over events. A stream carries the turns of a whole thread, replays of earlier ones,
and, when several messages were merged, events under another message's id.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

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


def belongs_to_turn(
    event: Event, message_ids: frozenset[str], *, before_ms: float = -math.inf
) -> bool:
    """Return whether an event belongs to the one turn in flight.

    An event that names no message is this turn's, unless it is a replay. A ``complete`` always
    has to name the message.

    Args:
        event: received since the message was sent.
        message_ids: the id that we sent and the one that the gateway answered with.
        before_ms: on the gateway's clock; what names no message and is older is a replay. In a
            fresh thread nothing is.
    """
    if needs_its_name(event):
        return event.concerns(message_ids)
    return event.timestamp_ms is None or event.timestamp_ms >= before_ms


def needs_its_name(event: Event) -> bool:
    """Return whether only the messages that an event names tell whose it is."""
    return event.is_addressed or not isinstance(event, _UNADDRESSED)


def ends_turn(event: Event, message_ids: frozenset[str]) -> bool:
    """Return whether ``event`` is the end of the turn of ``message_ids``."""
    return isinstance(event, Complete) and event.concerns(message_ids)


def ids_of(event: Event) -> frozenset[str]:
    """Return every message that an event names."""
    return frozenset({event.message_id, *event.processed_message_ids} - {None})  # type: ignore[arg-type]


def is_merged(event: Event, other_ids: Container[str | None]) -> bool:
    """Return whether an event is a merged turn's under the id of another of its messages.

    Its ``complete`` has to name ours; another one is the end of that message's own turn.

    Args:
        event: of the thread.
        other_ids: the messages under whose ids the merged turn's events come.
    """
    return event.message_id in other_ids and not isinstance(event, Complete)


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
    events: Sequence[Event], message_ids: frozenset[str], *, before_ms: float = -math.inf
) -> list[Event]:
    """Return the events that belong to the messages ``message_ids``, in order.

    The turn ends with the first ``complete`` that names one of them; tool calls, errors and cards
    that come later still count. A merged turn runs under another message's id and names ours in
    ``processedMessageIds``: then that id's events are ours too, from the end of that message's own
    turn on, if it had one before.
    """
    end = next((i for i, e in enumerate(events) if ends_turn(e, message_ids)), len(events))
    named: dict[str | None, int] = {}
    for i, event in enumerate(events[: end + 1]):
        if event.concerns(message_ids) and event.message_id not in {*message_ids, None}:
            named.setdefault(event.message_id, i)
    begin = 1 + max(
        (
            i
            for i, e in enumerate(events[:end])
            if isinstance(e, Complete) and i < named.get(e.message_id, 0)
        ),
        default=-1,
    )
    own = [
        event
        for i, event in enumerate(events[: end + 1])
        if belongs_to_turn(event, message_ids, before_ms=before_ms)
        or (i >= begin and is_merged(event, named))
    ]
    late_ids = message_ids.union(*(ids_of(event) for event in events[end : end + 1]))
    late = [
        event
        for event in events[end + 1 :]
        if is_late_evidence(event) and belongs_to_turn(event, late_ids, before_ms=before_ms)
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
