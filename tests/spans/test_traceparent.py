"""Where in a trace our spans hang."""

from __future__ import annotations

import pytest

from lobu_provider.spans.model import TraceParent, parse_traceparent

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_traceparent_names_trace_span_and_flags() -> None:
    assert parse_traceparent(f"00-{TRACE}-{SPAN}-01") == TraceParent(TRACE, SPAN, 1)


def test_a_later_version_may_say_more() -> None:
    assert parse_traceparent(f"01-{TRACE}-{SPAN}-00-more") == TraceParent(TRACE, SPAN, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00-1",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
    ],
)
def test_what_is_no_traceparent_is_none(text: str) -> None:
    assert parse_traceparent(text) is None
