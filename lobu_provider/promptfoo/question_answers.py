"""Answer an agent's questions as the config says: ``answers``. Nothing else is ever answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lobu_provider.config.answers import Answer
from lobu_provider.turn import Turn

MAX_IN_A_ROW: Final = 10
"""Answers to one message; an agent may ask the same again and again."""


def answer_to(turn: Turn, answers: Sequence[Answer], warnings: list[str]) -> str | None:
    """Return what to say to the last question of ``turn``; ``None`` if there is nothing to say.

    Args:
        turn: one that has ended.
        answers: the first whose pattern is found in the question counts.
        warnings: gets a sentence when the option that the config names is not offered.
    """
    questions = [card.data for card in turn.interactions if card.name == "question"]
    if not questions:
        return None
    asked, offered = str(questions[-1].get("question", "")), _options(questions[-1])
    chosen = next((a.option for a in answers if a.question.search(asked)), None)
    if chosen is None:
        return None
    if not offered:
        return chosen
    same = [option for option in offered if option.strip().lower() == chosen.strip().lower()]
    if not same:
        warnings.append(
            f"config.answers: {chosen!r} was not said to the question {asked[:200]!r}: the "
            f"agent offers {', '.join(map(repr, offered[:20]))}."
        )
        return None
    return same[0]


def _options(data: Any) -> list[str]:
    """The offered texts; an option may be a string or an object with a label."""
    found = data.get("options")
    texts = []
    for option in found if isinstance(found, list) else []:
        text = option.get("label", option.get("value")) if isinstance(option, dict) else option
        if isinstance(text, str):
            texts.append(text)
    return texts
