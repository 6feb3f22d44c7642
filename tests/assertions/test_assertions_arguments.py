"""Properties of how arguments are matched."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.assertions.arguments import ArgumentRules, check_arguments, differences
from lobu_provider.assertions.values import json_text, same

KEYS = st.text(st.characters(codec="utf-8"), max_size=8).filter(lambda key: not key.startswith("$"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False,
        allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)
PARTIAL, EXACT = ArgumentRules(), ArgumentRules(exact=True)


@given(OBJECTS)
def test_arguments_fit_themselves_by_every_rule(value: dict[str, Any]) -> None:
    assert check_arguments(value) == []
    for rules in (PARTIAL, EXACT, ArgumentRules(text_contains=True)):
        assert differences(value, value, rules) == []


@given(OBJECTS, OBJECTS)
def test_exact_arguments_fit_only_what_is_the_same(
    wanted: dict[str, Any], actual: dict[str, Any]
) -> None:
    assert (differences(wanted, actual, EXACT) == []) == same(wanted, actual)


@given(OBJECTS, OBJECTS)
def test_more_arguments_never_break_a_partial_match(
    wanted: dict[str, Any], more: dict[str, Any]
) -> None:
    assert differences(wanted, {**more, **wanted}, PARTIAL) == []


@given(OBJECTS, OBJECTS)
def test_each_difference_is_of_a_key_that_is_wanted(
    wanted: dict[str, Any], actual: dict[str, Any]
) -> None:
    for key in wanted:
        alone = differences({key: wanted[key]}, actual, PARTIAL)
        assert bool(alone) == (
            key not in actual or differences(wanted[key], actual[key], PARTIAL) != []
        )


@given(OBJECTS, OBJECTS)
def test_what_is_ignored_makes_no_difference(
    wanted: dict[str, Any], actual: dict[str, Any]
) -> None:
    keys = [key for key in {**wanted, **actual} if key and not set(".[") & set(key)]
    rules = ArgumentRules(exact=True, ignore=keys)
    rest = [key for key in {**wanted, **actual} if key not in keys]
    found = differences({k: wanted[k] for k in wanted if k in rest}, actual, rules)
    assert differences(wanted, actual, rules) == found


@given(VALUES)
def test_what_is_written_is_json_of_the_same_value(value: Any) -> None:
    assert same(json.loads(json_text(value)), value)


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_a_text_contains_its_parts_in_any_case(start: str, part: str, end: str) -> None:
    rules = ArgumentRules(text_contains=True)
    if (start + part + end).lower().count(part.lower()):
        assert differences({"a": part}, {"a": start + part + end}, rules) == []
