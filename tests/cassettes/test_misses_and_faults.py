"""What a row says where a cassette is missing, stale, damaged, or another conversation's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cassettes.conftest import Suite

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_network")]


def refused(row: dict[str, Any]) -> str:
    assert row["metadata"]["error"] == {
        "code": "cassette",
        "class": "config",
        "phase": row["metadata"]["error"]["phase"],
        "retryable": False,
        **{key: row["metadata"]["error"][key] for key in row["metadata"]["error"] if key == "turn"},
    }
    assert row["error"].startswith("[cassette] ")
    assert "LOBU_CASSETTE_MODE=record" in row["error"]
    return str(row["error"])


async def test_a_miss_names_the_file_the_nearest_one_and_the_turn_that_differs(
    suite: Suite,
) -> None:
    await suite.call("record", "I want to return order 17.", "Yes.")
    await suite.call("record", "Something else")
    said = refused(await suite.call("replay", "I want to return order 17.", "No."))
    assert "There is no cassette cassettes/i-want-to-return-order-17-" in said
    assert "promptfoo eval -c CONFIG (or lobu-provider record CONFIG)." in said
    assert 'turn 2 is "No." and was "Yes."' in said


@pytest.mark.parametrize(
    ("config", "context", "difference"),
    [
        ({"model": "a/b"}, {}, 'model is "a/b" and was not given'),
        ({"agent": "other"}, {}, 'agent is "other" and was "support-agent"'),
        ({}, {"repeatIndex": 2}, "repeat is 2 and was 0"),
    ],
)
async def test_a_miss_tells_what_else_is_another(
    suite: Suite, config: dict[str, Any], context: dict[str, Any], difference: str
) -> None:
    await suite.call("record", "hello")
    assert difference in refused(await suite.call("replay", "hello", context=context, **config))


async def test_an_empty_folder_is_said_to_be_one(suite: Suite) -> None:
    assert "holds no cassette at all" in refused(await suite.call("replay", "hello"))


async def test_a_turn_more_or_less_is_told(suite: Suite) -> None:
    await suite.call("record", "one", "two")
    assert 'turn 3, "three", is new' in refused(await suite.call("replay", "one", "two", "three"))
    assert 'turn 2, "two", is gone' in refused(await suite.call("replay", "one"))


def edited(line: int, change: Any) -> Any:
    def edit(path: Path) -> None:
        lines = path.read_text("utf-8").splitlines(keepends=True)
        lines[line] = json.dumps(change(json.loads(lines[line]))) + "\n"
        path.write_text("".join(lines), "utf-8")

    return edit


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def timed(value: Any) -> Any:
    """Put another time in the place of the first."""

    def change(line: dict[str, Any]) -> dict[str, Any]:
        told = line["recorded"]
        return {"recorded": {**told, "times": [[value], *told["times"][1:]]}}

    return edited(-1, change)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (edited(0, lambda x: {**x, "cassette": 0}), "stale: format 0, and this version reads 1"),
        (edited(0, lambda x: {**x, "cassette": True}), "stale: format True"),
        pytest.param(
            as_pipe,
            "cannot be read: it is no plain file",
            marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names"),
        ),
        (edited(0, lambda _: {}), "first line is not that of a cassette"),
        (lambda path: path.write_text(path.read_text()[:-40]), "is not JSON"),
        (
            lambda path: path.write_text("".join(path.read_text().splitlines(True)[:-1])),
            "incomplete: the last line, 'recorded', is missing",
        ),
        (
            lambda path: path.write_text("".join(path.read_text().splitlines(True)[0:2] * 2)),
            "incomplete",
        ),
        (edited(3, lambda _: {"what": 1}), "of no kind that this version knows"),
        (edited(-1, lambda x: {"recorded": {**x["recorded"], "times": []}}), "by hand"),
        (edited(-1, lambda _: {"recorded": {}}), "damaged: no 'times'"),
        (timed("x"), "line 2 has the time 'x'"),
        (timed(-1), "line 2 has the time -1"),
        (timed(1e18), "a week at most"),
        (timed(float("nan")), "NaN is no number"),
        (timed(float("inf")), "Infinity is no number"),
        (edited(-1, lambda x: {"recorded": {**x["recorded"], "times": 5}}), "'times' is no list"),
        (edited(-1, lambda x: {"recorded": {**x["recorded"], "ids": {"a": 1}}}), "'ids' is no"),
        (
            edited(
                -1,
                lambda x: {"recorded": {**x["recorded"], "ids": {"<<job-1>>": "<<job-1>>"}}},
            ),
            "the id of <<job-1>> holds itself",
        ),
        (edited(0, lambda x: {**x, "turns": 1}), "turns is 1; expected a list of texts"),
        (edited(2, lambda x: {**x, "headers": []}), "line 3: headers is []"),
        (edited(2, lambda x: {**x, "headers": {"a": 1}}), "header 'a' is 1"),
        (edited(2, lambda x: {**x, "reply": "x"}), "line 3: reply is 'x'"),
        (edited(2, lambda x: {**x, "style": "x"}), "line 3: style is 'x'"),
        (edited(5, lambda _: {"event": "output"}), "line 6 has an event without data"),
        (edited(5, lambda x: {**x, "event": {}}), "line 6: event is {}"),
        (edited(5, lambda x: {**x, "stream": 9}), "something is of stream 9"),
        (edited(5, lambda x: {**x, "data": {"a": float("inf")}}), "Infinity is no number"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "not UTF-8"),
        (lambda path: path.write_text(""), "first line is not that of a cassette"),
    ],
)
async def test_a_cassette_that_cannot_be_used_is_told_as_that(
    suite: Suite, edit: Any, said: str
) -> None:
    await suite.call("record", "hello")
    edit(suite.file)
    row = await suite.call("replay", "hello")
    assert said in refused(row)
    assert suite.file.name in row["error"]


async def test_a_conversation_that_takes_another_way_than_the_cassette_is_refused(
    suite: Suite,
) -> None:
    question = {"card": {"type": "question", "question": "Which?", "options": ["A", "B"]}}
    suite.script({"turn": 1, "steps": [question]}, {"steps": [{"text": "Good.", "delay_ms": 0}]})
    live = await suite.call("record", "hello", answers={"which": "A"})
    assert live["output"] == "Good."
    assert (await suite.call("replay", "hello", answers={"which": "A"}))["output"] == "Good."
    said = refused(await suite.call("replay", "hello", answers={"which": "B"}))
    assert 'the message request (message 2) differs: content is "B" and was "A"' in said


async def test_a_further_message_than_the_cassette_has_is_refused(suite: Suite) -> None:
    question = {"card": {"type": "question", "question": "Which?", "options": ["A", "B"]}}
    suite.script({"turn": 1, "steps": [question]}, {"steps": [{"text": "Good.", "delay_ms": 0}]})
    await suite.call("record", "hello")
    said = refused(await suite.call("replay", "hello", answers={"which": "B"}))
    assert "is sent 2 times, and was 1 times" in said


async def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_sent(
    suite: Suite,
) -> None:
    suite.cassettes.write_text("a file")
    row = await suite.call("record", "hello")
    assert row["error"].startswith("[cassette] The folder ")
    assert row["metadata"]["turns"] == []


async def test_a_cassette_that_cannot_be_written_makes_the_row_an_error_that_keeps_all(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    row = await suite.call("record", "hello")
    assert row["error"].startswith("[cassette] The cassette cassettes/hello-")
    assert row["output"] == "Hello there."
    assert list(suite.cassettes.iterdir()) == [], "nothing half is left"


async def test_auto_is_live_unless_in_ci_with_a_cassette(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    await suite.call("record", "hello")
    suite.script({"steps": [{"text": "Another answer.", "delay_ms": 0}]})
    assert (await suite.call("auto", "hello"))["output"] == "Another answer."
    monkeypatch.setenv("CI", "true")
    row = await suite.call("auto", "hello")
    assert (row["output"], row["metadata"]["cassette"]["mode"]) == ("Hello there.", "replayed")
    live = await suite.call("auto", "something else")
    assert live["output"] == "Another answer."
    assert "cassette" not in live["metadata"]


async def test_the_environment_switches_and_redirects_a_suite(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOBU_CASSETTE_MODE", "record")
    monkeypatch.setenv("LOBU_CASSETTES", "elsewhere")
    row = await suite.call("off", "hello")
    assert row["metadata"]["cassette"]["mode"] == "recorded"
    assert row["metadata"]["cassette"]["file"].startswith("elsewhere/hello-")
    assert suite.files == []
