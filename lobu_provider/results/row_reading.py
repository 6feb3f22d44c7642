"""Cut promptfoo's rows down to :class:`Row`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from lobu_provider.assertions.model_graded import MODEL_GRADED
from lobu_provider.results.documents import plain
from lobu_provider.results.identity import digest, distinction_of, identity_of
from lobu_provider.results.outcomes import (
    Check,
    Outcome,
    checks_of,
    error_of,
    items,
    mapping,
    metadata_of,
    number,
    outcome_of,
)
from lobu_provider.results.rows import Call, FailedCheck, Row, Rubric
from lobu_provider.results.secret_keys import masked
from lobu_provider.results.texts import json_shown, one_line, reason

_T = TypeVar("_T")

MAX_ARGUMENTS: Final = 2000
"""Characters kept of a tool call's arguments."""
_MOST_TURNS: Final = 1000


class Pool:
    """Keeps one object of each value: rows of a run repeat each other."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def one(self, value: _T) -> _T:
        """Return the first object that was equal to ``value``."""
        kept: _T = self._known.setdefault(value, value)
        return kept


def read_row(row: Mapping[str, Any], file: int, pool: Pool) -> Row:
    """Return what a row of promptfoo's says."""
    metadata, error = metadata_of(row), error_of(row)
    outcome = outcome_of(row)
    checks = list(checks_of(row))
    failing = [check for check in checks if not check.passed or (check.broken and check.passed)]
    return Row(
        identity=pool.one(identity_of(row)),
        provider=pool.one(provider_of(row)),
        prompt=pool.one(_prompt(row)),
        file=file,
        test_idx=indexes_of(row)[0],
        prompt_idx=indexes_of(row)[1],
        outcome=outcome,
        reason="" if outcome == "passed" else pool.one(_reason(row, failing, outcome)),
        code=_text(error.get("code")),
        turn=_whole(error.get("turn")),
        score=number(row.get("score")),
        # of a row that promptfoo ended, it is the time since the run began
        latency_ms=None if outcome == "not run" else number(row.get("latencyMs")),
        tokens=_whole(mapping(row.get("tokenUsage")).get("total")) or None,
        turns=pool.one(_turns(metadata)),
        failed_checks=pool.one(
            tuple(FailedCheck(c.kind, reason(c.reason, 400), c.broken) for c in failing)
            if outcome != "passed"
            else ()
        ),
        rubrics=pool.one(tuple(_rubrics(checks))),
        checks=len(checks),
        trace_id=_text(metadata.get("traceId")),
        session_id=_text(metadata.get("sessionId")),
        labels=pool.one(_labels(row)),
        distinction=pool.one(distinction_of(row)),
    )


def indexes_of(row: Mapping[str, Any]) -> tuple[int, int]:
    """Return promptfoo's numbers of the test and of the pair of provider and prompt."""
    return _whole(row.get("testIdx")) or 0, _whole(row.get("promptIdx")) or 0


def provider_of(row: Mapping[str, Any]) -> str:
    """Return the provider's label; without one its id, of a local file the name alone."""
    told = mapping(row.get("provider"))
    name = _text(told.get("label")) or _text(told.get("id")) or "(no provider)"
    if name.startswith(("file://", "python:")):  # the folder is other on each machine
        name = name.replace("\\", "/").rpartition("/")[2]
    return one_line(name)


def _prompt(row: Mapping[str, Any]) -> str:
    label = mapping(row.get("prompt")).get("label")
    return one_line(label) if isinstance(label, str) else ""


def _reason(row: Mapping[str, Any], failing: Sequence[Check], outcome: Outcome) -> str:
    if outcome == "grader" and failing:
        return reason(f"{failing[0].kind}: {failing[0].reason}")
    given = row.get("error") or mapping(row.get("gradingResult")).get("reason")
    text = reason(given) if isinstance(given, str) else ""
    if outcome == "grader" and text:
        return f"a check threw: {text}"
    return text or "promptfoo gives no reason"


def _turns(metadata: Mapping[str, Any]) -> tuple[tuple[Call, ...], ...] | None:
    if not isinstance(metadata.get("toolCalls"), list):
        return None
    calls = items(metadata["toolCalls"])
    numbers = [min(max(_whole(call.get("turn")) or 1, 1), _MOST_TURNS) for call in calls]
    count = max([min(len(items(metadata.get("turns"))), _MOST_TURNS), *numbers], default=0)
    turns: list[list[Call]] = [[] for _ in range(count)]
    for place, call in zip(numbers, calls, strict=True):
        turns[place - 1].append(_call(call))
    return tuple(tuple(turn) for turn in turns)


def _call(call: Mapping[str, Any]) -> Call:
    given = masked(plain(call.get("input")))  # a digest of a short secret would tell it
    return Call(
        name=one_line(str(call.get("name") or "(no name)")),
        arguments=json_shown(given, MAX_ARGUMENTS) if given is not None else "",
        key=digest(given) if given is not None else "",
        failed=call.get("isError") is True,
    )


def _rubrics(checks: Sequence[Check]) -> list[Rubric]:
    return [
        Rubric(one_line(f"{check.kind}: {_said(check.value)}", 200), check.passed, check.score)
        for check in checks
        if check.kind.removeprefix("not-").partition(" ")[0] in MODEL_GRADED and not check.broken
    ]


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json_shown(value, 300)


def _labels(row: Mapping[str, Any]) -> tuple[str, ...]:
    labels = []
    for key, value in mapping(mapping(row.get("testCase")).get("metadata")).items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, (str, int, bool)):
                labels.append(one_line(f"{key}={item if isinstance(item, str) else str(item)}"))
    return tuple(labels)


def _text(value: Any) -> str | None:
    return one_line(value, 300) if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)
