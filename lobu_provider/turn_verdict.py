"""Decide whether a turn is usable: the place where a false green would be made or prevented."""

from __future__ import annotations

from typing import Final

from lobu_provider.blank import is_blank
from lobu_provider.errors import Failure, failure
from lobu_provider.events import Card, Complete, Ephemeral, Event, ToolUse, UnreadableEvent
from lobu_provider.json_safe import json_words
from lobu_provider.said_failure import said_failure
from lobu_provider.tool_calls import ToolCalls
from lobu_provider.turn_events import shows_that_the_agent_goes_on
from lobu_provider.turn_failures import failure_of_answer, failure_of_error
from lobu_provider.turn_story import Story

_ASKING_CARDS: Final = frozenset({"question", "tool-approval", "link-button"})
"""Cards after which an empty answer is in order: the agent waits for a person. A suggestion is
decoration."""


def failure_of_turn(story: Story) -> Failure | None:
    """Return why a turn is not usable; ``None`` for a usable one or one that still runs."""
    if story.errors:
        return failure_of_error(story.errors[0].text, story.errors[0].error_code)
    unreadable = _needed_and_unreadable(story)
    if unreadable is not None:
        raw = str(unreadable.data.get("raw", unreadable.data))
        return failure(
            "gateway",
            f"A {unreadable.name!r} event of this turn cannot be read, so what the agent did is "
            f"not known in full: {raw}",
            phase="turn",
        )
    notices = story.of(Ephemeral)
    if notices and (_ends_with_notice(story) if story.complete is None else is_blank(story.output)):
        said = notices[0].content.strip() or "(no text)"
        return failure(
            "action_required",
            f"The agent stopped and asks a person to act: {said}",
            phase="turn",
        )
    if story.complete is None:
        return None
    return (
        _failure_of_complete(story.complete)
        or _failure_of_answer(story)
        or _failure_of_empty(story)
        or _failure_of_missing_end(story)
    )


def _ends_with_notice(story: Story) -> bool:
    """Whether the agent did nothing after its last notice, as far as can be seen."""
    calls, goes_on = ToolCalls(), False
    for event in story.events:
        known = len(calls)
        if isinstance(event, ToolUse):
            calls.add(event)  # one that is told again shows nothing
        if isinstance(event, Ephemeral):
            goes_on = False
        elif not isinstance(event, ToolUse) or len(calls) > known:
            goes_on = goes_on or shows_that_the_agent_goes_on(event)
    return not goes_on


def _failure_of_answer(story: Story) -> Failure | None:
    if not story.rules.failure_texts:
        return None
    return failure_of_answer(story.final_text, [delta.content for delta in story.deltas])


def _needed_and_unreadable(story: Story) -> Event | None:
    """Return the unreadable event without which no verdict can be given.

    A lost piece of text is made good by the gateway's ``finalText``.
    """
    needed = {"tool_use", "complete", "error", "agent-error"}
    if story.complete is not None and story.final_text is None:
        needed.add("output")
    return next((e for e in story.of(UnreadableEvent) if e.name in needed), None)


def _failure_of_complete(complete: Complete) -> Failure | None:
    """A ``complete`` that says of itself that it is none; no gateway we know sends it."""
    error, code = said_failure(complete.data), complete.data.get("errorCode")
    if error is None:
        return None
    text = error if isinstance(error, str) else json_words(error)
    return failure_of_error(text, code if isinstance(code, str) else None)


def _failure_of_empty(story: Story) -> Failure | None:
    asks = any(card.name in _ASKING_CARDS for card in story.of(Card))
    if not is_blank(story.output) or asks or story.rules.allow_empty:
        return None
    if story.complete is not None and story.complete.awaiting_human_decision:
        return None if story.of(ToolUse) else _card_is_missing()
    if story.final_text is None:
        return failure(
            "empty",
            "The gateway ended the turn without any text; newer gateways do this when a session "
            "times out. Look at the agent's log, or run the case again.",
            phase="turn",
            retryable=True,
        )
    if story.of(ToolUse):  # an agent may end a turn with an action and no words
        return None
    return failure(
        "empty",
        "The turn ended with an empty answer, without a tool call or a card.",
        phase="turn",
    )


def _card_is_missing() -> Failure:
    return failure(
        "action_required",
        "The agent waits for a person's decision, but the card that asks for it did not come.",
        phase="turn",
    )


def _failure_of_missing_end(story: Story) -> Failure | None:
    if story.final_text is not None or not story.rules.final_text_expected:
        return None
    return failure(  # also with allowEmpty: such a gateway confirms an empty answer too
        "timeout",
        "The gateway ended the turn without its final text, as it does when a session times out; "
        "what it had streamed is kept as the output, and may be only a part.",
        phase="turn",
    )
