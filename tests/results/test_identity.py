"""Which rows are the same test."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.results.identity import Identity, identity_of
from lobu_provider.results.runs import columns_of, group_tests, read_run

from .made_rows import FIXTURES, made, read


def digest(row: dict[str, Any]) -> str:
    return identity_of(row).digest


def with_vars(variables: dict[str, Any], **case: Any) -> dict[str, Any]:
    row = made()
    row["testCase"] = {"vars": variables, **case}
    return row


def test_place_answer_and_assertions_do_not_matter() -> None:
    other = made(verdict="fail", testIdx=9, checks=[{"type": "equals", "value": "y"}])
    assert digest(made()) == digest(other)


def test_description_and_variables_matter_and_the_order_of_keys_does_not() -> None:
    assert digest(made("a")) != digest(made("b"))
    assert digest(with_vars({"a": 1, "b": 2})) == digest(with_vars({"b": 2, "a": 1}))
    assert digest(with_vars({"a": 1})) != digest(with_vars({"a": 2}))
    assert digest(with_vars({"a": 1})) != digest(with_vars({"a": 1}, description="x"))


def test_variables_that_promptfoo_adds_do_not_matter() -> None:
    added = {"a": 1, "sessionId": "s-1", "__evalId": "eval-1", "_conversation": []}
    assert digest(with_vars(added)) == digest(with_vars({"a": 1}))


def test_an_id_of_the_author_stands_for_the_test_whatever_it_says() -> None:
    one = with_vars({"a": 1}, description="x", metadata={"testCaseId": "id-1"})
    two = with_vars({"a": 2}, description="y", metadata={"testCaseId": "id-1"})
    assert digest(one) == digest(two)


def test_a_test_without_a_description_is_named_by_what_is_said() -> None:
    assert identity_of(with_vars({"query": "How?", "x": 1})).name == "How?"
    turns = [{"role": "user", "content": "one"}, {"user": "two"}]
    assert identity_of(with_vars({"transcript": turns})).name == "one / two"
    assert identity_of(with_vars({"x": 1})).name == "x=1"
    assert identity_of(with_vars({})).name == "(no variables)"


def test_a_test_whose_turns_are_in_a_file_is_named_by_the_file() -> None:
    row = with_vars({"transcript": "file:///home/me/turns.yaml"})
    assert identity_of(row).name == "turns.yaml"


def test_equal_rows_are_repeats_and_tests_that_differ_in_assertions_are_numbered() -> None:
    strict = [{"type": "equals", "value": "x"}]
    rows = read(made("a"), made("a", verdict="fail"), made("a", checks=strict), made("b"))
    tests = group_tests(rows)
    assert [(test.name, len(test.rows)) for test in tests] == [("a #1", 2), ("a #2", 1), ("b", 1)]


def test_tests_of_one_description_are_numbered_the_same_for_all_providers() -> None:
    def row(query: str, label: str, place: int) -> dict[str, Any]:
        found = made("a", provider=label, promptIdx=place)
        found["testCase"]["vars"] = {"query": query}
        return found

    rows = read(row("x", "one", 0), row("y", "one", 0), row("y", "two", 1))
    names = [(test.name, test.column.provider) for test in group_tests(rows)]
    assert names == [("a #1", "one"), ("a #2", "one"), ("a #2", "two")]


def test_providers_of_one_name_are_told_apart_by_their_place() -> None:
    rows = read(made(promptIdx=0), made(promptIdx=1))
    assert [column.provider for column in columns_of(rows).values()] == ["model #1", "model #2"]
    assert [len(test.rows) for test in group_tests(rows)] == [1, 1]


def test_the_folder_of_the_hook_is_no_part_of_a_providers_name() -> None:
    rows = read(made(provider=None) | {"provider": {"id": "file:///home/me/x/lobu_hook.py"}})
    assert rows[0].provider == "lobu_hook.py"


def test_the_folder_of_a_file_of_assertions_does_not_matter() -> None:
    def checked(folder: str) -> Identity:
        value = f"file://{folder}/lobu_assertions.py:toolCalled"
        return identity_of(made(checks=[{"type": "python", "value": value}]))

    assert checked("/home/me/venv") == checked("/opt/ci")
    assert checked("/home/me/venv").checks != checked("relative").checks


def test_both_promptfoos_and_both_doors_give_a_test_the_same_identity() -> None:
    one, two = (
        {row.identity for row in read_run([FIXTURES / f"{name}.json"]).rows}
        for name in ("python-0.121.20", "package-0.123.1")
    )
    assert one == two
    assert len(one) == 13


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_variable_has_an_identity(value: Any) -> None:
    assert digest(with_vars({"a": value})) == digest(with_vars({"a": value}))
