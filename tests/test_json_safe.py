"""Whatever arrives, promptfoo gets JSON that it can read, and sees what was replaced."""

from __future__ import annotations

import contextlib
import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.json_safe import MAX_DEPTH, json_safe, json_words, parse_json, safe_text

UNLIMITED = settings(deadline=None)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
SAFE_TEXT = st.text()
SAFE_INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
SAFE_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | SAFE_INTEGERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | SAFE_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(SAFE_TEXT, inner),
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**20, 10**400)
    | st.floats()
    | ANY_TEXT
    | st.binary()
    | st.dates()
    | st.frozensets(st.integers()),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(ANY_TEXT | st.integers() | st.none(), inner)
    ),
)


@UNLIMITED
@given(ANYTHING)
def test_any_value_becomes_strict_json_in_utf_8(value: Any) -> None:
    text = json.dumps(json_safe(value), allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")


@UNLIMITED
@given(ANYTHING)
def test_the_words_of_any_value_are_the_json_of_what_is_safe_of_it(value: Any) -> None:
    assert json.loads(json_words(value)) == json_safe(value)


@UNLIMITED
@given(ANYTHING)
def test_making_a_value_safe_twice_changes_nothing_more(value: Any) -> None:
    once = json_safe(value)
    assert json_safe(once) == once


@UNLIMITED
@given(SAFE_VALUES)
def test_a_safe_value_comes_back_equal_and_as_a_copy(value: Any) -> None:
    safe = json_safe(value)
    assert json.dumps(safe) == json.dumps(value)
    if isinstance(value, (dict, list)):
        assert safe is not value


class _Nameless:
    def __str__(self) -> str:
        raise RuntimeError("no text for me")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (-(2**53), "-9007199254740992"),
        (True, True),
        ("\ud800 lost", "\\ud800 lost"),
        ("a pair of surrogates is a letter: \U0001f600", "a pair of surrogates is a letter: 😀"),
        ({"\udfff": 1}, {"\\udfff": 1}),
        ({1: "a", None: "b"}, {"1": "a", "None": "b"}),
        ((1, (2,)), [1, [2]]),
        (date(2026, 1, 2), "2026-01-02"),
        (_Nameless(), "(_Nameless)"),
        ({_Nameless(): 1}, {"(_Nameless)": 1}),
        ({10**5000: 1}, {"(int)": 1}),
    ],
)
def test_what_json_lacks_is_replaced_by_something_that_shows_it(value: Any, shown: Any) -> None:
    safe = json_safe(value)
    assert safe == shown
    assert type(safe) is type(shown)


def test_an_integer_too_long_for_decimal_is_shown_in_hexadecimal() -> None:
    assert json_safe(16**5000) == hex(16**5000)


def test_nesting_beyond_the_limit_becomes_a_note() -> None:
    value: Any = "bottom"
    for _ in range(MAX_DEPTH + 1):
        value = [value]
    text = json.dumps(json_safe(value))
    assert "nested too deep" in text
    assert "bottom" not in text
    assert "bottom" in json.dumps(json_safe(value[0]))


def test_a_value_that_contains_itself_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "nested too deep" in json.dumps(json_safe(loop))


@UNLIMITED
@given(ANY_TEXT)
def test_safe_text_has_no_surrogates_and_leaves_encodable_text_alone(text: str) -> None:
    safe = safe_text(text)
    safe.encode("utf-8")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        assert safe != text
    else:
        assert safe == text


@UNLIMITED
@given(ANY_TEXT)
def test_parsing_any_text_gives_a_value_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse_json(text)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "[" * 100_000, '{"a":' * 100_000])
def test_text_that_is_not_json_or_too_deep_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)


@pytest.mark.parametrize("digits", ["9" * 1000, "9" * 1001, "9" * 5000, "-" + "9" * 5000])
def test_an_integer_of_any_length_is_parsed_and_keeps_its_digits(digits: str) -> None:
    value = parse_json(f'{{"n": {digits}}}')["n"]
    assert str(value) == digits
    json.dumps(json_safe(value))


@pytest.mark.parametrize("length", [19, 999, 1000])
def test_a_long_integer_is_read_as_a_number(length: int) -> None:
    assert parse_json(f'[1, {"7" * length}, "x"]') == [1, int("7" * length), "x"]


@pytest.mark.parametrize("length", [1001, 1049, 5000, 100_000])
@pytest.mark.parametrize("before", range(0, 50, 7))
def test_an_integer_that_takes_long_to_read_stays_text(length: int, before: int) -> None:
    assert parse_json(" " * before + f'{{"n": -{"7" * length}}}') == {"n": "-" + "7" * length}
