"""A script that tells what a recorded turn did sends the recorded bytes, ids and times apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Connect

pytestmark = pytest.mark.anyio

RECORDINGS = Path(__file__).parent / "recordings"


def only(value: str, **more: Any) -> dict[str, Any]:
    return {"text": value, "deltas": 1, **more}


def found(query: str, snippet_id: int, text: str) -> dict[str, Any]:
    summary = {"event_ids": [snippet_id], "snippets": [{"text": text, "id": snippet_id}]}
    return {"name": "search_memory", "input": {"query": query}, "result_summary": summary}


REFUND = "Refund policy: customers may return any item within 30 days for a full refund."
SHIPPING = "Shipping time: standard shipping takes 3 to 5 business days."
ASKED = {"question": "Which colour?", "options": ["red", "blue"]}
SAVED = {
    "semantic_type": "fact",
    "title": "Closing time",
    "metadata": {},
    "content": "The office closes at five.",
}
GATED = (
    "Error: Tool call requires approval. The user has been asked to approve. "
    "Your session will end. The result will arrive as your next message."
)
CRASH = (
    "The worker handling your request stopped unexpectedly before it could reply. "
    "Please retry in a moment."
)
MISSING = "ENOENT: no such file or directory, access '/nonexistent/does-not-exist.txt'"

TURNS: dict[str, list[dict[str, Any]]] = {
    "search-memory": [
        {"tool": found("refund policy", 2, REFUND)},
        only(f"According to memory: {REFUND}"),
    ],
    "parallel-tools": [
        {"tool": found("refund policy", 2, REFUND)},
        {"tool": {"name": "ls", "input": {"path": "."}}},
        {"tool": found("shipping time", 4, SHIPPING)},
        only("Parallel calls done: 3 results."),
    ],
    "tool-error": [
        {
            "tool": {
                "name": "read",
                "input": {"file_path": "/nonexistent/does-not-exist.txt"},
                "isError": True,
            }
        },
        only(f"The tool failed: {MISSING}"),
    ],
    "ask-user": [
        {"card": {"type": "question", **ASKED}},
        {"tool": {"name": "ask_user", "input": ASKED}},
    ],
    "approval": [
        {
            "card": {
                "type": "tool-approval",
                "mcpId": "lobu-memory",
                "toolName": "save_memory",
                "args": SAVED,
            }
        },
        {"tool": {"name": "save_memory", "input": SAVED, "result_summary": {"error": GATED}}},
        only(f"Result of the gated call: {GATED}"),
    ],
    "model-error-400": [{"error": "400 Bad request", "session_failed": True}],
    "worker-spawn-crash": [{"error": CRASH}],
}


def without_ids_and_times(body: str) -> str:
    body = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", body)
    body = re.sub(r"call_\w+", "CALL", body)
    return re.sub(r'"timestamp":\d{13}', '"timestamp":0', body)


@pytest.mark.parametrize("name", sorted(TURNS))
async def test_the_script_of_a_recorded_turn_sends_its_bytes(
    connect_in_process: Connect, name: str
) -> None:
    recorded = (RECORDINGS / f"{name}.sse").read_text("utf-8")
    agent = re.findall(r'"agentId":"(.+?)"', recorded)[0]
    steps = [*TURNS[name], {"eof": True}]
    if "error" not in TURNS[name][0]:
        steps.insert(-1, {"complete": {}})
    async with connect_in_process({"replies": [{"steps": steps}]}) as caller:
        await caller.create(agentId=agent)
        async with caller.events() as reader:
            await caller.say("go")
            sent = (await reader.rest()).decode()
    until_ping = recorded.partition("event: ping")[0]
    assert without_ids_and_times(sent) == without_ids_and_times(until_ping)
