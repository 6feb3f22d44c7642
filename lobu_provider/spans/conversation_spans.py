"""The spans of a conversation: itself, each of its turns, each tool call. Pure.

Names and attributes are those of OpenTelemetry's conventions for generative AI, where these have
any; ours begin with ``lobu.``. promptfoo takes a span for a tool call when an attribute's key has
the segment ``tool``, so only the spans of tool calls have one.

promptfoo sorts spans by their start. No two starts are the same, and they follow one another in
the order of ``metadata.toolCalls``: a call that was told late stands at the end of its own turn.
The gateway tells when a call ended and not when it began: its span begins at the end of the last.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lobu_provider.errors import Failure
from lobu_provider.json_safe import safe_text
from lobu_provider.redaction import Redactor
from lobu_provider.spans.arguments import MAX_ERROR, ArgumentsShown, arguments_of, error_of
from lobu_provider.spans.model import Span, TraceParent, Value
from lobu_provider.turn import ToolCall, Turn

STEP_NS: Final = 1000
"""Least distance of two starts: promptfoo keeps them as milliseconds in a double."""

CUT: Final = "lobu.cut"
"""Attribute of a tool call whose arguments are not whole."""

UNNAMED: Final = "(unnamed)"
"""Stands for a tool whose name the gateway did not tell: without one it would be no tool call."""


@dataclass(frozen=True)
class TracedCall:
    """What spans are made of. Times are seconds on one monotonic clock."""

    agent_id: str | None
    thread: str | None
    turns: Sequence[Turn]
    ended_s: float
    """When the last turn was over, or the call failed."""
    latency_s: float | None = None
    """From the create request to the end of the last turn."""
    failure: Failure | None = None


@dataclass(frozen=True)
class Showing:
    """What of a call's data may stand in spans."""

    arguments: ArgumentsShown = "full"
    redactor: Redactor = field(default_factory=Redactor)


def spans_of(
    call: TracedCall,
    parent: TraceParent,
    *,
    zero_ns: int,
    showing: Showing | None = None,
    new_id: Callable[[], str] = lambda: secrets.token_hex(8),
) -> list[Span]:
    """Return the spans, each after its parent, and otherwise in the order of their starts.

    Args:
        call: what happened.
        parent: what the conversation's span hangs under.
        zero_ns: nanoseconds since 1970 at the zero of the call's clock.
        showing: what may be shown.
        new_id: gives each span an id of its own.
    """
    return _Teller(call, zero_ns, showing or Showing(), new_id).tell(parent)


class _Teller:
    def __init__(
        self, call: TracedCall, zero_ns: int, showing: Showing, new_id: Callable[[], str]
    ) -> None:
        self._call = call
        self._zero_ns = zero_ns
        self._showing = showing
        self._new_id = new_id
        self._last_start_ns = 0
        self._common: dict[str, Value] = {
            **_present("gen_ai.agent.id", call.agent_id),
            **_present("gen_ai.conversation.id", call.thread),
        }

    def tell(self, parent: TraceParent) -> list[Span]:
        begin_ns = self._start(self._begin_ns())
        conversation_id = self._new_id()
        below = list(self._turns(conversation_id, begin_ns))
        agent = self._call.agent_id
        return [
            Span(
                span_id=conversation_id,
                parent_id=parent.span_id,
                name=safe_text(f"invoke_agent {agent}" if agent else "invoke_agent"),
                kind="client",
                start_ns=begin_ns,
                end_ns=max(
                    begin_ns + STEP_NS,
                    self._ns(self._call.ended_s),
                    *(span.end_ns for span in below),
                ),
                attributes={
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.provider.name": "lobu",
                    **_present("gen_ai.agent.name", agent),
                    **self._common,
                    **_error_type(self._call.failure),
                },
                error=self._words(self._call.failure),
            ),
            *below,
        ]

    def _begin_ns(self) -> int:
        """When the session was asked for; before the first turn in any case."""
        begin_ns = self._ns(self._call.ended_s - (self._call.latency_s or 0))
        sent = [turn.sent_s for turn in self._call.turns[:1] if turn.sent_s is not None]
        return min([begin_ns, *(self._ns(sent_s) - STEP_NS for sent_s in sent)])

    def _turns(self, parent_id: str, at_ns: int) -> Iterator[Span]:
        for number, turn in enumerate(self._call.turns, start=1):
            sent_ns = at_ns if turn.sent_s is None else self._ns(turn.sent_s)
            begin_ns = self._start(max(sent_ns, at_ns))
            end_ns = self._end_of(turn, begin_ns)
            turn_id = self._new_id()
            calls = list(self._tool_calls(turn, number, turn_id, begin_ns, end_ns))
            at_ns = max([end_ns, *(span.end_ns for span in calls)])
            yield Span(
                span_id=turn_id,
                parent_id=parent_id,
                name=f"turn {number}",
                kind="internal",
                start_ns=begin_ns,
                end_ns=at_ns,
                attributes={
                    **self._common,
                    "lobu.turn": number,
                    **_present("lobu.message.id", turn.message_id),
                    **_present("lobu.gateway.trace_id", turn.trace_id),
                    **_error_type(turn.failure),
                },
                error=self._words(turn.failure),
            )
            yield from calls

    def _end_of(self, turn: Turn, begin_ns: int) -> int:
        if turn.sent_s is None or turn.latency_s is None:
            return max(begin_ns + STEP_NS, self._ns(self._call.ended_s))
        return max(begin_ns + STEP_NS, self._ns(turn.sent_s + turn.latency_s))

    def _tool_calls(
        self, turn: Turn, number: int, parent_id: str, at_ns: int, turn_end_ns: int
    ) -> Iterator[Span]:
        for call in turn.tool_calls:
            begin_ns = self._start(at_ns)
            told_ns = begin_ns if call.received_s is None else self._ns(call.received_s)
            at_ns = max(begin_ns + STEP_NS, min(told_ns, turn_end_ns))
            yield self._tool_call(call, number, parent_id, begin_ns, at_ns)

    def _tool_call(
        self, call: ToolCall, number: int, parent_id: str, begin_ns: int, end_ns: int
    ) -> Span:
        shown, redactor = self._showing.arguments, self._showing.redactor
        name = safe_text(redactor.values(call.name.strip())) or UNNAMED
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            **_present("gen_ai.tool.call.id", _masked(call.tool_call_id, redactor)),
            **self._common,
            "lobu.turn": number,
        }
        arguments = arguments_of(call, shown, redactor)
        if arguments is not None:
            attributes["gen_ai.tool.call.arguments"] = arguments.text
            if arguments.is_cut:
                attributes[CUT] = True
        error = error_of(call, redactor)
        if error is not None:
            attributes["error.type"] = "tool_error"
            # The text may quote what is not to be shown.
            error = safe_text(error) if shown == "full" else "The tool call failed."
        return Span(
            span_id=self._new_id(),
            parent_id=parent_id,
            name=f"execute_tool {name}",
            kind="internal",
            start_ns=begin_ns,
            end_ns=end_ns,
            attributes=attributes,
            error=error,
        )

    def _words(self, failure: Failure | None) -> str | None:
        if failure is None:
            return None
        return safe_text(self._showing.redactor.text(str(failure))[:MAX_ERROR])

    def _ns(self, seconds: float) -> int:
        return self._zero_ns + round(seconds * 1e9)

    def _start(self, wanted_ns: int) -> int:
        """The time of a start: as wanted, and after all earlier ones."""
        self._last_start_ns = max(wanted_ns, self._last_start_ns + STEP_NS)
        return self._last_start_ns


def _masked(text: str | None, redactor: Redactor) -> str | None:
    return None if text is None else redactor.values(text)


def _present(key: str, value: str | None) -> dict[str, Value]:
    return {} if value is None else {key: safe_text(value)}


def _error_type(failure: Failure | None) -> dict[str, Value]:
    return {} if failure is None else {"error.type": failure.code}
