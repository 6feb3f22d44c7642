"""The spans of a call for a caller that makes them itself: node_shim/spans.js. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lobu_provider.errors import failure
from lobu_provider.promptfoo.response import describe_failure
from lobu_provider.spans.model import Span, TraceParent


def handover(
    parent: TraceParent, spans: Sequence[Span], *, why_needed: str | None
) -> dict[str, Any]:
    """Return what to make, and what to do where that is not possible: as JSON.

    Args:
        parent: what the first span hangs under.
        spans: each after its parent.
        why_needed: why a row without them is an error; ``None`` where it gets a warning.
    """
    lost = failure(
        "config",
        "The spans of this conversation were not taken by promptfoo's tracer.",
        phase="turn",
    )
    return {
        "parent": {
            "traceId": parent.trace_id,
            "spanId": parent.span_id,
            "traceFlags": parent.flags,
        },
        "spans": [_span(span) for span in spans],
        "ifLost": {
            "needed": why_needed is not None,
            "message": lost.message if why_needed is None else f"{lost.message} {why_needed}",
            "error": describe_failure(lost),
        },
    }


def _span(span: Span) -> dict[str, Any]:
    return {
        "id": span.span_id,
        "parent": span.parent_id,
        "name": span.name,
        "kind": span.kind,
        "start": list(divmod(span.start_ns, 10**9)),
        "end": list(divmod(span.end_ns, 10**9)),
        "attributes": dict(span.attributes),
        **({} if span.error is None else {"error": span.error}),
    }
