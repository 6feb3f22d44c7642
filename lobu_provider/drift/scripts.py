"""A cassette as a script for the embedded gateway, to be edited into a new case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lobu_provider.cassettes.reading import Cassette
from lobu_provider.drift.told_turns import Told, attempts_of, told_by
from lobu_provider.events import Ephemeral, Event
from lobu_provider.scripted_gateway.cards import is_card
from lobu_provider.turn import ToolCall, Turn

_WIRE_KEYS = frozenset(
    {
        "messageId",
        "originMessageId",
        "processedMessageIds",
        "timestamp",
        "turnMessageId",
        "type",
    }
)
"""Made anew by the gateway that plays the script."""


def script_of(cassette: Cassette) -> dict[str, Any]:
    """Return a script, version 1, in which each message gets the turn that it got.

    Streamed text is one step a turn, in the pieces in which it came; waits are not kept.
    """
    told = told_by(cassette)
    errors = _errors(cassette)
    return {
        "version": 1,
        "flavour": _flavour(told),
        "agents": [str(cassette.about.get("agent"))],
        "replies": [
            {
                "match": {"equals": turn.user_text, "ignore_case": False},
                "turn": number,
                "steps": list(_steps(turn, errors.get(number))),
            }
            for number, turn in enumerate(told.turns, start=1)
        ],
    }


def _errors(cassette: Cassette) -> dict[int, str]:
    """Return the gateway's own words for what failed, by the number of the last attempt's turn."""
    requests = [request for one in attempts_of(cassette)[-1:] for request in one.requests]
    sent = [
        str(request.line["body"].get("messageId"))
        for request in requests
        if isinstance(request.line.get("body"), dict) and "content" in request.line["body"]
    ]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(sent), start=1)}
    found: dict[int, str] = {}
    for line in (h.line for request in requests for h in request.stream):
        data = line.get("data")
        if line.get("event") in ("error", "agent-error") and isinstance(data, dict):
            number = numbers.get(str(data.get("messageId")))
            if number is not None:
                found.setdefault(number, str(data.get("error")))
    return found


def _flavour(told: Told) -> str:
    """Only 11 without its patches never confirms a final text."""
    completed = [turn for turn in told.turns if turn.completed]
    return "u11" if completed and not any(t.has_final_text for t in completed) else "f11"


def _steps(turn: Turn, error: str | None) -> Iterator[dict[str, Any]]:
    for call in turn.tool_calls:
        yield {"tool": _tool(call)}
    for event in turn.interactions:
        if not isinstance(event, Ephemeral):
            yield _card(event)
    if turn.output:
        yield {"text": turn.output, "deltas": [turn.streamed_text or turn.output], "delay_ms": 0}
    for event in turn.interactions:
        if isinstance(event, Ephemeral):
            yield {"ephemeral": event.content}
    if error is not None:
        yield {"error": error}
    elif not turn.completed:
        yield {"complete": False}
    elif turn.completed and not turn.output and turn.has_final_text:
        yield {"complete": {"finalText": ""}}


def _tool(call: ToolCall) -> dict[str, Any]:
    told: dict[str, Any] = {"name": call.name or "unnamed"}
    given, summary = call.data.get("input"), call.data.get("result_summary")
    if isinstance(given, Mapping):
        told["input"] = given
    if call.data.get("isError") is True:
        told["isError"] = True
    if isinstance(summary, Mapping):
        told["result_summary"] = summary
    return told


def _card(event: Event) -> dict[str, Any]:
    """Return a step for a card; one that scripts do not know is sent as the event that it is."""
    own = {key: value for key, value in event.data.items() if key not in _WIRE_KEYS}
    card = {"type": event.name, **own}
    return {"card": card} if is_card(card) else {"event": event.name, "data": card}
