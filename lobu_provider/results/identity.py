"""Which rows of two runs are the same test: by what it says.

``metadata.testCaseId``, where the author gives one, else description and variables. Assertions,
options and metadata tell apart tests of one run that are equal in these; :mod:`telling_apart` does
where nothing of that differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from lobu_provider.json_safe import json_key
from lobu_provider.results.documents import plain
from lobu_provider.results.outcomes import mapping, number
from lobu_provider.results.secret_keys import masked
from lobu_provider.results.texts import one_line

_NOT_VARIABLES: Final = frozenset({"sessionId", "_conversation"})
"""Put among the variables by promptfoo, other in each run; so is what begins with ``__``."""
_NOT_CHECKS: Final = frozenset({"description", "vars", "metadata"})
_ABSOLUTE: Final = "file:///"
_SPOKEN: Final = ("query", "question", "prompt", "input", "message", "transcript")
"""Variables that say best what a test without a description is about."""


class Identity(NamedTuple):
    """A test as far as it stays the same from run to run."""

    digest: str
    name: str
    """For people: the description, or the words of a variable."""
    checks: str
    """Digest of assertions and options, which tell apart tests that are otherwise equal."""
    metadata: str | None = ""
    """Digest of the author's metadata, empty for none: it tells apart too, and a test to which a
    label was added is still the same. ``None``: an old baseline does not tell."""
    place: str = ""
    """What else tells it apart in its run: folders, a number. Empty for nearly every test."""


class Distinction(NamedTuple):
    """What a row says that can tell its test apart from one with an equal :class:`Identity`."""

    paths: tuple[str, ...] = ()
    """Absolute paths of files, of which the identity has only the names."""
    words: str = ""
    """Digest of the variables where the author's id stands for them: each text of a list has it."""
    repeats: int | None = None
    """``options.repeat``: how often promptfoo runs this test."""
    is_stripped: bool = False
    """Whether promptfoo left the variables out (``PROMPTFOO_STRIP_TEST_VARS``)."""


def identity_of(row: Mapping[str, Any]) -> Identity:
    """Return which test a row belongs to."""
    test = mapping(row.get("testCase"))
    variables = _variables(test if "vars" in test else row)
    given = _given_id(test)
    described = test.get("description")
    description = described if isinstance(described, str) and described.strip() else None
    told = {"id": given} if given else {"description": description, "vars": variables}
    metadata = mapping(test.get("metadata"))
    return Identity(
        digest=digest(_portable(told)),
        name=one_line(description or _words(variables) or str(given or "(no variables)")),
        checks=digest(_portable(_checks(test))),
        metadata=digest(masked(plain(dict(metadata)))) if metadata else "",
    )


def distinction_of(row: Mapping[str, Any]) -> Distinction:
    """Return what else tells the test of a row apart."""
    test = mapping(row.get("testCase"))
    variables = _variables(test if "vars" in test else row)
    repeats = number(mapping(test.get("options")).get("repeat"))
    return Distinction(
        paths=tuple(_paths([variables, _checks(test)])),
        words=digest(_portable(variables)) if _given_id(test) else "",
        repeats=int(repeats) if repeats and repeats > 0 and repeats == int(repeats) else None,
        is_stripped="vars" not in test and not variables,  # promptfoo gives each test some, or {}
    )


def _given_id(test: Mapping[str, Any]) -> Any:
    return mapping(test.get("metadata")).get("testCaseId")


def _checks(test: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides whether the test passes; how often it runs does not."""
    checks = {key: value for key, value in test.items() if key not in _NOT_CHECKS}
    if isinstance(options := checks.get("options"), Mapping):
        checks["options"] = {key: value for key, value in options.items() if key != "repeat"}
    return checks


def _paths(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _paths(value[key])
    elif isinstance(value, list):
        for item in value:
            yield from _paths(item)
    elif isinstance(value, str) and value.startswith(_ABSOLUTE):
        yield value


def _portable(value: Any) -> Any:
    """Return a copy in which an absolute path of a file is its name: folders differ by machine."""
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, str) and value.startswith(_ABSOLUTE):
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
