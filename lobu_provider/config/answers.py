"""Read ``config.answers``: which question of the agent is answered with which option."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from lobu_provider.config.faults import refuse_template, shown
from lobu_provider.errors import config_error


class Answer(NamedTuple):
    """An option, and the questions that it answers: those in which the pattern is found."""

    question: re.Pattern[str]
    option: str


def read_answers(given: Mapping[str, str]) -> tuple[Answer, ...]:
    """Return the answers in the order in which they are written; the first that fits counts.

    Raises:
        ConfigError: a pattern is blank or no regular expression; the message names it.
    """
    return tuple(Answer(_pattern(text), option.strip()) for text, option in given.items())


def _pattern(text: str) -> re.Pattern[str]:
    refuse_template(text, "config.answers")
    if not text.strip():
        raise config_error(
            "config.answers: a blank pattern fits every question. Write '.' to mean that."
        )
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as exc:
        raise config_error(
            f"config.answers: {shown(text)} is not a regular expression: {exc}. "
            "Put a backslash before characters that are meant as they are, such as ? ( ) [ ."
        ) from None
