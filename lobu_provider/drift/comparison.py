"""How two recordings of one conversation differ: field by field, in each turn. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from lobu_provider.cassettes.placeholders import ROLES, TIME_KEYS
from lobu_provider.changed_keys import ABSENT, changed_keys
from lobu_provider.drift.told_turns import Told
from lobu_provider.events import Ephemeral, Event
from lobu_provider.json_safe import json_key, json_words
from lobu_provider.turn import ToolCall, Turn

_NO_BEHAVIOUR: Final = frozenset({*ROLES, *TIME_KEYS, "id"})
"""Keys of a card that are others each time."""

_NONE: Final = "-"
"""Stands where there is no tool, no card."""


class KeyWords(NamedTuple):
    """One argument that is another now, as words."""

    key: str
    old: str
    new: str


@dataclass(frozen=True)
class Difference:
    """One thing that was, and is another now."""

    turn: int | None
    """From 1; ``None`` for the whole conversation."""
    field: str
    old: str
    new: str
    of: str = ""
    """The tool, where ``old`` and ``new`` are its arguments."""
    keys: tuple[KeyWords, ...] = ()
    """The arguments that differ, where both are objects."""


def differences(old: Told, new: Told, *, with_text: bool = False) -> list[Difference]:
    """Return how two conversations differ.

    Args:
        old: what was recorded first.
        new: what was recorded of the same conversation later.
        with_text: compare the answers too; an agent words them otherwise almost every time.
    """
    found = list(_field(None, "attempts", _attempts(old), _attempts(new)))
    for number, (one, other) in enumerate(zip(old.earlier, new.earlier, strict=False), start=1):
        found += [
            replace(difference, field=f"{difference.field} (attempt {number})")
            for difference in _of_attempt(one, other, with_text=with_text)
        ]
    return found + _of_attempt(old, new, with_text=with_text)


def _attempts(told: Told) -> str:
    return str(len(told.earlier) + 1)


def _of_attempt(old: Told, new: Told, *, with_text: bool) -> list[Difference]:
    found = list(_field(None, "session", _failure(old), _failure(new)))
    found += _field(None, "turns", str(len(old.turns)), str(len(new.turns)))
    for number, (one, other) in enumerate(zip(old.turns, new.turns, strict=False), start=1):
        found += _of_turn(number, one, other, with_text=with_text)
    return found


def _of_turn(number: int, old: Turn, new: Turn, *, with_text: bool) -> Iterator[Difference]:
    yield from _field(number, "message", old.user_text, new.user_text)
    names = [_names(turn.tool_calls) for turn in (old, new)]
    yield from _field(number, "tools", *names)
    if names[0] == names[1]:  # else it is not known which call is which
        for one, other in zip(old.tool_calls, new.tool_calls, strict=True):
            yield from _of_call(number, one, other)
    yield from _field(number, "end", _end(old), _end(new))
    yield from _field(number, "cards", _cards(old.interactions), _cards(new.interactions))
    yield from _field(
        number, "final text", _yes_no(old.has_final_text), _yes_no(new.has_final_text)
    )
    if with_text:
        yield from _field(number, "text", old.output, new.output)


def _of_call(number: int, old: ToolCall, new: ToolCall) -> Iterator[Difference]:
    given = [call.data.get("input") for call in (old, new)]
    if json_key(given[0]) != json_key(given[1]):
        before, after = (f"{old.name} {json_words(value)}" for value in given)
        yield Difference(number, "arguments", before, after, old.name or "", _keys(*given))
    yield from _field(
        number, "tool error", f"{old.name} {_tool_error(old)}", f"{new.name} {_tool_error(new)}"
    )


def _keys(old: Any, new: Any) -> tuple[KeyWords, ...]:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return ()
    return tuple(
        KeyWords(
            change.key,
            *(json_words(side[0]) if side else ABSENT for side in (change.old, change.new)),
        )
        for change in changed_keys(old, new)
    )


def _field(turn: int | None, field: str, old: str, new: str) -> Iterator[Difference]:
    if old != new:
        yield Difference(turn, field, old, new)


def _names(calls: Sequence[ToolCall]) -> str:
    return ", ".join(call.name or "(unnamed)" for call in calls) or _NONE


def _tool_error(call: ToolCall) -> str:
    summary = call.data.get("result_summary")
    told = isinstance(summary, Mapping) and bool(summary.get("error"))
    return "failed" if call.data.get("isError") is True or told else "ok"


def _end(turn: Turn) -> str:
    if turn.failure is not None:
        return f"error: {turn.failure.code}"
    if turn.awaiting_human_decision:
        return "complete, awaits a decision"
    return "complete" if turn.completed else "none"


def _cards(events: Sequence[Event]) -> str:
    told = []
    for event in events:
        # The words of a notice or a question are the agent's own, and change like any text.
        if isinstance(event, Ephemeral):
            told.append(event.name)
            continue
        told.append(f"{event.name} {json_key(_behaviour(event.data))}")
    return ", ".join(told) or _NONE


_WORDS: Final = frozenset({"question", "content", "text", "message", "label", "prompts"})


_ONCE: Final = re.compile(r"(?i)([a-z][a-z0-9+.-]*://[^\s?#]*)[?#].*", re.DOTALL)
"""A URL with a query or fragment: what is in there is often good for one time."""


def _behaviour(value: Any) -> Any:
    if isinstance(value, Mapping):
        left_out = _NO_BEHAVIOUR | _WORDS
        return {key: _behaviour(item) for key, item in value.items() if key not in left_out}
    if isinstance(value, list):
        return [_behaviour(item) for item in value]
    if isinstance(value, str):
        found = _ONCE.fullmatch(value)
        return value if found is None else found[1]
    return value


def _failure(told: Told) -> str:
    return "ok" if told.failure is None else f"error: {told.failure.code}"


def _yes_no(value: bool) -> str:
    return "confirmed" if value else "streamed only"
