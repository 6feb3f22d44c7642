"""How the tool calls of a test changed, turn by turn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from lobu_provider.results.rows import Call, Row
from lobu_provider.results.texts import json_shown

Turns = tuple[tuple[Call, ...], ...]


@dataclass(frozen=True)
class ToolChange:
    """One difference in one turn."""

    turn: int
    """From 1."""
    kind: Literal["sequence", "arguments"]
    text: str


def tool_changes(
    old: Sequence[Row], new: Sequence[Row], ignored: frozenset[str] = frozenset()
) -> list[ToolChange]:
    """Return what the agent now calls otherwise.

    Over repeats the commonest conversation counts on each side, and only where the other side
    never had it: an agent that varies has not changed.

    Args:
        old: the rows of a test before.
        new: its rows now.
        ignored: arguments (keys at the top) that differ in every run, for example a request id.
    """
    before, after = _conversations(old, ignored), _conversations(new, ignored)
    if not before or not after:
        return []
    common_before, common_after = _commonest(before), _commonest(after)
    known = {_key(turns, ignored) for turns in before}
    kept = {_key(turns, ignored) for turns in after}
    if _key(common_after, ignored) in known and _key(common_before, ignored) in kept:
        return []
    return list(_differences(common_before, common_after, ignored))


def _conversations(rows: Iterable[Row], ignored: frozenset[str]) -> list[Turns]:
    """The conversations that came to their end, commonest first."""
    judged = [row for row in rows if row.outcome in ("passed", "failed") and row.code is None]
    counts = Counter(_key(row.turns, ignored) for row in judged if row.turns is not None)
    first = {_key(row.turns, ignored): row.turns for row in judged if row.turns is not None}
    return [first[key] for key, _ in counts.most_common()]


def _commonest(conversations: list[Turns]) -> Turns:
    return conversations[0]


def _key(turns: Turns, ignored: frozenset[str]) -> Any:
    return tuple(tuple(_call_key(call, ignored) for call in turn) for turn in turns)


def _call_key(call: Call, ignored: frozenset[str]) -> tuple[str, str]:
    if not ignored:
        return call.name, call.key
    arguments = _arguments(call)
    if not isinstance(arguments, dict):
        return call.name, call.key
    told = {key: value for key, value in arguments.items() if key not in ignored}
    return call.name, json.dumps(told, sort_keys=True)


def _differences(before: Turns, after: Turns, ignored: frozenset[str]) -> Iterator[ToolChange]:
    for number in range(max(len(before), len(after))):
        old = before[number] if number < len(before) else ()
        new = after[number] if number < len(after) else ()
        yield from _in_turn(number + 1, old, new, ignored)


def _in_turn(
    turn: int, old: tuple[Call, ...], new: tuple[Call, ...], ignored: frozenset[str]
) -> Iterator[ToolChange]:
    names, now = [call.name for call in old], [call.name for call in new]
    if names != now:
        yield ToolChange(turn, "sequence", f"{_listed(names)} -> {_listed(now)}")
    for _, start, _, other, other_end in _same(names, now):
        for offset in range(other_end - other):
            one, two = old[start + offset], new[other + offset]
            if _call_key(one, ignored) != _call_key(two, ignored):
                yield ToolChange(turn, "arguments", f"{one.name}: {_argument_words(one, two)}")


def _same(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    return (code for code in matcher.get_opcodes() if code[0] == "equal")


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "no tool"


def _argument_words(old: Call, new: Call) -> str:
    before, after = _arguments(old), _arguments(new)
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return f"{old.arguments or 'no arguments'} -> {new.arguments or 'no arguments'}"
    parts = []
    for key in dict.fromkeys([*before, *after]):
        if key not in after:
            parts.append(f"{key}: {json_shown(before[key], 200)} -> absent")
        elif key not in before:
            parts.append(f"{key}: absent -> {json_shown(after[key], 200)}")
        elif before[key] != after[key]:
            parts.append(f"{key}: {json_shown(before[key], 200)} -> {json_shown(after[key], 200)}")
    return "; ".join(parts) or "they differ beyond what is kept of them"


def _arguments(call: Call) -> Any:
    """Return the arguments; ``None`` where they were cut and are no JSON any more."""
    try:
        return json.loads(call.arguments) if call.arguments else {}
    except ValueError:
        return None
