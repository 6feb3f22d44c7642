"""Fold the events of a stream into the turn that they tell.

:func:`fold_turn` is a pure function over events: the same events give the same turn, whichever way
they arrived, and a prefix of the events gives the turn as far as it had come. All knowledge of
what counts as an answer is here; see also :mod:`lobu_provider.turn_failures`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lobu_provider.errors import Failure, error_for, failure
from lobu_provider.events import (
    Card,
    Complete,
    Ephemeral,
    Event,
    Output,
    ToolUse,
    TurnError,
    UnknownEvent,
    UnreadableEvent,
)
from lobu_provider.json_safe import json_safe
from lobu_provider.turn_failures import failure_of_answer, failure_of_error

_E = TypeVar("_E", bound=Event)


@dataclass(frozen=True)
class ToolCall:
    """One finished tool call, as the gateway reported it."""

    name: str
    data: Mapping[str, Any]
    """The event as it came: ``input``, ``isError``, ``result_summary`` and whatever else."""
    tool_call_id: str | None = None


@dataclass(frozen=True)
class Turn:
    """One user message and everything the agent did with it."""

    user_text: str
    output: str = ""
    """The answer: the gateway's ``finalText``, else the streamed text. Partial on failure."""
    streamed_text: str = ""
    """The streamed text alone; differs from ``output`` when the gateway replaced text."""
    tool_calls: tuple[ToolCall, ...] = ()
    interactions: tuple[Event, ...] = ()
    """Cards and notices for a person, as they came. Never answered, approved or opened."""
    other_events: tuple[Event, ...] = ()
    """Events of this turn that this version does not know."""
    suggestions: tuple[Any, ...] = ()
    """Follow-up messages that a newer gateway proposes at the end of a turn."""
    completed: bool = False
    """The gateway ended the turn without an error."""
    awaiting_human_decision: bool = False
    failure: Failure | None = None
    """Why the turn is not usable; ``None`` for a usable one or one still running."""
    first_text_s: float | None = None
    """When the first text arrived, on the clock of the events."""
    message_id: str | None = None
    trace_id: str | None = None
    latency_s: float | None = None
    """From sending the message to the end of the turn, in seconds; set by the conversation."""
    sent_s: float | None = field(default=None, repr=False)

    @property
    def first_text_latency_s(self) -> float | None:
        """Seconds from sending the message to the first text."""
        if self.first_text_s is None or self.sent_s is None:
            return None
        return max(0.0, self.first_text_s - self.sent_s)

    def raise_for_failure(self) -> Turn:
        """Return the turn itself.

        Raises:
            LobuError: the turn failed; ``error.failure`` says why.
        """
        if self.failure is not None:
            raise error_for(self.failure)
        return self


def belongs_to_turn(
    event: Event, message_ids: frozenset[str], *, connected_ms: float | None = None
) -> bool:
    """Return whether an event belongs to the one turn in flight.

    A card or error that names no message is this turn's, and so is an event that cannot be read,
    unless it is older than the connection: then it is a replay of an earlier turn.

    Args:
        event: received since the message was sent.
        message_ids: the id that we sent and the one that the gateway answered with.
        connected_ms: the gateway's timestamp on ``connected``.
    """
    if event.is_addressed or not isinstance(event, (Card, TurnError, UnreadableEvent)):
        return event.concerns(message_ids)
    replayed = (
        event.timestamp_ms is not None
        and connected_ms is not None
        and event.timestamp_ms < connected_ms
    )
    return not replayed


def events_of_turn(
    events: Sequence[Event], message_ids: frozenset[str], *, connected_ms: float | None = None
) -> list[Event]:
    """Return the events that belong to the messages ``message_ids``, in order.

    A merged turn runs under another message's id and names ours in ``processedMessageIds``; then
    the other id's events are ours too.
    """
    ids = message_ids | {
        event.message_id
        for event in events
        if event.message_id is not None and not message_ids.isdisjoint(event.processed_message_ids)
    }
    return [e for e in events if belongs_to_turn(e, ids, connected_ms=connected_ms)]


def fold_turn(user_text: str, events: Iterable[Event]) -> Turn:
    """Fold a turn's own events (see :func:`events_of_turn`) into the turn.

    The text is ``finalText`` when it is a string, else the joined deltas. A tool call that is told
    twice is listed once. The turn's ``failure`` is set by an error event, by a notice that nothing
    followed, by an empty completion, and by a known failure text sent as an answer.
    """
    story = _Story(list(events))
    complete = story.complete
    streamed = "".join(output.content for output in story.of(Output))
    final = complete.final_text if complete is not None else None
    output = streamed if final is None else final
    tool_calls = tuple(_distinct_calls(story.of(ToolUse)))
    return Turn(
        user_text=user_text,
        output=output,
        streamed_text=streamed,
        tool_calls=tool_calls,
        interactions=tuple(e for e in story.events if isinstance(e, (Card, Ephemeral))),
        other_events=tuple(e for e in story.events if isinstance(e, UnknownEvent)),
        suggestions=_suggestions(complete),
        completed=complete is not None and not story.of(TurnError),
        awaiting_human_decision=complete is not None and complete.awaiting_human_decision,
        failure=_failure(story, output, final, tool_calls),
        first_text_s=_first_text_s(story),
    )


class _Story:
    """A turn's events, cut after its end: what follows the first ``complete`` is a late echo."""

    def __init__(self, events: Sequence[Event]) -> None:
        end = next((i for i, e in enumerate(events) if isinstance(e, Complete)), None)
        self.events = events if end is None else events[: end + 1]
        last = self.events[-1] if end is not None else None
        self.complete = last if isinstance(last, Complete) else None

    def of(self, kind: type[_E]) -> list[_E]:
        return [event for event in self.events if isinstance(event, kind)]


def _failure(
    story: _Story, output: str, final: str | None, tool_calls: Sequence[ToolCall]
) -> Failure | None:
    errors = story.of(TurnError)
    if errors:
        return failure_of_error(errors[0].text, errors[0].error_code)
    unreadable = _unreadable(story, final)
    if unreadable is not None:
        return failure(
            "gateway",
            f"A {unreadable.name!r} event of this turn cannot be read, so what the agent did is "
            f"not known in full: {str(unreadable.data['raw'])[:200]!r}",
            phase="turn",
        )
    notices = story.of(Ephemeral)
    if notices and (story.complete is None or not output.strip()):
        return failure(
            "action_required",
            "The agent stopped and asks a person to act: "
            f"{notices[0].content.strip() or '(no text)'}",
            phase="turn",
        )
    if story.complete is None:
        return None
    known = failure_of_answer(output)
    if known is not None:
        return known
    return _failure_of_empty(story, output, final, tool_calls)


def _failure_of_empty(
    story: _Story, output: str, final: str | None, tool_calls: Sequence[ToolCall]
) -> Failure | None:
    waits = story.complete is not None and story.complete.awaiting_human_decision
    if output.strip() or waits or story.of(Card):
        return None
    if final is None:
        return failure(
            "empty",
            "The gateway ended the turn without any text; newer gateways do this when a session "
            "times out. Look at the agent's log, or run the case again.",
            phase="turn",
            retryable=True,
        )
    if tool_calls:  # an agent may end a turn with an action and no words
        return None
    return failure(
        "empty",
        "The turn ended with an empty answer, without a tool call or a card.",
        phase="turn",
    )


def _unreadable(story: _Story, final: str | None) -> Event | None:
    """Return the unreadable event without which no verdict can be given.

    A lost piece of text is made good by the gateway's ``finalText``.
    """
    needed = {"tool_use", "complete", "error", "agent-error"}
    if story.complete is not None and final is None:
        needed.add("output")
    return next((e for e in story.of(UnreadableEvent) if e.name in needed), None)


def _suggestions(complete: Complete | None) -> tuple[Any, ...]:
    found = complete.data.get("suggestions") if complete is not None else None
    return tuple(found) if isinstance(found, list) else ()


def _first_text_s(story: _Story) -> float | None:
    for event in story.events:
        if isinstance(event, Output) and event.content.strip():
            return event.received_s
    if story.complete is not None and (story.complete.final_text or "").strip():
        return story.complete.received_s
    return None


def _distinct_calls(events: Iterable[ToolUse]) -> Iterator[ToolCall]:
    """Yield each call once. Newer gateways may tell a call again (the traces are unacknowledged).

    A call is known by its id together with name and input: some model servers number the calls of
    each step from zero, and two different calls must not become one. Without an id the timestamp
    takes its place.
    """
    seen: set[tuple[str, str, str]] = set()
    for event in events:
        identity = event.tool_call_id or f"at {event.timestamp_ms}"
        key = (identity, event.tool_name, _canonical(event.data.get("input")))
        if key not in seen:
            seen.add(key)
            yield ToolCall(event.tool_name, event.data, event.tool_call_id)


def _canonical(value: Any) -> str:
    return json.dumps(json_safe(value), sort_keys=True)
