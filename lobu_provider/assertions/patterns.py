"""One dialect of regular expressions that means the same in Python and in JavaScript.

A pattern is read here and searched for by ``pattern_search``. What the languages read
differently is refused, with its place. docs/assertions.md describes the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from lobu_provider.assertions.lookalikes import LINE_END, without_slashes
from lobu_provider.assertions.pattern_search import (
    MAX_PLACES,
    At,
    Characters,
    Choice,
    Look,
    Node,
    Repeat,
    Search,
    Sequel,
    TooLargeError,
)
from lobu_provider.assertions.values import show

MAX_REPEATS: Final = 1000

MAX_DEPTH: Final = 50
"""Groups in groups."""

Ranges = list[tuple[int, int]]
"""First and last code point of each."""

_SETS: Final[dict[str, Ranges]] = {
    "d": [(48, 57)],
    "w": [(48, 57), (65, 90), (95, 95), (97, 122)],
    "s": [(9, 13), (32, 32)],
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")


class PatternError(ValueError):
    """The pattern is not one of the dialect; the text says what, where and what to do."""


@lru_cache(maxsize=128)  # one is checked first, then searched for in many texts
def compile_pattern(pattern: str, flags: str = "") -> Search:
    """Return the pattern, ready to be looked for.

    Args:
        pattern: of the dialect; a leading ``(?i)`` is the flag ``i``.
        flags: ``i`` or nothing.

    Raises:
        PatternError: it is not of the dialect, or too large.
    """
    ignore_case = flags == "i" or pattern.startswith("(?i)")
    body = pattern[4:] if pattern.startswith("(?i)") else pattern
    if not body:
        raise PatternError("the pattern is empty, and would match anything")
    _refuse_wrapping(pattern, body)
    try:
        return Search(_Reader(body, ignore_case).read())
    except TooLargeError:
        text = f"its counts multiply to more than {MAX_PLACES} characters; write smaller ones"
        raise PatternError(f"pattern {show(pattern)}: {text}") from None
    except PatternError as exc:
        raise PatternError(f"pattern {show(pattern)}: {exc}") from None


def _refuse_wrapping(pattern: str, body: str) -> None:
    """What stands around a pattern and would be looked for with it, so that nothing is found."""
    meant, start = without_slashes(body), pattern[: -len(body)]
    if meant is not None:
        same = meant if meant.startswith("(?i)") else start + meant
        raise PatternError(
            f"pattern {show(pattern)}: the slashes would be looked for too; write {show(same)}, or "
            f"{show(f'{start}[/]{body[1:]}')} for a text with slashes"
        )
    if body.endswith(("\n", "\r")):
        text = f"{LINE_END}, or \\n for the line end itself"
        raise PatternError(f"pattern {show(pattern)}: {text}")


def pattern_problems(pattern: str, flags: str = "") -> list[str]:
    """Return why a pattern is not of the dialect; nothing when it is."""
    try:
        compile_pattern(pattern, flags)
    except PatternError as exc:
        return [str(exc)]
    return []


class _Group(NamedTuple):
    """A group that is not closed yet."""

    kind: str
    choices: list[list[Node]]


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, body: str, ignore_case: bool) -> None:
        self._body = body
        self._at = 0
        self._ignore_case = ignore_case
        self._groups = [_Group("whole", [[]])]
        self._repeatable = False

    def read(self) -> Node:
        while self._at < len(self._body):
            self._step(self._take())
        if len(self._groups) > 1:
            raise PatternError("a group is not closed")
        return _choice(self._groups[0].choices)

    def _take(self) -> str:
        if self._at == len(self._body):
            raise PatternError("it ends too early")
        self._at += 1
        return self._body[self._at - 1]

    def _next(self, text: str) -> bool:
        return self._body.startswith(text, self._at)

    def _add(self, node: Node, *, repeatable: bool) -> None:
        self._groups[-1].choices[-1].append(node)
        self._repeatable = repeatable

    def _place(self, kind: Literal["start", "end", "edge", "no edge"]) -> None:
        self._add(At(kind), repeatable=False)

    def _refuse(self, text: str) -> PatternError:
        return PatternError(f"{text} (character {self._at})")

    def _step(self, character: str) -> None:
        if character == "\\":
            self._escape()
        elif character == "[":
            self._add(self._character_class(), repeatable=True)
        elif character == "(":
            self._open()
        elif character == ")":
            self._close()
        elif character == "|":
            self._groups[-1].choices.append([])
            self._repeatable = False
        elif character in "^$":
            self._place("start" if character == "^" else "end")
        elif character == ".":
            self._add(Characters(((10, 10),), negated=True), repeatable=True)
        elif character in "*+?{":
            self._repeat(character)
        elif character in "]}":
            raise self._refuse(f"for the character write \\{character}")
        else:
            self._add(self._literal(character), repeatable=True)

    def _open(self) -> None:
        kind = "?:"
        if self._next("?"):
            kind = self._body[self._at : self._at + 2]
            if kind not in ("?:", "?=", "?!"):
                raise self._refuse(
                    f"({self._body[self._at : self._at + 3]} is not in the dialect, which has "
                    "groups ( and (?:, lookahead (?= and (?!, and (?i) at the start"
                )
            self._at += 2
        if len(self._groups) > MAX_DEPTH:
            raise self._refuse(f"groups stand in groups, more than {MAX_DEPTH} deep")
        self._groups.append(_Group(kind, [[]]))
        self._repeatable = False

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise self._refuse("there is no group to close; for the character write \\)")
        group = self._groups.pop()
        node = _choice(group.choices)
        if group.kind == "?:":
            self._add(node, repeatable=True)
        else:
            self._add(Look(node, wanted=group.kind == "?="), repeatable=False)

    def _repeat(self, character: str) -> None:
        if not self._repeatable:
            raise self._refuse(
                f"{character} has nothing to repeat; possessive forms are not in the dialect, and "
                f"for the character write \\{character}"
            )
        least, most = self._count() if character == "{" else _REPEATS[character]
        if self._next("?"):
            self._take()  # which way is tried first makes no difference to whether there is one
        nodes = self._groups[-1].choices[-1]
        nodes[-1] = Repeat(nodes[-1], least, most)
        self._repeatable = False

    def _count(self) -> tuple[int, int | None]:
        found = re.compile(r"([0-9]{1,4})(,([0-9]{0,4}))?\}").match(self._body, self._at)
        if found is None:
            raise self._refuse("after { comes {n}, {n,} or {n,m}; for the character write \\{")
        least, most = int(found[1]), int(found[3] or found[1])
        if max(least, most) > MAX_REPEATS or most < least:
            raise self._refuse(f"a count goes from the least to the most, up to {MAX_REPEATS}")
        self._at = found.end()
        return least, None if found[2] and not found[3] else most

    def _escape(self) -> None:
        character = self._take()
        if character.lower() in _SETS:
            ranges = tuple(_SETS[character.lower()])
            self._add(Characters(ranges, negated=character.isupper()), repeatable=True)
        elif character in "bB":
            self._place("edge" if character == "b" else "no edge")
        else:
            self._add(self._literal(self._escaped(character)), repeatable=True)

    def _escaped(self, character: str) -> str:
        """Return the character that stands after a backslash."""
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in "xu":
            length = 2 if character == "x" else 4
            digits = self._body[self._at : self._at + length]
            if len(digits) == length and _HEX.issuperset(digits):
                code = int(digits, 16)
                if not 0xD800 <= code <= 0xDFFF:
                    self._at += length
                    return chr(code)
        elif character.isascii() and not character.isalnum():
            return character
        raise self._refuse(
            f"\\{character} is not in the dialect, which has \\d \\D \\w \\W \\s \\S \\b \\B "
            "\\t \\n \\r \\f \\v \\xHH \\uHHHH and a backslash before punctuation"
        )

    def _character_class(self) -> Node:
        negated = self._next("^")
        self._at += negated
        if self._next("]"):
            raise self._refuse("a class is not empty; for the character write \\]")
        ranges: Ranges = []
        while not self._next("]"):
            ranges += self._class_item(first=not ranges)
        self._at += 1
        return Characters(tuple(ranges), negated=negated)

    def _class_item(self, *, first: bool) -> Ranges:
        character = self._take()
        if character == "\\":
            character = self._take()
            if character in _SETS:
                self._no_range()
                return _SETS[character]
            character = self._escaped_in_class(character)
        elif character == "[":
            raise self._refuse("in a class write \\[ for the character")
        elif character == "-":
            if not (first or self._next("]")):
                raise self._refuse("in a class - stands first or last; else write \\-")
            self._no_range()
            return _points("-")
        if not self._next("-") or self._next("-]"):
            return self._variants(character)
        self._at += 1
        return self._range(character)

    def _escaped_in_class(self, character: str) -> str:
        if character in "dDwWsSbB":
            raise self._refuse(
                f"in a class only \\d \\w \\s stand for several, alone; not \\{character} here"
            )
        return self._escaped(character)

    def _no_range(self) -> None:
        if self._next("-") and not self._next("-]"):
            raise self._refuse("in a class a range goes from one character to another")

    def _range(self, start: str) -> Ranges:
        end = self._take()
        if end == "\\":
            end = self._escaped_in_class(self._take())
        elif end in "[-":
            raise self._refuse(f"in a class write \\{end} for the character")
        self._no_range()
        if end < start:
            raise self._refuse("in a class a range goes from the lower character to the higher")
        ranges = [(ord(start), ord(end))]
        if not self._ignore_case:
            return ranges
        if not (start.isascii() and end.isascii()):
            raise self._refuse("without case a range has ASCII characters only")
        for low, high, shift in (("a", "z", -32), ("A", "Z", 32)):
            lower, upper = max(start, low), min(end, high)
            if lower <= upper:
                ranges.append((ord(lower) + shift, ord(upper) + shift))
        return ranges

    def _literal(self, character: str) -> Node:
        return Characters(tuple(self._variants(character)))

    def _variants(self, character: str) -> Ranges:
        found = [character]
        if self._ignore_case:
            for other in (character.lower(), character.upper()):
                if len(other) == 1 and other not in found:
                    found.append(other)
        return _points("".join(found))


_REPEATS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def _points(characters: str) -> Ranges:
    return [(ord(character), ord(character)) for character in characters]


def _choice(choices: Sequence[Sequence[Node]]) -> Node:
    nodes = [Sequel(tuple(nodes)) for nodes in choices]
    return nodes[0] if len(nodes) == 1 else Choice(tuple(nodes))
