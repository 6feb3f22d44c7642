"""Which events are one tool call, and what is kept of a call that is told again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lobu_provider.events import Frame, ToolUse, parse_event
from lobu_provider.tool_calls import ToolCalls


def tool(call_id: str | None = None, at: int | None = None, /, **data: Any) -> ToolUse:
    body = {"name": "t", "toolCallId": call_id, "timestamp": at, **data}
    event = parse_event(Frame("tool_use", json.dumps(body)))
    assert isinstance(event, ToolUse)
    return event


def collected(*events: ToolUse) -> ToolCalls:
    calls = ToolCalls()
    for event in events:
        calls.add(event)
    return calls


ONE, OTHER = {"a": 1, "b": 2}, {"a": 2}


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        (tool("1", 5, input=ONE), tool("1", 5, input={"b": 2, "a": 1}), 1),
        (tool("1", 5, input=ONE), tool("1", 6, input=ONE), 2),
        (tool("1", 5, input=ONE), tool("1", 5, input=OTHER), 2),
        (tool("1", 5, input=ONE), tool("1", 5), 1),
        (tool("1", 5), tool("1", 5, input=ONE), 1),
        (tool("1", 5, input=ONE), tool("1", 6), 2),
        (tool("1", 5, input=ONE), tool("1", None, input=ONE), 1),
        (tool("1", None), tool("1", 5, input=ONE), 1),
        (tool("1", None, input=ONE), tool("1", None, input=OTHER), 2),
        (tool("1", 5), tool("2", 5), 2),
        (tool("1", 5), tool("1", 5, name="u"), 2),
        (tool(None, 5, input=ONE), tool(None, 5, input=ONE), 1),
        (tool(None, 5, input=ONE), tool(None, 5), 1),
        (tool(None, 5), tool(None, 6), 2),
        (tool(None, 5, input=ONE), tool(None, 5, input=OTHER), 2),
        (tool(None, None), tool(None, None), 2),
        (tool("5", None), tool(None, 5), 2),
    ],
)
def test_a_call_is_known_by_id_name_input_and_time(
    first: ToolUse, second: ToolUse, count: int
) -> None:
    assert len(collected(first, second)) == count


def test_a_repeat_of_one_of_many_calls_with_one_id_is_found() -> None:
    events = [tool("0", at, input={"n": at}) for at in range(1, 50)]
    assert len(collected(*events, *events, tool("0", 7), tool("0", None, input={"n": 9}))) == 49


def test_how_many_calls_there_are_is_known_after_each_event() -> None:
    calls, counts = ToolCalls(), []
    for _ in range(2):
        calls.add(tool("1", 5))
        counts.append(len(calls))
    assert counts == [1, 1]


def test_what_is_told_later_counts_and_what_is_missing_then_erases_nothing() -> None:
    first = tool("1", 5, input=ONE, result_summary={"n": 0}, server="s", isError=False)
    again = tool("1", 5, input=None, result_summary={"n": 1}, duration=7)
    (call,) = collected(first, again).all
    assert call.data["input"] == ONE
    assert call.data["result_summary"] == {"n": 1}
    assert (call.data["server"], call.data["duration"]) == ("s", 7)
    assert call.data["isError"] is False


@pytest.mark.parametrize("told", [(False, True), (True, False), (True, None)])
def test_a_call_that_was_once_told_to_have_failed_has_failed(told: tuple[Any, Any]) -> None:
    first, again = (tool("1", 5, isError=value) for value in told)
    assert [call.data["isError"] for call in collected(first, again).all] == [True]


def test_a_call_keeps_its_place_when_it_is_told_again() -> None:
    calls = collected(tool("1", 5), tool("2", 6), tool("1", 5, x=1))
    assert [call.tool_call_id for call in calls.all] == ["1", "2"]
