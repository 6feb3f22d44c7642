"""Canaries: what must not stand in a file that is committed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.cassettes.conftest import Suite
from tests.cassettes.equal_rows import comparable

pytestmark = pytest.mark.anyio

CANARY = "canary-of-the-user-7f3a91"


async def test_tokens_and_header_values_are_masked_wherever_they_stand(suite: Suite) -> None:
    leak = {"token": CANARY, "note": f"sent with Bearer {CANARY}", CANARY: 1}
    suite.script(
        {"steps": [{"tool": {"name": "t", "input": leak}}, {"text": CANARY, "delay_ms": 0}]}
    )
    live = await suite.call("record", "hello", tokenEnv="T", env={"T": CANARY})
    assert "error" not in live
    assert CANARY not in suite.file.read_text("utf-8")
    assert any("masked in the cassette" in warning for warning in live["metadata"]["warnings"])
    header = {"headers": {"X-Api-Key": CANARY}}
    await suite.call("record", f"my key is {CANARY}", **header)
    assert all(CANARY not in path.read_text("utf-8") for path in suite.files)
    assert all(CANARY not in path.name for path in suite.files)


async def test_what_looks_like_a_secret_is_masked_though_nobody_named_it(suite: Suite) -> None:
    told = "owl_pat_abcdefghij123456"
    suite.script({"steps": [{"text": f"The token is {told}.", "deltas": 1, "delay_ms": 0}]})
    await suite.call("record", "hello")
    assert told not in suite.file.read_text("utf-8")


async def test_patterns_and_paths_of_the_config_are_masked_and_the_replay_still_fits(
    suite: Suite,
) -> None:
    given = {"email": "a@b.c", "cards": [{"number": 4111}], "keep": "me"}
    suite.script(
        {"steps": [{"tool": {"name": "t", "input": given}}, {"text": "ok", "delay_ms": 0}]}
    )
    rules = [r"\d{4} \d{4}", "$.input.email", "$..number"]
    live = await suite.call("record", "card 1234 5678", cassetteRedact=rules)
    text = suite.file.read_text("utf-8")
    assert "1234 5678" not in text
    assert "a@b.c" not in text
    assert "4111" not in text
    replayed = await suite.call("replay", "card 1234 5678", cassetteRedact=rules)
    (call,) = replayed["metadata"]["toolCalls"]
    assert call["input"] == {"email": "***", "cards": [{"number": "***"}], "keep": "me"}
    assert comparable(replayed, without=["toolCalls"]) == comparable(live, without=["toolCalls"])


@pytest.mark.parametrize("rule", [r"\d+", ".", "message|call|thread"])
async def test_a_pattern_that_fits_ids_leaves_them_apart(suite: Suite, rule: str) -> None:
    suite.script({"steps": [{"tool": {"name": "t"}}, {"tool": {"name": "t"}}, {"text": "x"}]})
    live = await suite.call("record", "hello", cassetteRedact=[rule])
    replayed = await suite.call("replay", "hello", cassetteRedact=[rule])
    calls: list[dict[str, Any]] = replayed["metadata"]["toolCalls"]
    assert len(calls) == len(live["metadata"]["toolCalls"]) == 2


@pytest.mark.parametrize("framing", ["lf", "crlf"])
async def test_a_secret_that_streaming_cuts_is_masked_in_its_pieces(
    suite: Suite, framing: str
) -> None:
    said = f"The key is {CANARY}, and the card 1234 5678."
    suite.script({"steps": [{"text": said, "deltas": 7, "delay_ms": 0}]}, framing=framing)
    config: dict[str, Any] = {"tokenEnv": "T", "cassetteRedact": [r"\d{4} \d{4}"]}
    live = await suite.call("record", "hello", env={"T": CANARY}, **config)
    pieces = [
        found
        for line in suite.file.read_text("utf-8").splitlines()[1:-1]
        for found in re.findall(r'\\?"content\\?": ?\\?"([^"\\]*)', line)
    ]
    assert len(pieces) > 2
    assert "".join(pieces[1:]) == "The key is ***, and the card ***."
    assert any("masked in the cassette" in warning for warning in live["metadata"]["warnings"])
    replayed = await suite.call("replay", "hello")
    assert "error" not in replayed


async def test_ids_and_times_are_masked_in_the_last_line_too_and_stay_apart(suite: Suite) -> None:
    def call(number: int) -> dict[str, Any]:
        given = {"thread": f"{CANARY}-{number}", "timestamp": 4111, "requestId": f"ssn-12{number}"}
        return {"tool": {"name": "t", "input": given}}

    suite.script({"steps": [call(1), call(2), {"text": "ok", "delay_ms": 0}]})
    rules = ["$.input.thread", "$.input.timestamp", r"ssn-\d+"]
    live = await suite.call("record", "hello", cassetteRedact=rules)
    text = suite.file.read_text("utf-8")
    assert CANARY not in text
    assert "4111" not in text
    assert "ssn-12" not in text
    assert any("masked in the cassette" in warning for warning in live["metadata"]["warnings"])
    replayed = await suite.call("replay", "hello", cassetteRedact=rules)
    first, second = (one["input"] for one in replayed["metadata"]["toolCalls"])
    assert first["timestamp"] == second["timestamp"] == "***"
    assert first["thread"].startswith("***")
    assert first["thread"] != second["thread"]


@pytest.mark.parametrize(
    "raw",
    [
        'event: tool_use\r\ndata: {"name": "t", "input": {"email": "a@b.c", "keep": 1}}\r\n\r\n',
        'event:tool_use\ndata:{"name":"t","input":{"email":"a@b.c","keep":1}}\n\n',
        'event: tool_use\ndata: {"name":"t","input":{"email":"a@b.c","keep":1e0}}\n\n',
        'event: tool_use\ndata: {"name":"t",\ndata: "input":{"email":"a@b.c","keep":1}}\n\n',
        'event: tool_use\ndata: {"name":"t","input":{"email":"a@b.c","email":"x","keep":1}}\n\n',
    ],
)
async def test_paths_reach_frames_that_are_kept_as_text(suite: Suite, raw: str) -> None:
    suite.script({"steps": [{"raw": raw}, {"text": "ok", "delay_ms": 0}]})
    live = await suite.call("record", "hello", cassetteRedact=["$.input.email"])
    assert [one["input"]["keep"] for one in live["metadata"]["toolCalls"]] == [1]
    assert "a@b.c" not in suite.file.read_text("utf-8")
    replayed = await suite.call("replay", "hello")
    assert [one["input"] for one in replayed["metadata"]["toolCalls"]] == [
        {"email": "***", "keep": 1}
    ]
