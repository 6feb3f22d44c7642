"""Take out of ``metadata`` what has too many values to fit, before anybody looks at each of them.

A gateway may send an input with millions of keys. To copy, cut and measure such a thing value by
value takes minutes of a call that has none; here it is only written out by the C encoder, which
also tells how many values there are. A value takes two bytes or more, so what has more values than
half of the bytes that a row may have cannot stay, however short they are cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.json_cuts import utf8_length
from lobu_provider.promptfoo.metadata_parts import ENTRY, Part, label_of, note_for, parts_of

_BETWEEN: Final = "\0"
"""Stands between two values; in a text it would be written as an escape."""

_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(_BETWEEN, ":")
)
_LEAST_VALUE: Final = 2
"""Bytes of a value and what parts it from the next."""

_LEAST_ENTRY: Final = 20
"""Bytes of the entry of a tool call or a card."""


class Taken(NamedTuple):
    """What was taken out."""

    labels: frozenset[str] = frozenset()
    size: int = 0
    """In bytes of JSON."""


def take_out_structures(metadata: dict[str, Any], max_bytes: int) -> Taken:
    """Put notes in the place of what has too many values, the largest first.

    Args:
        metadata: as described from the turns, not yet JSON-safe; changed in place.
        max_bytes: that the whole row may have.
    """
    most = max_bytes // _LEAST_VALUE
    labels, size = _strip_entries(metadata, max_bytes)
    for part, written in sorted(_structures(metadata), key=lambda one: one[1].values):
        most -= written.values
        if most < 0:
            value = part.holder[part.key]
            note = note_for(part.label, value, written.characters)
            part.holder[part.key] = note
            labels.add(part.label)
            size += written.size - _measure(note).size
    return Taken(frozenset(labels), size)


class _Written(NamedTuple):
    characters: int
    size: int
    values: int


def _structures(metadata: dict[str, Any]) -> Iterator[tuple[Part, _Written]]:
    for part in parts_of(metadata):
        value = part.holder[part.key]
        if isinstance(value, (dict, list)) and value:
            yield part, _measure(value)


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
                size += _measure(rest).size - 1 if rest else 0  # its braces, less a comma
    return labels, size


def _measure(value: Any) -> _Written:
    text = _written(value)
    return _Written(len(text), utf8_length(text), text.count(_BETWEEN) + 1)


def _written(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):  # no JSON, or nested too deep
        return _ENCODER.encode(json_safe(value))
