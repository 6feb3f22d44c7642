"""What is recorded is replayed to the same row, by the same code, without a network."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lobu_provider import outage
from lobu_provider.event_loop import run
from lobu_provider.scripted_gateway import script as packaged
from tests.cassettes.conftest import Suite
from tests.cassettes.equal_rows import comparable, shown

pytestmark = pytest.mark.anyio

DEMO = Path(packaged.__file__).parent / "scripts" / "demo.json"


async def both(
    suite: Suite, *messages: str, **config: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    live = await suite.call("record", *messages, **config)
    return live, await suite.call("replay", *messages, **config)


STEPS = st.one_of(
    st.builds(lambda text: {"text": text, "delay_ms": 0}, st.text(max_size=60)),
    st.builds(
        lambda name, given: {"tool": {"name": name, "input": given}},
        st.text(min_size=1, max_size=9),
        st.dictionaries(st.text(max_size=5), st.integers() | st.floats() | st.text(max_size=9)),
    ),
    st.just({"tool": {"name": "lookup", "isError": True, "toolCallId": None}}),
    st.builds(lambda text: {"card": {"type": "question", "question": text}}, st.text(max_size=9)),
    st.builds(lambda text: {"raw": text}, st.sampled_from([": hm\n\n", "data: <<message-1>>\n\n"])),
    st.just({"status": "Working"}),
    st.just({"delay_ms": 3}),
    st.just({"eof": True}),
    st.just({"reset": True}),
    st.just({"event": "odd", "data": {"timestamp": "<<time>>", "note": "<<message-1>>"}}),
)
ENDS = st.sampled_from([[], [{"error": "400 no"}], [{"complete": {"finalText": ""}}]])


@given(
    turns=st.lists(st.tuples(st.lists(STEPS, max_size=6), ENDS), min_size=1, max_size=3),
    flavour=st.sampled_from(["u11", "f11", "n"]),
    framing=st.sampled_from(["lf", "crlf", "cr"]),
    chunk=st.none() | st.integers(1, 40),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_script_does_its_replay_is_the_same_row(
    tmp_path_factory: pytest.TempPathFactory,
    turns: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]],
    flavour: str,
    framing: str,
    chunk: int | None,
) -> None:
    suite = Suite(tmp_path_factory.mktemp("suite"))
    replies = [
        {"turn": number, "steps": [*steps, *end]} for number, (steps, end) in enumerate(turns, 1)
    ]
    suite.script(
        *replies, flavour=flavour, framing=framing, **({"chunk_bytes": chunk} if chunk else {})
    )
    said = [f"message {number}" for number in range(len(turns))]
    with pytest.MonkeyPatch.context() as patch:  # else a lost stream costs seconds
        patch.setattr(outage, "WAITS_S", (0.0,) * len(outage.WAITS_S))
        patch.setattr(outage, "FIRST_WAITS_S", (0.0, 0.0))
        live, replayed = run(both(suite, *said, idleTimeoutMs=1500))
    assert shown(comparable(replayed)) == shown(comparable(live))


@pytest.mark.parametrize(
    "messages",
    [
        ["Hello, are you there?"],
        ["How do refunds work here?"],
        ["I want to return order 17.", "Yes, please refund it."],
        ["When exactly will my refund for order 99 arrive? Just guess.", "Guess!"],
    ],
)
@pytest.mark.usefixtures("no_network")
async def test_the_demo_replays_without_a_network_a_token_or_a_script(
    suite: Suite, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    live, replayed = await both(suite, *messages, gateway="script:demo")
    assert live["metadata"]["cassette"]["mode"] == "recorded"
    assert comparable(replayed) == comparable(live)
    away = await suite.call("replay", *messages, gateway="https://gateway.invalid")
    assert comparable(away, without=["gatewaySessionId"]) == comparable(
        live, without=["gatewaySessionId"]
    )


@pytest.mark.usefixtures("no_network")
async def test_a_hundred_cases_replay_to_their_rows(suite: Suite) -> None:
    suite.script(
        {
            "match": "odd",
            "steps": [
                {"tool": {"name": "look_up"}},
                {"text": "You said {{message}}", "delay_ms": 0},
            ],
        },
        {"steps": [{"text": "{{turn}}: {{message}}", "delay_ms": 0}]},
    )
    cases = [
        [f"case {n} is {'odd' if n % 2 else 'even'}, turn {t}" for t in range(1 + n % 3)]
        for n in range(100)
    ]
    live = [await suite.call("record", *case) for case in cases]
    assert len(suite.files) == 100
    replayed = [await suite.call("replay", *case) for case in cases]
    assert [comparable(row) for row in replayed] == [comparable(row) for row in live]


async def test_the_row_tells_which_cassette_and_when_it_was_recorded(suite: Suite) -> None:
    live, replayed = await both(
        suite, "hello", context={"test": {"description": "Greets a customer"}}
    )
    told = live["metadata"]["cassette"]
    assert told["file"] == f"cassettes/{suite.file.name}"
    assert suite.file.name.startswith("greets-a-customer-")
    assert replayed["metadata"]["cassette"] == {**told, "mode": "replayed"}


async def test_waits_are_skipped_and_told_as_they_were(suite: Suite) -> None:
    suite.script({"steps": [{"delay_ms": 400}, {"text": "At last.", "delay_ms": 0}]})
    live, replayed = await both(suite, "hello")
    assert replayed["metadata"]["turns"][0]["latencyMs"] >= 400
    assert replayed["latencyMs"] <= live["latencyMs"]


async def test_a_limit_that_ran_out_runs_out_again_without_the_wait(suite: Suite) -> None:
    suite.script({"steps": [{"text": "Half", "delay_ms": 0}, {"complete": False}]})
    config: dict[str, Any] = {"idleTimeoutMs": 300}
    live, replayed = await both(suite, "hello", **config)
    assert live["error"].startswith("[timeout] No event of the turn came for 0.3 s")
    assert comparable(replayed) == comparable(live)
    # A limit that would take an hour takes no time either, so the clock is not the real one.
    begin_s = time.monotonic()
    config = {"idleTimeoutMs": 3_600_000, "timeoutMs": 3_600_000}
    longer = await suite.call("replay", "hello", **config)
    assert longer["metadata"]["error"]["code"] == "timeout"
    assert time.monotonic() - begin_s < 60


async def test_retries_are_replayed_with_every_attempt(suite: Suite) -> None:
    suite.script(
        {"once": True, "steps": [{"error": "Worker crashed"}]},
        {"steps": [{"text": "Fine.", "delay_ms": 0}]},
    )
    live, replayed = await both(suite, "hello", retries=1)
    assert comparable(replayed) == comparable(live)


async def test_two_recordings_of_the_same_behaviour_differ_in_the_last_line_alone(
    suite: Suite,
) -> None:
    suite.script({"steps": [{"tool": {"name": "t"}}, {"text": "Hello you.", "delay_ms": 0}]})
    await suite.call("record", "hello")
    first = suite.file.read_text("utf-8").splitlines()
    await suite.call("record", "hello")
    second = suite.file.read_text("utf-8").splitlines()
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]


async def test_repeats_and_sets_have_cassettes_of_their_own(suite: Suite) -> None:
    await suite.call("record", "hello")
    await suite.call("record", "hello", context={"repeatIndex": 1})
    await suite.call("record", "hello", cassetteSet="staging")
    assert len(suite.files) == 3
    assert [path.parent.name for path in suite.files].count("staging") == 1


async def test_a_conversation_that_goes_on_is_known_by_what_was_said_before(suite: Suite) -> None:
    suite.script({"steps": [{"text": "{{turn}}", "delay_ms": 0}]})
    context: dict[str, Any] = {"test": {"metadata": {"conversationId": "c"}}, "vars": {}}

    async def hold(mode: str) -> list[Any]:
        calls: list[Any] = []
        for message in ("one", "again", "again"):
            told = {**context, "vars": {"_conversation": calls, "transcript": [[message]]}}
            row = await suite.call(mode, context=told)
            calls = [*calls, {"output": row["output"], "metadata": row["metadata"]}]
        return [call["output"] for call in calls]

    live = await hold("record")
    assert live == ["1", "2", "3"]
    assert len(suite.files) == 3
    assert await hold("replay") == live


async def test_the_recorded_time_can_be_kept(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.script({"steps": [{"delay_ms": 300}, {"text": "At last.", "delay_ms": 0}]})
    live = await suite.call("record", "hello")
    begin_s = time.monotonic()
    replayed = await suite.call("replay", "hello", cassetteSpeed=2)
    assert time.monotonic() - begin_s >= 0.15, "half of the recorded time at least"
    assert comparable(replayed) == comparable(live)


async def test_a_cassette_is_json_that_reads_like_the_conversation(suite: Suite) -> None:
    await suite.call("record", "hello")
    lines = [json.loads(line) for line in suite.file.read_text("utf-8").splitlines()]
    assert lines[0]["turns"] == ["hello"]
    assert [line["request"].split("/")[0] for line in lines if "request" in line] == [
        "POST ",
        "GET ",
        "POST ",
        "DELETE ",
    ]
    assert "".join(x["data"]["content"] for x in lines if x.get("event") == "output") == (
        "Hello there."
    )
    assert list(lines[-1]) == ["recorded"]
