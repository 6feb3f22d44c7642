"""Shorten JSON: how many bytes a value takes, and how to take fewer with a mark of what is gone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import Any, Final

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))

MIN_BYTES: Final = 64
"""Nothing is cut to less: a mark takes half of it."""


def json_text(value: Any) -> str:
    """Return a JSON-safe value as JavaScript writes it: no spaces, letters as they are."""
    return _ENCODER.encode(value)


def utf8_length(text: str) -> int:
    """Return how many bytes a text takes; a lone surrogate counts as the three of its code."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def json_bytes(value: Any) -> int:
    """Return how many bytes a JSON-safe value takes as JSON in UTF-8."""
    return utf8_length(json_text(value))


def mark(characters: int) -> str:
    """Return what stands where ``characters`` were."""
    return f"... [cut: {characters} characters]"


def cut_text(text: str, max_bytes: int, *, in_json_text: bool = False) -> str:
    """Return the start of ``text`` and a mark, together at most ``max_bytes`` as JSON.

    Args:
        text: longer than that.
        max_bytes: without the quotes around it; at least :data:`MIN_BYTES`.
        in_json_text: the text stands in a JSON text that is itself a JSON string.
    """

    def cut(length: int) -> str:
        return text[:length] + mark(len(text) - length)

    least, most = 0, min(len(text), max_bytes)  # a character takes a byte or more
    while least < most:
        middle = (least + most + 1) // 2
        if text_bytes(cut(middle), in_json_text=in_json_text) <= max_bytes:
            least = middle
        else:
            most = middle - 1
    return cut(least)


def text_bytes(text: str, *, in_json_text: bool = False) -> int:
    """Return the bytes of a text inside a JSON string, without the quotes around it.

    Args:
        text: without lone surrogates.
        in_json_text: as for :func:`cut_text`.
    """
    written = encode_basestring(text)  # with its quotes
    if in_json_text:
        written = encode_basestring(written[1:-1])
    return utf8_length(written) - 2


def level(sizes: Sequence[int], too_many: int) -> int:
    """Return the size to cut to, so that the longest together lose ``too_many`` bytes.

    At least :data:`MIN_BYTES`, which may then not be enough.
    """
    total = 0
    longest_first = sorted(sizes, reverse=True)
    for count, size in enumerate(longest_first, start=1):
        total += size
        found = (total - too_many) // count
        shorter = longest_first[count] if count < len(longest_first) else 0
        if found >= shorter:
            return max(MIN_BYTES, found)
    return MIN_BYTES
