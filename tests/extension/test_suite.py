"""What is read of promptfoo's suite: whose providers are ours, what the tests are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lobu_provider.extension.advice import advice
from lobu_provider.extension.suite import our_providers
from tests.extension.conftest import python_provider, suite_of

PACKAGE = "@lobu/promptfoo-provider"


def test_the_hook_is_ours_also_as_a_copy_under_another_name(tmp_path: Path) -> None:
    copy, other = tmp_path / "agent.py", tmp_path / "other.py"
    copy.write_text("from lobu_provider.promptfoo.provider import LobuProvider")
    other.write_text("def call_api(): ...")
    entries: list[Any] = [
        python_provider(agent="a"),
        {"scriptPath": str(copy), "label": "copy", "config": {"agent": "b"}},
        {"scriptPath": str(other), "config": {"agent": "c"}},
        {"scriptPath": "missing.py"},
        {"id": "echo", "config": {}},
        None,
        "echo",
    ]
    found = our_providers(suite_of(*entries))
    assert [provider.where for provider in found] == ["providers[0]", "providers[1] (copy)"]
    assert [provider.options["config"]["agent"] for provider in found] == ["a", "b"]
    assert all(provider.is_whole for provider in found)


def test_the_npm_package_tells_whether_it_hides_options() -> None:
    shown = {"id": "x", "package": PACKAGE, "config": {"agent": "a"}}
    seen = our_providers(
        suite_of(
            {**shown, "hidden": False},
            {**shown, "hidden": True},
            shown,
            {"package": PACKAGE, "options": {"config": {"agent": "a", "token": "t"}, "env": {}}},
        )
    )
    assert [provider.is_whole for provider in seen] == [True, False, False, True]


def test_a_provider_that_our_javascript_hook_picked_has_its_place_among_all() -> None:
    picked = {"package": PACKAGE, "index": 1, "options": {"config": {"agent": "a"}}}
    named = {**picked, "index": 3, "label": "live"}
    odd = {**picked, "index": "7"}
    found = our_providers(suite_of(picked, named, odd))
    assert [provider.where for provider in found] == [
        "providers[1]",
        "providers[3] (live)",
        "providers[2]",
    ]


@pytest.mark.parametrize("suite", [{}, {"providers": 7}, {"providers": [[], {"scriptPath": 7}]}])
def test_odd_suites_have_none_of_ours(suite: dict[str, Any]) -> None:
    assert our_providers(suite) == []


def told(*tests: Any, **more: Any) -> list[str]:
    return list(advice({"tests": list(tests), **more}))


JUDGED = {"assert": [{"type": "is-json"}]}


def test_good_tests_need_no_advice() -> None:
    assert told({"description": "a", **JUDGED}, {"description": "b", **JUDGED}) == []
    assert told() == []


def test_tests_without_assertions_are_named() -> None:
    (said,) = told({"description": "a", **JUDGED}, {"description": "b", "assert": []})
    assert said.startswith("Without assertions a test passes whatever the agent answers: 'b'.")


def test_an_assertion_of_the_defaults_or_of_a_scenario_is_enough() -> None:
    test = {"description": "a"}
    assert told(test, defaultTest=JUDGED) == []
    assert told(scenarios=[{"config": [JUDGED], "tests": [test]}]) == []


def test_missing_descriptions_are_told_once_and_many_are_counted() -> None:
    (said,) = told(*[dict(JUDGED) for _ in range(9)])
    assert "tests[0], tests[1], tests[2] and 6 more" in said


def test_double_descriptions_are_told_but_not_templates() -> None:
    twice = [{"description": "same", **JUDGED}] * 2
    (said,) = told(*twice)
    assert "Several tests have the same description: 'same'." in said
    assert told(*[{"description": "{{name}}", **JUDGED}] * 2) == []


def test_tests_of_scenarios_are_named_by_their_place() -> None:
    (said,) = told(scenarios=[{"config": [], "tests": [dict(JUDGED)]}])
    assert "scenarios[0].tests[0]" in said


@pytest.mark.parametrize("odd", [7, None, "file://tests.yaml", [None, 7, []]])
def test_odd_tests_are_no_fault(odd: Any) -> None:
    list(advice({"tests": odd, "scenarios": odd, "defaultTest": odd}))
