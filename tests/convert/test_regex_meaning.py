"""Patterns are carried to another engine only where that finds the same texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.assertions.patterns import compile_pattern
from lobu_provider.convert.regex_meaning import same_in_javascript, same_in_turns


@pytest.mark.parametrize(
    ("pattern", "in_javascript", "in_turns"),
    [
        ("^Order [0-9]{2,}(?: of|, )", True, True),
        (r"total\.", True, True),
        (r"\bdone\b", False, True),
        (r"\d+", False, True),
        (r"\w", False, True),
        ("done$", False, True),
        (r"a\sb", False, False),
        ("a.b", False, False),
        ("[^a]b", False, False),
        (r"\Sb", False, False),
        ("\U0001f600", False, False),
        ("(?<=a)b", False, False),
        ("(?i)a", False, False),
    ],
)
def test_where_engines_differ_is_known(pattern: str, in_javascript: bool, in_turns: bool) -> None:
    assert (same_in_javascript(pattern), same_in_turns(pattern, False)) == (in_javascript, in_turns)


def test_without_case_only_ascii_is_the_same() -> None:
    assert same_in_turns("stra[a-z]", True)
    assert not same_in_turns("stra\u00dfe", True)
    assert not same_in_turns(r"\xb5", True)


ATOMS = st.sampled_from(
    [
        "a",
        "\u00e9",
        ".",
        "$",
        "^",
        r"\w",
        r"\d",
        r"\s",
        r"\b",
        "[^a]",
        "[a ]",
        "a*",
        "(?:a|b)",
        "\n",
    ]
)
TEXTS = st.text("ab1 \n\r\u00e9\u0661\u2028\x85", max_size=6)


@settings(deadline=None)
@given(st.lists(ATOMS, min_size=1, max_size=4).map("".join), TEXTS)
def test_what_is_the_same_in_javascript_needs_no_rule_of_python_s_own(
    pattern: str, text: str
) -> None:
    if same_in_javascript(pattern):
        assert (re.search(pattern, text) is not None) == compile_pattern(pattern).found_in(text)
