"""One dialect of regular expressions that means the same in Python and in JavaScript.

A pattern is read here and written anew in what both engines understand alike. What they read
differently is refused, with its place. docs/assertions.md describes the dialect.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from lobu_provider.assertions.values import show

MAX_REPEATS: Final = 1000

_SETS: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \\t\\n\\r\\f\\v"}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_WORD: Final = "[A-Za-z0-9_]"
_EDGE: Final = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_NO_EDGE: Final = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_HEX: Final = frozenset("0123456789abcdefABCDEF")


class PatternError(ValueError):
    """The pattern is not one of the dialect; the text says what, where and what to do."""


@lru_cache(maxsize=128)  # one is checked first, then searched for in many texts
def compile_pattern(pattern: str, flags: str = "") -> re.Pattern[str]:
    """Return the compiled pattern.

    Args:
        pattern: of the dialect; a leading ``(?i)`` is the flag ``i``.
        flags: ``i`` or nothing.

    Raises:
        PatternError: it is not of the dialect.
    """
    return re.compile(translate(pattern, flags))


def pattern_problems(pattern: str, flags: str = "") -> list[str]:
    """Return why a pattern is not of the dialect; nothing when it is."""
    try:
        compile_pattern(pattern, flags)
    except PatternError as exc:
        return [str(exc)]
    return []


def translate(pattern: str, flags: str = "") -> str:
    """Return the pattern as both engines read it, without flags."""
    ignore_case = flags == "i" or pattern.startswith("(?i)")
    body = pattern[4:] if pattern.startswith("(?i)") else pattern
    if not body:
        raise PatternError("the pattern is empty, and would match anything")
    try:
        return _Reader(body, ignore_case).read()
    except PatternError as exc:
        raise PatternError(f"pattern {show(pattern)}: {exc}") from None


class _Reader:
    """Reads a pattern from left to right and writes its translation."""

    def __init__(self, body: str, ignore_case: bool) -> None:
        self._body = body
        self._at = 0
        self._ignore_case = ignore_case
        self._out: list[str] = []
        self._groups: list[bool] = []
        """Of each open group whether it can be repeated."""
        self._repeatable = False

    def read(self) -> str:
        while self._at < len(self._body):
            self._step(self._take())
        if self._groups:
            raise PatternError("a group is not closed")
        return "".join(self._out)

    def _take(self) -> str:
        if self._at == len(self._body):
            raise PatternError("it ends too early")
        self._at += 1
        return self._body[self._at - 1]

    def _next(self, text: str) -> bool:
        return self._body.startswith(text, self._at)

    def _write(self, text: str, *, repeatable: bool) -> None:
        self._out.append(text)
        self._repeatable = repeatable

    def _refuse(self, text: str) -> PatternError:
        return PatternError(f"{text} (character {self._at})")

    def _step(self, character: str) -> None:
        if character == "\\":
            self._escape()
        elif character == "[":
            self._write(self._character_class(), repeatable=True)
        elif character == "(":
            self._open()
        elif character == ")":
            if not self._groups:
                raise self._refuse("there is no group to close; for the character write \\)")
            self._write(")", repeatable=self._groups.pop())
        elif character in "|^":
            self._write(character, repeatable=False)
        elif character == "$":
            self._write("(?![\\s\\S])", repeatable=False)
        elif character == ".":
            self._write("[^\\n]", repeatable=True)
        elif character in "*+?{":
            self._repeat(character)
        elif character in "]}":
            raise self._refuse(f"for the character write \\{character}")
        else:
            self._write(self._literal(character), repeatable=True)

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
        self._groups.append(kind == "?:")
        self._write(f"({kind}", repeatable=False)

    def _repeat(self, character: str) -> None:
        if not self._repeatable:
            raise self._refuse(
                f"{character} has nothing to repeat; possessive forms are not in the dialect, and "
                f"for the character write \\{character}"
            )
        text = self._count() if character == "{" else character
        if self._next("?"):
            text += self._take()
        self._write(text, repeatable=False)

    def _count(self) -> str:
        found = re.compile(r"([0-9]{1,4})(,([0-9]{0,4}))?\}").match(self._body, self._at)
        if found is None:
            raise self._refuse("after { comes {n}, {n,} or {n,m}; for the character write \\{")
        least, most = int(found[1]), int(found[3] or found[1])
        if max(least, most) > MAX_REPEATS or most < least:
            raise self._refuse(f"a count goes from the least to the most, up to {MAX_REPEATS}")
        self._at = found.end()
        if not found[2]:
            return f"{{{least}}}"
        return f"{{{least},{most if found[3] else ''}}}"

    def _escape(self) -> None:
        character = self._take()
        if character.lower() in _SETS:
            no = "" if character in _SETS else "^"
            self._write(f"[{no}{_SETS[character.lower()]}]", repeatable=True)
        elif character in "bB":
            self._write(_EDGE if character == "b" else _NO_EDGE, repeatable=False)
        else:
            self._write(self._literal(self._escaped(character)), repeatable=True)

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

    def _character_class(self) -> str:
        start = "^" if self._next("^") else ""
        self._at += len(start)
        if self._next("]"):
            raise self._refuse("a class is not empty; for the character write \\]")
        parts: list[str] = []
        while not self._next("]"):
            parts.append(self._class_item(first=not parts))
        self._at += 1
        return f"[{start}{''.join(parts)}]"

    def _class_item(self, *, first: bool) -> str:
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
            return "\\x2d"
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

    def _range(self, start: str) -> str:
        end = self._take()
        if end == "\\":
            end = self._escaped_in_class(self._take())
        elif end in "[-":
            raise self._refuse(f"in a class write \\{end} for the character")
        self._no_range()
        if end < start:
            raise self._refuse("in a class a range goes from the lower character to the higher")
        if not self._ignore_case:
            return f"{_written(start)}-{_written(end)}"
        if not (start.isascii() and end.isascii()):
            raise self._refuse("without case a range has ASCII characters only")
        parts = [f"{_written(start)}-{_written(end)}"]
        for low, high, shift in (("a", "z", -32), ("A", "Z", 32)):
            lower, upper = max(start, low), min(end, high)
            if lower <= upper:
                parts.append(f"{chr(ord(lower) + shift)}-{chr(ord(upper) + shift)}")
        return "".join(parts)

    def _literal(self, character: str) -> str:
        text = self._variants(character)
        return text if text == _written(character) else f"[{text}]"

    def _variants(self, character: str) -> str:
        found = [character]
        if self._ignore_case:
            for other in (character.lower(), character.upper()):
                if len(other) == 1 and other not in found:
                    found.append(other)
        return "".join(map(_written, found))


def _written(character: str) -> str:
    """A character so that no engine finds a meaning in it."""
    if character.isascii() and not character.isalnum():
        return f"\\x{ord(character):02x}"
    return character
