"""``stopOnTool`` and ``maxToolCalls``, event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lobu_provider.errors import Failure
from lobu_provider.events import Event, Frame, parse_event
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.tool_stops import ToolStops


def tool(name: Any, call_id: str | None = None, at: int | None = None, **data: Any) -> Event:
    body = {"name": name, "toolCallId": call_id, "timestamp": at, **data}
    return parse_event(Frame("tool_use", json.dumps(json_safe(body))))


@pytest.mark.parametrize(
    "told", ["refund", "lobu_refund", "mcp__shop__refund", " refund", "MCP__shop__Refund"]
)
@pytest.mark.parametrize("wanted", ["refund", "lobu_refund", "shop__refund"])
def test_a_tool_is_known_with_and_without_its_prefix(wanted: str, told: str) -> None:
    stops = ToolStops([wanted], None)
    reason = stops(tool(told, "1"))
    assert isinstance(reason, str)
    assert reason == stops.stopped


def test_other_tools_and_other_events_stop_nothing() -> None:
    stops = ToolStops(["refund"], 1)
    assert stops(tool("refunds", "1")) is None
    assert stops(parse_event(Frame("output", '{"content": "refund"}'))) is None
    assert stops.stopped is None


def test_the_call_after_the_allowed_ones_is_a_failure() -> None:
    stops = ToolStops([], 2)
    assert [stops(tool("t", str(n))) for n in range(2)] == [None, None]
    found = stops(tool("t", "2"))
    assert isinstance(found, Failure)
    assert (found.code, found.error_class, found.retryable) == ("limit", "agent", False)


def test_a_call_that_is_told_twice_is_one_also_without_an_id() -> None:
    stops = ToolStops([], 2)
    for event in (tool("t", "1"), tool("t", None, at=5), tool("t", None, at=6)):
        last = [stops(event), stops(event)]
    assert isinstance(last[0], Failure)
    assert "number 3" in last[0].message


def test_calls_of_one_id_and_different_inputs_are_different_calls() -> None:
    stops = ToolStops([], 1)
    assert stops(tool("t", "0", input={"a": 1})) is None
    assert isinstance(stops(tool("t", "0", input={"a": 2})), Failure)


def test_a_limit_that_is_passed_counts_more_than_a_tool_to_stop_on() -> None:
    stops = ToolStops(["refund"], 1)
    stops(tool("t", "1"))
    assert isinstance(stops(tool("refund", "2")), Failure)
    assert stops.stopped is None
