"""The checks of a case as assertions of promptfoo: its own where they mean the same, else ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.assertions.options import check_options
from lobu_provider.assertions.turn_groups import check_groups
from lobu_provider.convert.literals import Literals
from lobu_provider.convert.regex_meaning import same_in_javascript, same_in_turns
from lobu_provider.convert.suite import Case, RubricCheck, SourceError, TextCheck, ToolCheck

OURS: Final = "file://{{env.LOBU_ASSERTIONS}}:"
SCORING: Final = f"{OURS}countYesOrNo"
"""Counts what a model graded as 0 or 1."""

_CONVERSATION: Final = (
    "context.metadata.turns.map((turn) => `User: ${turn.user}\\n\\nAgent: ${turn.output}`)"
    ".join('\\n\\n')"
)
_WITH_TOOLS: Final = (
    "JSON.stringify({conversation: context.metadata.turns.map(({user, output}) => ({user, agent: "
    "output})), toolsCalled: context.metadata.toolCalls.map(({turn, name, input, isError}) => "
    "({turn, name, input, isError}))}, null, 2)"
)
_SIGHTS: Final = {"conversation": _CONVERSATION, "conversation and tools": _WITH_TOOLS}


def assertions_of(case: Case, literals: Literals) -> list[dict[str, Any]]:
    """Return promptfoo's assertions for a case; those of single turns are put together.

    Raises:
        SourceError: a check that ours cannot express, such as arguments with a key ``$regex``.
    """
    found: list[dict[str, Any]] = []
    groups: dict[int, list[dict[str, Any]]] = {}
    for check in case.checks:
        if isinstance(check, ToolCheck):
            found.append(_ours(case, check.check, literals.in_config(check.config)))
        elif isinstance(check, RubricCheck):
            found.append(_rubric(check, len(case.turns)))
        else:
            number = check.turn or len(case.turns)
            own = None if check.turn is not None else _own(check)
            if own is not None:
                found.append(own)
            elif check.kind == "regex" and _dialect(check) is None:
                found.append(_program(check, len(case.turns)))
            else:
                groups.setdefault(number, []).append(_item(check, literals))
    if groups:
        weight = sum(item.get("weight", 1) for items in groups.values() for item in items)
        found.insert(0, _weighted(_ours(case, "turns", {"turns": groups}), weight))
    return found


def _ours(case: Case, check: str, config: Mapping[str, Any]) -> dict[str, Any]:
    given = json.loads(json.dumps(config))  # as promptfoo hands it over: keys are texts
    problems = check_options(check, given)
    if check == "turns":
        problems += check_groups(given["turns"])
    if problems:
        raise SourceError(*[f"{case.name}: {check}: {problem}" for problem in problems])
    return {"type": "python", "value": f"{OURS}{check}", "config": dict(config)}


def _own(check: TextCheck) -> dict[str, Any] | None:
    """Return promptfoo's own assertion about the final answer, where it means the same."""
    if not Literals.fits_own(check.value):
        return None
    value = Literals.raw(check.value)
    if check.kind == "regex":
        # promptfoo runs JavaScript without flags.
        is_plain = not check.ignore_case and not check.value.startswith("(?")
        if not is_plain or (check.engine == "python" and not same_in_javascript(check.value)):
            return None
    own: dict[str, Any] = {"type": check.kind, "value": value}
    if check.strip:
        own["transform"] = "output.trim()"
    return _weighted(own, check.weight)


def _dialect(check: TextCheck) -> str | None:
    """Return a regex in the dialect of ``turns``; ``None`` where that finds other texts."""
    if check.engine == "python" or not same_in_turns(check.value, check.ignore_case):
        return None
    return f"(?i){check.value}" if check.ignore_case else check.value


def _item(check: TextCheck, literals: Literals) -> dict[str, Any]:
    value = (_dialect(check) or check.value) if check.kind == "regex" else check.value
    return _weighted({"type": check.kind, "value": literals.in_config(value)}, check.weight)


def _program(check: TextCheck, turns: int) -> dict[str, Any]:
    """Return a regex that only its own engine reads, as a line of that language."""
    if check.engine == "python":
        lines = f"import re\nreturn re.search({check.value!r}, output) is not None\n"
        made = {"type": "python", "value": Literals.raw(lines)}
    else:
        flags = ', "i"' if check.ignore_case else ""
        line = f"new RegExp({json.dumps(check.value, ensure_ascii=False)}{flags}).test(output)"
        made = {"type": "javascript", "value": Literals.raw(line)}
    return _weighted({**made, **_turn_transform(check.turn, turns)}, check.weight)


def _rubric(check: RubricCheck, turns: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "llm-rubric", "value": Literals.raw(check.text)}
    if check.threshold is not None:
        made["threshold"] = check.threshold
    if check.sight in _SIGHTS:
        made["transform"] = _SIGHTS[check.sight]
    else:
        made.update(_turn_transform(check.turn, turns))
    return _weighted(made, check.weight)


def _turn_transform(turn: int | None, turns: int) -> dict[str, str]:
    if turn is None or turn == turns:
        return {}
    return {"transform": f"context.metadata.turns[{turn - 1}].output"}


def _weighted(assertion: dict[str, Any], weight: float) -> dict[str, Any]:
    exact = round(weight, 10)  # a sum of 0.1 and 0.2 is to be read as 0.3
    if exact == 1:
        return assertion
    return {**assertion, "weight": int(exact) if exact == int(exact) else exact}
