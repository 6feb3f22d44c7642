"""Values as JSON has them: how they are written, and when two are the same.

Written as JavaScript writes them, so that a message reads the same from both languages.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

MAX_SHOWN: Final = 200
"""Characters of a value in a message."""

MAX_LISTED: Final = 20
"""Entries of a list in a message."""

_SAFE_INTEGER: Final = 2**53
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


BLANKS: Final = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""White space as JavaScript's ``trim`` has it; Python's ``strip`` knows other characters."""


def is_blank(text: str) -> bool:
    """Return whether a text is empty or nothing but white space."""
    return not text.strip(BLANKS)


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a JSON number; ``True`` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _double(number: float) -> float:
    """The number as JavaScript holds it: a whole one of 400 digits is infinite."""
    if abs(number) > sys.float_info.max:
        return math.inf if number > 0 else -math.inf
    return float(number)


def number_text(number: float) -> str:
    """Return a number as JavaScript writes it."""
    if isinstance(number, int) and abs(number) < _SAFE_INTEGER:
        return str(number)
    mantissa, _, exponent = repr(_double(number)).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).rstrip("0")
    zeros = len(digits) - len(digits.lstrip("0"))
    digits, point = digits[zeros:], point - zeros
    if not digits:
        return "0"
    if 0 < point <= 21:
        if len(digits) <= point:
            return f"{sign}{digits}{'0' * (point - len(digits))}"
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def json_text(value: Any) -> str:
    """Return compact JSON with sorted keys: languages differ in the order that they keep."""
    if isinstance(value, Mapping):
        pairs = (f"{_quoted(str(key))}:{json_text(value[key])}" for key in sorted_keys(value))
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(json_text(item) for item in value)}]"
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return number_text(value)


def sorted_keys(mapping: Mapping[str, Any]) -> list[str]:
    """Return the keys in the order of JavaScript's ``sort``."""
    return sorted(mapping, key=lambda key: str(key).encode("utf-16-be", "surrogatepass"))


def _quoted(text: str) -> str:
    escaped = json.dumps(text, ensure_ascii=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", escaped)


def show(value: Any, limit: int = MAX_SHOWN) -> str:
    """Return a value for a message, shortened."""
    text = json_text(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def show_list(texts: Sequence[str]) -> str:
    """Return names for a message, in the order given."""
    more = len(texts) - MAX_LISTED
    return f"[{', '.join([*texts[:MAX_LISTED], *([f'{more} more'] if more > 0 else [])])}]"


def times(count: int, unit: str = "time") -> str:
    """Return e.g. ``1 time`` or ``3 times``."""
    return f"{count} {unit}{'' if count == 1 else 's'}"


def same(first: Any, second: Any) -> bool:
    """Return whether two JSON values are equal; 1 and 1.0 are, 1 and true are not."""
    if is_number(first) or is_number(second):
        return is_number(first) and is_number(second) and _double(first) == _double(second)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and bool(first == second)


def contains(text: str, part: str) -> bool:
    """Return whether ``part`` occurs in ``text``, ignoring case."""
    return part.lower() in text.lower()


def nearest(word: str, options: Sequence[str]) -> str | None:
    """Return what was probably meant by a word that is none of the options."""
    best: tuple[int, str] | None = None
    plain = bare_word(word)
    for option in options:
        steps = distance(plain, bare_word(option))
        if steps <= max(2, len(plain) // 3) and (best is None or steps < best[0]):
            best = (steps, option)
    if best is not None:
        return best[1]
    return next((one for one in options if plain[:3] and bare_word(one)[:3] == plain[:3]), None)


def did_you_mean(word: str, options: Sequence[str]) -> str:
    """Return a suggestion to append, or nothing."""
    meant = nearest(word, options)
    return "" if meant is None else f"; did you mean {show(meant)}?"


def bare_word(word: str) -> str:
    """Return the start of a word without case and separators."""
    return re.sub("[^a-z0-9]", "", word[:60].lower())


def distance(first: str, second: str) -> int:
    """Return how many letters to add, drop or change to make one word of another."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(second, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
