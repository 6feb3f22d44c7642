"""``config.answers``: a pattern whose search would never end is refused before it is used."""

from __future__ import annotations

import re

import pytest

from lobu_provider.config.answers import read_answers
from lobu_provider.config.pattern_cost import MAX_TEXT
from lobu_provider.errors import ConfigError


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(\w+\s?)+\?$",
        "(a+)+$",
        "(a*)*b",
        "(a|aa)+$",
        "(?:.*,)*x",
        "(a{0,50}){0,50}b",
        "(?=(a+)+b)",
        "((x+x+)+y)",
        ".*a.*b.*c.*d",
        r"\w*\w*\w*\w*!",
        "a?" * 40 + "a" * 40,
        "(?:a|a)(?:a|a)" * 20,
        "(?i:(a+)+b)",
        "(x)?(?(1)(a+)+b|c)",
        r"(a*)(a*)\2\1b",
        r"(.*).*\1\1!x",
    ],
)
def test_a_pattern_that_could_search_for_ever_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ConfigError, match="could take for ever") as caught:
        read_answers({"fine": "yes", pattern: "no"})
    assert repr(pattern)[1:40] in str(caught.value)
    assert "a few plain words" in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        r"which size\?",
        ".",
        ".*",
        "which.*account",
        ".*which.*account.*",
        "^.*which.*account.*",
        r"\bcolou?rs?\b",
        "(savings|current) account",
        "(?:please |kindly )?choose",
        r"order (?:no\.? ?)?\d{1,10}",
        "(?:ab)+",
        "(ha){1,3}",
        r"(\w)\1",
        "(?=.*size)which",
        "(?<!not )sure",
    ],
)
def test_what_people_write_is_allowed_and_searched_in_time(pattern: str) -> None:
    (answer,) = read_answers({pattern: "yes"})
    for text in ("a" * 5000, "which account " * 500, "ha" * 2000 + "!"):
        answer.fits(text)


def test_only_the_beginning_of_a_question_is_searched() -> None:
    (answer,) = read_answers({"size": "yes"})
    assert answer.fits("x" * (MAX_TEXT - 4) + "size")
    assert not answer.fits("x" * MAX_TEXT + "size")


def test_a_pattern_is_judged_by_the_parser_of_this_python() -> None:
    for pattern in ("(?>a+)b", "a++b"):  # from 3.11 on
        try:
            re.compile(pattern)
        except re.error:
            with pytest.raises(ConfigError, match="is not a regular expression"):
                read_answers({pattern: "x"})
        else:
            assert read_answers({pattern: "x"})
