"""Canaries: what must not stand in a file that is committed."""

from __future__ import annotations

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
