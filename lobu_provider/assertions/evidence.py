"""What a row tells about a conversation, read from promptfoo's context.

Nothing is guessed: where the row does not hold what a Lobu provider returns, there is no evidence
but a reason, and every check fails with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from lobu_provider.assertions.values import is_blank, is_number, json_text, show, times

_CUT_MARK: Final = re.compile(r"\.\.\. \[cut: [0-9]+ characters\]")

InputState = Literal["known", "not sent", "cut"]


class NoEvidenceError(Exception):
    """The row cannot be judged; the text says why."""


@dataclass(frozen=True)
class Call:
    """One tool call."""

    number: int
    """Place among all calls of the conversation, from 1."""
    name: str
    turn: int
    input_state: InputState
    arguments: Any
    is_error: Any
    summary: Any
    """``result_summary`` as it came."""


@dataclass(frozen=True)
class Evidence:
    """A conversation, or one turn of it."""

    response: Mapping[str, Any]
    calls: Sequence[Call]
    turns: Sequence[Mapping[str, Any]]
    interactions: Sequence[Mapping[str, Any]]
    snippets: Sequence[str]
    cut: frozenset[str]
    """Labels of ``metadata.truncated.cut``."""
    attempts: Sequence[Mapping[str, Any]]
    """Failed attempts before this one; what they did stays done."""
    holes: Sequence[str]
    """Why tool calls, cards or text may be missing."""
    turn: int | None = None
    where: str = ""
    """What to append to a sentence about this evidence."""

    def of_turn(self, turn: int | None) -> Evidence:
        """Return what belongs to one turn, or all of it for ``None``.

        Raises:
            NoEvidenceError: there was no such turn.
        """
        if turn is None:
            return self
        if turn > len(self.turns):
            had = times(len(self.turns), "turn")
            raise NoEvidenceError(f"turn {turn} did not happen: the conversation had {had}")
        calls = [call for call in self.calls if call.turn == turn]
        kept = [self.turns[turn - 1]]
        return replace(
            self,
            calls=calls,
            turns=kept,
            interactions=[card for card in self.interactions if card.get("turn") == turn],
            snippets=[text for call in calls for text in _snippets(call.summary)],
            holes=_turn_holes(kept[0]) or (self.holes if not self._placed() else []),
            turn=turn,
            where=f" in turn {turn}",
        )

    def _placed(self) -> bool:
        """Whether the holes are known to be in certain turns."""
        return any(_turn_holes(turn) for turn in self.turns)


def is_cut(text: str) -> bool:
    """Return whether a text was shortened to keep the row small."""
    return _CUT_MARK.search(text) is not None


def read_evidence(context: Any) -> Evidence:
    """Return what the row tells.

    Raises:
        NoEvidenceError: the row is an error, is not of a Lobu provider, or is malformed.
    """
    response = context.get("providerResponse") if isinstance(context, Mapping) else None
    if not isinstance(response, Mapping):
        raise NoEvidenceError("there is no response of a provider")
    error = response.get("error")
    if error is not None and error != "":
        text = error if isinstance(error, str) else json_text(error)
        raise NoEvidenceError(f"the call failed: {text}")
    metadata = response.get("metadata")
    if not isinstance(metadata, Mapping) or not ("turns" in metadata or "toolCalls" in metadata):
        raise NoEvidenceError(
            "there is no metadata of a Lobu provider (toolCalls, turns), so nothing is known of "
            "what the agent did; promptfoo:simulated-user drops it"
        )
    if metadata.get("error") is not None:
        raise NoEvidenceError(f"the call failed: {show(metadata['error'])}")
    return _read(response, metadata)


def _read(response: Mapping[str, Any], metadata: Mapping[str, Any]) -> Evidence:
    turns = _mappings(metadata, "turns")
    if not turns:
        raise NoEvidenceError("metadata.turns is empty: no turn happened")
    for index, turn in enumerate(turns):
        if not (is_number(turn.get("turn")) and turn["turn"] == index + 1):
            raise _malformed(f"turns[{index}].turn is not {index + 1}")
        if not isinstance(turn.get("output"), str):
            raise _malformed(f"turns[{index}].output is not a text")
    snippets = metadata.get("retrievedSnippets")
    if not isinstance(snippets, list) or not all(isinstance(text, str) for text in snippets):
        raise _malformed("retrievedSnippets is not a list of texts")
    cut = _cut_labels(metadata)
    return Evidence(
        response=response,
        calls=[
            _call(call, index, len(turns), cut)
            for index, call in enumerate(_mappings(metadata, "toolCalls"))
        ],
        turns=turns,
        interactions=_mappings(metadata, "interactions"),
        snippets=snippets,
        cut=cut,
        attempts=_mappings(metadata, "attempts") if "attempts" in metadata else [],
        holes=_holes(metadata, turns),
    )


def _malformed(text: str) -> NoEvidenceError:
    return NoEvidenceError(f"the metadata is malformed: {text}")


def _mappings(metadata: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = metadata.get(key)
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise _malformed(f"{key} is not a list of objects")
    return found


def _cut_labels(metadata: Mapping[str, Any]) -> frozenset[str]:
    truncated = metadata.get("truncated")
    labels = truncated.get("cut", []) if isinstance(truncated, Mapping) else []
    if truncated is not None and not (isinstance(truncated, Mapping) and isinstance(labels, list)):
        raise _malformed("truncated is not an object with a list 'cut'")
    return frozenset(label for label in labels if isinstance(label, str))


def _call(call: Mapping[str, Any], index: int, turns: int, cut: frozenset[str]) -> Call:
    name, turn = call.get("name"), call.get("turn")
    if not isinstance(name, str) or not name:
        raise _malformed(f"toolCalls[{index}].name is not a text")
    if not (is_number(turn) and turn in range(1, turns + 1)):
        raise _malformed(f"toolCalls[{index}].turn is none of the {times(turns, 'turn')}")
    shortened = "toolCalls[].input" in cut
    state: InputState = "known"
    if "input" not in call:
        state = "cut" if shortened else "not sent"
    elif shortened and is_cut(json_text(call["input"])):
        state = "cut"
    given = call.get("input")
    return Call(
        number=index + 1,
        name=name,
        turn=int(turn),
        input_state=state,
        arguments={} if given is None else given,
        is_error=call.get("isError"),
        summary=call.get("result_summary"),
    )


def _snippets(summary: Any) -> list[str]:
    found = summary.get("snippets") if isinstance(summary, Mapping) else None
    items = found if isinstance(found, list) else []
    texts = [item.get("text") if isinstance(item, Mapping) else None for item in items]
    return [text for text in texts if isinstance(text, str) and not is_blank(text)]


def _holes(metadata: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> list[str]:
    found = [hole for turn in turns for hole in _turn_holes(turn)]
    if metadata.get("possiblyTruncated") not in (None, False) and not found:
        found.append("the event stream had a gap (possiblyTruncated)")
    return found


def _turn_holes(turn: Mapping[str, Any]) -> list[str]:
    found = []
    if turn.get("reconnects") not in (None, False, 0):
        found.append(f"the event stream of turn {show(turn['turn'])} was lost and opened again")
    if turn.get("cutShort") is not None:
        found.append(
            f"turn {show(turn['turn'])} was left before its end ({show(turn['cutShort'])})"
        )
    return found
