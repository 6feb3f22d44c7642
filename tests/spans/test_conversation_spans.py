"""A conversation becomes spans: pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.errors import failure
from lobu_provider.redaction import Redactor
from lobu_provider.spans.arguments import MAX_ARGUMENTS
from lobu_provider.spans.conversation_spans import (
    CUT,
    STEP_NS,
    Showing,
    TracedCall,
    spans_of,
)
from lobu_provider.spans.model import Span, TraceParent
from lobu_provider.turn import ToolCall, Turn

PARENT = TraceParent("a" * 32, "b" * 16)
ZERO_NS = 1_790_000_000 * 10**9
SECRET = "owl_pat_0123456789"


def tool(name: str = "refund", at_s: float | None = None, **data: Any) -> ToolCall:
    return ToolCall(name, {"name": name, **data}, f"id-{name}", at_s)


def turn(
    *calls: ToolCall, sent_s: float | None = 10, latency_s: float | None = 5, **more: Any
) -> Turn:
    return Turn("hi", tool_calls=calls, completed=True, sent_s=sent_s, latency_s=latency_s, **more)


def spans(*turns: Turn, showing: Showing | None = None, **call: Any) -> list[Span]:
    facts: dict[str, Any] = {
        "agent_id": "support-agent", "thread": "t-1", "ended_s": 30.0, "latency_s": 21.0, **call
    }  # fmt: skip
    traced = TracedCall(turns=turns, **facts)
    return spans_of(traced, PARENT, zero_ns=ZERO_NS, showing=showing)


def tools(found: Iterable[Span]) -> list[Span]:
    return [span for span in found if span.name.startswith("execute_tool")]


def after(seconds: float) -> int:
    return ZERO_NS + round(seconds * 1e9)


def test_the_spans_are_the_conversation_its_turns_and_their_tool_calls() -> None:
    found = spans(turn(tool("a", 11), tool("b", 12)), turn(tool("c", 21), sent_s=20))
    names = [span.name for span in found]
    assert names == [
        "invoke_agent support-agent",
        "turn 1",
        "execute_tool a",
        "execute_tool b",
        "turn 2",
        "execute_tool c",
    ]
    conversation, one, a, b, two, c = found
    assert conversation.parent_id == PARENT.span_id
    assert {one.parent_id, two.parent_id} == {conversation.span_id}
    assert {a.parent_id, b.parent_id} == {one.span_id}
    assert c.parent_id == two.span_id


def test_the_names_are_those_of_the_conventions_for_generative_ai() -> None:
    conversation, one, call = spans(turn(tool("a", 11, input={"x": 1}), trace_id="f" * 32))
    assert conversation.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "lobu",
        "gen_ai.agent.name": "support-agent",
        "gen_ai.agent.id": "support-agent",
        "gen_ai.conversation.id": "t-1",
    }
    assert one.attributes["lobu.turn"] == 1
    assert one.attributes["lobu.gateway.trace_id"] == "f" * 32
    assert call.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "a",
        "gen_ai.tool.call.id": "id-a",
        "gen_ai.tool.call.arguments": '{"x":1}',
        "gen_ai.agent.id": "support-agent",
        "gen_ai.conversation.id": "t-1",
        "lobu.turn": 1,
    }


def test_only_tool_calls_have_what_promptfoo_takes_for_a_tool_a_command_or_a_search() -> None:
    failed = failure("gateway", "down", phase="turn")
    found = spans(turn(tool("a", 11), failure=failed, message_id="m-1", trace_id="f" * 32))
    for span in found[:2]:
        for key in span.attributes:
            for word in ("tool", "function", "command", "search", "lookup", "query"):
                assert word not in key
        assert not span.name.startswith(("mcp ", "exec ", "search "))


def test_the_times_are_those_of_the_conversation() -> None:
    conversation, one, a, b, two = spans(
        turn(tool("a", 11), tool("b", 12.5)), turn(sent_s=20, latency_s=10)
    )
    assert (conversation.start_ns, conversation.end_ns) == (after(9), after(30))
    assert (one.start_ns, one.end_ns) == (after(10), after(15))
    assert (two.start_ns, two.end_ns) == (after(20), after(30))
    assert a.end_ns == b.start_ns == after(11)
    assert b.end_ns == after(12.5)


def test_a_call_that_was_told_late_stays_in_its_turn_and_in_the_order_of_the_metadata() -> None:
    _, one, late, two, soon = spans(turn(tool("late", 21)), turn(tool("soon", 20.5), sent_s=20))
    assert late.end_ns == one.end_ns == after(15)
    assert late.start_ns < two.start_ns < soon.start_ns


def test_a_call_without_a_turn_is_one_span_with_its_error() -> None:
    (conversation,) = spans(failure=failure("gateway", "down", phase="create"))
    assert conversation.error == "[gateway] down"
    assert conversation.attributes["error.type"] == "gateway"


times = st.floats(0, 1e6, allow_nan=False)
calls = st.builds(tool, st.sampled_from("ab"), times | st.none())
turns = st.builds(
    lambda calls, sent_s, latency_s: turn(*calls, sent_s=sent_s, latency_s=latency_s),
    st.lists(calls, max_size=6),
    times | st.none(),
    st.floats(0, 1e4) | st.none(),
)


@given(st.lists(turns, max_size=5), times, st.floats(0, 1e5) | st.none())
def test_whatever_the_clocks_say_starts_increase_ids_differ_and_parents_hold_their_children(
    told: list[Turn], ended_s: float, latency_s: float | None
) -> None:
    found = spans(*told, ended_s=ended_s, latency_s=latency_s)
    starts = [span.start_ns / 1e6 for span in found]  # as promptfoo keeps them
    assert all(earlier < later for earlier, later in pairwise(starts))
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found) == 1 + len(told) + sum(len(t.tool_calls) for t in told)
    for span in found:
        assert span.end_ns >= span.start_ns + STEP_NS
        assert len(span.span_id) == 16
        parent = by_id.get(span.parent_id)
        if parent is not None:
            assert parent.start_ns < span.start_ns
            assert span.end_ns <= parent.end_ns


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"isError": True}, "The tool call failed."),
        ({"isError": True, "result_summary": {"error": "no"}}, "no"),
        ({"isError": False, "result_summary": {"error": "no"}}, "no"),
        ({"result_summary": {"error": {"code": 5}}}, '{"code": 5}'),
        ({"isError": False}, None),
        ({"isError": "yes"}, None),
        ({"isError": False, "result_summary": {"error": None}}, None),
        ({"isError": False, "result_summary": {"error": ""}}, None),
        ({"isError": False, "result_summary": "error"}, None),
    ],
)
def test_a_failed_call_is_an_error_in_both_shapes_that_gateways_send(
    data: dict[str, Any], error: str | None
) -> None:
    _, one, call = spans(turn(tool("a", 11, **data)))
    assert call.error == error
    assert ("error.type" in call.attributes) is (error is not None)
    assert one.error is None


def arguments(given: Any, **showing: Any) -> Any:
    (call,) = tools(spans(turn(tool("a", 11, input=given)), showing=Showing(**showing)))
    return call.attributes.get("gen_ai.tool.call.arguments")


def test_no_arguments_are_told_where_none_came() -> None:
    assert arguments(None) is None


def test_any_arguments_are_told_as_json() -> None:
    given = {"a": [1, None, 2.5], "b": float("nan"), "c": "\ud800 ü"}
    assert json.loads(arguments(given)) == {"a": [1, None, 2.5], "b": "NaN", "c": "\\ud800 ü"}


def test_secrets_are_hidden_in_arguments_names_and_errors() -> None:
    hidden = Showing(redactor=Redactor([SECRET]))
    failed = failure("gateway", f"no {SECRET}", phase="turn")
    found = spans(
        turn(
            tool(
                f"x{SECRET}", 11, input={"a": [SECRET]}, result_summary={"error": f"bad {SECRET}"}
            ),
            failure=failed,
        ),
        showing=hidden,
    )
    for span in found:
        assert SECRET not in f"{span.name} {span.error} {span.attributes}"
    assert tools(found)[0].attributes["gen_ai.tool.call.arguments"] == '{"a":["***"]}'


def test_redacted_arguments_have_their_keys_and_no_values() -> None:
    given = {"order": 17, "who": {"name": "Bob"}, "items": [True, None]}
    assert json.loads(arguments(given, arguments="redacted")) == {
        "order": "***",
        "who": {"name": "***"},
        "items": ["***", None],
    }
    assert arguments(given, arguments="none") is None


@pytest.mark.parametrize("shown", ["redacted", "none"])
def test_an_error_is_told_without_its_words_where_arguments_are_not_shown(shown: Any) -> None:
    call = tool("a", 11, result_summary={"error": "no order 17"})
    (span,) = tools(spans(turn(call), showing=Showing(arguments=shown)))
    assert span.error == "The tool call failed."


def test_long_arguments_are_cut_and_marked() -> None:
    (call,) = tools(spans(turn(tool("a", 11, input={"x": "y" * MAX_ARGUMENTS}))))
    text = str(call.attributes["gen_ai.tool.call.arguments"])
    assert len(text) < MAX_ARGUMENTS + 20
    assert text.endswith("[cut]")
    assert call.attributes[CUT] is True


def test_a_call_without_a_name_is_a_tool_call_all_the_same() -> None:
    (call,) = tools(spans(turn(tool(" ", 11))))
    assert call.attributes["gen_ai.tool.name"] == "(unnamed)"
