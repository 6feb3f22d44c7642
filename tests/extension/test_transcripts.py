"""Repairing transcripts: what promptfoo would split becomes a list in a list, and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lobu_provider.extension.suite import our_providers
from lobu_provider.extension.transcripts import repair, split_transcripts
from lobu_provider.promptfoo.transcript import read_transcript
from tests.extension.conftest import python_provider, suite_of

TURNS = ["I want to return order 17.", "Yes, please refund it."]


def repaired(suite: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(suite)
    repair(split_transcripts(changed, our_providers(changed)))
    return changed


def suite(*tests: Any, config: Any = None, **more: Any) -> dict[str, Any]:
    return suite_of(python_provider(agent="a", **(config or {})), tests=list(tests), **more)


def test_it_is_wrapped_in_tests_scenarios_and_defaults_and_other_lists_stay() -> None:
    variables = {"transcript": TURNS, "language": ["en", "de"]}
    scenario = {"config": [{"vars": variables}], "tests": [{"vars": variables}, {}]}
    changed = repaired(
        suite({"vars": variables}, scenarios=[scenario], defaultTest={"vars": variables})
    )
    scenario = changed["scenarios"][0]
    for place in (changed["tests"][0], changed["defaultTest"], *scenario["config"]):
        assert place["vars"] == {"transcript": [TURNS], "language": ["en", "de"]}
    assert scenario["tests"][0]["vars"]["transcript"] == [TURNS]


def test_the_provider_reads_the_same_turns() -> None:
    changed = repaired(suite({"vars": {"transcript": TURNS}}))
    read = read_transcript(changed["tests"][0]["vars"]["transcript"], "", string_means_prompt=False)
    assert read is not None
    assert read.turns == TURNS


@pytest.mark.parametrize(
    "value",
    [
        [TURNS],
        [{"role": "user", "content": "a"}],
        '["a", "b"]',
        "file://turns.yaml",
        [],
        None,
        7,
        {"a": "b"},
    ],
)
def test_what_promptfoo_does_not_split_stays_as_it_is(value: Any) -> None:
    before = suite({"vars": {"transcript": value}})
    assert repaired(before) == before


@pytest.mark.parametrize(
    "options", [{"disableVarExpansion": True}, {"transformVars": "({...vars, transcript: 1})"}]
)
def test_where_expansion_is_off_or_the_test_reshapes_it_nothing_is_done(options: Any) -> None:
    test = {"vars": {"transcript": TURNS}}
    for before in (
        suite({**test, "options": options}),
        suite(test, defaultTest={"options": options}),
    ):
        assert repaired(before) == before


def test_with_expansion_off_for_all_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTFOO_DISABLE_VAR_EXPANSION", "true")
    before = suite({"vars": {"transcript": TURNS}})
    assert repaired(before) == before


def test_a_variable_that_is_no_conversation_for_any_provider_of_ours_is_left_to_expand() -> None:
    before = suite({"vars": {"transcript": TURNS}}, config={"stringTranscript": "prompt"})
    assert repaired(before) == before
    before["providers"].append(python_provider(agent="b"))
    assert repaired(before) != before


def test_a_suite_without_any_of_our_providers_is_none_of_our_business() -> None:
    before = suite_of({"id": "echo"}, tests=[{"vars": {"transcript": TURNS}}])
    assert repaired(before) == before


@pytest.mark.parametrize("odd", [7, None, "file://tests.yaml", [None, 7, {"vars": "file://v"}]])
def test_odd_tests_are_no_fault(odd: Any) -> None:
    before = suite(scenarios=odd, defaultTest=odd)
    before["tests"] = odd
    assert repaired(before) == before
