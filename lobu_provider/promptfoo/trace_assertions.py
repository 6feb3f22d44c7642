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


def flat_assertions(given: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the assertions of a test's ``assert`` in order, each set before what it holds.

    What is no assertion is passed over, however deep it is nested. One that stands in several
    places by an alias of YAML comes once, so that one that holds itself has an end.
    """
    seen: set[int] = set()
    waiting = [given]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, (list, Mapping)) or id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, Mapping):
            yield found
            waiting.append(found.get("assert"))
        else:
            waiting += reversed(found)


def _types(given: Any) -> Iterator[str]:
    for assertion in flat_assertions(given):
        kind = assertion.get("type")
        if isinstance(kind, str):
            yield kind
