"""Whether a JSON object of the gateway says of itself that something failed: one rule for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.blank import is_blank

_FAILED: Final = frozenset(
    {
        *("failed", "failure", "fail", "error", "errored", "unsuccessful", "incomplete", "false"),
        *("cancelled", "canceled", "aborted", "interrupted", "crashed"),
        *("timeout", "timedout", "expired", "rejected", "refused", "denied", "blocked"),
    }
)
"""What a ``status`` may be that is no success, in lower case and without punctuation."""

_NOTHING: Final = frozenset({"false", "null", "none", "undefined", "0"})
"""Words that careless servers write where they mean that there is nothing."""


def said_failure(data: Mapping[str, Any]) -> Any:
    """Return what ``data`` says about its failure; ``None`` where it says nothing of the kind.

    A failure is told by an ``error`` or ``errorCode`` that is something, a false ``success``, a
    true ``isError``, or a ``status`` that names one: as a word, in a list, or as the ``state`` of
    an object. Booleans count as words too, and case does not. ``null``, an empty value, and a word
    that nobody knows say nothing. One sign is enough, whatever the others say.

    Example::

        said_failure({"success": True, "error": None})  # None
        said_failure({"status": "FAILED", "error": "no"})  # "no"

    Returns:
        The ``error``, or all of ``data`` where that does not say it.
    """
    error = data.get("error")
    if _is_something(error) and error is not True:
        return error
    signs = (
        error is True,
        _is_something(data.get("errorCode")),
        _word(data.get("success")) in ("false", "0"),
        _word(data.get("isError")) in ("true", "1"),
        _is_failed(data.get("status")),
    )
    return data if any(signs) else None


def _is_something(value: Any) -> bool:
    if isinstance(value, str):
        return not is_blank(value) and _word(value) not in _NOTHING
    return bool(value)


def _is_failed(status: Any) -> bool:
    told = status if isinstance(status, list) else [status]
    states = [item.get("state") if isinstance(item, dict) else item for item in told]
    return any("".join(filter(str.isalnum, _word(state))) in _FAILED for state in states)


def _word(value: Any) -> str:
    return str(value).strip().lower() if isinstance(value, (str, bool, int, float)) else ""
