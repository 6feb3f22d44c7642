"""What a span tells of a tool call: its arguments, whole, hidden or not at all, and its error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from lobu_provider.json_safe import json_safe, json_words
from lobu_provider.redaction import CUT, MASK, Redactor
from lobu_provider.turn import ToolCall

ArgumentsShown = Literal["full", "redacted", "none"]

MAX_ARGUMENTS: Final = 64 * 1024
"""Characters of one call's arguments as JSON; promptfoo's receiver takes 10 MB in a request."""

MAX_ERROR: Final = 500
"""Characters of an error's text."""


class Arguments(NamedTuple):
    """The arguments of a call as JSON text."""

    text: str
    is_cut: bool


def arguments_of(call: ToolCall, shown: ArgumentsShown, redactor: Redactor) -> Arguments | None:
    """Return the arguments without secrets; ``None`` where none came, or none may be shown."""
    given = call.data.get("input")
    if given is None or shown == "none":
        return None
    value = redactor.json(json_safe(given))
    if shown == "redacted":
        value = _hidden(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) <= MAX_ARGUMENTS:
        return Arguments(text, is_cut=False)
    return Arguments(f"{text[:MAX_ARGUMENTS]}{CUT}", is_cut=True)


def _hidden(value: Any) -> Any:
    """The same shape with the same keys, and nothing of the values."""
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return value if value is None else MASK


def error_of(call: ToolCall, redactor: Redactor) -> str | None:
    """Return what went wrong in a call; ``None`` where nothing is known to have.

    A gateway says so by ``isError: true``, or by ``result_summary.error`` alone: a failed MCP tool
    may have ``isError: false``.
    """
    summary = call.data.get("result_summary")
    told = summary.get("error") if isinstance(summary, Mapping) else None
    if told not in (None, "", False):
        text = told if isinstance(told, str) else json_words(told)
        return redactor.values(text)[:MAX_ERROR]
    return "The tool call failed." if call.data.get("isError") is True else None
