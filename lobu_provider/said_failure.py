"""Whether a JSON object of the gateway says of itself that something failed: one rule for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.blank import is_blank

_FAILED: Final = frozenset(
    {
        *("failed", "failure", "fail", "error", "errored", "unsuccessful", "incomplete", "false"),
        *("cancelled", "canceled", "aborted", "interrupted", "crashed"),
        *("timeout", "timedout", "expired", "rejected", "refused", "denied", "blocked"),
    }
)
"""What a ``status`` may be that is no success."""

_NO: Final = _FAILED | {"no", "0"}
_YES: Final = frozenset({"true", "yes", "1"})
_NOTHING: Final = frozenset(
    {"false", "null", "none", "nil", "undefined", "0", "na", "noerror", "noerrors", "ok", "success"}
)
"""Words that careless servers write where they mean that there is no error."""

_MAX_WORD: Final = 50
"""Characters; what is longer is no word of these."""

_MAX_DEPTH: Final = 4
"""Of lists and objects that are looked into."""


def said_failure(data: Mapping[str, Any]) -> Any:
    """Return what ``data`` says about its failure; ``None`` where it says nothing of the kind.

    A failure is told by an ``error``, ``errorCode`` or ``errors`` that is something, a ``success``
    or ``ok`` that is a no, an ``isError`` that is a yes, or a ``status`` that names a failure. One
    sign is enough, whatever the others say.

    A value may be a word, a boolean, a number, a list of values, or an object with one as its
    ``state`` or ``status``. Case, punctuation and what is invisible do not count. ``null``, an
    empty value, a number as ``status``, and a word that nobody knows say nothing.

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
        _is_something(data.get("errors")),
        not _NO.isdisjoint(_words(data.get("success"))),
        not _NO.isdisjoint(_words(data.get("ok"))),
        not _YES.isdisjoint(_words(data.get("isError"))),
        not _FAILED.isdisjoint(_words(data.get("status"))),
    )
    return data if any(signs) else None


def _is_something(value: Any, depth: int = _MAX_DEPTH) -> bool:
    if isinstance(value, str):
        return not is_blank(value.replace("-", "")) and _word(value) not in _NOTHING
    if isinstance(value, list) and depth > 0:
        return any(_is_something(item, depth - 1) for item in value)
    return bool(value)


def _words(value: Any, depth: int = _MAX_DEPTH) -> Iterator[str]:
    """Yield the words of a value: ``true`` and ``false`` for booleans, 0 and 1 for numbers."""
    if isinstance(value, (str, bool)):
        yield _word(str(value))
    elif isinstance(value, (int, float)):
        yield "0" if value == 0 else "1"
    elif isinstance(value, list) and depth > 0:
        for item in value:
            yield from _words(item, depth - 1)
    elif isinstance(value, dict) and depth > 0:
        for key in ("state", "status"):
            yield from _words(value.get(key), depth - 1)


def _word(text: str) -> str:
    if len(text) > _MAX_WORD:
        return ""
    word = "".join(filter(str.isalnum, text.lower()))
    return word if word.strip("0") else word[:1]  # "0.0"
