"""Which entry answers, how flavours word it, and what waiting does. No socket needed."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lobu_provider.scripted_gateway.frames import Event, encode_event

from .conftest import Connect, Received

pytestmark = pytest.mark.anyio

CARD_STEPS: list[dict[str, Any]] = [
    {"card": {"type": "question", "question": "Which?", "options": ["a", "b"]}},
    {"tool": {"name": "ask_user", "input": {"question": "Which?"}}},
]
FLAVOURS = ["u11", "f11", "n"]


class Clock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def script(*steps: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {"replies": [{"steps": list(steps)}], **options}


async def turn(connect: Connect, content: str, source: dict[str, Any]) -> list[Received]:
    async with connect(source) as caller:
        await caller.create()
        events: list[Received] = await caller.turn(content, messageId="m-1")
    return events


async def test_a_miss_fails_the_turn_and_lists_the_nearest_entries(
    connect_in_process: Connect,
) -> None:
    replies: list[dict[str, Any]] = [
        {"match": "weather", "steps": []},
        {"match": "refund order", "turn": 2, "steps": []},
        {"match": {"contains": "Refund", "ignore_case": False}, "agent": "x", "steps": []},
        {"match": {"equals": "refund my order"}, "turn": 3, "steps": []},
    ]
    async with connect_in_process({"replies": replies}) as caller:
        await caller.create()
        events = await caller.turn("refund my order")
        assert [e.name for e in events] == ["error", "agent-error", "complete"]
        assert events[0].data["error"] == (
            "No script entry matches \"refund my order\" (turn 1, agent 'support-agent')."
            " Nearest of 4:\n"
            "  replies[3]: applies only to turn 3; this is turn 1\n"
            '  replies[0]: the message does not contain "weather"\n'
            '  replies[1]: the message does not contain "refund order"; '
            "applies only to turn 2; this is turn 1"
        )
        assert [miss.incoming.content for miss in caller.gateway.misses] == ["refund my order"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"match": {"equals": "x"}}, 'the message is not "x"'),
        ({"match": {"regex": "^x"}}, 'the message does not match the regex "^x"'),
        (
            {"match": {"contains": "HI", "ignore_case": False}},
            'the message does not contain "HI" (case matters)',
        ),
        ({"agent": "a"}, "applies only to agent 'a'; this is 'support-agent'"),
    ],
)
async def test_a_miss_says_what_does_not_hold(
    connect_in_process: Connect, entry: dict[str, Any], reason: str
) -> None:
    events = await turn(connect_in_process, "hi", {"replies": [{**entry, "steps": []}]})
    assert events[0].data["error"].endswith(f"\n  replies[0]: {reason}")


async def test_the_first_entry_that_matches_answers_and_once_means_once(
    connect_in_process: Connect,
) -> None:
    replies: list[dict[str, Any]] = [
        {"match": {"regex": "^h.llo"}, "once": True, "steps": [{"text": "first"}]},
        {"match": "HELLO", "steps": [{"text": "second"}]},
        {"steps": [{"text": "other"}]},
    ]
    async with connect_in_process({"replies": replies}) as caller:
        await caller.create()
        said = []
        async with caller.events() as reader:
            for message in ("hello", "hello", "bye"):
                await caller.say(message)
                said.append((await reader.until("complete"))[-1].data["finalText"])
        assert said == ["first", "second", "other"]


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_the_end_of_a_turn_has_the_keys_of_its_flavour(
    connect_in_process: Connect, flavour: str
) -> None:
    events = await turn(connect_in_process, "x", script({"text": "y"}, flavour=flavour))
    extra = {
        "u11": set(),
        "f11": {"finalText", "awaitingHumanDecision"},
        "n": {"finalText", "suggestions"},
    }[flavour]
    assert set(events[-1].data) - {"type", "messageId", "processedMessageIds", "timestamp"} == extra
    assert ("id" in events[-1].fields) == (flavour == "n")


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_a_question_has_an_id_of_its_own_and_only_n_names_its_turn(
    connect_in_process: Connect, flavour: str
) -> None:
    source = script(*CARD_STEPS, flavour=flavour)
    question, tool, end = (e.data for e in await turn(connect_in_process, "x", source))
    assert question["messageId"] != "m-1"
    assert question.get("turnMessageId") == ("m-1" if flavour == "n" else None)
    assert tool["messageId"] == end["messageId"] == "m-1"
    assert end.get("awaitingHumanDecision") == (True if flavour == "f11" else None)
    assert end.get("finalText") == (None if flavour == "u11" else "")


async def test_an_approval_card_of_f11_carries_the_turns_id(connect_in_process: Connect) -> None:
    card = {"type": "tool-approval", "mcpId": "m", "toolName": "t", "args": {"b": 1}}
    events = await turn(connect_in_process, "x", script({"card": card}))
    assert list(events[0].data) == [
        "args",
        "type",
        "mcpId",
        "toolName",
        "requestId",
        "grantPattern",
        "durationOptions",
        "originMessageId",
        "processedMessageIds",
        "timestamp",
        "messageId",
    ]
    assert events[0].data["grantPattern"] == "/mcp/m/tools/t"
    assert events[0].data["messageId"] == events[0].data["originMessageId"] == "m-1"
    assert events[-1].data["awaitingHumanDecision"] is False


async def test_an_error_is_told_three_times(connect_in_process: Connect) -> None:
    step = {"error": "400 Bad request", "session_failed": True, "code": "IGNORED"}
    events = await turn(connect_in_process, "x", script(step))
    assert [e.name for e in events] == ["output", "error", "agent-error", "complete"]
    assert events[0].data["content"] == "❌ Session failed: 400 Bad request"
    assert events[1].fields["data"] == events[2].fields["data"]
    assert list(events[1].data) == ["type", "error", "messageId", "timestamp"]
    assert list(events[3].data) == ["type", "messageId", "timestamp"]


async def test_an_error_of_n_has_a_code_and_the_ids(connect_in_process: Connect) -> None:
    step = {"error": "busy", "code": "PROVIDER_QUOTA_EXHAUSTED", "context": {"provider": "p"}}
    events = await turn(connect_in_process, "x", script(step, flavour="n"))
    data = dict(events[0].data)
    assert data.pop("timestamp")
    assert data == {
        "type": "error",
        "error": "busy",
        "errorCode": "PROVIDER_QUOTA_EXHAUSTED",
        "errorContext": {"provider": "p"},
        "processedMessageIds": ["m-1"],
        "messageId": "m-1",
    }


async def test_complete_takes_other_values_and_null_removes_a_key(
    connect_in_process: Connect,
) -> None:
    step = {"complete": {"finalText": None, "awaitingHumanDecision": True, "more": 1}}
    end = (await turn(connect_in_process, "x", script({"text": "y"}, step)))[-1].data
    assert "finalText" not in end
    assert (end["awaitingHumanDecision"], end["more"]) == (True, 1)


async def test_a_turn_can_run_under_another_id(connect_in_process: Connect) -> None:
    replies: list[dict[str, Any]] = [
        {"match": "server", "message_id": "s-1", "steps": [{"text": "a"}]},
        {"match": "batch", "complete_as": "b-1", "steps": [{"text": "b"}]},
    ]
    async with connect_in_process({"replies": replies}) as caller:
        await caller.create()
        assert (await caller.say("server", messageId="m-1")).json()["messageId"] == "s-1"
        assert (await caller.say("batch", messageId="m-2")).json()["messageId"] == "m-2"
        async with caller.events() as reader:
            own = (await reader.until("complete"))[-1].data
            merged = (await reader.until("complete"))[-1].data
        assert (own["messageId"], own["processedMessageIds"]) == ("s-1", ["s-1"])
        assert (merged["messageId"], merged["processedMessageIds"]) == ("b-1", ["b-1", "m-2"])


async def test_raw_bytes_and_own_events_are_written_as_given(connect_in_process: Connect) -> None:
    source = script(
        {"raw": ": hello\n\n"},
        {"event": "work-state", "data": {"state": 1, "messageId": None, "timestamp": 5}},
        {"eof": True},
        framing="crlf",
    )
    async with connect_in_process(source) as caller:
        await caller.create()
        async with caller.events() as reader:
            await caller.say("x")
            body = await reader.rest()
        assert body.endswith(
            b': hello\n\nevent: work-state\r\ndata: {"state":1,"timestamp":5}\r\n\r\n'
        )


@pytest.mark.parametrize(
    ("waited_s", "flavour", "arrives"),
    [(29, "f11", True), (31, "f11", False), (31, "n", True), (151, "n", False)],
)
async def test_the_end_of_a_turn_waits_thirty_seconds_for_a_stream(
    connect_in_process: Connect, waited_s: float, flavour: str, arrives: bool
) -> None:
    clock = Clock()
    source = script({"text": "y", "deltas": 1}, flavour=flavour)
    async with connect_in_process(source, clock=clock) as caller:
        await caller.create()
        await caller.say("x")
        clock.now += waited_s
        async with caller.events() as reader:
            seen = [(await reader.next()).name]
            await caller.http.delete(caller.url())
            rest = await reader.rest()
        assert seen == ["connected"]
        assert (b"event: complete" in rest) == arrives
        assert (b"event: output" in rest) == (waited_s < 120)


async def test_the_backlog_keeps_a_hundred_events(connect_in_process: Connect) -> None:
    clock = Clock()
    pieces = [f"<{i}>" for i in range(150)]
    source = script({"text": "long", "deltas": pieces, "delay_ms": 0})
    async with connect_in_process(source, clock=clock) as caller:
        await caller.create()
        await caller.say("x")
        async with caller.events() as reader:
            await reader.next()
            events = await reader.until("complete")
        assert events[0].data["content"] == "<50>"
        assert events[-1].data["finalText"] == "long"


async def test_n_resumes_after_the_last_event_id(connect_in_process: Connect) -> None:
    async with connect_in_process(script({"text": "a b", "deltas": 2}, flavour="n")) as caller:
        await caller.create()
        seen = await caller.turn("x")
        async with caller.events(**{"last-event-id": seen[0].fields["id"]}) as reader:
            assert "id" not in (await reader.next()).fields
            again = await reader.until("complete")
        assert [e.fields for e in again] == [e.fields for e in seen[1:]]


async def test_n_says_closed_before_the_end(connect_in_process: Connect) -> None:
    async with connect_in_process(script(flavour="n")) as caller:
        await caller.create()
        async with caller.events() as reader:
            await reader.next()
            await caller.http.delete(caller.url())
            assert (await reader.next()).data == {"reason": "agent_deleted"}
            assert await reader.rest() == b""


async def test_pings_and_progress_notices_come_while_a_turn_runs(
    connect_in_process: Connect,
) -> None:
    source = script({"delay_ms": 3_600_000}, ping_ms=3, status_ms=5)
    source["replies"][0]["steps"][0]["delay_ms"] = 60_000
    async with connect_in_process(source) as caller:
        await caller.create()
        async with caller.events() as reader:
            await caller.say("x")
            notice = (await reader.until("status"))[-1].data
            assert notice["status"] == {"state": "is running..", "elapsedSeconds": 0}
            assert list((await reader.until("ping"))[-1].data) == ["timestamp"]


async def test_a_turn_that_never_ends_ends_the_next_message_all_the_same(
    connect_in_process: Connect,
) -> None:
    replies: list[dict[str, Any]] = [
        {"match": "hang", "steps": [{"text": "..."}, {"complete": False}]},
        {"match": "notice", "steps": [{"ephemeral": "Sign in: https://example.test"}]},
        {"steps": [{"text": "fine"}]},
    ]
    async with connect_in_process({"replies": replies}) as caller:
        await caller.create()
        async with caller.events() as reader:
            for message in ("hang", "notice", "go"):
                await caller.say(message)
            events = await reader.until("complete")
        assert events[-1].data["finalText"] == "fine"
        assert [e.name for e in events].count("ephemeral") == 1


async def test_a_restart_loses_the_backlog_and_the_turn_ends_with_an_error_later(
    connect_in_process: Connect,
) -> None:
    steps: list[dict[str, Any]] = [
        {"text": "half"},
        {"reset": True, "forget": True},
        {"error": "stopped responding"},
    ]
    async with connect_in_process(script(*steps)) as caller:
        await caller.create()
        async with caller.events() as reader:
            await caller.say("x")
            with pytest.raises(httpx.RemoteProtocolError):
                await reader.rest()
        async with caller.events() as reader:
            names = [event.name for event in await reader.until("complete")]
        assert names == ["connected", "error", "agent-error", "complete"]


async def test_the_backlog_can_come_before_connected(connect_in_process: Connect) -> None:
    async with connect_in_process(script({"text": "y"}, connected_late=True)) as caller:
        await caller.create()
        await caller.turn("x")
        async with caller.events() as reader:
            names = [event.name for event in await reader.until("connected")]
        assert names == ["output", "complete", "connected"]


def test_frames_are_written_as_a_gateway_writes_them() -> None:
    event = Event("output", {"content": "é\n"})
    assert encode_event(event) == 'event: output\ndata: {"content":"é\\n"}\n\n'.encode()
    assert encode_event(event, framing="cr", event_id=7).startswith(b"event: output\rid: 7\rdata: ")
