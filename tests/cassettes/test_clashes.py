"""Two rows that tell the agent the same and get something else: never green when replayed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.cassettes.conftest import Suite

pytestmark = pytest.mark.anyio


def in_run(run: str, **more: Any) -> dict[str, Any]:
    return {"vars": {"transcript": [["hello"]]}, "evaluationId": run, **more}


async def test_two_providers_that_answer_otherwise_in_one_run_are_an_error_and_not_replayed(
    suite: Suite,
) -> None:
    suite.script({"steps": [{"error": "400 no"}]})
    assert (await suite.call("record", context=in_run("r1")))["metadata"]["error"]["code"] == (
        "provider"
    )
    suite.script({"steps": [{"text": "Fine.", "delay_ms": 0}]})
    second = await suite.call("record", context=in_run("r1"))
    assert second["error"].startswith("[cassette] This run recorded another conversation for")
    assert suite.file.name in second["error"]
    assert "'cassetteSet'" in second["error"]
    assert second["output"] == "Fine.", "what was said is kept"
    replayed = await suite.call("replay", context=in_run("r2"))
    assert replayed["error"].startswith("[cassette] ")
    assert "one run recorded two different conversations for it" in replayed["error"]
    again = await suite.call("record", context=in_run("r3"))
    assert "error" not in again, "another run records it anew"
    assert (await suite.call("replay", "hello"))["output"] == "Fine."


async def test_a_failure_that_follows_a_success_is_not_replayed_as_one(suite: Suite) -> None:
    await suite.call("record", context=in_run("r1"))
    suite.script({"steps": [{"error": "400 no"}]})
    second = await suite.call("record", context=in_run("r1"))
    assert second["metadata"]["error"]["code"] == "provider"
    assert any("recorded another conversation" in one for one in second["metadata"]["warnings"])
    assert (await suite.call("replay", "hello"))["metadata"]["error"]["code"] == "cassette"


async def test_the_same_message_twice_on_a_pinned_thread_is_an_error_where_answers_differ(
    suite: Suite,
) -> None:
    suite.script({"steps": [{"text": "{{turn}}", "delay_ms": 0}]})
    first = await suite.call("record", context=in_run("r1"), thread="t-1")
    second = await suite.call("record", context=in_run("r1"), thread="t-1")
    assert (first["output"], second["output"]) == ("1", "2")
    assert "error" not in first
    assert second["metadata"]["error"]["code"] == "cassette"
    assert "'conversationId'" in second["error"]
    metadata = {"metadata": {"conversationId": "c"}}
    calls: list[Any] = []
    for said in ("1", "2"):
        variables = {"transcript": [["hi"]], "_conversation": calls}
        told = in_run("r1", vars=variables, test=metadata)
        row = await suite.call("record", context=told, thread="t-2")
        assert (row["output"], row.get("error")) == (said, None), "what was said before is known"
        calls = [{"output": row["output"], "metadata": row["metadata"]}]


@pytest.mark.parametrize("framing", ["lf", "crlf"])
async def test_the_same_behaviour_in_other_pieces_is_no_clash(suite: Suite, framing: str) -> None:
    tool = {"tool": {"name": "t", "input": {"a": 1}}}
    for pieces in (1, 3):
        answer = {"text": "Hello there.", "deltas": pieces, "delay_ms": 0}
        suite.script({"steps": [tool, answer]}, framing=framing)
        row = await suite.call("record", context=in_run("r1"))
        assert "error" not in row


async def test_of_workers_that_record_otherwise_at_once_all_but_one_are_told(suite: Suite) -> None:
    async def record(number: int) -> dict[str, Any]:
        (suite.folder / f"s{number}.json").write_text(
            f'{{"version": 1, "replies": [{{"steps": [{{"text": "{number}", "delay_ms": 0}}]}}]}}'
        )
        return await suite.call("record", context=in_run("r1"), gateway=f"script:s{number}.json")

    rows = await asyncio.gather(*(record(number) for number in range(6)))
    assert sum("error" in row for row in rows) == 5
    assert [path.name for path in suite.cassettes.iterdir()] == [suite.file.name]
    assert (await suite.call("replay", "hello"))["metadata"]["error"]["code"] == "cassette"
