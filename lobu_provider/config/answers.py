"""Read ``config.answers``: which question of the agent is answered with which option."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from lobu_provider.config.faults import refuse_template, shown
from lobu_provider.config.pattern_cost import MAX_TEXT, takes_too_long
from lobu_provider.errors import config_error


class Answer(NamedTuple):
    """An option, and the questions that it answers: those in which the pattern is found."""

    question: re.Pattern[str]
    option: str

    def fits(self, question: str) -> bool:
        """Return whether the pattern is found in the beginning of the question."""
        return self.question.search(question[:MAX_TEXT]) is not None


def read_answers(given: Mapping[str, str]) -> tuple[Answer, ...]:
    """Return the answers in the order in which they are written; the first that fits counts.

    Raises:
        ConfigError: a pattern is blank, no regular expression, or one whose search may take for
            ever; the message names it.
    """
    return tuple(Answer(_pattern(text), option.strip()) for text, option in given.items())


@lru_cache(maxsize=256)  # a config is read anew for each call
def _pattern(text: str) -> re.Pattern[str]:
    refuse_template(text, "config.answers")
    if not text.strip():
        raise config_error(
            "config.answers: a blank pattern fits every question. Write '.' to mean that."
        )
    try:
        found, slow = re.compile(text, re.IGNORECASE), takes_too_long(text)
    except (re.error, OverflowError, RecursionError) as exc:
        raise config_error(
            f"config.answers: {shown(text)} is not a regular expression: {exc}. "
            "Put a backslash before characters that are meant as they are, such as ? ( ) [ ."
        ) from None
    if slow:
        raise config_error(
            f"config.answers: a search for {shown(text)} could take for ever: it repeats what "
            "itself repeats, as (a+ ?)+ does, or has too many of * + ? {m,n} and | that may each "
            "take more or less. Write a few plain words of the question instead, with one or two "
            "'.*' between them; none is needed at the beginning or the end."
        )
    return found
