"""Every recorded conversation, played back over a real socket, gives what was said in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.wire.wire_answers import call
from tests.wire.wire_gateway import SESSION_TOKEN, TOKEN, WireGateway
from tests.wire.wire_recordings import FOLDER, STREAMS, Recording, reference

pytestmark = pytest.mark.anyio

REFUND: Final = "Refund policy: customers may return any item within 30 days for a full refund."
SHIPPING: Final = "Shipping time: standard shipping takes 3 to 5 business days."
NEEDS_APPROVAL: Final = (
    "Error: Tool call requires approval. The user has been asked to approve. "
    "Your session will end. The result will arrive as your next message."
)
INSTRUCTIONS: Final = (
    "search_memory returns an authentication error, call lobu_login to start authentication. "
    "After the user completes login, call lobu_login_check to finish.\n</lobu-system>\n\n"
)
RETRYING: Final = "\n".join(f"🔄 *Retrying (attempt {n}/3)...*" for n in (1, 2, 3))
CONNECT_MODEL: Final = (
    "To use fake-llm-1, an admin needs to connect fake-llm on the base agent. "
    "Ask an admin to configure fake-llm and then try again."
)
EMPTY: Final = "我這輪沒有產生可交付的回覆，因此沒有把任務標成完成。請重新指示或稍後再試。"
CRASHED: Final = "The worker handling your request stopped unexpectedly before it could reply."


@dataclass(frozen=True)
class Expected:
    """What a recording must give."""

    outputs: Sequence[str]
    """One for each turn."""
    tools: Sequence[str] = ()
    tool_errors: Sequence[str] = ()
    """What ``result_summary.error`` says, of the calls that have it."""
    context: str | None = None
    cards: Sequence[str] = ()
    error: tuple[str, str] | None = None
    """Code and class."""
    says: str = ""
    """The gateway's own words in the error."""
    waits: bool = False
    warning: str | None = None
    """Part of the one warning; ``None`` for no warning."""


def ok(*outputs: str, **more: Any) -> Expected:
    return Expected(outputs, **more)


EXPECTED: Final = {
    "approval": ok(
        f"Result of the gated call: {NEEDS_APPROVAL}",
        tools=["save_memory"],
        tool_errors=[NEEDS_APPROVAL],
        cards=["tool-approval"],
    ),
    "approval-denied": ok(
        f"Tool manage_entity returned: {NEEDS_APPROVAL}",
        tools=["manage_entity"],
        tool_errors=[NEEDS_APPROVAL],
        cards=["tool-approval"],
    ),
    "ask-user": ok("", tools=["ask_user"], cards=["question"], waits=True, warning="without text"),
    "client-message-id": ok("Echo: with my id"),
    "default-agent": ok("Echo: hello default"),
    "delete-idle": ok(f"Echo: diately.\n- If save_memory or {INSTRUCTIONS}hi"),
    "delete-worker-count": ok("Echo: hi"),
    "empty-answer": ok(EMPTY, error=("empty", "agent"), says="task_completion_empty_final"),
    "heartbeat": ok("finally"),
    "late-sse-10s": ok(f"According to memory: {REFUND}", tools=["search_memory"], context=REFUND),
    "long": ok(" ".join(f"w{n:04}" for n in range(1500))),
    "model-error-400": ok(
        "❌ Session failed: 400 Bad request",
        error=("provider", "infrastructure"),
        says="400 Bad request",
    ),
    "model-error-401": ok(
        f"❌ Session failed: {CONNECT_MODEL}",
        error=("provider", "infrastructure"),
        says=CONNECT_MODEL,
    ),
    "model-error-429": ok(
        f"{RETRYING}❌ Session failed: 429 Rate limit reached",
        error=("rate_limit", "infrastructure"),
        says="429 Rate limit reached",
    ),
    "model-error-500": ok(
        f"{RETRYING}❌ Session failed: 500 The server had an error while processing your request",
        error=("provider", "infrastructure"),
        says="500 The server had an error while processing your request",
    ),
    "model-error-once": ok(
        f"Echo: ry returns an authentication error{INSTRUCTIONS.partition('error')[2]}"
        "ERRORONCE 031e79211ff947a3a498de0907aa85ae"
    ),
    "model-override": ok("Echo: hello model"),
    "multi-turn-one-stream": ok(
        "Echo: first turn alpha",
        "Echo: second turn beta",
        "You have sent 3 messages. First: first turn alpha",
    ),
    "multi-turn-reconnect.1": ok("Echo: first turn alpha"),
    "multi-turn-reconnect.2": ok(
        "Echo: first turn alpha",
        f"According to memory: {SHIPPING}",
        tools=["search_memory"],
        context=SHIPPING,
    ),
    "multi-turn-reconnect.3": ok(
        "Echo: first turn alpha",
        f"According to memory: {SHIPPING}",
        "You have sent 3 messages. First: first turn alpha",
        tools=["search_memory"],
        context=SHIPPING,
    ),
    "no-provider": ok(
        "",
        error=("provider", "infrastructure"),
        says="No model configured. Ask an admin to connect a provider for the base agent.",
    ),
    "other-mcp-tool": ok(
        "Tool list_watchers returned: # 📊 Watcher Management: list\n\n*No watchers found.*",
        tools=["list_watchers"],
    ),
    "other-tool": ok(
        "Directory listing done. .openclaw/\n.skills/\ninput/\noutput/\ntemp/", tools=["ls"]
    ),
    "parallel-tools": ok(
        "Parallel calls done: 3 results.",
        tools=["search_memory", "ls", "search_memory"],
        context=f"{REFUND}\n\n{SHIPPING}",
    ),
    "pat-message": ok("Echo: hi via pat"),
    "post-then-sse": ok("Echo: hello after post"),
    "provider-claude": ok("Echo: hello provider"),
    "resume-same-thread.1": ok("Echo: remember alpha"),
    "resume-same-thread.2": ok(
        "Echo: remember alpha", "You have sent 2 messages. First: remember alpha"
    ),
    "search-error": ok(
        'The search failed: Validation failed for tool "search_memory":\n'
        '  - limit: must be number\n\nReceived arguments:\n{\n  "limit": "not-a-number"\n}',
        tools=["search_memory"],
    ),
    "search-memory": ok(f"According to memory: {REFUND}", tools=["search_memory"], context=REFUND),
    "search-memory-nohits": ok("According to memory: nothing found", tools=["search_memory"]),
    "search-memory-pretext": ok(
        f"Let me look that up. According to memory: {REFUND}",
        tools=["search_memory"],
        context=REFUND,
    ),
    "simple": ok("Echo: hello there"),
    "slow": ok(" ".join(f"tick{n}" for n in range(10))),
    "thread-urlchars": ok("Echo: hello slash"),
    "tool-error": ok(
        "The tool failed: ENOENT: no such file or directory, "
        "access '/nonexistent/does-not-exist.txt'",
        tools=["read"],
    ),
    "worker-spawn-crash": ok("", error=("worker", "infrastructure"), says=CRASHED),
}


def test_the_table_names_every_recorded_stream() -> None:
    assert sorted(EXPECTED) == STREAMS


@pytest.mark.parametrize("name", STREAMS)
async def test_a_recording_gives_what_was_said_in_it(name: str) -> None:
    recording, expected = Recording(name), EXPECTED[name]
    async with WireGateway(recording.answers()) as gateway:
        response = await call(gateway.url, *(message.content for message in recording.messages))

    metadata = response["metadata"]
    turns = metadata["turns"]
    assert [turn["output"] for turn in turns] == list(expected.outputs)
    assert response["output"] == expected.outputs[-1]
    assert [call["name"] for call in metadata["toolCalls"]] == list(expected.tools)
    summaries = [call.get("result_summary", {}) for call in metadata["toolCalls"]]
    assert [s["error"] for s in summaries if "error" in s] == list(expected.tool_errors)
    assert metadata.get("retrievedContext") == expected.context
    assert [card["type"] for card in metadata["interactions"]] == list(expected.cards)
    assert turns[-1].get("awaitingHumanDecision", False) is expected.waits
    _check_error(response, expected)
    _check_ids(recording, turns)
    assert gateway.kinds == [
        "create",
        "events",
        *["message"] * len(recording.messages),
        "delete",
    ]
    warnings = metadata["warnings"]
    assert len(warnings) == (expected.warning is not None), warnings
    assert (expected.warning or "") in "".join(warnings)
    assert not {"tokenUsage", "cost", "prompt"} & set(response)
    assert SESSION_TOKEN not in json.dumps(response)
    assert TOKEN not in json.dumps(response)


def _check_error(response: dict[str, Any], expected: Expected) -> None:
    if expected.error is None:
        assert "error" not in response
        assert "error" not in response["metadata"]
        return
    code, error_class = expected.error
    assert response["error"].startswith(f"[{code}] ")
    assert expected.says in response["error"]
    error = response["metadata"]["error"]
    turn = len(expected.outputs)
    assert (error["code"], error["class"], error["phase"], error["turn"]) == (
        code,
        error_class,
        "turn",
        turn,
    )
    assert response["metadata"]["rateLimitKind"] == "quota"


def _check_ids(recording: Recording, turns: list[dict[str, Any]]) -> None:
    """The gateway's own ids are the ones that count, and each turn has its own calls."""
    assert [turn["messageId"] for turn in turns] == [message.id for message in recording.messages]
    assert [turn["user"] for turn in turns] == [x.content for x in recording.messages]
    assert [turn["turn"] for turn in turns] == list(range(1, len(turns) + 1))
    assert all("otherEvents" not in turn for turn in turns)
    assert all("streamedText" not in turn for turn in turns), "deltas and finalText agree"


REFERENCES: Final = {
    "approval": "approval",
    "ask-user": "ask-user",
    "empty-answer": "empty-answer",
    "model-error-401": "model-error-401",
    "other-tool": "other-tool",
    "parallel-tools": "parallel-tools",
    "search-error": "search-error",
    "search-memory": "search-memory",
    "search-memory-pretext": "search-memory-pretext",
    "simple": "simple",
    "tool-error": "tool-error",
    "transcript": "multi-turn-reconnect.3",
}
"""The other client's result, and the recording of the same messages."""

SIMILAR: Final = {
    "long": ("long", "w0000 w0001 "),
    "model-error-once": ("model-error-once", "Echo: "),
    "provider-claude": ("provider-claude", "Echo: "),
}
"""Results for messages of the same kind but with other words in them."""


@pytest.mark.parametrize("name", sorted(REFERENCES))
async def test_a_recording_gives_the_values_that_the_other_client_returned(name: str) -> None:
    """Beside the values that it lost: the tool calls of earlier turns and of failed ones."""
    theirs = reference(name)["result"]
    recording = Recording(REFERENCES[name])
    async with WireGateway(recording.answers()) as gateway:
        ours = await call(gateway.url, *(message.content for message in recording.messages))

    assert ours["output"] == theirs["output"]
    if "error" in theirs:
        assert theirs["error"] in ours["error"]
    else:
        assert "error" not in ours
    metadata, turns = ours["metadata"], ours["metadata"]["turns"]
    last = [call for call in metadata["toolCalls"] if call["turn"] == len(turns)]
    assert _calls(last) == _calls(theirs["metadata"].get("toolCalls", []))
    if len(turns) == 1:
        assert metadata.get("retrievedContext") == theirs["metadata"].get("retrievedContext")


@pytest.mark.parametrize("name", sorted(SIMILAR))
async def test_a_like_message_gives_a_like_answer(name: str) -> None:
    theirs = reference(name)["result"]
    recording, beginning = Recording(SIMILAR[name][0]), SIMILAR[name][1]
    async with WireGateway(recording.answers()) as gateway:
        ours = await call(gateway.url, recording.messages[0].content)

    assert ours["output"].startswith(beginning)
    assert theirs["output"].startswith(beginning)
    assert "error" not in ours
    assert "error" not in theirs
    assert ours["metadata"]["toolCalls"] == theirs["metadata"].get("toolCalls", [])


def test_every_result_of_the_other_client_is_compared_unless_it_threw() -> None:
    threw = {"bad-token", "gateway-down", "provider-openai", "unknown-agent"}
    assert all("threw" in reference(name) for name in threw)
    names = {path.stem.removeprefix("reference-") for path in FOLDER.glob("reference-*.json")}
    assert names - threw == {*REFERENCES, *SIMILAR}


def _calls(calls: list[dict[str, Any]]) -> list[str]:
    """Calls without what differs between two runs, in an order of our own."""
    kept = ("name", "input", "result_summary")
    return sorted(
        json.dumps(
            {**{k: call[k] for k in kept if k in call}, "isError": call.get("isError", False)},
            sort_keys=True,
        )
        for call in calls
    )


async def test_the_tool_call_of_an_earlier_turn_is_kept_whole() -> None:
    recording = Recording("multi-turn-reconnect.3")
    async with WireGateway(recording.answers()) as gateway:
        response = await call(gateway.url, *(message.content for message in recording.messages))

    metadata = response["metadata"]
    assert metadata["toolCalls"] == [
        {
            "name": "search_memory",
            "input": {"query": "shipping time"},
            "isError": False,
            "toolCallId": "call_312758_0",
            "result_summary": {"snippets": [{"id": 4, "text": SHIPPING}], "event_ids": [4]},
            "turn": 2,
        }
    ]
    assert metadata["retrievedSnippets"] == [SHIPPING]
    assert [turn["toolCallIds"] for turn in metadata["turns"]] == [[], ["call_312758_0"], []]


async def test_the_question_is_kept_as_it_came() -> None:
    recording = Recording("ask-user")
    async with WireGateway(recording.answers()) as gateway:
        response = await call(gateway.url, recording.messages[0].content)

    [card] = response["metadata"]["interactions"]
    assert card == {
        "type": "question",
        "question": "Which colour?",
        "options": ["red", "blue"],
        "questionId": "q_8f2587b5-1dd6-48a0-a2c5-754e513c2687",
        "timestamp": 1796026097505,
        "messageId": "de3d3316-6bbb-46c2-b46e-64c29c70b26b",
        "turn": 1,
    }


@pytest.mark.parametrize("name", ["multi-turn-reconnect.2", "multi-turn-reconnect.3"])
async def test_replayed_turns_of_the_thread_are_not_taken_for_the_new_one(name: str) -> None:
    """As recorded: a resumed thread's stream begins with the whole past, ``complete`` included."""
    recording, expected = Recording(name), EXPECTED[name]
    replayed = len(recording.messages) - 1
    async with WireGateway(recording.answers(replayed=replayed)) as gateway:
        response = await call(gateway.url, recording.messages[-1].content, thread="t-1")

    [turn] = response["metadata"]["turns"]
    assert turn["output"] == expected.outputs[-1]
    assert turn["messageId"] == recording.messages[-1].id
    calls = [call["toolCallId"] for call in response["metadata"]["toolCalls"]]
    assert calls == (["call_312758_0"] if replayed == 1 else [])
    assert gateway.kinds == ["create", "events", "message"], "a pinned thread is not deleted"
    assert gateway.requests[0].json["forceNew"] is False


async def test_a_session_id_with_any_characters_is_one_path_segment() -> None:
    recording = Recording("thread-urlchars")
    thread = recording.create_request["thread"]
    async with WireGateway(recording.answers()) as gateway:
        await call(gateway.url, "hello slash", thread=thread)

    recorded = [exchange["request"]["path"] for exchange in recording.exchanges]
    segment = recorded[1].rpartition("/")[2]
    assert gateway.requests[0].json["thread"] == thread
    base = f"/lobu/api/v1/agents/{segment}"
    assert [request.target for request in gateway.requests[1:]] == [
        f"{base}/events",
        f"{base}/messages",
    ]
    assert recorded[2] == f"{base}/messages"
