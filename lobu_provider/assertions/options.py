"""Which options each check has, and what is wrong with those that a config gives.

An option that is not known is a problem, never ignored: a check without it would pass and check
less than its author thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lobu_provider.assertions.arguments import check_arguments
from lobu_provider.assertions.lookalikes import text_doubt
from lobu_provider.assertions.name_problems import name_problem
from lobu_provider.assertions.option_values import EXPECTED, is_count, is_text, is_texts
from lobu_provider.assertions.tool_options import (
    check_absent,
    check_names,
    check_pattern,
    check_tool,
)
from lobu_provider.assertions.values import did_you_mean, same, show, sorted_keys

_TOOL: Final = {"tool": "names", "pattern": "text", "flags": "flags", "exactName": "yes or no"}
_ARGUMENTS: Final = {
    "args": "arguments",
    "argsMode": "partial|exact",
    "text": "equal|contains",
    "ignore": "texts",
}
_SCOPE: Final = {"turn": "place"}
_GAPS: Final = {"allowGaps": "yes or no"}

STEP: Final = {**_TOOL, **_ARGUMENTS}
"""A step of ``toolOrder``."""

CHECKS: Final[dict[str, dict[str, str]]] = {
    "toolCalled": {
        **STEP,
        "times": "count",
        "min": "count",
        "max": "count",
        **_SCOPE,
        **_GAPS,
    },
    "toolNotCalled": {**STEP, **_SCOPE, **_GAPS},
    "toolOrder": {
        "tools": "steps",
        "mode": "inOrder|exact|anyOrder|subset",
        "exactName": "yes or no",
        **_SCOPE,
        **_GAPS,
    },
    "maxToolCalls": {"max": "count", **_TOOL, **_SCOPE, **_GAPS},
    "noToolErrors": {**_TOOL, "except": "names", **_SCOPE, **_GAPS},
    "completed": {"allowHuman": "yes or no", **_SCOPE},
    "maxTurns": {"max": "count"},
    "maxLatency": {
        "turnMs": "amount",
        "firstTextMs": "amount",
        "totalMs": "amount",
        **_SCOPE,
    },
    "needsHuman": {
        "expected": "yes or no",
        "kind": "any|question|approval|link",
        "contains": "texts",
        **_SCOPE,
        **_GAPS,
    },
    "retrieved": {
        "contains": "texts",
        "regex": "text",
        "flags": "flags",
        "min": "count",
        **_SCOPE,
    },
    "turns": {"turns": "turns"},
    "maxTokens": {"max": "amount", "whenUnknown": "fail|skip"},
    "maxCost": {"max": "amount", "whenUnknown": "fail|skip"},
}
"""Every check with its options and their kinds; a kind with ``|`` is a choice."""

_REQUIRED: Final = {
    "toolOrder": "tools",
    "maxToolCalls": "max",
    "maxTurns": "max",
    "turns": "turns",
    "maxTokens": "max",
    "maxCost": "max",
}


def check_options(check: str, config: Any) -> list[str]:
    """Return what is wrong with the options of a check, all of it."""
    if not isinstance(config, Mapping):
        return [f"config: expected options, got {show(config)}"]
    problems = check_known(config, CHECKS[check])
    required = _REQUIRED.get(check)
    if required is not None and required not in config:
        problems.append(f"{required} is missing")
    return problems + _CROSS.get(check, _nothing)(config)


def check_known(config: Mapping[str, Any], kinds: Mapping[str, str], place: str = "") -> list[str]:
    """Return what is wrong with each option by itself."""
    problems = []
    for key in sorted_keys(config):
        kind = kinds.get(key)
        if kind is None:
            known = sorted_keys(kinds)
            problems.append(
                f"{place}{key} is no option{did_you_mean(key, known)} (options: {', '.join(known)})"
            )
        else:
            problems += [f"{place}{problem}" for problem in _check_value(key, kind, config[key])]
    return problems


def _check_value(key: str, kind: str, value: Any) -> list[str]:
    if kind == "arguments":
        return _check_args(key, value)
    if kind in ("steps", "turns"):
        return []  # looked at with the rest, in _CROSS and by turn_groups
    expected = EXPECTED.get(kind)
    if expected is None:
        choices = kind.split("|")
        if value in choices:
            return []
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        return [f"{key}: expected {' or '.join(choices)}, got {show(value)}{hint}"]
    text, fits = expected
    return [] if fits(value) else [f"{key}: expected {text}, got {show(value)}"]


def _check_args(key: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{key}: expected arguments by name, got {show(value)}"]
    return check_arguments(value, key)


def _tool_called(config: Mapping[str, Any]) -> list[str]:
    problems = check_tool(config)
    if "times" in config and ("min" in config or "max" in config):
        problems.append("write times, or min and max")
    least, most = config.get("min", 1), config.get("max")
    if is_count(least) and is_count(most) and most < least:
        problems.append(
            f"max {show(most)} is less than min {show(least)}; for no call at all: toolNotCalled"
        )
    if "min" in config and same(least, 0) and "max" not in config:
        problems.append("min: 0 alone is always true")
    if same(config.get("times", least), 0):
        problems += check_absent(config)
    return problems


def _tool_not_called(config: Mapping[str, Any]) -> list[str]:
    return check_tool(config) + check_absent(config)


def _tool_order(config: Mapping[str, Any]) -> list[str]:
    steps = config.get("tools")
    if "tools" not in config:
        return []
    if not isinstance(steps, list) or not steps:
        return [f"tools: expected a list of tools, got {show(steps)}"]
    problems: list[str] = []
    exact = config.get("exactName") is True
    for index, step in enumerate(steps):
        place = f"tools[{index}]."
        if isinstance(step, Mapping):
            problems += check_known(step, STEP, place)
            problems += check_tool(step, place, step=True, exact=exact)
            if isinstance(step.get("tool"), list):
                problems.append(f"{place}tool: a step has one name")
        elif not is_text(step):
            problems.append(f"tools[{index}]: expected a tool's name or a step, got {show(step)}")
        else:
            problem = name_problem(step, "step", exact=exact)
            problems += [] if problem is None else [f"tools[{index}]: {problem}"]
    return problems


def _tool_errors(config: Mapping[str, Any]) -> list[str]:
    return check_tool(config, required=False) + check_names(config, "except")


def _latency(config: Mapping[str, Any]) -> list[str]:
    if not any(key in config for key in ("turnMs", "firstTextMs", "totalMs")):
        return ["turnMs, firstTextMs or totalMs is missing"]
    if "totalMs" in config and "turn" in config:
        return ["totalMs is of the whole conversation: leave turn out, or write turnMs"]
    return []


_ONE_TEXT: Final = (
    "contains: with expected: false write one text, and an assertion for each: only a card with "
    "all of them would fail"
)


def _needs_human(config: Mapping[str, Any]) -> list[str]:
    if "allowGaps" in config and config.get("expected", True) is True:
        return ["allowGaps does something only with expected: false"]
    texts = config.get("contains")
    if config.get("expected") is not False or not is_texts(texts):
        return []
    if isinstance(texts, list) and len(texts) > 1:
        return [_ONE_TEXT]
    text = texts if isinstance(texts, str) else texts[0]
    doubt = text_doubt(text)
    return [] if doubt is None else [f"contains: {show(text)}: {doubt}; write a text of the card"]


def _retrieved(config: Mapping[str, Any]) -> list[str]:
    problems = check_pattern(config, "regex")
    if same(config.get("min"), 0):
        problems.append("min: 0 is always true")
    return problems


def _nothing(config: Mapping[str, Any]) -> list[str]:
    return []


_CROSS: Final[dict[str, Callable[[Mapping[str, Any]], list[str]]]] = {
    "toolCalled": _tool_called,
    "toolNotCalled": _tool_not_called,
    "toolOrder": _tool_order,
    "maxToolCalls": _tool_errors,
    "noToolErrors": _tool_errors,
    "maxLatency": _latency,
    "needsHuman": _needs_human,
    "retrieved": _retrieved,
}
