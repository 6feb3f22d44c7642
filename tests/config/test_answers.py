"""``config.answers``: patterns that are checked before any question is asked."""

from __future__ import annotations

import pytest

from lobu_provider.config.answers import read_answers
from lobu_provider.config.settings import load_settings
from lobu_provider.errors import ConfigError


def test_a_pattern_is_searched_anywhere_in_the_question_and_without_regard_to_case() -> None:
    (answer,) = read_answers({r"which size\?": " Large "})
    assert answer.question.search("Tell me: Which SIZE?")
    assert not answer.question.search("Which sizes?")
    assert answer.option == "Large"


def test_answers_keep_the_order_in_which_they_are_written() -> None:
    found = load_settings({"config": {"agent": "a", "answers": {"b": "1", "a": "2", ".": "3"}}})
    assert [answer.option for answer in found.answers] == ["1", "2", "3"]


@pytest.mark.parametrize("pattern", ["size (", "[a-", "*", "(?P<x", "a{2,1}", "(?i", "\\"])
def test_what_is_no_regular_expression_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_answers({"fine": "yes", pattern: "no"})
    assert str(caught.value).startswith("[config] config.answers: ")
    assert repr(pattern) in str(caught.value)
    assert "is not a regular expression" in str(caught.value)


@pytest.mark.parametrize("pattern", ["", " ", "\n"])
def test_a_blank_pattern_would_answer_everything_and_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="fits every question"):
        read_answers({pattern: "yes"})


def test_a_template_left_in_a_pattern_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"\{\{env\.NOPE\}\}"):
        read_answers({"{{env.NOPE}}": "yes"})


def test_an_endless_pattern_is_not_repeated_in_full() -> None:
    with pytest.raises(ConfigError) as caught:
        read_answers({"(" * 5000: "yes"})
    assert len(str(caught.value)) < 400
