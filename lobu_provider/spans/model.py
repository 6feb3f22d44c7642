"""What a span is, and where in a trace it hangs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

SpanKind = Literal["internal", "client"]

Value = str | int | bool


@dataclass(frozen=True)
class TraceParent:
    """The span of somebody else's that ours hang under."""

    trace_id: str
    span_id: str
    flags: int = 1


@dataclass(frozen=True)
class Span:
    """A finished span. Times are nanoseconds since 1970."""

    span_id: str
    parent_id: str
    name: str
    kind: SpanKind
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str | None = None
    """What went wrong, in words; ``None`` where nothing did."""


_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


def parse_traceparent(text: str) -> TraceParent | None:
    """Read a W3C ``traceparent``; ``None`` if it is not one."""
    found = _TRACEPARENT.fullmatch(text.strip())
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more):
        return None
    if not trace_id.strip("0") or not span_id.strip("0"):
        return None
    return TraceParent(trace_id, span_id, int(flags, 16))
