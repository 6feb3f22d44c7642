"""The kinds of values that options have, each with the words for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeGuard

from lobu_provider.assertions.values import is_blank, is_number

MAX_COUNT: Final = 1_000_000
"""The highest count and weight; sums of them are exact enough and end nowhere near infinity."""

MAX_TURN: Final = 999_999


def is_text(value: Any) -> TypeGuard[str]:
    """Return whether a value is a text that is not blank."""
    return isinstance(value, str) and not is_blank(value)


def is_texts(value: Any) -> TypeGuard[str | list[str]]:
    """Return whether a value is such a text, or a list of some."""
    return is_text(value) or (
        isinstance(value, list) and len(value) > 0 and all(map(is_text, value))
    )


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number from 0 to :data:`MAX_COUNT`."""
    return _is_whole(value, 0, MAX_COUNT)


def is_weight(value: Any) -> bool:
    """Return whether a value is a number above 0, at most :data:`MAX_COUNT`."""
    return is_number(value) and 0 < value <= MAX_COUNT


def _is_whole(value: Any, least: int, most: int) -> bool:
    return is_number(value) and least <= value <= most and value == int(value)


EXPECTED: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "text": ("a text", is_text),
    "texts": ("a text or a list of texts", is_texts),
    "names": ("a tool's name or a list of names", is_texts),
    "flags": ('"i"', lambda value: value in ("", "i")),
    "yes or no": ("true or false", lambda value: isinstance(value, bool)),
    "count": (f"a whole number from 0 to {MAX_COUNT}", is_count),
    "place": (
        f"a turn's number, from 1 to {MAX_TURN}",
        lambda value: _is_whole(value, 1, MAX_TURN),
    ),
    "amount": (
        "a number from 0",
        lambda value: is_number(value) and 0 <= value <= sys.float_info.max,
    ),
}
"""What each kind is called in a message, and whether a value is of it."""
