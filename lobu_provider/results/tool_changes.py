"""How the tool calls of a test changed, turn by turn."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from lobu_provider.changed_keys import ABSENT, changed_keys
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
    rows: int = 1
    """How many of the rows now have it."""
    of: int = 1

    @property
    def words(self) -> str:
        """The difference, with its count where not all rows have it."""
        return self.text if self.rows == self.of else f"{self.rows} of {self.of}: {self.text}"


def tool_changes(
    old: Sequence[Row], new: Sequence[Row], ignored: frozenset[str] = frozenset()
) -> list[ToolChange]:
    """Return what the agent now calls otherwise.

    Over repeats the commonest conversation counts on each side, and only where the other side
    never had it: an agent that varies has not changed. Beside it each sequence of tools counts
    that no row before had, with the number of rows that have it now.

    Args:
        old: the rows of a test before.
        new: its rows now.
        ignored: arguments (keys at the top) that differ in every run, for example a request id.
    """
    before, after = _conversations(old, ignored), _conversations(new, ignored)
    if not before or not after:
        return []
    (was, _), (now, _) = before[0], after[0]
    known = {_key(turns, ignored) for turns, _ in before}
    kept = {_key(turns, ignored) for turns, _ in after}
    has_moved = _key(now, ignored) not in known or _key(was, ignored) not in kept
    names = {_names(turns) for turns, _ in before}
    found = Counter[tuple[int, Literal["sequence", "arguments"], str]]()
    for turns, count in after:
        if turns is now and has_moved:
            told = list(_differences(was, turns, ignored))
        elif _names(turns) not in names:
            told = [one for one in _differences(was, turns, ignored) if one.kind == "sequence"]
        else:
            told = []
        for one in told:
            found[one.turn, one.kind, one.text] += count
    of = sum(count for _, count in after)
    return [ToolChange(*change, rows=rows, of=of) for change, rows in found.items()]


def _conversations(rows: Iterable[Row], ignored: frozenset[str]) -> list[tuple[Turns, int]]:
    """The conversations that came to their end, with the rows of each; commonest first."""
    judged = [row for row in rows if row.outcome in ("passed", "failed") and row.code is None]
    counts = Counter(_key(row.turns, ignored) for row in judged if row.turns is not None)
    first = {_key(row.turns, ignored): row.turns for row in judged if row.turns is not None}
    return [(first[key], count) for key, count in counts.most_common()]


def _names(turns: Turns) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(call.name for call in turn) for turn in turns)


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
    parts = [
        f"{change.key}: {_side(change.old)} -> {_side(change.new)}"
        for change in changed_keys(before, after)
    ]
    return "; ".join(parts) or "they differ beyond what is kept of them"


def _side(value: tuple[Any, ...]) -> str:
    return json_shown(value[0], 200) if value else ABSENT


def _arguments(call: Call) -> Any:
    """Return the arguments; ``None`` where they were cut and are no JSON any more."""
    try:
        return json.loads(call.arguments) if call.arguments else {}
    except ValueError:
        return None
