"""A reply's steps as frames with the time at which each is due (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

from lobu_provider.scripted_gateway.flavours import Wording, new_id
from lobu_provider.scripted_gateway.frames import EndOfStream, Event, Frame, RawBytes
from lobu_provider.scripted_gateway.steps import (
    CardStep,
    CompleteStep,
    DelayStep,
    EofStep,
    EphemeralStep,
    ErrorStep,
    EventStep,
    RawStep,
    ResetStep,
    StatusStep,
    Step,
    TextStep,
    ToolStep,
)

_WORDS_PER_DELTA: Final = 4
_MAX_DELTAS: Final = 6


class TimedFrame(NamedTuple):
    """A frame and the seconds after the turn's start at which it is due."""

    delay_s: float
    frame: Frame


def build_timeline(
    steps: list[Step],
    wording: Wording,
    *,
    start_ms: int,
    values: dict[str, str] | None = None,
    status_ms: int = 0,
) -> list[TimedFrame]:
    """Return what a turn sends, in order of time.

    ``start_ms`` is the turn's start as epoch milliseconds, for the events' timestamps;
    ``values`` replaces ``{{name}}`` in texts; ``status_ms`` is the time between progress notices
    (0: none). Unless a step ends the turn, a ``complete`` with the whole text ends it.
    """
    turn = _Turn(wording, start_ms, values or {})
    for step in steps:
        turn.add(step)
    if not _has_an_end(steps):
        turn.complete({})
    return _with_notices(turn, status_ms)


def _has_an_end(steps: list[Step]) -> bool:
    if steps and isinstance(steps[-1], EofStep | ResetStep):
        return True
    return any(isinstance(step, CompleteStep | ErrorStep | EphemeralStep) for step in steps)


@dataclass
class _Turn:
    """The timeline so far."""

    wording: Wording
    start_ms: int
    values: dict[str, str]
    at_ms: int = 0
    frames: list[TimedFrame] = field(default_factory=list)
    said: str = ""
    asked: bool = False

    @property
    def stamp(self) -> int:
        return self.start_ms + self.at_ms

    def put(self, *frames: Frame) -> None:
        self.frames.extend(TimedFrame(self.at_ms / 1000, frame) for frame in frames)

    def add(self, step: Step) -> None:
        """Append what ``step`` sends."""
        if isinstance(step, TextStep):
            self._say(step)
        elif isinstance(step, ToolStep):
            self._call(step)
        elif isinstance(step, DelayStep):
            self.at_ms += step.delay_ms
        elif isinstance(step, CardStep):
            self.asked = self.asked or step.card.type == "question"
            self.put(self.wording.card(step.card.body(), self.stamp))
        elif isinstance(step, StatusStep):
            self.put(self.wording.status(step.status, self.at_ms // 1000, self.stamp))
        elif isinstance(step, EphemeralStep):
            self.put(self.wording.ephemeral(step.ephemeral, self.stamp))
        elif isinstance(step, ErrorStep):
            self.fail(step)
        elif isinstance(step, CompleteStep):
            if step.complete is not False:
                self.complete(step.complete)
        elif isinstance(step, EventStep):
            self.asked = self.asked or step.event == "question"
            self.put(self.wording.custom(step.event, step.data, self.stamp))
        elif isinstance(step, RawStep):
            self.put(RawBytes(step.raw.encode()))
        else:
            self.put(EndOfStream(isinstance(step, EofStep), step.forget))

    def complete(self, changes: dict[str, Any]) -> None:
        """Append the end of a good turn."""
        self.put(self.wording.complete(self.said, self.asked, changes, self.stamp))

    def fail(self, step: ErrorStep) -> None:
        """Append the events of a failed turn."""
        if step.session_failed:
            self.put(self.wording.output(f"❌ Session failed: {step.error}", self.stamp))
        data = self.wording.failure(step.error, step.code, step.context, self.stamp)
        self.put(Event("error", data))
        if step.triple:
            self.put(Event("agent-error", data))
            with_ids = not step.session_failed
            self.put(self.wording.failed_complete(with_ids, self.stamp))

    def _say(self, step: TextStep) -> None:
        text = fill_in(step.text, self.values)
        given = step.deltas
        pieces = [fill_in(x, self.values) for x in given] if isinstance(given, list) else None
        for index, piece in enumerate(pieces or cut_text(text, given)):
            self.at_ms += step.delay_ms if index else 0
            self.put(self.wording.output(piece, self.stamp))
        self.said += text

    def _call(self, step: ToolStep) -> None:
        spec = step.tool
        body: dict[str, Any] = {"name": spec.name, "input": spec.input, "isError": spec.is_error}
        if "tool_call_id" not in spec.model_fields_set:
            body["toolCallId"] = f"call_{new_id()[:8]}"
        elif spec.tool_call_id is not None:
            body["toolCallId"] = spec.tool_call_id
        if spec.result_summary is not None:
            body["result_summary"] = spec.result_summary
        self.put(self.wording.tool_use(body, self.stamp))


def fill_in(text: str, values: dict[str, str]) -> str:
    """Replace ``{{name}}`` in ``text`` by ``values["name"]``; other braces stay."""
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: values.get(found[1], found[0]), text)


def cut_text(text: str, pieces: int | None) -> list[str]:
    """Cut ``text`` between words into ``pieces`` parts (default: four words each, at most six).

    As on the wire, a part starts with the space that belonged to the one before it.
    """
    words = re.findall(r"\s*\S+|\s+$", text)
    if not words:
        return [text] if text else []
    wanted = pieces or min(-(-len(words) // _WORDS_PER_DELTA), _MAX_DELTAS)
    count = min(wanted, len(words))
    edges = [round(i * len(words) / count) for i in range(count + 1)]
    return ["".join(words[a:b]) for a, b in pairwise(edges)]


def _with_notices(turn: _Turn, status_ms: int) -> list[TimedFrame]:
    """Add a progress notice at every ``status_ms`` that the turn is running."""
    if not status_ms:
        return turn.frames
    notices = []
    for at in range(status_ms, turn.at_ms, status_ms):
        event = turn.wording.status("is running..", at // 1000, turn.start_ms + at)
        notices.append(TimedFrame(at / 1000, event))
    return sorted([*turn.frames, *notices], key=lambda timed: timed.delay_s)
