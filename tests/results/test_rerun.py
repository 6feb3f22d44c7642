"""The command that runs a test again: transcripts, and tests that share a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.results.rerun import Rerun, rerun_command

from .made_rows import made


def case(name: str | None, talk: str | None = None, **variables: Any) -> dict[str, Any]:
    named = {} if name is None else {"description": name}
    shared = {} if talk is None else {"metadata": {"conversationId": talk}}
    return {**named, **shared, "vars": variables}


def again(test: dict[str, Any], tests: list[Any] | None) -> Rerun:
    return rerun_command({**made(), "testCase": test}, tests, several_providers=False)


@pytest.mark.parametrize("name", ["books", None])
@pytest.mark.parametrize("given", [["a", "b"], [["a", "b"]]])
def test_a_transcript_that_was_kept_whole_is_the_one_of_the_config(
    given: list[Any], name: str | None
) -> None:
    tests = [case(name, transcript=["a", "b"]), case("other", query="x")]
    assert again(case(name, transcript=given), tests).is_exact


def test_a_transcript_that_was_split_is_told() -> None:
    tests = [case("books", transcript=["a", "b"])]
    assert not again(case("books", transcript="a"), tests).is_exact


def test_the_earlier_tests_of_a_conversation_are_selected_too() -> None:
    tests = [case("a.b", "c"), case("x"), case("d", "c"), case("e", "c")]
    found = again(tests[2], tests)
    assert found == (r"promptfoo eval --filter-pattern '^(a\.b|d)$'", True, False)
    assert again(tests[0], tests) == (r"promptfoo eval --filter-pattern '^a\.b$'", True, False)


def test_without_names_a_conversation_is_selected_by_its_places() -> None:
    tests = [case(None, "c", q="1"), case(None, "c", q="2"), case("x"), case(None, "c", q="3")]
    assert again(tests[1], tests) == ("promptfoo eval --filter-range 0:2", True, False)
    assert again(tests[3], tests) == ("promptfoo eval --filter-range 0:4", False, False)


def test_a_conversation_whose_tests_are_not_known_begins_anew() -> None:
    assert again(case("a", "c"), None).begins_anew
    assert again(case("a", "c"), [case("a"), case("b")]).begins_anew  # as defaultTest has it
    assert not again(case("a"), [case("a")]).begins_anew
