"""Bytes of the wire as JSON that people read and compare, and back to the very same bytes.

What is JSON stands as JSON when it can be written again exactly as it was; all else is a text, in
which bytes that are not UTF-8 are lone surrogates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.json_safe import parse_json

_MAX_DEPTH: Final = 50

STYLES: Final[dict[str, dict[str, Any]]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "spaced": {"separators": (", ", ": "), "ensure_ascii": True},
    "spaced-utf8": {"separators": (", ", ": "), "ensure_ascii": False},
    "compact-ascii": {"separators": (",", ":"), "ensure_ascii": True},
}
"""How JSON is written: by JavaScript, the first; by Python, the others."""

_FRAME: Final = re.compile(
    r"(?:id: (?P<first_id>[^\r\n]+)\n)?event: (?P<event>[^\r\n]+)\ndata: (?P<data>[^\r\n]+)\n"
    r"(?:id: (?P<last_id>[^\r\n]+)\n)?\n"
)


def json_of(text: str) -> tuple[Any, str] | None:
    """Return a JSON value and the style it is written in; ``None`` unless that gives it back."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value = parse_json(text)
        if _is_deep(value, _MAX_DEPTH):
            return None
        for name in STYLES:
            if text_of(value, name) == text:
                return value, name
    except (ValueError, RecursionError):  # NaN, which is no JSON; an endless number
        return None
    return None


def text_of(value: Any, style: str) -> str:
    """Return a value as it was written."""
    return json.dumps(value, allow_nan=False, **STYLES[style])


def text_of_bytes(data: bytes) -> str:
    """Return bytes as a text from which :func:`bytes_of_text` makes the same bytes."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of_text(text: str) -> bytes:
    """Return the bytes of a text; what UTF-8 does not know is sent as ``?``."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # edited by hand
        return text.encode("utf-8", "replace")


def frame_line(data: bytes) -> dict[str, Any]:
    """Return a frame as ``{event, data}``, with ``id`` where it stood, or as ``{text}``."""
    text = text_of_bytes(data)
    found = _FRAME.fullmatch(text)
    read = json_of(found["data"]) if found is not None else None
    if found is None or read is None or (found["first_id"] and found["last_id"]):
        return {"text": text}
    value, style = read
    return {
        **({"id": found["first_id"]} if found["first_id"] else {}),
        "event": found["event"],
        "data": value,
        **({"id": found["last_id"]} if found["last_id"] else {}),
        **({} if style == "compact" else {"style": style}),
    }


def frame_bytes(line: Mapping[str, Any]) -> bytes:
    """Return the bytes of what :func:`frame_line` returned, with whatever stands in it by now."""
    if "text" in line:
        return bytes_of_text(line["text"])
    data = text_of(line["data"], line.get("style", "compact"))
    fields = [f"event: {line['event']}", f"data: {data}"]
    if "id" in line:
        fields.insert(0 if next(iter(line)) == "id" else 2, f"id: {line['id']}")
    return bytes_of_text("\n".join([*fields, "", ""]))


def body_line(data: bytes) -> dict[str, Any]:
    """Return a plain body as ``{body}`` or ``{text}``."""
    text = text_of_bytes(data)
    read = json_of(text)
    if read is None:
        return {"text": text} if text else {}
    value, style = read
    return {"body": value, **({} if style == "compact" else {"style": style})}


def body_bytes(line: Mapping[str, Any]) -> bytes:
    """Return the bytes of what :func:`body_line` returned."""
    if "body" in line:
        return bytes_of_text(text_of(line["body"], line.get("style", "compact")))
    return bytes_of_text(line.get("text", ""))


def _is_deep(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return depth == 0 or any(_is_deep(item, depth - 1) for item in value.values())
    if isinstance(value, list):
        return depth == 0 or any(_is_deep(item, depth - 1) for item in value)
    return False
