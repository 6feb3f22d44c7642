"""What a row says of the agent: it passed, it failed, or nothing, and then whose fault that is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

Outcome = Literal["passed", "failed", "grader", "infrastructure", "config", "not run"]
"""``failed`` is the agent's doing. ``grader``: a check broke, so nothing was judged. ``config``:
what was written must change. ``not run``: the run was interrupted or out of time before the row's
answer."""

UNJUDGED: Final = ("grader", "infrastructure", "config", "not run")

_BROKEN: Final = (
    "Custom function threw error",
    "Error running Python script",
    "Python code execution failed",
    "Ruby code execution failed",
    "Invalid regex pattern",
    "Webhook error",
    "API key is not set",
)
"""How promptfoo begins the reason of a check that threw; graders set ``graderError``."""
_MISWRITTEN: Final = re.compile(r"\w+: the configuration is wrong: ")
"""How a check of ours begins the reason when it cannot be meant as it is written."""
_THROWN: Final = re.compile(
    r"\n\s+at (?:async )?runAssertion(?:s|Internal)?\b"
    r"|^Error: Unknown assertion type|^Error: Could not find entity: .* in module"
    r"|^Error: lobu-provider: do not write not-"
)
"""In the error of a row whose JavaScript check threw: promptfoo drops answer and verdicts."""
_NOT_RUN: Final = ("Evaluation exceeded max duration", "Error: Worker shutting down")


class Check(NamedTuple):
    """One assertion of a row, with its verdict."""

    kind: str
    """promptfoo's type; with the metric's name where it has one."""
    value: Any
    config: Any
    passed: bool
    score: float | None
    reason: str
    broken: bool
    """It could not judge: the grader failed, its own code threw, or it is written wrongly."""
    turn: int | None = None
    """The turn that a check of ``turns`` is about, from 1."""


def checks_of(row: Mapping[str, Any]) -> Iterator[Check]:
    """Yield each assertion once.

    promptfoo writes the results inside a check a second time after it. An assert-set is left out
    where its members follow it, ``turns`` where its own checks say the same.
    """
    given = mapping(row.get("gradingResult")).get("componentResults")
    components = [mapping(one) for one in given] if isinstance(given, list) else []
    place = 0
    while place < len(components):
        found = components[place]
        place += 1
        members = items(found.get("componentResults"))
        if members and mapping(found.get("metadata")).get("assertionSet"):
            continue
        if components[place : place + len(members)] == members:
            place += len(members)
        yield from _with_members(found, members)


def _with_members(
    found: Mapping[str, Any], members: Sequence[Mapping[str, Any]]
) -> Iterator[Check]:
    whole = _check(found)
    if not isinstance(whole.value, str) or not _TURNS.search(whole.value):
        yield whole
        yield from map(_check, members)
        return
    parts = [_check(one) for one in members]
    if not parts or whole.passed != all(part.passed for part in parts):  # e.g. by a threshold
        yield whole
    for part in parts:
        about = re.match(r"turn (\d{1,6}):", part.reason)
        yield part._replace(turn=int(about[1]) if about else None)


_TURNS: Final = re.compile(r":turns$")


def _check(component: Mapping[str, Any]) -> Check:
    assertion = mapping(component.get("assertion"))
    kind, metric = assertion.get("type"), assertion.get("metric")
    name = kind if isinstance(kind, str) else "check"
    text = component.get("reason")
    why = text if isinstance(text, str) else ""
    return Check(
        kind=f"{name} ({metric})" if isinstance(metric, str) and metric else name,
        value=assertion.get("value"),
        config=assertion.get("config"),
        passed=component.get("pass") is True,
        score=number(component.get("score")),
        reason=why,
        broken=mapping(component.get("metadata")).get("graderError") is True
        or why.startswith(_BROKEN)
        or _MISWRITTEN.match(why) is not None,
    )


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """Return what the row says of the agent."""
    if row.get("success") is True:
        # An inverted check of a broken grader would pass by its failure.
        return "grader" if any(c.broken and c.passed for c in checks_of(row)) else "passed"
    if row.get("failureReason") == 1:
        failed = [check for check in checks_of(row) if not check.passed]
        return "grader" if failed and all(check.broken for check in failed) else "failed"
    return _of_error(row)


def _of_error(row: Mapping[str, Any]) -> Outcome:
    told = error_of(row)
    if told.get("code") == "cancelled":
        return "not run"
    if told.get("class") == "agent":
        return "failed"
    if told.get("class") == "config":
        return "config"
    text = row.get("error")
    if isinstance(text, str) and text.startswith(_NOT_RUN):
        return "not run"
    return "grader" if threw_in_a_check(row) else "infrastructure"


def threw_in_a_check(row: Mapping[str, Any]) -> bool:
    """Whether the row is an error because a check threw, after the agent had answered."""
    text = row.get("error")
    return not error_of(row) and isinstance(text, str) and _THROWN.search(text) is not None


def is_told_by(error: str, reasons: Iterable[str]) -> bool:
    """Whether a row's error repeats the reason of a check that did not pass.

    Args:
        error: why the row did not pass.
        reasons: of those checks alone; what a passed one says is no part of an error.
    """
    return any(reason and reason in error for reason in reasons)


def error_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``metadata.error`` of our provider; empty where there is none."""
    return mapping(metadata_of(row).get("error"))


def metadata_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the provider told of the call."""
    return mapping(mapping(row.get("response")).get("metadata")) or mapping(row.get("metadata"))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; none for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """Return a number as a float; ``None`` for anything else."""
    if not isinstance(value, (int, float, Decimal)) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
