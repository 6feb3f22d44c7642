"""What changed between two recordings of the same conversations, and nothing else."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any
from xml.etree import ElementTree as Xml

import anyio
import pytest

from lobu_provider import LobuProvider
from lobu_provider.drift.folders import CaseDrift, drift_of_folders
from lobu_provider.drift.reports import junit, table
from lobu_provider.scripted_gateway.gateway import ScriptedGateway
from lobu_provider.scripted_gateway.script import parse_script
from lobu_provider.scripted_gateway.transport import ScriptedTransport
from tests.cassettes.conftest import Suite

pytestmark = pytest.mark.anyio

CALL = {"tool": {"name": "look_up", "input": {"id": 1, "of": "a"}}}
SAY = {"text": "Found it.", "delay_ms": 0}
CARD = {"card": {"type": "question", "question": "Sure?", "options": ["Yes", "No"]}}


async def folders(suite: Suite, old: str = "old", new: str = "new", **more: Any) -> list[CaseDrift]:
    """In a thread: a replay has an event loop of its own."""
    compare = partial(drift_of_folders, suite.folder / old, suite.folder / new, **more)
    return await anyio.to_thread.run_sync(compare)


async def drift(
    suite: Suite, before: list[Any], after: list[Any], **more: Any
) -> list[tuple[Any, ...]]:
    case = await compared(suite, before, after, **more)
    return [(d.turn, d.field, d.old, d.new) for d in case.differences]


async def compared(suite: Suite, before: list[Any], after: list[Any], **more: Any) -> CaseDrift:
    for folder, steps in (("old", before), ("new", after)):
        suite.script({"turn": 1, "steps": steps}, {"steps": [SAY]})
        row = await suite.call("record", "Find it.", "Thanks.", cassettes=folder)
        assert row["metadata"]["cassette"]["mode"] == "recorded"
    (case,) = await folders(suite, **more)
    return case


async def test_the_same_behaviour_is_no_drift_though_ids_times_and_words_are_others(
    suite: Suite,
) -> None:
    reordered = {"tool": {"name": "look_up", "input": {"of": "a", "id": 1}}}
    other_words = {"text": "There it is, found.", "delay_ms": 0}
    asked = {"card": {"type": "question", "question": "Are you?", "options": ["Yes", "No"]}}
    assert await drift(suite, [CALL, CARD, SAY], [reordered, asked, other_words]) == []


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([SAY], (1, "tools", "look_up", "-")),
        ([CALL, CALL, SAY], (1, "tools", "look_up", "look_up, look_up")),
        (
            [{"tool": {"name": "look_up", "input": {"id": 2, "of": "a"}}}, SAY],
            (1, "arguments", 'look_up {"id": 1, "of": "a"}', 'look_up {"id": 2, "of": "a"}'),
        ),
        (
            [{"tool": {**CALL["tool"], "isError": True}}, SAY],
            (1, "tool error", "look_up ok", "look_up failed"),
        ),
        (
            [CALL, {"card": {"type": "link-button", "url": "https://x.example"}}, SAY],
            (1, "cards", "-", 'link-button {"type": "link-button", "url": "https://x.example"}'),
        ),
    ],
)
async def test_each_change_is_told_with_its_turn(
    suite: Suite, after: list[Any], expected: tuple[Any, ...]
) -> None:
    assert await drift(suite, [CALL, SAY], after) == [expected]


def called(**given: Any) -> dict[str, Any]:
    return {"tool": {"name": "mcp__hotel__search_rooms", "input": given}}


async def test_the_table_shows_the_arguments_that_differ_key_by_key_and_json_the_whole(
    suite: Suite,
) -> None:
    long = "very " * 30
    guest = {"name": "Ada", "note": f"a {long}quiet room"}
    before = called(city="Ghent", **{"from": "2026-12-10"}, nights=2, guest=guest)
    guest = {"note": f"a {long}loud  room"}
    after = called(city="Ghent", **{"from": "2026-12-11"}, guest=guest, pets=True)
    case = await compared(suite, [before, SAY], [after, SAY])
    field = "arguments of mcp__hotel__search_rooms"
    rows = [line.partition(f"  {field}  ")[2] for line in table([case]).splitlines()[1:-1]]
    assert {tuple(re.split(r" {2,}(?=[a-z.]+: )", row)) for row in rows} == {
        ('from: "2026-12-10"', 'from: "2026-12-11"'),
        ("nights: 2", "nights: absent"),
        ('guest.name: "Ada"', "guest.name: absent"),
        (
            'guest.note: ... very very very quiet room"',
            'guest.note: ... very very very loud  room"',
        ),
        ("pets: absent", "pets: true"),
    }
    (told,) = case.told()["differences"]
    assert f"a {long}quiet room" in told["old"]
    assert f"a {long}loud  room" in told["new"]


async def test_a_long_text_shows_where_it_begins_to_differ(suite: Suite) -> None:
    said = "The same words again and again, so that a cell is full before they end: "
    case = await compared(
        suite,
        [{"text": f"{said}yes.", "delay_ms": 0}],
        [{"text": f"{said}no.", "delay_ms": 0}],
        with_text=True,
    )
    told = table([case]).splitlines()[1]
    assert "they end: yes.  " in told
    assert told.endswith("they end: no.")


async def test_another_end_is_told_and_so_are_the_turns_that_did_not_come(suite: Suite) -> None:
    found = await drift(suite, [CALL, SAY], [CALL, {"error": "400 Bad request"}])
    assert (None, "turns", "2", "1") in found
    assert (1, "end", "complete", "error: provider") in found


async def test_words_are_compared_when_asked_for(suite: Suite) -> None:
    other = [CALL, {"text": "Gone.", "delay_ms": 0}]
    assert await drift(suite, [CALL, SAY], other, with_text=True) == [
        (1, "text", "Found it.", "Gone.")
    ]


async def test_what_is_missing_new_or_unreadable_is_told(suite: Suite) -> None:
    for mode, said in (("old", "one"), ("old", "two"), ("new", "two"), ("new", "three")):
        await suite.call("record", said, cassettes=mode)
    (broken,) = (suite.folder / "new").glob("two-*.jsonl")
    broken.write_text('{"cassette": 1}\n', "utf-8")
    cases = await folders(suite)
    assert {case.file.partition("-")[0]: case.status for case in cases} == {
        "one": "missing",
        "two": "unreadable",
        "three": "new",
    }
    assert {case.file.partition("-")[0] for case in cases if case.is_drift} == {"one", "two"}
    told = table(cases)
    assert "was not recorded again" in told
    assert "missing: where its message was changed or its test removed" in told
    assert "then clear up (lobu-provider cassettes prune)" in told
    assert "new: it is incomplete" in told
    assert told.endswith("3 conversations: 1 missing, 1 new, 1 unreadable")
    report = Xml.fromstring(junit(cases))  # noqa: S314 - our own
    (missing,) = report.iter("failure")
    assert "cassettes prune" in str(missing.get("message"))
    counts = {key: report.get(key) for key in ("tests", "failures", "errors")}
    assert counts == {"tests": "3", "failures": "1", "errors": "1"}


async def test_the_junit_file_tells_every_reason_and_is_xml_whatever_the_agent_said(
    suite: Suite,
) -> None:
    odd = {"tool": {"name": "look\x00_up<&>", "input": {}}}
    case = await compared(suite, [CALL, SAY], [odd, SAY])
    (failure,) = Xml.fromstring(junit([case])).iter("failure")  # noqa: S314 - our own
    assert str(failure.get("message")).startswith("turn 1: tools: look_up -> look?_up<&>")


async def test_sets_are_compared_with_sets(suite: Suite) -> None:
    await suite.call("record", "one", cassettes="old", cassetteSet="staging")
    await suite.call("record", "one", cassettes="new", cassetteSet="production")
    cases = await folders(suite)
    assert [case.status for case in cases] == ["missing", "new"]
    across = await folders(suite, "old/staging", "new/production")
    assert [case.status for case in across] == ["same"]


async def attempts(suite: Suite, folder: str, *crashes: str) -> None:
    """Record a call whose attempts each call a tool and fail, but for the last one."""
    failing = [
        {
            "once": True,
            "steps": [{"tool": {"name": name, "input": {}}}, {"error": "Worker startup failed"}],
        }
        for name in crashes
    ]
    script = parse_script({"version": 1, "replies": [*failing, {"steps": [SAY]}]})
    config = {
        "agent": "support-agent",
        "gateway": "http://gateway.example",
        "token": "token-of-nobody",
        "basePath": str(suite.folder),
        "cassettes": folder,
        "cassetteMode": "record",
        "retries": len(crashes),
    }
    # One gateway for all attempts: 'once' is once for all of them.
    transport = ScriptedTransport(ScriptedGateway(script))
    row = await LobuProvider({"config": config}, transport=transport).call_api("Find it.", {})
    assert (row["output"], row.get("error")) == ("Found it.", None)


async def test_what_an_attempt_did_that_failed_is_compared_too(suite: Suite) -> None:
    await attempts(suite, "old", "look_up")
    await attempts(suite, "new", "drop_all")
    (case,) = await folders(suite)
    assert [(d.turn, d.field, d.old, d.new) for d in case.differences] == [
        (1, "tools (attempt 1)", "look_up", "drop_all")
    ]


async def test_another_number_of_attempts_is_drift(suite: Suite) -> None:
    await attempts(suite, "old", "look_up", "look_up")
    await attempts(suite, "new")
    (case,) = await folders(suite)
    assert [(d.turn, d.field, d.old, d.new) for d in case.differences] == [
        (None, "attempts", "3", "1")
    ]


async def test_a_link_that_is_good_for_one_time_is_no_drift_and_another_place_is(
    suite: Suite,
) -> None:
    def link(url: str) -> dict[str, Any]:
        return {"card": {"type": "link-button", "url": url, "linkType": "oauth"}}

    first, second = (link(f"https://x.example/auth?state={n}#at={n}") for n in ("abc", "def"))
    assert await drift(suite, [first, SAY], [second, SAY]) == []
    elsewhere = link("https://y.example/auth?state=abc")
    ((turn, field, _, new),) = await drift(suite, [first, SAY], [elsewhere, SAY])
    assert (turn, field) == (1, "cards")
    assert "https://y.example/auth" in new


@pytest.mark.parametrize("at_ms", ["1e999", "NaN", "1e15", "604800000"])
async def test_a_time_that_no_call_takes_is_unreadable_and_the_longest_is_compared_at_once(
    suite: Suite, at_ms: str
) -> None:
    for folder in ("old", "new"):
        await suite.call("record", "one", cassettes=folder)
    (path,) = (suite.folder / "new").glob("*.jsonl")
    lines = path.read_text("utf-8").splitlines(keepends=True)
    told = json.loads(lines[-1])
    told["recorded"]["times"][-1] = ["LAST"] * len(told["recorded"]["times"][-1])
    lines[-1] = json.dumps(told).replace('"LAST"', at_ms) + "\n"
    path.write_text("".join(lines), "utf-8")
    with anyio.fail_after(60):
        (case,) = await folders(suite)
    assert case.status == ("same" if at_ms == "604800000" else "unreadable")
