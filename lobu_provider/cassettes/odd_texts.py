"""Frames and bodies that are kept as the text that came, as what their reader makes of them.

A frame with other line ends or numbers cannot be written back from its JSON, and its reader knows
its values all the same: they are to be masked like any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")


def data_of(line: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the event's name and the JSON value of a line that holds a frame.

    Returns:
        ``None`` for any other line, and for a frame whose data is no JSON.
    """
    if "event" in line:
        return str(line["event"]), line.get("data")
    if not is_odd_frame(line):
        return None
    fields = [_field(text) for text, _ in _lines(line["text"])]
    found = loaded(_data(line["text"]))
    names = [value for name, value in fields if name == "event"]
    return None if found is None else (names[-1].strip().lower() if names else "", found[0])


def with_data(line: Mapping[str, Any], data: Any) -> dict[str, Any]:
    """Return a line that :func:`data_of` reads with another value."""
    return {**line, "data": data} if "event" in line else {**line, "text": _put(line["text"], data)}


def is_odd_frame(line: Mapping[str, Any]) -> bool:
    """Whether a line holds a frame as a text."""
    return "text" in line and not line.keys() & {"request", "reply"}


def rewritten(line: Mapping[str, Any], value: Any) -> str:
    """Return the text of a line, a frame's or a body's, with another JSON value in it."""
    return _put(line["text"], value) if is_odd_frame(line) else _dumped(value)


def value_in(line: Mapping[str, Any]) -> tuple[Any, bool] | None:
    """Return the JSON value in a line's text, and whether it says a key twice.

    What is said twice is not in the value, but still in the text. ``None`` where it is no JSON.
    """
    return loaded(_data(line["text"]) if is_odd_frame(line) else line["text"])


def loaded(text: str) -> tuple[Any, bool] | None:
    """Return a JSON value, and whether it says a key twice; ``None`` for what is no JSON."""
    doubles: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) < len(found):
            doubles.append("")
        return value

    try:
        return json.loads(text, object_pairs_hook=pairs), bool(doubles)
    except (ValueError, RecursionError):
        return None


def _data(text: str) -> str:
    fields = [_field(line) for line, _ in _lines(text)]
    return "\n".join(value for name, value in fields if name == "data")


def _put(text: str, data: Any) -> str:
    told, is_written = [], False
    for line, end in _lines(text):
        if _field(line)[0] != "data":
            told.append(line + end)
        elif not is_written:
            told.append(f"data: {_dumped(data)}{end}")
            is_written = True
    return "".join(told)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _lines(text: str) -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in _LINE.finditer(text) if found[0]]


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.lstrip("\ufeff").strip(), value.removeprefix(" ")
