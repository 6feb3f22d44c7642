"""The assertions of a test, also those in sets, and which of them spans are needed for."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.promptfoo.trace_assertions import flat_assertions, trace_assertions

ONE, TWO, THREE = ({"type": name} for name in ("contains", "trace-error-spans", "equals"))


def test_a_set_comes_before_what_it_holds_and_all_in_order() -> None:
    inner = {"type": "assert-set", "assert": [TWO]}
    outer = {"type": "assert-set", "assert": [ONE, inner]}
    assert list(flat_assertions([outer, THREE])) == [outer, ONE, inner, TWO, THREE]


@pytest.mark.parametrize("given", [None, "text", 7, [], ["text", None, 7], [[]]])
def test_what_is_no_assertion_is_passed_over(given: Any) -> None:
    assert list(flat_assertions(given)) == []


def test_a_set_that_holds_itself_has_an_end() -> None:
    itself: dict[str, Any] = {"type": "assert-set", "assert": [ONE]}
    itself["assert"].append(itself)
    assert list(flat_assertions([itself, TWO])) == [itself, ONE, TWO]


def test_sets_may_be_nested_deeper_than_python_recurses() -> None:
    nested: dict[str, Any] = TWO
    for _ in range(100_000):
        nested = {"assert": [nested]}
    assert trace_assertions({"test": {"assert": [nested]}}) == ["trace-error-spans"]


@pytest.mark.parametrize("kind", [None, 7, ["trace-error-spans"], {}])
def test_a_type_that_is_no_text_is_none(kind: Any) -> None:
    assert trace_assertions({"test": {"assert": [{"type": kind}, TWO, TWO]}}) == [
        "trace-error-spans"
    ]
