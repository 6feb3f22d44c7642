"""What a row says of the agent: it passed, it failed, or nothing, and then whose fault that is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

Outcome = Literal["passed", "failed", "grader", "infrastructure", "config", "not run"]
"""``failed`` is the agent's doing. ``grader``: a check broke, so nothing was judged. ``config``:
what was written must change. ``not run``: the run was interrupted or out of time before the row."""

JUDGED: Final = ("passed", "failed")
UNJUDGED: Final = ("grader", "infrastructure", "config", "not run")

_BROKEN: Final = (
    "Custom function threw error",
    "Python code execution failed",
    "Ruby code execution failed",
)
"""How promptfoo begins the reason of a check that threw; graders set ``graderError``."""
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
    """It could not judge: the grader failed, or the check's own code threw."""


def checks_of(row: Mapping[str, Any]) -> Iterator[Check]:
    """Yield each assertion once. An assert-set is left out where its members follow it."""
    components = mapping(row.get("gradingResult")).get("componentResults")
    for component in components if isinstance(components, list) else ():
        found = mapping(component)
        nested = found.get("componentResults")
        if mapping(found.get("metadata")).get("assertionSet") and nested:
            continue
        yield _check(found)
        if isinstance(nested, list):
            yield from (_check(mapping(one)) for one in nested)


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
        or why.startswith(_BROKEN),
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
    return "infrastructure"


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
