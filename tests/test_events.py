"""Reading a frame never fails, and nothing that a gateway says is dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lobu_provider.events import (
    CARD_NAMES,
    Card,
    Closed,
    Complete,
    Connected,
    Ephemeral,
    Event,
    Frame,
    Output,
    Ping,
    Status,
    ToolUse,
    TurnError,
    UnknownEvent,
    UnreadableEvent,
    parse_event,
)

UNLIMITED = settings(deadline=None)

NAMES = [
    *("connected", "ping", "closed", "status", "output", "tool_use", "complete", "error"),
    *("agent-error", "ephemeral", "question", "tool-approval", "link-button", "suggestion"),
    *("file-uploaded", "work-state", "message"),
]
KEYS = [
    *("type", "messageId", "processedMessageIds", "timestamp", "content", "toolCallId", "name"),
    *("input", "isError", "result_summary", "finalText", "awaitingHumanDecision", "error"),
    *("errorCode", "turnMessageId", "originMessageId", "status", "reason"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(10**400),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def read(name: str, /, **data: Any) -> Event:
    return parse_event(Frame(name, json.dumps(data)), received_s=7.0)


@UNLIMITED
@given(st.sampled_from(NAMES) | st.text(), st.text())
@example("output", "[" * 100_000)
@example("complete", "null")
@example("complete", '{"messageId":"m-1"')
def test_any_text_in_a_frame_is_read_as_some_event(name: str, data: str) -> None:
    event = parse_event(Frame(name, data))
    assert event.name == name


@UNLIMITED
@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(KEYS), JSON))
@example("output", {"content": "a", "timestamp": 10**400})
@example("output", {"content": "a", "timestamp": float("inf")})
def test_any_value_under_any_key_is_read_and_kept(name: str, data: dict[str, Any]) -> None:
    event = parse_event(Frame(name, json.dumps(data)))
    assert json.dumps(event.data) == json.dumps(data)
    assert all(isinstance(i, str) for i in event.processed_message_ids)
    event.concerns(frozenset({"m-1"}))


@pytest.mark.parametrize("depth", [100, 500, 900])
def test_an_error_that_is_deeply_nested_is_still_an_error(depth: int) -> None:
    data = f'{{"messageId":"m-1","error":{"[" * depth}{"]" * depth}}}'
    event = parse_event(Frame("error", data))
    assert isinstance(event, TurnError)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("connected", {"agentId": "a"}, Connected),
        ("ping", {}, Ping),
        ("closed", {"reason": "agent_deleted"}, Closed),
        ("status", {"status": {"state": "is running..", "elapsedSeconds": 20}}, Status),
        ("status", {"status": "Working"}, Status),
        ("output", {"content": "a"}, Output),
        ("output", {"content": None}, UnreadableEvent),
        ("output", {}, UnreadableEvent),
        ("tool_use", {"name": "bash"}, ToolUse),
        ("tool_use", {}, ToolUse),
        ("complete", {}, Complete),
        ("error", {"error": "x"}, TurnError),
        ("agent-error", {"error": "x"}, TurnError),
        ("error", {}, TurnError),
        ("ephemeral", {"content": "x"}, Ephemeral),
        ("ephemeral", {}, Ephemeral),
        ("question", {}, Card),
        ("tool-approval", {}, Card),
        ("link-button", {}, Card),
        ("suggestion", {}, Card),
        ("file-uploaded", {"name": "report.pdf"}, UnknownEvent),
        ("work-state", {}, UnknownEvent),
        ("Output", {"content": "a"}, Output),
        ("error ", {"error": "x"}, TurnError),
        ("message", {"type": "error", "error": "x"}, TurnError),
        ("message", {"type": "delta", "content": "a"}, Output),
        ("message", {"type": "news"}, UnknownEvent),
        ("message", {"toolCallId": "1", "name": "pay", "input": {}}, ToolUse),
        ("message", {"name": "pay"}, UnknownEvent),
    ],
)
def test_the_wire_name_and_the_shape_decide_what_an_event_is(
    name: str, data: dict[str, Any], kind: type[Event]
) -> None:
    event = read(name, **data)
    assert type(event) is kind
    assert (event.data, event.received_s) == (data, 7.0)


@pytest.mark.parametrize("data", ["", "null", "[]", "7", '"text"', "{", "not json"])
def test_data_that_is_no_object_is_kept_as_it_came(data: str) -> None:
    event = parse_event(Frame("complete", data))
    assert type(event) is UnreadableEvent
    assert event.data == {"raw": data}
    assert not event.is_addressed


@pytest.mark.parametrize(
    ("data", "final"),
    [
        ({"finalText": "done"}, "done"),
        ({"finalText": ""}, ""),
        ({"finalText": None}, None),
        ({}, None),
    ],
)
def test_final_text_counts_only_when_it_is_a_string(data: dict[str, Any], final: Any) -> None:
    event = read("complete", **data)
    assert isinstance(event, Complete)
    assert event.final_text == final


def test_a_final_text_that_is_no_text_cannot_be_read() -> None:
    assert isinstance(read("complete", finalText=7), UnreadableEvent)


@pytest.mark.parametrize(("value", "waits"), [(True, True), (False, False), ("yes", False)])
def test_only_true_means_that_a_person_is_waited_for(value: Any, waits: bool) -> None:
    event = read("complete", awaitingHumanDecision=value)
    assert isinstance(event, Complete)
    assert event.awaiting_human_decision is waits


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("it broke", "it broke"),
        (None, ""),
        (7, "7"),
        ({"message": "é broke"}, '{"message": "é broke"}'),
    ],
)
def test_an_error_of_any_type_is_told_as_text(error: Any, text: str) -> None:
    event = read("error", error=error)
    assert isinstance(event, TurnError)
    assert event.text == text


@pytest.mark.parametrize(("code", "kept"), [("WORKER_DIED", "WORKER_DIED"), ("", None), (7, None)])
def test_an_error_code_is_a_string_or_absent(code: Any, kept: str | None) -> None:
    event = read("error", error="x", errorCode=code)
    assert isinstance(event, TurnError)
    assert event.error_code == kept


@pytest.mark.parametrize(
    ("data", "message_id"),
    [
        ({"messageId": "random"}, None),
        ({"messageId": "random", "turnMessageId": "m-1"}, "m-1"),
        ({"messageId": "random", "originMessageId": "m-1"}, "m-1"),
        ({"messageId": "r", "turnMessageId": "m-1", "originMessageId": "m-2"}, "m-1"),
        ({"messageId": "r", "turnMessageId": "", "originMessageId": "m-2"}, "m-2"),
    ],
)
@pytest.mark.parametrize("name", sorted(CARD_NAMES))
def test_a_card_is_about_its_turn_and_never_about_its_own_random_id(
    name: str, data: dict[str, Any], message_id: str | None
) -> None:
    assert read(name, **data).message_id == message_id


@pytest.mark.parametrize("value", ["", None, 7, ["m-1"]])
def test_a_message_id_that_is_no_text_is_none(value: Any) -> None:
    assert read("output", content="a", messageId=value).message_id is None


@pytest.mark.parametrize(
    ("value", "ids"),
    [(["m-1", "m-2"], ("m-1", "m-2")), (["m-1", 7, None], ("m-1",)), ("m-1", ()), (None, ())],
)
def test_processed_ids_are_the_strings_of_a_list(value: Any, ids: tuple[str, ...]) -> None:
    assert read("complete", processedMessageIds=value).processed_message_ids == ids


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (1789000000000, 1789000000000.0),
        (1.5, 1.5),
        (True, None),
        ("1", None),
        (None, None),
        (10**400, None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_a_timestamp_is_a_finite_number_or_absent(value: Any, ms: float | None) -> None:
    assert read("output", content="a", timestamp=value).timestamp_ms == ms


@pytest.mark.parametrize(
    ("data", "concerns"),
    [
        ({"messageId": "m-1"}, True),
        ({"messageId": "m-2"}, False),
        ({"messageId": "m-2", "processedMessageIds": ["m-2", "m-1"]}, True),
        ({"processedMessageIds": ["m-1"]}, True),
        ({}, False),
    ],
)
def test_an_event_concerns_the_message_that_it_names(data: dict[str, Any], concerns: bool) -> None:
    event = read("complete", **data)
    assert event.concerns(frozenset({"m-1"})) is concerns
    assert event.is_addressed is bool(data)
