"""Many at once, aborts, odd threads, spans: what goes on around a cassette."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import anyio
import pytest

from lobu_provider import LobuProvider
from lobu_provider.abort import Abort
from lobu_provider.cassettes.key import CassetteKey
from lobu_provider.cassettes.reading import read_cassette
from lobu_provider.cassettes.shelf import Shelf
from lobu_provider.cassettes.skipping_loop import run_skipping
from tests.cassettes.conftest import Suite
from tests.cassettes.equal_rows import comparable

pytestmark = pytest.mark.anyio


async def test_calls_of_one_process_are_recorded_and_replayed_at_once(suite: Suite) -> None:
    suite.script({"steps": [{"delay_ms": 5}, {"text": "heard: {{message}}", "delay_ms": 1}]})
    said = [f"message {number}" for number in range(20)]

    async def all_of_them(mode: str) -> list[Any]:
        return list(await asyncio.gather(*(suite.call(mode, message) for message in said)))

    live, replayed = await all_of_them("record"), await all_of_them("replay")
    assert [comparable(row) for row in replayed] == [comparable(row) for row in live]
    assert [row["output"] for row in replayed] == [f"heard: {message}" for message in said]


async def test_workers_that_record_the_same_conversation_leave_one_whole_file(
    suite: Suite,
) -> None:
    suite.script({"steps": [{"text": "x" * 50_000, "deltas": 1, "delay_ms": 0}]})
    rows = await asyncio.gather(*(suite.call("record", "hello") for _ in range(8)))
    assert not [row for row in rows if "error" in row]
    assert read_cassette(suite.file).requests
    assert [path.name for path in suite.cassettes.iterdir()] == [suite.file.name]


@pytest.mark.parametrize("mode", ["record", "replay"])
async def test_an_aborted_call_ends_and_leaves_the_cassette_that_was_there(
    suite: Suite, mode: str
) -> None:
    suite.script({"steps": [{"text": "So far", "delay_ms": 0}, {"complete": False}]})
    await suite.call("record", "hello", idleTimeoutMs=300)
    before = suite.file.read_bytes()
    config = {
        "agent": "support-agent",
        "gateway": "script:script.json",
        "basePath": str(suite.folder),
        "cassettes": "cassettes",
        "cassetteMode": mode,
        "cassetteSpeed": 0.001,
    }
    abort = Abort()
    calling = asyncio.create_task(
        LobuProvider({"config": config}).call_api("hello", {"vars": {}}, abort=abort)
    )
    with anyio.fail_after(20):
        await asyncio.sleep(0)
        abort.set()
        row = await calling
    assert row["metadata"]["error"]["code"] == "cancelled"
    assert suite.file.read_bytes() == before


async def test_a_session_whose_name_looks_like_a_path_is_replayed(suite: Suite) -> None:
    config: dict[str, Any] = {"thread": "t/1?since=x&y#z%41 a/events"}
    live = await suite.call("record", "hello", **config)
    assert live["output"] == "Hello there."
    replayed = await suite.call("replay", "hello", **config)
    assert comparable(replayed) == comparable(live)


async def test_spans_of_a_replay_begin_now_and_last_as_long_as_they_were_recorded(
    suite: Suite,
) -> None:
    suite.script({"steps": [{"delay_ms": 300}, {"text": "At last.", "delay_ms": 0}]})
    await suite.call("record", "hello")
    config = {
        "agent": "support-agent",
        "gateway": "script:script.json",
        "basePath": str(suite.folder),
        "cassettes": "cassettes",
        "cassetteMode": "replay",
    }
    context = {
        "vars": {"transcript": [["hello"]]},
        "traceparent": f"00-{'a' * 32}-{'b' * 16}-01",
    }
    begin_ns = time.time_ns()
    provider = LobuProvider({"config": config}, spans_in_response=True)
    row = await provider.call_api("", context)
    first = row["lobuSpans"]["spans"][0]
    start_ns, end_ns = (part[0] * 10**9 + part[1] for part in (first["start"], first["end"]))
    assert begin_ns - 10**6 <= start_ns <= time.time_ns()
    assert end_ns - start_ns >= 300 * 10**6


def test_a_clock_that_skips_keeps_the_order_of_timers_and_the_time_between_them() -> None:
    told: list[tuple[str, float]] = []

    async def main() -> None:
        async def nap(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            told.append((name, asyncio.get_running_loop().time()))

        await asyncio.gather(nap("hour", 3600), nap("second", 1), nap("day", 86_400 * 3))

    begin_s = time.monotonic()
    run_skipping(main, start_s=10.0)
    assert time.monotonic() - begin_s < 30
    assert [(name, round(at_s)) for name, at_s in told] == [
        ("second", 11),
        ("hour", 3610),
        ("day", 259_210),
    ]


def test_a_task_that_shields_itself_from_a_limit_does_not_stop_the_clock() -> None:
    async def main() -> float:
        with anyio.move_on_after(5):
            try:
                await anyio.sleep(60)
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(7)
        return asyncio.get_running_loop().time()

    assert run_skipping(main, start_s=0.0) == pytest.approx(12)


def test_the_nearest_cassette_has_the_longest_common_beginning(suite: Suite) -> None:
    suite.cassettes.mkdir()
    shelf = Shelf(suite.cassettes)
    for turns in (("a", "b", "c"), ("a", "x"), ("z",)):
        key = CassetteKey("support-agent", turns)
        line = json.dumps({"cassette": 1, **key.told()})
        shelf.save(shelf.place_for(key, "-".join(turns)), f"{line}\n")
    near = shelf.nearest(CassetteKey("support-agent", ("a", "b", "d")).told())
    assert near is not None
    assert near.path.name.startswith("a-b-c-")
    assert near.difference == 'turn 3 is "d" and was "c"'
