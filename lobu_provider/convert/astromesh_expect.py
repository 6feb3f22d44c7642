"""One expectation of an Astromesh case."""

from __future__ import annotations

import re
from typing import Final

from lobu_provider.convert.fields import Fields
from lobu_provider.convert.suite import Check, TextCheck, ToolCheck

_ASSERTIONS: Final = (
    "contains", "not_contains", "regex", "equals", "tool_called", "tool_not_called",
)  # fmt: skip


def check_of(assertion: Fields) -> Check | None:
    """Return the check of one entry of ``expect``; ``None`` when it is a fault."""
    keys = assertion.keys()
    if len(keys) != 1:
        assertion.problem("", f"expected one assertion, got {', '.join(keys) or 'none'}")
        return None
    (kind,) = keys
    assertion.refuse_unknown(_ASSERTIONS)
    value = assertion.raw(kind)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assertion.problem(kind, f"expected a text, got {value}; put it in quotes")
        return None
    text = assertion.text(kind, required=True)
    if text is None:
        return None
    if kind == "regex":
        try:
            re.compile(text)
        except re.error as error:
            assertion.problem(kind, f"is no regular expression: {error}")
        return TextCheck("regex", text, engine="python")
    if kind == "equals":
        return TextCheck("equals", text, strip=True)
    if kind in ("contains", "not_contains"):
        return TextCheck("icontains" if kind == "contains" else "not-icontains", text)
    return ToolCheck("toolCalled" if kind == "tool_called" else "toolNotCalled", {"tool": text})
