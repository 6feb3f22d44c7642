"""Every verdict, score and text of the assertions; node_shim/test reads the same file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.assertions.judge import NegatedError, judge
from lobu_provider.assertions.names import same_name
from lobu_provider.assertions.options import CHECKS
from lobu_provider.assertions.patterns import PatternError, compile_pattern
from lobu_provider.assertions.values import show

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
CASES = GOLDEN["cases"]
POSITIVE = [case for case in CASES if case["expect"]["pass"]]
UNUSABLE = [
    "no metadata", "other metadata", "no turns", "turns missing", "turns are texts",
    "wrong numbers", "no output", "nameless call", "call without turn", "no cards", "no snippets",
    "odd truncated", "failed turn", "object error", "error in metadata",
]  # fmt: skip


def context_of(case: dict[str, Any]) -> dict[str, Any]:
    context = {key: case[key] for key in ("config", "vars", "test") if case.get(key) is not None}
    if "row" in case:
        context["providerResponse"] = GOLDEN["rows"][case["row"]]
    return context


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['check']}: {case['name']}")
def test_the_verdict_and_its_words(case: dict[str, Any]) -> None:
    context = context_of(case)
    before = copy.deepcopy(context)
    assert judge(case["check"], context) == case["expect"]
    assert context == before


def test_each_check_has_cases_that_pass_and_that_fail() -> None:
    verdicts = {(case["check"], case["expect"]["pass"]) for case in CASES}
    assert verdicts == {(check, verdict) for check in CHECKS for verdict in (True, False)}
    assert len(CASES) >= 60


@pytest.mark.parametrize("row", UNUSABLE)
def test_no_check_passes_on_a_row_that_tells_nothing(row: str) -> None:
    for case in POSITIVE:
        context = {**context_of(case), "providerResponse": GOLDEN["rows"][row]}
        assert judge(case["check"], context)["pass"] is False, case["name"]


def test_no_check_passes_with_an_option_that_it_does_not_have() -> None:
    for case in POSITIVE:
        context = context_of(case)
        context["config"] = {**context.get("config", {}), "optoin": 1}
        result = judge(case["check"], context)
        assert result["pass"] is False
        assert "optoin is no option" in result["reason"]


@pytest.mark.parametrize("check", CHECKS)
def test_no_check_passes_with_an_option_beside_its_config(check: str) -> None:
    for case in POSITIVE:
        if case["check"] != check:
            continue
        for option in CHECKS[check]:
            value = "file:///a/lobu_assertions.py:" + check
            own = {"type": "python", "value": value, "config": case.get("config"), option: 1}
            result = judge(check, {**context_of(case), "test": {"assert": [own]}})
            assert result["pass"] is False
            assert f"{option} stands beside type and value" in result["reason"]


@pytest.mark.parametrize("context", [None, {}, {"providerResponse": None}, [], "x"])
def test_no_check_passes_without_a_context(context: Any) -> None:
    for check in CHECKS:
        assert judge(check, context)["pass"] is False


def test_patterns_mean_what_they_mean_in_javascript() -> None:
    for case in GOLDEN["patterns"]:
        if "refused" in case:
            with pytest.raises(PatternError) as refused:
                compile_pattern(case["pattern"], case["flags"])
            assert str(refused.value) == case["refused"]
        else:
            text = case["text"] * case.get("times", 1) + case.get("end", "")
            found = compile_pattern(case["pattern"], case["flags"]).found_in(text)
            assert found == case["found"], case["pattern"]


def test_names_are_the_same_as_in_javascript() -> None:
    for case in GOLDEN["names"]:
        assert same_name(case["wanted"], case["called"]) == case["same"], case


def test_values_are_written_as_in_javascript() -> None:
    for case in GOLDEN["values"]:
        assert show(case["value"]) == case["shown"]


def test_a_type_that_begins_with_not_is_refused() -> None:
    config = {"tool": "x"}
    own = {
        "type": "not-python",
        "value": "file:///a/lobu_assertions.py:toolCalled",
        "config": config,
    }
    context = {"config": config, "providerResponse": GOLDEN["rows"]["refund"]}

    def judge_in(*assertions: dict[str, Any]) -> Any:
        return judge("toolCalled", {**context, "test": {"assert": list(assertions)}})

    with pytest.raises(NegatedError, match="Write toolNotCalled"):
        judge_in(own)
    with pytest.raises(NegatedError):
        judge_in({"type": "assert-set", "assert": [own]})
    with pytest.raises(NegatedError, match="do not write not-ruby"):
        judge_in({**own, "type": "not-ruby"})
    assert judge_in({**own, "type": "python"}, {**own, "config": {"tool": "y"}})["pass"] is False


@pytest.mark.parametrize("endless", [float("inf"), float("-inf"), float("nan"), 10**400])
def test_a_number_without_end_is_a_wrong_configuration(endless: float) -> None:
    for check, config in [
        ("maxToolCalls", {"max": endless}),
        ("toolCalled", {"tool": "x", "times": endless, "turn": endless}),
        ("maxCost", {"max": endless}),
        ("turns", {"turns": {"1": [{"type": "equals", "value": "x", "weight": endless}]}}),
    ]:
        row = GOLDEN["rows"]["refund"]
        result = judge(check, {"config": config, "providerResponse": row})
        assert "the configuration is wrong" in result["reason"]
