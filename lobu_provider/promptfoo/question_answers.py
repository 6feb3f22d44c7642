"""Answer an agent's questions as the config says: ``answers``. Nothing else is ever answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from lobu_provider.config.answers import Answer
from lobu_provider.errors import Failure, failure
from lobu_provider.turn import Turn

MAX_IN_A_ROW: Final = 10
"""Answers to one message; an agent may ask the same again and again."""

MAX_QUESTION: Final = 200
"""Characters of a question that a message quotes."""


class QuestionAnswers:
    """What is said to the questions of one conversation.

    Args:
        answers: the first whose pattern is found in the question counts.
        warnings: gets a sentence when the option that the config names is not offered.
        quoted: makes of a question what a message quotes, short and without secrets.
    """

    def __init__(
        self, answers: Sequence[Answer], warnings: list[str], quoted: Callable[[str], str]
    ) -> None:
        self._answers = answers
        self._warnings = warnings
        self._quoted = quoted
        self._in_a_row = 0
        self._judged: dict[int, int] = {}
        """How many questions a turn had when it was decided what to say to it."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to answer with."""
        return bool(self._answers)

    def begin_message(self) -> None:
        """A message of the test follows."""
        self._in_a_row = 0

    def next_answer(self, turns: Sequence[Turn]) -> str | Failure | None:
        """Return what to say to the last turn's question, if there is anything to say.

        A failure after :data:`MAX_IN_A_ROW` answers: the agent goes on asking.
        """
        self._judged[len(turns)] = len(_questions(turns[-1]))
        answer = answer_to(turns[-1], self._answers, self._warnings, self._quoted)
        if answer is None:
            return None
        if self._in_a_row == MAX_IN_A_ROW:
            asked = _text_of(_questions(turns[-1])[-1])
            return failure(
                "limit",
                f"The agent asks on after {MAX_IN_A_ROW} answers to one message, at last "
                f"{self._quoted(asked)!r}. It may not understand the answer {answer!r} "
                "(config.answers).",
                phase="turn",
            ).in_turn(len(turns))
        self._in_a_row += 1
        return answer

    def warnings_of_late_questions(self, turns: Sequence[Turn]) -> Iterator[str]:
        """Yield a sentence for each question that came too late to be answered."""
        for number, turn in enumerate(turns, start=1):
            for card in _questions(turn)[self._judged.get(number, len(_questions(turn))) :]:
                asked = _text_of(card)
                if any(answer.fits(asked) for answer in self._answers):
                    yield (
                        f"Turn {number}: a question came after the end of its turn and was not "
                        f"answered (config.answers): {self._quoted(asked)!r}."
                    )


def answer_to(
    turn: Turn, answers: Sequence[Answer], warnings: list[str], quoted: Callable[[str], str]
) -> str | None:
    """Return what to say to the last question of ``turn``; ``None`` if there is nothing to say.

    Args:
        turn: one that has ended.
        answers: the first whose pattern is found in the question counts.
        warnings: gets a sentence when the option that the config names is not offered.
        quoted: makes of a question what that sentence quotes.
    """
    questions = _questions(turn)
    if not questions:
        return None
    asked, offered = _text_of(questions[-1]), _options(questions[-1])
    chosen = next((answer.option for answer in answers if answer.fits(asked)), None)
    if chosen is None:
        return None
    if not offered:
        return chosen
    same = [option for option in offered if option.strip().lower() == chosen.strip().lower()]
    if not same:
        warnings.append(
            f"config.answers: {chosen!r} was not said to the question {quoted(asked)!r}: the "
            f"agent offers {', '.join(map(repr, offered[:20]))}."
        )
        return None
    return same[0]


def _questions(turn: Turn) -> list[Mapping[str, Any]]:
    return [card.data for card in turn.interactions if card.name == "question"]


def _text_of(question: Mapping[str, Any]) -> str:
    return str(question.get("question", ""))


def _options(data: Mapping[str, Any]) -> list[str]:
    """The offered texts; an option may be a string or an object with a label."""
    found = data.get("options")
    texts = []
    for option in found if isinstance(found, list) else []:
        text = option.get("label", option.get("value")) if isinstance(option, dict) else option
        if isinstance(text, str):
            texts.append(text)
    return texts
