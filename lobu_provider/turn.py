"""Fold the events of a stream into the turn that they tell.

:func:`fold_turn` is a pure function over events: the same events give the same turn, whichever way
they arrived, and a prefix of the events gives the turn as far as it had come. Which events are the
turn's own is in :mod:`lobu_provider.turn_events`, what counts as an answer in
:mod:`lobu_provider.turn_verdict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.blank import is_blank
from lobu_provider.errors import Failure, error_for
from lobu_provider.events import (
    Card,
    Complete,
    Ephemeral,
    Event,
    Reconnected,
    ToolUse,
    UnknownEvent,
)
from lobu_provider.tool_calls import ToolCall as ToolCall
from lobu_provider.tool_calls import ToolCalls
from lobu_provider.turn_failures import holds_notices
from lobu_provider.turn_story import Story, TurnRules
from lobu_provider.turn_verdict import failure_of_turn

_STRICT: Final = TurnRules()


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
    merged_with: tuple[str, ...] = ()
    """Ids of other messages that the gateway answered in the same turn."""
    has_final_text: bool = False
    """The gateway confirmed the whole answer; otherwise it is the streamed text."""
    reconnects: int = 0
    """How often the event stream was lost and opened again while the turn ran."""
    cut_short: str | None = None
    """Why the client left the turn before its end, in words; set by the conversation."""
    times_sent: int = 1
    """How often the message was sent, under one id; set by the conversation."""
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

    @property
    def possibly_truncated(self) -> bool:
        """Whether text may be missing: the stream had a gap, and no final text makes it good."""
        return self.reconnects > 0 and not self.has_final_text

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the answer should know, in sentences."""
        return tuple(_warnings(self))

    def raise_for_failure(self) -> Turn:
        """Return the turn itself.

        Raises:
            LobuError: the turn failed; ``error.failure`` says why.
        """
        if self.failure is not None:
            raise error_for(self.failure)
        return self


def fold_turn(user_text: str, events: Iterable[Event], rules: TurnRules = _STRICT) -> Turn:
    """Fold a turn's own events (see :func:`events_of_turn`) into the turn.

    The text is ``finalText`` when it is a string, else the joined deltas. A tool call that is told
    twice is listed once, with what both told. The turn's ``failure`` is set by an error event, by
    one that cannot be read, by a notice that nothing followed, by an empty completion, and by a
    known failure text sent as an answer.

    Args:
        user_text: the message.
        events: the turn's own, in order.
        rules: what is known of the gateway, and what the user lets pass.
    """
    story = Story(list(events), rules)
    calls = ToolCalls()
    for event in story.of(ToolUse):
        calls.add(event)
    complete = story.complete
    failure = failure_of_turn(story)
    return Turn(
        user_text=user_text,
        output=story.output,
        streamed_text=story.streamed_text,
        tool_calls=calls.all,
        interactions=tuple(e for e in story.events if isinstance(e, (Card, Ephemeral))),
        other_events=tuple(story.of(UnknownEvent)),
        suggestions=_suggestions(complete),
        completed=complete is not None and not story.errors,
        awaiting_human_decision=complete is not None and complete.awaiting_human_decision,
        merged_with=_merged_with(complete),
        has_final_text=story.final_text is not None,
        reconnects=len(story.of(Reconnected)),
        failure=failure,
        first_text_s=story.first_text_s,
    )


def _merged_with(complete: Complete | None) -> tuple[str, ...]:
    if complete is None:
        return ()
    named = {complete.message_id, *complete.processed_message_ids} - {None}
    return tuple(sorted(name for name in named if name)) if len(named) > 1 else ()


def _warnings(turn: Turn) -> Iterator[str]:
    if turn.times_sent > 1:
        yield (
            f"The message was sent {turn.times_sent} times, since its replies were lost. A gateway "
            "of version 11 may have run it as often."
        )
    if turn.reconnects:
        yield (
            "The event stream was not open all the time. A gateway repeats at most the last 100 "
            "events, so tool calls may be missing"
            + (", and text too: no final text came." if turn.possibly_truncated else ".")
        )
    if not turn.completed or turn.failure is not None:
        return
    if turn.merged_with:
        yield (
            "The gateway answered other messages of the thread in the same turn; the answer and "
            "its tool calls may belong to them. Do not run two calls on one thread at a time."
        )
    if not turn.has_final_text:
        yield (
            "The gateway confirmed no final text (version 11 never does): the answer is the "
            "streamed text, in which replaced pieces would stand twice."
        )
        if holds_notices(turn.output):
            yield "The streamed text holds lines of the gateway's own, not the agent's."
    elif is_blank(turn.output):
        yield "The turn ended without text, with a tool call or a card."
    elif len(turn.streamed_text.strip()) > len(turn.output.strip()):
        yield "The gateway's final text is shorter than what it streamed (streamedText)."


def _suggestions(complete: Complete | None) -> tuple[Any, ...]:
    found = complete.data.get("suggestions") if complete is not None else None
    return tuple(found) if isinstance(found, list) else ()
