"""Whichever door a call comes in by, the response is the same, but for times and ids."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import lobu_provider
from lobu_provider import LobuProvider
from tests.wire.wire_gateway import TOKEN, WireGateway
from tests.wire.wire_recordings import STREAMS, Recording

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HOOK = Path(lobu_provider.__file__).parent / "hook" / "lobu_hook.py"

TRANSIENT = {"latencyMs", "firstTextMs", "timestamp"}
_IDS = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(req|call|toolu|q|msg|tool)[-_][\w-]+|[0-9a-f]{16,}"
)

TEXT = {"text": "so far"}
STEPS: dict[str, list[Any]] = {
    "text in deltas": [{"text": "a b c d", "deltas": 4}],
    "text replaced": [{"text": "final", "deltas": ["draft"]}],
    "any text": [{"text": "\u2028 🦉 \x00 Grüße"}],
    "tool calls": [{"tool": {"name": "a", "input": {"x": [1.5, None]}}}, TEXT],
    "tool failed": [{"tool": {"name": "a", "input": {}, "isError": True}}, TEXT],
    "tool without an id": [{"tool": {"name": "a", "input": {}, "toolCallId": None}}, TEXT],
    "retrieval": [
        {
            "tool": {
                "name": "search_memory",
                "input": {"query": "q"},
                "result_summary": {"snippets": ["one", "two"]},
            }
        },
        TEXT,
    ],
    "big numbers": [{"tool": {"name": "a", "input": {"big": 2**60, "small": -1e-300}}}, TEXT],
    "deep": [{"tool": {"name": "a", "input": json.loads('{"a":' * 150 + "1" + "}" * 150)}}, TEXT],
    "question": [{"card": {"type": "question", "question": "Which?", "options": ["1", "2"]}}],
    "approval": [{"card": {"type": "tool-approval", "toolName": "save_memory"}}, TEXT],
    "link": [{"card": {"type": "link-button", "url": "https://x.example"}}, TEXT],
    "suggestion": [
        {"card": {"type": "suggestion", "prompts": [{"title": "a", "message": "b"}]}},
        TEXT,
    ],
    "unknown event": [{"event": "novelty", "data": {"a": 1}}, TEXT],
    "unreadable event": [{"raw": "event: output\ndata: {\n\n"}, TEXT],
    "comment": [{"raw": ": comment\n\n"}, TEXT],
    "status": [{"status": "Working"}, TEXT],
    "error": [TEXT, {"error": "The model said no", "code": "PROVIDER_ERROR"}],
    "error 429": [{"error": "429 rate limit exceeded"}],
    "session failed": [{"error": "worker died", "session_failed": True}],
    "notice": [{"ephemeral": "Sign in: https://x.example"}],
    "empty": [],
    "no final text": [TEXT, {"complete": {"finalText": None}}],
    "stream ends": [TEXT, {"eof": True}],
    "stream breaks": [TEXT, {"reset": True}],
    "stream forgets": [TEXT, {"eof": True, "forget": True}],
}
FAULTS: dict[str, dict[str, Any]] = {
    **{
        f"{where} {status}": {where: {"status": status, "body": {"error": f"no: {status}"}}}
        for where in ("create", "events", "delete")
        for status in (400, 401, 403, 404, 409, 429, 500, 503)
    },
    "create reset": {"create": {"reset": True}},
    "create html": {"create": {"status": 502, "body": "<html>bad gateway</html>"}},
    "wrong agent": {"agents": ["another"]},
    "wrong token": {"token": "another"},
    "wrong organisation": {"orgs": ["another"]},
}
HTTP: dict[str, dict[str, Any]] = {
    f"message {status}": {"status": status, "body": {"error": f"no: {status}"}}
    for status in (400, 401, 403, 404, 429, 500, 503)
}


def cases(folder: Path) -> dict[str, dict[str, Any]]:
    """Every case by its name: what a provider is made with and called with."""
    made: dict[str, dict[str, Any]] = {}

    def add(name: str, gateway: str, prompt: str = "hello", **more: Any) -> None:
        config = {"agent": "support-agent", "gateway": gateway, **more.pop("config", {})}
        options = {"id": "lobu", "config": config, "env": more.pop("env", {})}
        context = {"vars": {}, "test": {"vars": {}}, "repeatIndex": 0, **more}
        made[name] = {"options": options, "prompt": prompt, "context": context}

    def script(name: str, **keys: Any) -> str:
        path = folder / f"{len(made)}.json"
        path.write_text(json.dumps({"version": 1, **keys}), encoding="utf-8")
        return f"script:{path}"

    for flavour in ("u11", "f11", "n"):
        for name, steps in STEPS.items():
            if flavour == "f11" or "error" in name or "stream" in name:
                replies = [{"steps": steps}]
                limit = {"timeoutMs": 3000} if "stream" in name else {}  # it is waited for again
                path = script(name, flavour=flavour, replies=replies)
                add(f"{name}, {flavour}", path, config=limit)
    for name, fault in FAULTS.items():
        add(name, script(name, replies=[{"steps": [TEXT]}], **fault), config={"org": "ours"})
    for name, http in HTTP.items():
        add(name, script(name, replies=[{"http": http}]))
    for prompt in ("How do refunds work?", "Where is my parcel?", "Just guess", "no entry", " "):
        add(f"demo: {prompt}", "script:demo", prompt)
    chat = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Just guess"}]
    add("chat", "script:demo", json.dumps(chat))
    turns = ["I want to return order 17.", "", "Yes, please refund it."]
    add("transcript", "script:demo", "", vars={"transcript": turns})
    add("second turn fails", "script:demo", "", vars={"transcript": ["hello", "no entry for it"]})
    add("split transcript", "script:demo", "", vars={"transcript": "one of them"})
    add(
        "pinned thread",
        "script:demo",
        "hello",
        config={"thread": "t-1"},
        test={"vars": {}, "metadata": {"conversationId": 7}},
    )
    add("unknown key", "script:demo", config={"agnet": "x"})
    add("wrong type", "script:demo", config={"timeoutMs": "soon"})
    slow = script("slow", replies=[{"steps": [TEXT, {"delay_ms": 60_000}]}])
    add("no time", slow, config={"timeoutMs": 6000})
    tools: list[Any] = [{"tool": {"name": name, "input": {}}} for name in ("a", "b")]
    path = script("too many tools", replies=[{"steps": [*tools, TEXT]}])
    add("too many tools", path, config={"maxToolCalls": 1})
    add("stopped at a tool", path, config={"stopOnTool": "a"})
    add("no script", "script:no-such-file.json")
    add("nobody there", "http://127.0.0.1:9", env={"LOBU_TOKEN": "canary-0123456789"})
    add("no token", "http://127.0.0.1:9")
    add("token from env", "script:demo", config={"tokenEnv": "T"}, env={"T": "canary-0123456789"})
    add("no agent", "script:demo", config={"agent": None})
    return made


def lasting(value: Any) -> Any:
    """The same value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in TRANSIENT}
    if isinstance(value, list):
        return [lasting(item) for item in value]
    return _IDS.sub("ID", value) if isinstance(value, str) else value


def through_the_class(given: list[dict[str, Any]]) -> list[Any]:
    async def all_of_them() -> list[Any]:
        calls = [LobuProvider(c["options"]).call_api(c["prompt"], c["context"]) for c in given]
        return list(await asyncio.gather(*calls))

    return asyncio.run(all_of_them())


CALL_THE_HOOK = """
import importlib.util, json, sys
from lobu_provider import outage, repeating
repeating.WAITS_S = outage.FIRST_WAITS_S = (0.0, 0.0)  # its calls are made one after the other
spec = importlib.util.spec_from_file_location("lobu_hook", sys.argv[1])
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
given = json.load(sys.stdin)
print(json.dumps([hook.call_api(c["prompt"], c["options"], c["context"]) for c in given]))
"""


def run(command: list[str], given: list[dict[str, Any]]) -> list[Any]:
    done = subprocess.run(
        command,
        input=json.dumps(given),
        env={**os.environ, "LOBU_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    responses: list[Any] = json.loads(done.stdout)
    return responses


def through_the_hook(given: list[dict[str, Any]]) -> list[Any]:
    return run([sys.executable, "-c", CALL_THE_HOOK, str(HOOK)], given)


def through_the_package(given: list[dict[str, Any]]) -> list[Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on PATH")
    package = ROOT / "node_shim" / "index.js"
    return run([node, str(HERE / "doors.mjs"), package.as_uri()], given)


DOORS = {
    "class": through_the_class,
    "hook": through_the_hook,
    "package": through_the_package,
}


def test_every_case_gives_the_same_response_through_every_door(tmp_path: Path) -> None:
    named = cases(tmp_path)
    doors = {door: through(list(named.values())) for door, through in DOORS.items()}
    by_case = {
        door: {name: lasting(response) for name, response in zip(named, responses, strict=True)}
        for door, responses in doors.items()
    }
    assert by_case["hook"] == by_case["class"]
    assert by_case["package"] == by_case["class"]
    codes = {r["metadata"]["error"]["code"] for r in doors["package"] if "error" in r}
    assert len(codes) >= 10  # the cases are what they are meant to be
    assert sum("error" not in response for response in doors["package"]) >= 20


def test_every_recording_gives_the_same_response_through_every_door() -> None:
    async def through_all() -> dict[str, list[Any]]:
        found = {}
        for door, through in DOORS.items():
            async with AsyncExitStack() as stack:
                given = [await recorded(stack, name) for name in STREAMS]
                found[door] = lasting(await asyncio.to_thread(through, given))
        return found

    doors = asyncio.run(through_all())
    by_name = {door: dict(zip(STREAMS, told, strict=True)) for door, told in doors.items()}
    assert by_name["hook"] == by_name["class"]
    assert by_name["package"] == by_name["class"]
    assert sum("error" not in response for response in doors["class"]) >= 20


async def recorded(stack: AsyncExitStack, name: str) -> dict[str, Any]:
    """Serve a recording on a socket of its own; return the call that goes through it."""
    recording = Recording(name)
    gateway = await stack.enter_async_context(WireGateway(recording.answers()))
    config = {"agent": "support-agent", "gateway": gateway.url}
    transcript = [message.content for message in recording.messages]
    return {
        "options": {"id": "lobu", "config": config, "env": {"LOBU_TOKEN": TOKEN}},
        "prompt": "",
        "context": {"vars": {"transcript": [transcript]}, "test": {"vars": {}}},
    }
