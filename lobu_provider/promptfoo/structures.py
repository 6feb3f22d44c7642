"""Take out of ``metadata`` what has too many values to fit, before anybody looks at each of them.

A gateway may send an input with millions of keys. To copy, cut and measure such a thing value by
value takes minutes of a call that has none, and to write it as JSON a second for each 10 MB. What
takes more bytes than a row may have, however short its texts are cut, cannot stay: nobody counts
further than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.json_cuts import (
    MIN_BYTES,
    json_bytes,
    json_text,
    utf8_length,
)
from lobu_provider.promptfoo.metadata_parts import ENTRY, Part, label_of, note_for, parts_of

_LEAST_VALUE: Final = 2
"""Bytes of a value and what parts it from the next."""

_LEAST_TEXT: Final = MIN_BYTES // 2
"""Bytes of what is left of a longer text, as its mark alone takes about as much."""

_LOOKS: Final = 4
"""How often as much as fits is looked into; nothing of the larger ones behind that would fit."""

_LEAST_ENTRY: Final = 20
"""Bytes of the entry of a tool call or a card."""


class Taken(NamedTuple):
    """What was taken out."""

    labels: frozenset[str] = frozenset()
    size: int = 0
    """In bytes of JSON, about."""


def take_out_structures(metadata: dict[str, Any], max_bytes: int) -> Taken:
    """Put notes in the place of what has too many values, the largest first.

    Args:
        metadata: as described from the turns, not yet JSON-safe; changed in place.
        max_bytes: that the whole row may have.
    """
    labels, size = _strip_entries(metadata, max_bytes)
    most = max_bytes
    for part, least in sorted(_structures(metadata, most), key=lambda one: one[1]):
        most -= least
        if most < 0:
            written = _about(part.holder[part.key])
            note = note_for(part.label, part.holder[part.key], written.characters)
            part.holder[part.key] = note
            labels.add(part.label)
            size += written.size - json_bytes(note)
    return Taken(frozenset(labels), size)


def _structures(metadata: dict[str, Any], most: int) -> Iterator[tuple[Part, int]]:
    """Yield each with its least bytes, or some number above ``most``."""
    found = [part for part in parts_of(metadata) if isinstance(part.holder[part.key], (dict, list))]
    left = most * _LOOKS
    for part in sorted(found, key=lambda part: len(part.holder[part.key])):
        least = _least_bytes(part.holder[part.key], most) if left > 0 else most + 1
        left -= least
        if part.holder[part.key]:
            yield part, least


def _least_bytes(value: Any, most: int) -> int:
    """Return what a value takes with its texts cut, at least; or some number above ``most``."""
    size, waiting = 0, [value]
    while waiting and size <= most:
        held = waiting.pop()
        size += len(held) * _LEAST_VALUE
        if size > most:
            break
        if isinstance(held, dict):
            size += sum(len(key) for key in held if isinstance(key, str))
            held = held.values()
        for item in held:
            if isinstance(item, str):
                size += min(len(item), _LEAST_TEXT)
            elif isinstance(item, (dict, list)):
                waiting.append(item)
    return size


def _strip_entries(metadata: dict[str, Any], max_bytes: int) -> tuple[set[str], int]:
    """Leave only the entries where those alone are too much, or where one has too many keys."""
    labels: set[str] = set()
    size = 0
    for name, entry in ENTRY.items():
        items = metadata.get(name, ())
        only_entries = len(items) * _LEAST_ENTRY > max_bytes
        for item in items:
            if only_entries or len(item) * _LEAST_VALUE > max_bytes:
                rest = {key: item.pop(key) for key in [*item] if key not in entry}
                labels.update(label_of(name, key) for key in rest)
                size += _about(rest).size - 1 if rest else 0  # its braces, less a comma
    return labels, size


class _Written(NamedTuple):
    characters: int
    size: int


def _about(value: Any) -> _Written:
    """Return what a value takes as JSON, a little wrong where texts need escapes.

    From ``repr``, which takes a fifth of the time that JSON takes and differs by its spaces.
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer too long for decimal, or nested too deep
        text = json_text(json_safe(value))
        return _Written(len(text), utf8_length(text))
    spaces = text.count(", ") + text.count(": ")
    return _Written(len(text) - spaces, utf8_length(text) - spaces)
