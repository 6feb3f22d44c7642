"""Cassettes from raw recordings, and scripts from cassettes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from lobu_provider import LobuProvider
from lobu_provider.cassettes.reading import read_cassette
from lobu_provider.drift.comparison import differences
from lobu_provider.drift.raw_recordings import RawFault, imported
from lobu_provider.drift.scripts import script_of
from lobu_provider.drift.told_turns import told_by
from lobu_provider.scripted_gateway.script import parse_script
from tests.cassettes.conftest import Suite
from tests.wire.wire_recordings import FOLDER, Recording

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_network")]

OF_THE_KEY = ("model", "provider", "dryRun", "thread")
NAMES = sorted(
    path.stem
    for path in FOLDER.glob("*.json")
    if not path.stem.startswith("reference-") and path.stem != "http-errors"
)


@pytest.mark.parametrize("name", NAMES)
async def test_a_recording_of_a_real_gateway_is_imported_and_replayed(
    name: str, tmp_path: Path
) -> None:
    cassette = read_cassette(imported(FOLDER / f"{name}.json", tmp_path / "c").path)
    config: dict[str, Any] = {
        "agent": cassette.about["agent"],
        "basePath": str(tmp_path),
        "cassettes": "c",
        "cassetteMode": "replay",
        **{key: cassette.about[key] for key in OF_THE_KEY if key in cassette.about},
    }
    streams = sorted(FOLDER.glob(f"{name}.sse")) or sorted(FOLDER.glob(f"{name}.*.sse"))
    recording = Recording(streams[-1].stem)
    turns = list(cassette.about["turns"])
    assert turns == list(dict.fromkeys(message.content for message in recording.messages))
    context = {"vars": {"transcript": [turns]}}
    row = await LobuProvider({"config": config}).call_api("", context)
    code = row["metadata"].get("error", {}).get("code")
    assert code not in ("cassette", "internal", "timeout"), row["error"]
    assert row["metadata"]["cassette"]["mode"] == "replayed"
    told = json.dumps(row["metadata"]["toolCalls"])
    for frame in recording.frames:
        name_of_event, _, data = frame.partition(b"\ndata: ")
        if name_of_event == b"event: tool_use":
            assert json.loads(data)["toolCallId"] in told


def test_what_is_no_recording_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("[]")
    with pytest.raises(RawFault, match="it is no recording"):
        imported(tmp_path / "odd.json", tmp_path)
    with pytest.raises(RawFault, match="no session that was created"):
        imported(FOLDER / "http-errors.json", tmp_path)


@pytest.mark.parametrize(
    "steps",
    [
        [{"tool": {"name": "t", "input": {"a": 1}}}, {"text": "Found, here.", "delay_ms": 0}],
        [
            {"tool": {"name": "t", "isError": True, "result_summary": {"error": "no"}}},
            {"text": "x"},
        ],
        [{"card": {"type": "question", "question": "Sure?", "options": ["Yes"]}}],
        [
            {"card": {"type": "tool-approval", "mcpId": "hotel", "toolName": "book_room"}},
            {"text": "I asked."},
        ],
        # of a gateway that words its cards otherwise
        [{"event": "tool-approval", "data": {"type": "tool-approval", "tool": "book_room"}}],
        [{"event": "question", "data": {"type": "question", "prompt": "Sure?"}}],
        [{"ephemeral": "Sign in."}],
        [{"error": "400 Bad request"}],
        [{"text": "Half"}, {"complete": False}],
        [{"tool": {"name": "t"}}, {"complete": {"finalText": ""}}],
    ],
)
@pytest.mark.parametrize("flavour", ["u11", "f11"])
async def test_the_script_of_a_cassette_behaves_as_its_agent_did(
    suite: Suite, steps: list[Any], flavour: str
) -> None:
    suite.script({"steps": steps}, flavour=flavour)
    await suite.call("record", "Go on.", idleTimeoutMs=300, cassettes="one")
    (first,) = (suite.folder / "one").glob("*.jsonl")
    script = await anyio.to_thread.run_sync(script_of, read_cassette(first))
    parse_script(script)
    (suite.folder / "script.json").write_text(json.dumps(script), "utf-8")
    await suite.call("record", "Go on.", idleTimeoutMs=300, cassettes="two")
    (second,) = (suite.folder / "two").glob("*.jsonl")
    told = [
        await anyio.to_thread.run_sync(told_by, read_cassette(path)) for path in (first, second)
    ]
    assert differences(told[0], told[1], with_text=True) == []
