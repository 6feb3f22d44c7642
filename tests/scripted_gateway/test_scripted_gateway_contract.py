"""What the gateway does, the same in process and over a socket. The rules are Lobu's."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest

from .conftest import Connect, Received

pytestmark = pytest.mark.anyio

HOUR_MS = 3_600_000
ECHO = {"replies": [{"steps": [{"text": "Echo: {{message}}"}]}]}


def names(events: list[Received]) -> list[str]:
    return [event.name for event in events]


async def test_create_answers_201_with_a_conversation_id_a_token_and_urls_elsewhere(
    connect: Connect,
) -> None:
    async with connect(ECHO) as caller:
        response = await caller.create(userId="u", thread="a/b c")
        body = response.json()
        assert response.status_code == 201
        assert list(body) == ["success", "agentId", "token", "expiresAt", "sseUrl", "messagesUrl"]
        assert body["agentId"] == "support-agent_u_org_script_a/b c"
        assert [len(part) > 0 for part in body["token"].split(":")] == [True] * 3
        assert httpx.URL(body["sseUrl"]).host != caller.http.base_url.host


async def test_a_percent_encoded_conversation_id_finds_its_session(connect: Connect) -> None:
    async with connect(ECHO) as caller:
        await caller.create(userId="u", thread="a/b c?d#e%")
        caller.conversation_id = "support-agent_u_org_script_a%2Fb%20c%3Fd%23e%25"
        status = await caller.http.get(caller.url())
        assert status.json()["agent"]["agentId"] == "support-agent_u_org_script_a/b c?d#e%"
        assert names(await caller.turn("hi"))[-1] == "complete"


async def test_an_event_arrives_while_the_turn_is_held_open(connect: Connect) -> None:
    steps = [{"text": "first", "deltas": 1}, {"delay_ms": HOUR_MS}, {"text": "never"}]
    async with connect({"replies": [{"steps": steps}]}) as caller:
        await caller.create()
        async with caller.events() as reader:
            await reader.next()
            await caller.say("go")
            assert (await reader.next()).data["content"] == "first"


async def test_a_turn_reads_as_recorded(connect: Connect) -> None:
    tool = {"name": "search_memory", "input": {"query": "x"}, "toolCallId": "call_1"}
    tool["result_summary"] = {"event_ids": [2], "snippets": [{"text": "Yes.", "id": 2}]}
    script = {"replies": [{"steps": [{"tool": tool}, {"text": "a b", "deltas": ["a", " b"]}]}]}
    async with connect(script) as caller:
        await caller.create()
        events = await caller.turn("q", messageId="m-1")
        assert names(events) == ["tool_use", "output", "output", "complete"]
        call, first, second, end = (event.data for event in events)
        assert list(call.items())[:-2] == [
            ("name", "search_memory"),
            ("input", {"query": "x"}),
            ("isError", False),
            ("toolCallId", "call_1"),
            ("result_summary", {"snippets": [{"id": 2, "text": "Yes."}], "event_ids": [2]}),
        ]
        assert list(call)[-2:] == ["timestamp", "messageId"]
        assert list(first) == ["type", "content", "timestamp", "messageId"]
        assert first["content"] + second["content"] == end["finalText"] == "a b"
        assert list(end) == [
            "type",
            "messageId",
            "processedMessageIds",
            "awaitingHumanDecision",
            "finalText",
            "timestamp",
        ]
        assert end["processedMessageIds"] == ["m-1"]


async def test_a_message_is_answered_with_its_id_and_a_job(connect: Connect) -> None:
    async with connect(ECHO) as caller:
        await caller.create()
        response = await caller.say("hi", messageId="m-1")
        assert response.status_code == 200
        assert response.json() == {
            "success": True,
            "messageId": "m-1",
            "jobId": "1",
            "queued": True,
        }


async def test_a_message_id_used_again_is_queued_and_not_answered(connect: Connect) -> None:
    async with connect(ECHO) as caller:
        await caller.create()
        first = await caller.say("one", messageId="m-1")
        again = await caller.say("one", messageId="m-1")
        assert again.json() == first.json()
        events = await caller.turn("two", messageId="m-2")
        texts = [e.data["finalText"] for e in events if e.name == "complete"]
        assert texts[0] == "Echo: one"
        assert len(caller.gateway.requests) == 5


async def test_turns_of_a_session_follow_each_other_on_one_stream(connect: Connect) -> None:
    async with connect(ECHO) as caller:
        await caller.create()
        async with caller.events() as reader:
            await reader.next()
            for message in ("one", "two"):
                await caller.say(message)
                assert (await reader.until("complete"))[-1].data["finalText"] == f"Echo: {message}"


async def test_a_new_stream_replays_the_backlog_with_the_finished_turn(connect: Connect) -> None:
    async with connect(ECHO) as caller:
        await caller.create()
        live = await caller.turn("hi")
        async with caller.events() as reader:
            assert (await reader.next()).name == "connected"
            replayed = await reader.until("complete")
        assert [e.fields for e in replayed] == [e.fields for e in live]


async def test_force_new_empties_the_backlog_and_keeps_the_count_of_turns(
    connect: Connect,
) -> None:
    async with connect({"replies": [{"steps": [{"text": "turn {{turn}}"}]}]}) as caller:
        await caller.create()
        await caller.turn("hi")
        await caller.create(forceNew=True)
        events = await caller.turn("again")
        assert [e.data["finalText"] for e in events if e.name == "complete"] == ["turn 2"]


async def test_the_sixth_stream_is_refused_and_a_closed_one_makes_room(connect: Connect) -> None:
    async with connect(ECHO) as caller, anyio.create_task_group() as group:
        await caller.create()
        opened, enough = anyio.create_memory_object_stream[None](5), anyio.Event()

        async def hold() -> None:
            async with caller.events() as reader:
                await reader.next()
                await opened[0].send(None)
                await enough.wait()

        for _ in range(5):
            group.start_soon(hold)
        for _ in range(5):
            await opened[1].receive()
        refused = await caller.http.get(caller.url("/events"))
        assert refused.status_code == 429
        assert refused.json() == {"success": False, "error": "Maximum 5 connections"}
        enough.set()
        for end in opened:
            end.close()


async def test_leaving_a_stream_frees_its_place(connect_in_process: Connect) -> None:
    async with connect_in_process(ECHO) as caller:
        await caller.create()
        async with caller.events() as reader:
            await reader.next()
            assert caller.gateway.open_streams == 1
        assert caller.gateway.open_streams == 0


async def test_delete_ends_open_streams_cleanly_and_the_session_is_gone(connect: Connect) -> None:
    steps = [{"text": "begun", "deltas": 1}, {"delay_ms": HOUR_MS}]
    async with connect({"replies": [{"steps": steps}]}) as caller:
        await caller.create()
        async with caller.events() as reader:
            await reader.next()
            await caller.say("go")
            await reader.next()
            deleted = await caller.http.delete(caller.url())
            assert await reader.rest() == b""
        assert deleted.json() == {
            "success": True,
            "message": "Agent deleted",
            "agentId": caller.conversation_id,
        }
        assert caller.gateway.sessions == {}
        gone = [await caller.http.get(caller.url(tail)) for tail in ("", "/events")]
        assert [r.status_code for r in gone] == [404, 404]
        assert gone[0].json() == {"success": False, "error": "Agent not found"}
        forbidden = [await caller.say("x"), await caller.http.delete(caller.url())]
        assert [r.status_code for r in forbidden] == [403, 403]


async def test_a_reset_breaks_the_stream_and_eof_ends_it(connect: Connect) -> None:
    replies: list[dict[str, Any]] = [
        {"match": "eof", "steps": [{"text": "a", "deltas": 1}, {"eof": True}]},
        {"match": "reset", "steps": [{"text": "b", "deltas": 1}, {"reset": True}]},
    ]
    async with connect({"replies": replies}) as caller:
        await caller.create()
        async with caller.events() as reader:
            await reader.next()
            await caller.say("eof")
            assert b"event: complete" not in await reader.rest()
        async with caller.events() as reader:
            await reader.until("output")
            await caller.say("reset")
            with pytest.raises(httpx.RemoteProtocolError):
                await reader.rest()


async def test_what_ends_after_a_reset_waits_for_the_next_stream(connect: Connect) -> None:
    steps: list[dict[str, Any]] = [{"text": "whole"}, {"eof": True}, {"complete": {}}]
    async with connect({"replies": [{"steps": steps}]}) as caller:
        await caller.create()
        async with caller.events() as reader:
            await caller.say("go")
            assert b"event: complete" not in await reader.rest()
        async with caller.events() as reader:
            assert (await reader.until("complete"))[-1].data["finalText"] == "whole"


async def test_a_fault_in_place_of_the_reply_leaves_the_message_unsaid(connect: Connect) -> None:
    replies: list[dict[str, Any]] = [
        {"once": True, "http": {"status": 503, "body": "<h1>busy</h1>"}},
        {"once": True, "http": {"reset": True}},
        {"turn": 1, "steps": [{"text": "now"}]},
    ]
    async with connect({"replies": replies}) as caller:
        await caller.create()
        busy = await caller.say("hi", messageId="m-1")
        assert (busy.status_code, busy.text) == (503, "<h1>busy</h1>")
        with pytest.raises(httpx.RemoteProtocolError):
            await caller.say("hi", messageId="m-1")
        events = await caller.turn("hi", messageId="m-1")
        assert events[-1].data["finalText"] == "now"


async def test_an_accepted_message_runs_although_its_answer_is_lost(connect: Connect) -> None:
    reply = {"steps": [{"text": "ran"}], "http": {"reset": True, "accepted": True, "times": 1}}
    async with connect({"replies": [reply]}) as caller:
        await caller.create()
        with pytest.raises(httpx.RemoteProtocolError):
            await caller.say("hi", messageId="m-1")
        again = await caller.say("hi", messageId="m-1")
        assert again.json()["messageId"] == "m-1"
        async with caller.events() as reader:
            ends = [e for e in await reader.until("complete") if e.name == "complete"]
        assert [e.data["finalText"] for e in ends] == ["ran"]


async def test_a_silent_stream_runs_into_the_callers_read_timeout(connect: Connect) -> None:
    async with connect(ECHO) as caller:
        await caller.create()
        caller.http.timeout = httpx.Timeout(5, read=0.05)
        async with caller.events() as reader:
            with pytest.raises(httpx.ReadTimeout):
                await reader.rest()


async def test_bytes_are_cut_inside_characters_on_request(connect: Connect) -> None:
    async with connect({**ECHO, "chunk_bytes": 1}) as caller:
        await caller.create()
        assert (await caller.turn("größer ✓"))[-1].data["finalText"] == "Echo: größer ✓"
