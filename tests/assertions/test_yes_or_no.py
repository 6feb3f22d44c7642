"""The scoring function that counts what a model graded whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.assertions.yes_or_no import count_yes_or_no


def result(kind: str, passed: bool, score: float, **more: Any) -> dict[str, Any]:
    assertion = {"type": kind, **{k: more.pop(k) for k in ("weight",) if k in more}}
    return {"pass": passed, "score": score, "reason": f"{kind} {passed}", **more} | {
        "assertion": assertion
    }


def test_a_no_counts_nothing_whatever_the_model_s_score() -> None:
    results = [result("contains", True, 1), result("llm-rubric", False, 0.9)]
    verdict = count_yes_or_no({"threshold": 0.8, "componentResults": results})
    assert verdict == {
        "pass": False,
        "score": 0.5,
        "reason": "Score 0.5, threshold 0.8\nllm-rubric False",
    }


def test_a_yes_counts_whole_whatever_the_model_s_score() -> None:
    results = [result("not-llm-rubric", True, 0.2, weight=3), result("regex", False, 0)]
    verdict = count_yes_or_no({"threshold": 0.75, "componentResults": results})
    assert (verdict["pass"], verdict["score"]) == (True, 0.75)


def test_the_parts_of_an_assertion_are_not_counted_beside_it() -> None:
    parts = [result("contains", True, 1), result("contains", False, 0)]
    turns = result("python", False, 0.5, weight=2, componentResults=parts)
    results = [turns, *parts, result("llm-rubric", True, 1, weight=2)]
    verdict = count_yes_or_no({"threshold": 0.75, "componentResults": results})
    assert (verdict["pass"], verdict["score"]) == (True, 0.75)


def test_a_sum_of_weights_that_rounds_is_not_below_its_threshold() -> None:
    results = [result("contains", True, 1, weight=w) for w in (0.1, 0.2, 0.4)]
    results.append(result("contains", False, 0, weight=0.3))
    assert count_yes_or_no({"threshold": 0.7, "componentResults": results})["pass"] is True


@pytest.mark.parametrize(
    "context",
    [
        {"componentResults": [result("contains", True, 1)]},
        {"threshold": 0.5, "componentResults": []},
        {"threshold": 0.5},
        {"threshold": 0.5, "componentResults": [None]},
        {"threshold": 0, "componentResults": [result("contains", False, 0, weight=0)]},
    ],
)
def test_without_something_to_judge_there_is_no_verdict(context: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="countYesOrNo"):
        count_yes_or_no(context)
