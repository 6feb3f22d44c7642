"""Which of a test's assertions are judged by spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_BY_SPANS: Final = ("trajectory:", "trace-")
_BY_ARGUMENTS: Final = "trajectory:tool-args-match"


def trace_assertions(context: Mapping[str, Any] | None) -> list[str]:
    """Return the types of those assertions, e.g. ``not-trajectory:tool-used``.

    promptfoo passes the test with the ones of ``defaultTest`` merged in; sets hold others.
    """
    test = context.get("test") if isinstance(context, Mapping) else None
    given = test.get("assert") if isinstance(test, Mapping) else None
    types = dict.fromkeys(_types(given))
    return [kind for kind in types if kind.removeprefix("not-").startswith(_BY_SPANS)]


def looks_at_arguments(assertion: str) -> bool:
    """Return whether an assertion of this type compares the arguments of tool calls."""
    return assertion.removeprefix("not-") == _BY_ARGUMENTS


def _types(assertions: Any) -> Iterator[str]:
    waiting = [assertions]
    while waiting:
        given = waiting.pop()
        if isinstance(given, list):
            waiting += reversed(given)
        elif isinstance(given, Mapping):
            kind = given.get("type")
            if isinstance(kind, str):
                yield kind
            waiting.append(given.get("assert"))
