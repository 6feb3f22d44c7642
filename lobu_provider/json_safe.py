"""Make any value fit for promptfoo's JSON, visibly.

promptfoo's Python bridge fails the whole row on ``NaN``, infinities and lone surrogates, and
JavaScript rounds integers above 2**53. Each is replaced by a string that shows what stood there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

MAX_DEPTH: Final = 100
"""Nesting kept; deeper values become a note. promptfoo itself copes with 500 levels."""

_MAX_SAFE_INTEGER: Final = 2**53 - 1
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def safe_text(text: str) -> str:
    """Return ``text`` with each lone surrogate written out as ``\\udXXX``."""
    if text.isascii():  # most are, and the answer costs nothing
        return text
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def json_safe(value: Any, *, depth: int = MAX_DEPTH) -> Any:
    """Return a copy of ``value`` made of dicts with string keys, lists, strings, numbers, booleans
    and ``None`` only, which ``json.dumps`` writes as valid JSON.

    ``NaN`` and the infinities become ``"NaN"``, ``"Infinity"``, ``"-Infinity"``; integers beyond
    2**53 - 1 become decimal strings; other types become their ``str()``.
    """
    return _safe(value, depth)


def _safe(value: Any, depth: int) -> Any:
    # By exact type first, the commonest ones: isinstance takes several times as long.
    kind = type(value)
    if kind is str:
        return value if value.isascii() else safe_text(value)
    if kind is dict and depth > 0:
        return {
            key if type(key) is str and key.isascii() else _as_text(key): (
                item if item is None or item is True or item is False else _safe(item, depth - 1)
            )
            for key, item in value.items()
        }
    if kind is list and depth > 0:
        return [_safe(item, depth - 1) for item in value]
    if kind is int and -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER:
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, int):
        return _safe_int(value)
    if isinstance(value, float):
        return _safe_float(value)
    if depth == 0:
        return "(nested too deep)"
    if isinstance(value, Mapping):
        return {_as_text(key): _safe(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_safe(item, depth - 1) for item in value]
    return _as_text(value)


def _as_text(value: Any) -> str:
    try:
        return safe_text(str(value))
    except Exception:  # noqa: BLE001 - somebody else's __str__; one value must not cost the row
        return f"({type(value).__name__})"


def _safe_int(value: int) -> int | str:
    if abs(value) <= _MAX_SAFE_INTEGER:
        return int(value)
    if value.bit_length() > 4096:  # Python refuses to print very long integers in decimal
        return hex(value)
    return str(value)


def _safe_float(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def with_pairs_joined(text: str) -> str:
    """Return a text in which both halves of a surrogate pair are the one character they mean.

    Node cuts strings between them, so that each half comes in a piece of its own.
    """
    if text.isascii() or not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def json_words(value: Any) -> str:
    """Return any value as JSON for a person to read: letters as they are. Never raises."""
    return json.dumps(json_safe(value), ensure_ascii=False)


def json_key(value: Any) -> str:
    """Return a text that is the same for equal JSON values, whatever the order of their keys."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):  # no JSON, or nested too deep
        return json.dumps(json_safe(value), sort_keys=True)


def parse_json(text: str) -> Any:
    """Parse JSON from outside.

    Raises:
        ValueError: the text is not JSON, or nested beyond what Python can read.
    """
    # A number of 1,000 digits holds 20 of these characters; a call for each number takes half of
    # the time that a text of many takes.
    decoder = _CAREFUL if _MANY_DIGITS.search(text[::50]) else _DECODER
    try:
        return decoder.decode(text)
    except RecursionError as exc:
        raise ValueError("nested too deep") from exc


def _parse_int(digits: str) -> int | str:
    return int(digits) if len(digits) <= 1000 else digits  # int() refuses more than 4,300 digits


_MANY_DIGITS: Final = re.compile("[0-9]{20}")
_DECODER: Final = json.JSONDecoder()
"""One for all: ``json.loads`` would make a new one for each text."""
_CAREFUL: Final = json.JSONDecoder(parse_int=_parse_int)


def utf16_length(text: str) -> int:
    """Return how many characters JavaScript counts: two for each beyond the basic plane."""
    return len(text) + (0 if text.isascii() else sum(letter > "\uffff" for letter in text))
