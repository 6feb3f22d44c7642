"""The check ``turns``: groups of checks, each about one turn, shown one by one in the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Final

from lobu_provider.assertions.evidence import Evidence, NoEvidenceError, is_cut
from lobu_provider.assertions.lookalikes import text_doubt
from lobu_provider.assertions.option_values import MAX_COUNT, is_weight
from lobu_provider.assertions.options import CHECKS, check_options
from lobu_provider.assertions.outcome import Outcome, failed, gaps, grading
from lobu_provider.assertions.patterns import compile_pattern, pattern_problems
from lobu_provider.assertions.values import (
    contains,
    did_you_mean,
    json_text,
    show,
    sorted_keys,
)

TEXT_CHECKS: Final = (
    "contains", "equals", "icontains", "not-contains", "not-icontains", "not-regex", "regex",
)  # fmt: skip
TOOL_CHECKS: Final = tuple(
    name for name in CHECKS if name not in ("turns", "maxTurns", "maxTokens", "maxCost")
)
_KEYS: Final = ("allowGaps", "config", "metric", "type", "value", "weight")

Run = Callable[[str, Mapping[str, Any], Evidence], Outcome]
"""Runs a check on evidence."""


@dataclass(frozen=True)
class _Result:
    turn: int
    item: Mapping[str, Any]
    grading: dict[str, Any]

    @property
    def weight(self) -> float:
        return float(self.item.get("weight", 1))


def check_groups(groups: Any) -> list[str]:
    """Return what is wrong with the option ``turns``."""
    if not isinstance(groups, Mapping) or not groups:
        return [f"turns: expected a list of checks for each turn's number, got {show(groups)}"]
    problems = []
    for number in sorted_keys(groups):
        place = f"turns.{number}"
        if not _is_turn(number):
            problems.append(f"{place}: expected a turn's number, counted from 1")
        elif not isinstance(groups[number], list) or not groups[number]:
            problems.append(f"{place}: expected a list of checks, got {show(groups[number])}")
        else:
            for index, item in enumerate(groups[number]):
                problems += [f"{place}[{index}]: {text}" for text in _check_item(item)]
    return problems


def _is_turn(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7 and not text.startswith("0")


def _check_item(item: Any) -> list[str]:
    if not isinstance(item, Mapping):
        return [f"expected a check with a type, got {show(item)}"]
    kind = item.get("type")
    types = [*TEXT_CHECKS, *TOOL_CHECKS]
    problems = [
        f"{key} is no key{did_you_mean(key, _KEYS)} (keys: {', '.join(_KEYS)})"
        for key in sorted_keys(item)
        if key not in _KEYS
    ]
    weight = item.get("weight", 1)
    if not is_weight(weight):
        problems.append(
            f"weight: expected a number above 0, at most {MAX_COUNT}, got {show(weight)}"
        )
    metric = item.get("metric", "a")
    if not isinstance(metric, str) or not metric:
        problems.append(f"metric: expected a text, got {show(metric)}")
    if kind in TEXT_CHECKS:
        return problems + _check_text_item(kind, item)
    if kind in TOOL_CHECKS:
        return problems + _check_tool_item(kind, item)
    hint = did_you_mean(kind, types) if isinstance(kind, str) else ""
    return [*problems, f"type: expected one of {', '.join(types)}, got {show(kind)}{hint}"]


def _check_text_item(kind: str, item: Mapping[str, Any]) -> list[str]:
    problems = ["config does nothing here; write value"] if "config" in item else []
    value = item.get("value")
    if not isinstance(value, str) or not (value or kind == "equals"):
        problems.append(f"value: expected a text, got {show(value)}")
    elif kind in ("regex", "not-regex"):
        problems += [f"value: {problem}" for problem in pattern_problems(value)]
    elif kind.startswith("not-") and (doubt := text_doubt(value)) is not None:
        problems.append(
            f"value: {show(value)}: {doubt}; write not-regex (for the text itself too, with a "
            "backslash before its punctuation)"
        )
    if not isinstance(item.get("allowGaps", False), bool):
        problems.append(f"allowGaps: expected true or false, got {show(item['allowGaps'])}")
    return problems


def _check_tool_item(kind: str, item: Mapping[str, Any]) -> list[str]:
    config = item.get("config", {})
    problems = [
        f"{key} does nothing here; write config" for key in ("allowGaps", "value") if key in item
    ]
    if isinstance(config, Mapping) and "turn" in config:
        problems.append("config.turn: the group's number is the turn")
    return problems + [f"config: {text}" for text in check_options(kind, config)]


def judge_groups(groups: Mapping[str, Any], evidence: Evidence, run: Run) -> dict[str, Any]:
    """Return the grading result of checked groups, with one part for each check."""
    results = [
        _Result(int(number), item, _judge_item(int(number), item, evidence, run))
        for number in sorted(groups, key=int)
        for item in groups[number]
    ]
    wrong = [one.grading["reason"] for one in results if not one.grading["pass"]]
    scores, weights = _named_scores(results)
    count = len(results)
    return {
        "pass": not wrong,
        "score": _score(results),
        "reason": f"turns failed: {len(wrong)} of {count} checks failed\n" + "\n".join(wrong)
        if wrong
        else f"turns: all of {count} checks passed",
        "namedScores": scores,
        "namedScoreWeights": weights,
        "componentResults": [{**one.grading, "assertion": _assertion(one)} for one in results],
    }


def _judge_item(
    number: int, item: Mapping[str, Any], evidence: Evidence, run: Run
) -> dict[str, Any]:
    kind = item["type"]
    try:
        turn = replace(evidence.of_turn(number), where="")  # the title says it
    except NoEvidenceError as exc:
        return failed(f"turn {number}: {kind} failed: {exc}")
    if kind in TOOL_CHECKS:
        return grading(f"turn {number}: {kind}", run(kind, item.get("config", {}), turn))
    value = item["value"]
    shown = f"/{value}/" if kind.endswith("regex") else show(value)
    return grading(f"turn {number}: {kind} {shown}", _judge_text(kind, item, turn))


def _judge_text(kind: str, item: Mapping[str, Any], evidence: Evidence) -> Outcome:
    output, value = evidence.turns[0]["output"], item["value"]
    negative = kind.startswith("not-")
    found = _found(kind.removeprefix("not-"), output, value)
    answered = f"the answer was {show(output)}"
    sure = found and kind in ("contains", "icontains")
    shortened = "turns[].output" in evidence.cut and is_cut(output)
    if shortened and not sure and not item.get("allowGaps", False):
        return Outcome("", [_CUT_ANSWER])
    if found == negative:
        return Outcome("", [answered])
    return Outcome(answered, gaps(evidence, item, "words") if negative else [])


_CUT_ANSWER: Final = (
    "the answer was cut to keep the row small (raise maxMetadataKb), so this cannot be said "
    "(allowGaps: true accepts that)"
)


def _found(kind: str, output: str, value: str) -> bool:
    if kind == "contains":
        return value in output
    if kind == "icontains":
        return contains(output, value)
    if kind == "equals":
        return value == output
    return compile_pattern(value).found_in(output)


def _score(results: list[_Result]) -> float:
    """The part of the weights that passed."""
    return _plain(
        _sum(one.weight for one in results if one.grading["pass"])
        / _sum(one.weight for one in results)
    )


def _sum(numbers: Iterable[float]) -> float:
    """Add one after the other: ``sum`` is more exact from Python 3.12 on, and JavaScript is not."""
    return reduce(add, numbers, 0.0)


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _named_scores(results: list[_Result]) -> tuple[dict[str, float], dict[str, float]]:
    """A score and its weight for each turn and each metric."""
    named: dict[str, list[_Result]] = {}
    for one in results:
        named.setdefault(f"turn {one.turn}", []).append(one)
        if "metric" in one.item:
            named.setdefault(one.item["metric"], []).append(one)
    scores = {name: _score(group) for name, group in named.items()}
    weights = {name: _plain(_sum(one.weight for one in group)) for name, group in named.items()}
    return scores, weights


def _assertion(result: _Result) -> dict[str, Any]:
    """What promptfoo's results show beside a part."""
    item = result.item
    value = item.get("value", json_text(item["config"]) if "config" in item else "")
    kept = {key: item[key] for key in ("metric", "weight") if key in item}
    return {"type": item["type"], "value": value, **kept}
