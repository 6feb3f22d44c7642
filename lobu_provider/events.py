"""The events of a gateway's stream, one class for each kind that means something to a turn.

An event is looked up by its wire name in a table; what is not in the table, and what does not
have the shape it should have, is kept as :class:`UnknownEvent` or :class:`UnreadableEvent`.
Reading never fails: a gateway of any version, or a proxy, must not be able to end a call by an odd
key. Key facts:

- ``messageId`` is the user's message id on everything except interaction cards; a card carries the
  id of its turn in ``turnMessageId`` (20.x), ``originMessageId`` (some 11.x builds), or nowhere.
- ``processedMessageIds`` lists every message that a turn answered, when several were merged.
- No event carries token usage, cost, or the model's name, in any version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.json_safe import json_words, parse_json


@dataclass(frozen=True)
class Frame:
    """One server-sent event as it came: the name, the data lines joined by LF, the id if any."""

    event: str
    data: str
    id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all events have in common."""

    name: str
    """The wire name, e.g. ``tool_use``."""
    data: Mapping[str, Any]
    """The JSON object as it came; empty when it was not an object."""
    message_id: str | None = None
    """The message this event is about: for cards the turn's id, where the gateway gives it."""
    processed_message_ids: tuple[str, ...] = ()
    timestamp_ms: float | None = None
    """The gateway's clock, epoch milliseconds. Replayed events keep their first timestamp."""
    received_s: float = 0.0
    """Our monotonic clock at arrival, in seconds."""
    id: str | None = None
    """The last ``id:`` of the stream; newer gateways only."""
    size: int = field(default=0, compare=False, repr=False)
    """Characters of the data as they came."""

    def concerns(self, message_ids: frozenset[str]) -> bool:
        """Return whether the event names one of ``message_ids``."""
        return self.message_id in message_ids or not message_ids.isdisjoint(
            self.processed_message_ids
        )

    @property
    def is_addressed(self) -> bool:
        """Whether the event names any message at all."""
        return self.message_id is not None or bool(self.processed_message_ids)


class Connected(Event):
    """The stream is registered; ``data["agentId"]`` is the agent's own id."""


class Ping(Event):
    """A heartbeat, every 30 s on each connection."""


class Reconnected(Event):
    """Made by the client, by no gateway: the stream was lost, and is open again from here on."""


class Closed(Event):
    """The session was deleted by someone; the stream ends next."""


class Status(Event):
    """A sign of life of a running turn."""


@dataclass(frozen=True, kw_only=True)
class Output(Event):
    """A piece of the answer, to be appended."""

    content: str


@dataclass(frozen=True, kw_only=True)
class ToolUse(Event):
    """A tool call that has ended. There is no start event and no duration."""

    tool_name: str
    tool_call_id: str | None


@dataclass(frozen=True, kw_only=True)
class Complete(Event):
    """The end of a turn; on its own no proof of success, since errors are followed by one."""

    final_text: str | None
    """The whole answer, from gateway 12.0 on; ``""`` is possible, ``None`` after errors."""
    awaiting_human_decision: bool


@dataclass(frozen=True, kw_only=True)
class TurnError(Event):
    """``error`` or its twin ``agent-error``; a ``complete`` for the same message follows."""

    text: str
    error_code: str | None
    """Newer gateways only; version 11 sends the sentence alone."""


@dataclass(frozen=True, kw_only=True)
class Ephemeral(Event):
    """A notice for a person, e.g. to sign in somewhere. Usually nothing follows."""

    content: str


class Card(Event):
    """An interaction card: question, tool-approval, link-button or suggestion."""


class UnknownEvent(Event):
    """An event that this version does not know; kept as it came."""


class UnreadableEvent(UnknownEvent):
    """An event that should mean something and cannot be read.

    Its data is not a JSON object (then ``data["raw"]`` holds the text), or has not the shape that
    the event's name promises.
    """


CARD_NAMES: Final = frozenset({"question", "tool-approval", "link-button", "suggestion"})


def parse_event(frame: Frame, *, received_s: float = 0.0) -> Event:
    """Read one frame. Never raises.

    What has no JSON object for data, or a known name with the wrong shape, becomes an
    :class:`UnreadableEvent`; a name that is not known an :class:`UnknownEvent`.
    """
    try:
        data = parse_json(frame.data)
    except ValueError:
        data = None
    readable = isinstance(data, dict)
    data = data if isinstance(data, dict) else {"raw": frame.data}
    name = _name(frame.event, data)
    common: dict[str, Any] = {
        "name": name,
        "data": data,
        "message_id": _message_id(name, data),
        "processed_message_ids": _ids(data.get("processedMessageIds")),
        "timestamp_ms": _number(data.get("timestamp")),
        "received_s": received_s,
        "id": frame.id,
        "size": len(frame.data),
    }
    build = _BUILDERS.get(name)
    if readable and build is None:
        return UnknownEvent(**common)
    event = build(data, common) if readable and build is not None else None
    return event if event is not None else UnreadableEvent(**common)


def _name(name: str, data: Mapping[str, Any]) -> str:
    """The event's name; a proxy may have lost its line or smudged it."""
    tidy = name.strip().lower()
    if tidy in _BUILDERS:
        return tidy
    kind = data.get("type")
    if tidy not in ("", "message"):
        return name
    if isinstance(kind, str):
        kind = {"delta": "output"}.get(kind, kind)
        return kind if kind in _BUILDERS else name
    # The only one that has no type.
    return "tool_use" if {"toolCallId", "name"} <= data.keys() else name


def _message_id(name: str, data: Mapping[str, Any]) -> str | None:
    if name in CARD_NAMES:  # their own messageId is random
        return _text(data.get("turnMessageId")) or _text(data.get("originMessageId"))
    return _text(data.get("messageId"))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _ids(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return number if math.isfinite(number) else None


_Builder = Callable[[Mapping[str, Any], dict[str, Any]], "Event | None"]


def _output(data: Mapping[str, Any], common: dict[str, Any]) -> Event | None:
    content = data.get("content")
    return Output(**common, content=content) if isinstance(content, str) else None


def _tool_use(data: Mapping[str, Any], common: dict[str, Any]) -> Event | None:
    # A call without a usable name is still a call: it must not vanish from the record.
    name = data.get("name")
    return ToolUse(
        **common,
        tool_name=name if isinstance(name, str) else "",
        tool_call_id=_text(data.get("toolCallId")),
    )


def _complete(data: Mapping[str, Any], common: dict[str, Any]) -> Event | None:
    text = data.get("finalText")
    if text is not None and not isinstance(text, str):
        return None
    return Complete(
        **common,
        final_text=text,
        awaiting_human_decision=data.get("awaitingHumanDecision") is True,
    )


def _turn_error(data: Mapping[str, Any], common: dict[str, Any]) -> Event | None:
    text = data.get("error")
    return TurnError(
        **common,
        text=text if isinstance(text, str) else "" if text is None else json_words(text),
        error_code=_text(data.get("errorCode")),
    )


def _ephemeral(data: Mapping[str, Any], common: dict[str, Any]) -> Event | None:
    content = data.get("content")
    return Ephemeral(**common, content=content if isinstance(content, str) else "")


_BUILDERS: Final[Mapping[str, _Builder]] = {
    "connected": lambda _, common: Connected(**common),
    "ping": lambda _, common: Ping(**common),
    "closed": lambda _, common: Closed(**common),
    "status": lambda _, common: Status(**common),
    "output": _output,
    "tool_use": _tool_use,
    "complete": _complete,
    "error": _turn_error,
    "agent-error": _turn_error,
    "ephemeral": _ephemeral,
    **{name: lambda _, common: Card(**common) for name in CARD_NAMES},
}
