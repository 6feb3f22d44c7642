"""What a row says of the agent."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.results.outcomes import checks_of, outcome_of

from .made_rows import made, read


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ("pass", "passed"),
        ("fail", "failed"),
        ("grader", "grader"),
        ("agent", "failed"),
        ("infrastructure", "infrastructure"),
        ("config", "config"),
    ],
)
def test_the_class_of_an_error_says_whose_fault_it_is(verdict: str, outcome: str) -> None:
    assert outcome_of(made(verdict=verdict)) == outcome


def component(passed: bool, reason: str = "because", **more: Any) -> dict[str, Any]:
    return {"pass": passed, "score": int(passed), "reason": reason, **more}


def graded(*components: dict[str, Any], success: bool = False) -> dict[str, Any]:
    row = made(verdict="pass" if success else "fail")
    row["gradingResult"]["componentResults"] = list(components)
    return row


BROKEN: dict[str, Any] = {"metadata": {"graderError": True}}


def test_a_broken_grader_beside_an_honest_failure_is_a_failure_of_the_agent() -> None:
    assert outcome_of(graded(component(False, **BROKEN), component(False))) == "failed"
    assert outcome_of(graded(component(False, **BROKEN), component(True))) == "grader"


@pytest.mark.parametrize(
    "reason",
    [
        "Custom function threw error: x is not defined\nStack Trace: ...",
        "Python code execution failed: Error running Python script: ZeroDivisionError",
        "Error running Python script: KeyError: 'x'\nStack Trace: Error: KeyError: 'x'",
        "Error running Python script: AttributeError: module 'lobu_assertions' has no attribute",
        "Invalid regex pattern: Invalid regular expression: /(/: Unterminated group",
        "Webhook error: Request failed after 4 retries",
        "API key is not set. Set the OPENAI_API_KEY environment variable",
        'toolCalled: the configuration is wrong: toool is no option; did you mean "tool"?',
    ],
)
def test_a_check_whose_own_code_throws_judges_nothing(reason: str) -> None:
    assert outcome_of(graded(component(False, reason))) == "grader"


def test_an_inverted_check_of_a_broken_grader_is_no_pass() -> None:
    assert outcome_of(graded(component(True, **BROKEN), success=True)) == "grader"


def test_a_row_that_passes_by_its_threshold_in_spite_of_a_broken_grader_passes() -> None:
    assert outcome_of(graded(component(False, **BROKEN), component(True), success=True)) == "passed"


@pytest.mark.parametrize(
    "error",
    ["Evaluation exceeded max duration of 4000ms", "Error: Worker shutting down\n    at Python"],
)
def test_what_was_never_run_is_neither_failure_nor_infrastructure(error: str) -> None:
    row = made(verdict="infrastructure", error=error)
    del row["response"]
    assert outcome_of(row) == "not run"


def test_an_error_of_another_provider_is_infrastructure() -> None:
    row = made(verdict="infrastructure", error="API error: 500", response={"error": "x"})
    assert outcome_of(row) == "infrastructure"


def test_the_members_of_an_assert_set_count_once() -> None:
    members = [component(True), component(False)]
    group = {
        **component(False),
        "componentResults": members,
        "metadata": {"assertionSet": {"type": "assert-set"}},
    }
    assert [check.passed for check in checks_of(graded(group, *members))] == [True, False]


def test_results_inside_a_check_are_checks_too() -> None:
    nested = {**component(False, "two things"), "componentResults": [component(False, "one")]}
    assert [check.reason for check in checks_of(graded(nested))] == ["two things", "one"]


@pytest.mark.parametrize(
    "error",
    [
        "TypeError: boo\n    at f (/a/broke.js:1:36)\n    at async runAssertion (file:///e.js:5:2)",
        "Error: ENOENT: no such file\n    at async runAssertionInternal (file:///x/e.js:5698:23)",
        "Error: Could not find entity: toolCaled in module: /x/index.js. Make sure",
        "Error: Unknown assertion type: nosuch",
    ],
)
def test_an_error_that_a_check_threw_is_no_fault_of_gateway_or_agent(error: str) -> None:
    row = made(verdict="infrastructure", error=error)
    del row["response"]
    assert outcome_of(row) == "grader"
    assert read(row)[0].reason.startswith("a check threw: ")


def test_an_error_of_our_provider_is_never_taken_for_one_of_a_check() -> None:
    row = made(verdict="infrastructure", error="x\n    at runAssertion (file:///x.js:1:1)")
    assert outcome_of(row) == "infrastructure"


def of_turns(*members: dict[str, Any], passed: bool = False) -> dict[str, Any]:
    about = {"assertion": {"type": "python", "value": "file:///a/lobu_assertions.py:turns"}}
    return {**component(passed, "turns failed"), "componentResults": list(members), **about}


def test_each_check_of_turns_counts_once_with_its_turn() -> None:
    members = [component(True, "turn 1: icontains"), component(False, "turn 2: regex failed")]
    for flat in (members, []):
        found = list(checks_of(graded(of_turns(*members), *flat, component(True))))
        assert [(check.turn, check.passed) for check in found] == [
            (1, True),
            (2, False),
            (None, True),
        ]


def test_turns_that_failed_by_more_than_its_checks_stays() -> None:
    members = [component(True, "turn 1: icontains")]
    found = [check.reason for check in checks_of(graded(of_turns(*members), *members))]
    assert found == ["turns failed", "turn 1: icontains"]
