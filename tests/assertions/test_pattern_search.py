"""Patterns are found where Python's engine finds them, and never take longer than the text asks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.assertions.patterns import PatternError, compile_pattern

ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\b", r"\B", "^", r"\d", " "])
REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,3}?", "{2,}", "*?"])


def patterns_of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.builds("{}{})".format, st.sampled_from(["(", "(?:", "(?=", "(?!"]), inner)
    repeated = st.builds("(?:{}){}".format, inner, REPEATS)
    return st.one_of(
        groups,
        repeated,
        st.builds("{}|{}".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    )


PATTERNS = st.recursive(ATOMS, patterns_of, max_leaves=8)
# Of an empty text Python's \B is not true, that of JavaScript is, and so is ours.
TEXTS = st.text("abc1_ \n", min_size=1, max_size=8)


@settings(deadline=None)
@given(PATTERNS, TEXTS)
def test_a_pattern_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    found = re.compile(pattern, re.ASCII).search(text) is not None
    assert compile_pattern(pattern).found_in(text) == found


@settings(deadline=None)
@given(PATTERNS, st.lists(TEXTS, min_size=2, max_size=4))
def test_a_pattern_remembers_nothing_wrong_from_one_text_to_the_next(
    pattern: str, texts: list[str]
) -> None:
    used = compile_pattern(pattern)
    for text in texts:
        assert used.found_in(text) == (re.search(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 5000 + "b"),
        (r"^(\w+\s?)+\?$", "word " * 2000),
        ("(a|aa)+$", "a" * 5000 + "b"),
        (".*a.*b.*c.*d", "abc" * 2000),
        ("(?:.*,)*x", "," * 5000),
        ("(?:a?){500}b", "a" * 2000),
        ("(?=(a+)+b)", "a" * 5000),
    ],
)
def test_a_pattern_with_countless_ways_is_searched_for_in_one(pattern: str, text: str) -> None:
    assert not compile_pattern(pattern).found_in(text)


@pytest.mark.parametrize("pattern", ["a{1000}", "a{0,1000}b", "(?:[a-z]{0,40} ){20}refund"])
def test_large_counts_are_allowed(pattern: str) -> None:
    assert compile_pattern(pattern).found_in("a" * 1000 + "b " * 20 + "refund")


def test_counts_that_multiply_without_bound_are_refused_with_what_to_write() -> None:
    with pytest.raises(PatternError, match=r"multiply to more than 3000 .* write smaller ones"):
        compile_pattern("(?:(?:a{1000}){1000}){1000}")


def test_groups_without_end_are_refused() -> None:
    with pytest.raises(PatternError, match=r"more than 50 deep \(character 51\)"):
        compile_pattern("(" * 5000 + "a" + ")" * 5000)


def test_many_different_sets_of_places_are_not_all_kept() -> None:
    pattern = compile_pattern("b[ab]{12}c")
    text = "".join("ab"[(index * index // 7) % 2] for index in range(20_000))
    assert not pattern.found_in(text)
    assert pattern.found_in(text + "b" + "a" * 12 + "c")
