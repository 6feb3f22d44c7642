"""What travels on an event stream: named events, raw bytes, and the ways a stream can end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal

Framing = Literal["lf", "crlf", "cr"]

NEWLINES: Final[dict[Framing, str]] = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}

NEED_A_STREAM: Final = frozenset(
    {
        "complete",
        "error",
        "agent-error",
        "question",
        "tool-approval",
        "link-button",
        "suggestion",
    }
)
"""Events that the gateway holds back until some stream of the session is open."""


@dataclass(frozen=True)
class Event:
    """One named event with its JSON data."""

    name: str
    data: dict[str, Any]

    @property
    def needs_stream(self) -> bool:
        """Whether it waits for an open stream instead of going to the backlog at once."""
        return self.name in NEED_A_STREAM


@dataclass(frozen=True)
class RawBytes:
    """Bytes written as they are to the streams open at that moment; never replayed."""

    content: bytes


@dataclass(frozen=True)
class EndOfStream:
    """Every stream open at that moment ends; ``clean`` is a normal end of the body."""

    clean: bool
    forgets: bool = False
    """The backlog is lost too, as when a gateway restarts."""


Frame = Event | RawBytes | EndOfStream


def encode_event(event: Event, *, framing: Framing = "lf", event_id: int | None = None) -> bytes:
    """Return ``event`` as the gateway writes it.

    One ``event:`` line, an ``id:`` line if ``event_id`` is given, one ``data:`` line of compact
    JSON, one empty line; lines end as ``framing`` says.
    """
    data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    lines = [f"event: {event.name}", f"data: {data}", "", ""]
    if event_id is not None:
        lines.insert(1, f"id: {event_id}")
    return NEWLINES[framing].join(lines).encode()
