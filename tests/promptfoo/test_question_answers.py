"""``answers``: what is said to a question card."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lobu_provider.config.answers import read_answers
from lobu_provider.events import Event, Frame, parse_event
from lobu_provider.promptfoo.question_answers import answer_to
from lobu_provider.redaction import Redactor
from lobu_provider.turn import Turn


def card(name: str = "question", **data: Any) -> Event:
    return parse_event(Frame(name, json.dumps(data)))


def said(*cards: Event, answers: dict[str, str]) -> tuple[str | None, list[str]]:
    warnings: list[str] = []
    turn = Turn("hello", interactions=cards)
    return answer_to(turn, read_answers(answers), warnings, Redactor().text), warnings


SIZE = card(question="Which size?", options=["Small", "Large"])


def test_an_offered_option_is_said_as_the_agent_writes_it() -> None:
    assert said(SIZE, answers={"SIZE": " large "}) == ("Large", [])


def test_options_may_be_objects_with_a_label_or_a_value() -> None:
    asked = card(question="Which size?", options=[{"label": "Small"}, {"value": "Large"}, 7])
    assert said(asked, answers={"size": "Large"}) == ("Large", [])


def test_a_question_without_options_gets_the_words_of_the_config() -> None:
    assert said(card(question="Which size?"), answers={"size": "Huge"}) == ("Huge", [])


def test_an_option_that_is_not_offered_is_not_said_and_told() -> None:
    answer, [warning] = said(SIZE, answers={"size": "Huge"})
    assert answer is None
    assert "'Huge' was not said" in warning
    assert "'Small', 'Large'" in warning


def test_the_first_pattern_that_is_found_counts() -> None:
    assert said(SIZE, answers={"colour": "Red", "which": "Small", "size": "Large"})[0] == "Small"


def test_the_last_question_of_a_turn_is_answered() -> None:
    colour = card(question="Which colour?", options=["Red"])
    assert said(SIZE, colour, answers={"size": "Large", "colour": "Red"})[0] == "Red"


@pytest.mark.parametrize("name", ["tool-approval", "link-button", "suggestion", "ephemeral"])
def test_nothing_but_a_question_is_ever_answered(name: str) -> None:
    asked = card(name, question="Which size?", options=["Large"], content="size")
    assert said(asked, answers={".*": "Large"}) == (None, [])


@pytest.mark.parametrize("question", [None, 7, {"a": 1}, ["size"]])
def test_a_question_of_any_shape_raises_nothing(question: Any) -> None:
    assert said(card(question=question, options="x"), answers={"which": "Large"}) == (None, [])


def test_without_answers_or_questions_nothing_is_said() -> None:
    assert said(SIZE, answers={}) == (None, [])
    assert said(answers={"size": "Large"}) == (None, [])
