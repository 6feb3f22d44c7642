"""Which rows of two runs are the same test: by what it says, never by its place.

``metadata.testCaseId``, where the author gives one, else description and variables. Rows that are
also equal in assertions and options are repeats; where those differ, the tests are numbered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from lobu_provider.json_safe import json_key
from lobu_provider.results.documents import plain
from lobu_provider.results.outcomes import mapping
from lobu_provider.results.texts import one_line

_NOT_VARIABLES: Final = frozenset({"sessionId", "_conversation"})
"""Put among the variables by promptfoo, other in each run; so is what begins with ``__``."""
_NOT_CHECKS: Final = frozenset({"description", "vars", "metadata"})
_SPOKEN: Final = ("query", "question", "prompt", "input", "message", "transcript")
"""Variables that say best what a test without a description is about."""


class Identity(NamedTuple):
    """A test as far as it stays the same from run to run."""

    digest: str
    name: str
    """For people: the description, or the words of a variable."""
    checks: str
    """Digest of assertions and options, which tell apart tests that are otherwise equal."""


def identity_of(row: Mapping[str, Any]) -> Identity:
    """Return which test a row belongs to."""
    test = mapping(row.get("testCase"))
    variables = _variables(test if "vars" in test else row)
    given = mapping(test.get("metadata")).get("testCaseId")
    described = test.get("description")
    description = described if isinstance(described, str) and described.strip() else None
    told = {"id": given} if given else {"description": description, "vars": variables}
    checks = {key: value for key, value in test.items() if key not in _NOT_CHECKS}
    return Identity(
        digest=digest(_portable(told)),
        name=one_line(description or _words(variables) or str(given or "(no variables)")),
        checks=digest(_portable(checks)),
    )


def _portable(value: Any) -> Any:
    """Return a copy in which an absolute path of a file is its name: folders differ by machine."""
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, str) and value.startswith("file:///"):
        return value.rpartition("/")[2]
    return value


def _variables(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in mapping(holder.get("vars")).items()
        if key not in _NOT_VARIABLES and not key.startswith("__")
    }


def _words(variables: Mapping[str, Any]) -> str:
    key = next((name for name in _SPOKEN if variables.get(name)), None)
    if key is None:
        return ", ".join(f"{name}={_said(value)}" for name, value in variables.items())
    return _said(variables[key])


def _said(value: Any) -> str:
    if isinstance(value, list):
        return " / ".join(_said(item) for item in value)
    if isinstance(value, Mapping):
        return _said(value.get("content", value.get("user", json_key(plain(dict(value))))))
    text = str(value)
    return text.rpartition("/")[2] if text.startswith("file://") else text


def digest(value: Any) -> str:
    """Return a short text that is the same for equal JSON values."""
    text = json_key(plain(value))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
