"""A conversation as a text that a model can judge: answers, tool calls and cards, turn by turn.

What user and agent wrote stands behind ``>``, so that no answer can pass for a tool call. The text
is bounded, and says what was cut: a judge must not take what is left out for what did not happen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lobu_provider.assertions.evidence import Call, Evidence
from lobu_provider.assertions.values import is_blank, json_text, show, times

MAX_TEXT: Final = 30_000
"""Characters of the whole, notes at its head not counted."""

CUTS: Final = (MAX_TEXT, 4000, 1000, 250, 60)
"""Characters that each text is cut to, one after the other until the whole is short enough."""

LAST_ANSWER: Final = 4000
"""Characters of the last answer that always stay."""

_HEAD: Final = (
    "What is known of a conversation with an agent. Lines that begin with > are what the user and "
    "the agent wrote; the others were recorded by the gateway. The tool calls and cards of a turn "
    "stand before its answer. The gateway reports results of few tools."
)

_CARDS: Final = {
    "question": "Question card shown to the user",
    "tool-approval": "Approval asked of the user",
    "link-button": "Link shown to the user",
    "suggestion": "Suggestions shown to the user",
}

_CARD_NOISE: Final = frozenset(
    {"type", "turn", "timestamp", "messageId", "turnMessageId", "originMessageId"}
    | {"processedMessageIds", "questionId", "requestId", "runId", "grantPattern"}
    | {"durationOptions"}
)
"""Keys of a card that say nothing of what is asked."""

_SHOWN: Final = ("toolCalls", "turns", "interactions")
"""What of the metadata is shown, and may have been cut before."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")


class _Line(NamedTuple):
    """A heading, and a text after it that may be cut."""

    heading: str
    text: str = ""
    quoted: bool = False
    """Whether the text was written by user or agent."""
    last_answer: bool = False


def evidence_text(evidence: Evidence) -> str:
    """Return the conversation for a judge; at most about :data:`MAX_TEXT` characters."""
    lines = list(_lines(evidence))
    cut = next((one for one in CUTS if _size(_all_written(lines, one)) <= MAX_TEXT), CUTS[-1])
    notes = _notes(evidence)
    shortened = sum(len(line.text) > _allowed(line, cut) for line in lines)
    if shortened:
        notes.append(f"{times(shortened, 'text')} cut for this judgement, each marked [cut: ...].")
    body, left_out = _without_middle(_all_written(lines, cut))
    if left_out:
        notes.append(f"{times(left_out, 'part')} left out of the middle for this judgement.")
    if notes:
        incomplete = "Incomplete. What is missing here may have happened:"
        notes = ["", incomplete, *(f"- {note}" for note in notes)]
    return "\n".join([_HEAD, *notes, *body])


def _lines(evidence: Evidence) -> Iterator[_Line]:
    last = len(evidence.turns)
    for turn in evidence.turns:
        number = int(turn["turn"])
        yield _Line(f"\nTurn {number} of {last}")
        yield _Line("User:", _text(turn.get("user")), quoted=True)
        for call in evidence.calls:
            if call.turn == number:
                yield from _call(call)
        for card in evidence.interactions:
            if card.get("turn") == number:
                yield _card(card)
        if turn.get("awaitingHumanDecision") is True:
            yield _Line("The gateway says that a person has to decide.")
        yield _Line("Agent:", turn["output"], quoted=True, last_answer=number == last)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _call(call: Call) -> Iterator[_Line]:
    heading = f"Tool call {call.number}: {_name(call.name)}"
    if call.input_state == "not sent":
        yield _Line(f"{heading} (the gateway did not send the arguments)")
    elif call.input_state == "cut" and call.arguments == {}:
        yield _Line(f"{heading} (the arguments were cut)")
    else:
        yield _Line(f"{heading} ", json_text(call.arguments))
    error = call.summary.get("error") if isinstance(call.summary, Mapping) else None
    if error is not None:
        yield _Line(f"  Call {call.number} failed: ", json_text(error))
    elif call.is_error is True:
        yield _Line(f"  Call {call.number} failed; the reason is not known.")
    elif call.is_error is not False:
        yield _Line(f"  Whether call {call.number} failed is not known.")
    if call.summary is not None and error is None:
        yield _Line(f"  Call {call.number} reported ", json_text(call.summary))


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else show(name)


def _card(card: Mapping[str, Any]) -> _Line:
    kind = card.get("type")
    heading = _CARDS.get(kind, "Card shown to the user") if isinstance(kind, str) else "Card"
    told = {key: value for key, value in card.items() if key not in _CARD_NOISE}
    url = told.get("url")
    if isinstance(url, str):  # what follows can be the key to an account
        told["url"] = re.split("[?#]", url, maxsplit=1)[0]
    return _Line(f"{heading}: ", json_text(told))


def _notes(evidence: Evidence) -> list[str]:
    notes = [f"{hole}." for hole in evidence.holes]
    for attempt in evidence.attempts:
        names = attempt.get("toolCalls")
        called = ", ".join(map(_text, names)) if isinstance(names, list) and names else "none"
        notes.append(f"an attempt before this one failed; tools called in it: {show(called)}.")
    cut = [label for label in evidence.cut if label.partition("[")[0] in _SHOWN]
    if cut:
        labels = ", ".join(sorted(cut))
        notes.append(f"the row was cut to keep it small (maxMetadataKb): {labels}.")
    return notes


def _allowed(line: _Line, cut: int) -> int:
    return max(cut, LAST_ANSWER) if line.last_answer else cut


def _all_written(lines: Sequence[_Line], cut: int) -> list[str]:
    return [_written(line, cut) for line in lines]


def _size(told: Sequence[str]) -> int:
    return sum(len(text) + 1 for text in told)


def _written(line: _Line, cut: int) -> str:
    allowed = _allowed(line, cut)
    over = len(line.text) - allowed
    text = line.text if over <= 0 else f"{line.text[:allowed]}... [cut: {over} characters]"
    if not line.quoted:
        return line.heading + text
    if is_blank(text):
        return f"{line.heading} (no text)"
    return "\n> ".join([line.heading, *re.split("\r\n|[\n\r\v\f\x85\u2028\u2029]", text)])


def _without_middle(told: Sequence[str]) -> tuple[list[str], int]:
    """Return the parts of both ends that are short enough, and how many are left out."""
    if _size(told) <= MAX_TEXT:
        return list(told), 0
    first, end = _fitting(told), len(told) - _fitting(told[::-1])
    note = f"\n[left out: {times(end - first, 'part')}]\n"
    return [*told[:first], note, *told[end:]], end - first


def _fitting(told: Sequence[str]) -> int:
    size = 0
    for index, text in enumerate(told):
        size += len(text) + 1
        if size > MAX_TEXT // 2:
            return index
    return len(told)
