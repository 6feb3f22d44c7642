"""Cutting a suite into parts, and the command that runs one test again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.results.rerun import rerun_command
from lobu_provider.results.shards import rows_of_test, shards_of

from .made_rows import made


def test_the_parts_are_neighbours_balanced_by_rows_and_the_last_has_no_end() -> None:
    shards = shards_of([1, 1, 1, 9, 1, 1, 1, 1], 3)
    assert [shard.filter_range for shard in shards] == ["0:3", "3:4", "4:"]
    assert [shard.rows for shard in shards] == [3, 9, 4]


def test_more_parts_than_tests_are_refused() -> None:
    with pytest.raises(ValueError, match="2 tests cannot be cut into 3 shards"):
        shards_of([1, 1], 3)


def best(weights: list[int], count: int) -> int:
    """The lightest heaviest part, by trying every cut."""
    if count == 1:
        return sum(weights)
    cuts = range(1, len(weights) - count + 2)
    return min(max(sum(weights[:cut]), best(weights[cut:], count - 1)) for cut in cuts)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8).flatmap(
        lambda weights: st.tuples(st.just(weights), st.integers(1, len(weights)))
    )
)
def test_every_test_is_in_one_part_none_is_empty_and_none_could_be_lighter(
    given_: tuple[list[int], int],
) -> None:
    weights, count = given_
    shards = shards_of(weights, count)
    assert [shard.start for shard in shards] == [0, *(shard.end for shard in shards[:-1])]
    assert shards[-1].end == len(weights)
    assert all(shard.end > shard.start for shard in shards)
    assert max(shard.rows for shard in shards) == best(weights, count)


def test_a_list_of_texts_counts_as_often_as_promptfoo_splits_it() -> None:
    two, three = ["a", "b"], ["a", "b", "c"]
    assert rows_of_test({"vars": {"x": two, "y": three, "z": "a"}}, {}) == 6
    assert rows_of_test({"vars": {"x": two}}, {"vars": {"y": three, "x": three}}) == 6
    assert rows_of_test({"vars": {"x": [two]}}, {}) == 1
    assert rows_of_test({"vars": {"x": two}}, {"options": {"disableVarExpansion": True}}) == 1


def again(row: dict[str, Any], tests: list[Any] | None, **more: Any) -> tuple[str, bool]:
    return rerun_command(row, tests, several_providers=False, **more)[:2]


def case(description: str | None, **variables: Any) -> dict[str, Any]:
    named = {} if description is None else {"description": description}
    return {**named, "vars": variables}


def row_of(test: dict[str, Any]) -> dict[str, Any]:
    return {**made(), "testCase": test}


def test_a_description_of_its_own_selects_a_test() -> None:
    one = case("what? (a|b)", q="x")
    command, exact = again(row_of(one), [one, case("what", q="x")], config="c d.yaml")
    assert command == r"promptfoo eval -c 'c d.yaml' --filter-pattern '^what\? \(a\|b\)$'"
    assert exact


def test_a_test_without_one_is_selected_by_its_place() -> None:
    tests = [case(None, q="x"), case(None, q=["y", "z"])]
    assert again(row_of(case(None, q="x")), tests) == ("promptfoo eval --filter-range 0:1", True)


def test_of_a_test_that_promptfoo_splits_all_parts_are_selected_and_that_is_told() -> None:
    tests = [case(None, q="x"), case(None, q=["y", "z"])]
    assert again(row_of(case(None, q="z")), tests) == ("promptfoo eval --filter-range 1:2", False)


def test_tests_of_one_description_are_selected_by_their_place() -> None:
    tests = [case("a", q="x"), case("a", q="y")]
    assert again(row_of(tests[1]), tests) == ("promptfoo eval --filter-range 1:2", True)


def test_where_the_tests_are_not_known_the_command_is_not_known_to_be_exact() -> None:
    assert again(row_of(case("a")), None) == ("promptfoo eval --filter-pattern '^a$'", False)
    assert again(row_of(case(None, q="x")), None) == ("promptfoo eval", False)


def test_the_provider_is_selected_by_its_whole_label() -> None:
    row = made("t", provider="gpt-4.1")
    command = rerun_command(row, None).command
    pattern = command.split("--filter-providers ")[1].strip("'")
    assert re.search(pattern, "gpt-4.1")
    assert not re.search(pattern, "gpt-4.1-mini")


def test_a_provider_that_other_tests_name_is_not_filtered_out() -> None:
    both = {**case("a"), "providers": ["one", "t*"]}
    alone, other = {**case("b"), "providers": ["one"]}, {**case("c"), "providers": ["two"]}

    def command(test: dict[str, Any], *tests: dict[str, Any]) -> tuple[str, bool]:
        row = {**row_of(test), "provider": {"id": "file://hook.py", "label": "one"}}
        return rerun_command(row, [test, *tests])[:2]

    assert command(both) == ("promptfoo eval --filter-pattern '^a$'", False)
    assert command(alone, other) == ("promptfoo eval --filter-pattern '^b$'", True)
    filtered = "promptfoo eval --filter-pattern '^b$' --filter-providers '^one$'"
    assert command(alone, case("c")) == (filtered, True)


def test_a_prompt_is_selected_where_there_are_several() -> None:
    row = {**row_of(case("a")), "prompt": {"label": "say (it)"}}
    command, exact = again(row, [case("a")], several_prompts=True)
    assert command == r"promptfoo eval --filter-pattern '^a$' --filter-prompts '^say \(it\)$'"
    assert exact
    named = {**case("b"), "prompts": ["other"]}
    unfiltered = ("promptfoo eval --filter-pattern '^a$'", False)
    assert again(row, [case("a"), named], several_prompts=True) == unfiltered
