"""Loading scripts: the demo, files, and what is said of a bad one. The rules are ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.errors import ConfigError
from lobu_provider.scripted_gateway import cards, load_script, parse_script, script, steps
from lobu_provider.scripted_gateway.timeline import cut_text, fill_in

from .conftest import Connect, in_process


def demo() -> dict[str, Any]:
    return load_script("demo").model_dump(by_alias=True, exclude_unset=True)


def test_a_path_is_looked_up_in_the_base_directory(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"version": 1, "replies": []}', "utf-8")
    assert load_script("s.json", tmp_path).replies == []


def test_a_missing_file_is_named_once_with_the_places_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(ConfigError) as caught:
        load_script("nope.json", tmp_path)
    assert f"Script 'nope.json' not found in {tmp_path} or {here}. " in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        load_script("nope.json", Path())
    assert f"Script 'nope.json' not found in {here}. " in str(caught.value)
    absolute = str(tmp_path / "gone.json")
    with pytest.raises(ConfigError) as caught:
        load_script(absolute, here)
    assert str(caught.value).count("gone.json") == 1


def test_a_home_of_nobody_is_told_as_a_script_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"'~nobody-at-all/x.json' not found.*whole path"):
        load_script("~nobody-at-all/x.json")


def test_a_name_near_the_demo_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean script:demo\?"):
        load_script("demoo", tmp_path)
    with pytest.raises(ConfigError, match="Give a JSON file, or demo"):
        load_script("mine.json", tmp_path)


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{", "utf-8")
    with pytest.raises(ConfigError, match=r"s\.json is not JSON"):
        load_script("s.json", tmp_path)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (
            {"stepz": []},
            "replies[0]: 'stepz' is not a key here. Did you mean 'steps'? Known keys: match, turn",
        ),
        (
            {"steps": [{"tool": {"name": "x", "iserror": True}}]},
            "tool: 'iserror' is not a key here. Did you mean 'isError'? Known keys: name, input, i",
        ),
        (
            {"steps": [{"text": "x", "qqq": 1}]},
            "replies[0].steps[0]: 'qqq' is not a key here. Known keys: text, deltas, delay_ms.",
        ),
        ({"http": {"code": 1}}, "replies[0].http: 'code' is not a key here. Known keys: status"),
        ({"steps": [{"tool": {"name": 5}}]}, "replies[0].steps[0].tool.name: Input should be"),
        ({"steps": [{"texd": "x"}]}, "replies[0].steps[0]: expected an object with one of"),
        ({"steps": [{"complete": True}]}, "complete: expected an object, or false"),
        ({"steps": [{"text": "x", "deltas": 0}]}, "deltas: expected a list of strings or a number"),
        ({"match": {"regex": "("}}, "replies[0].match.regex: expected a regular expression"),
        ({"match": {}}, "replies[0].match: expected exactly one of equals, contains, regex"),
        ({"match": 5}, "replies[0].match: Input should be"),
        ({"turn": 0}, "replies[0].turn: Input should be greater than or equal to 1, got 0"),
    ],
)
def test_a_bad_field_is_told_with_its_path_and_value(entry: Any, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_script({"version": 1, "replies": [entry]}, "my.json")
    assert "Script my.json is not valid:" in str(caught.value)
    assert complaint in str(caught.value)


def test_an_unknown_key_of_the_whole_script_or_a_fault_is_told() -> None:
    with pytest.raises(ConfigError, match=r"the document: 'agent' is not a key here\. Did"):
        parse_script({"version": 1, "replies": [], "agent": []})
    with pytest.raises(ConfigError, match=r"create: 'boddy' is not a key here\. .* 'body'"):
        parse_script({"version": 1, "replies": [], "create": {"boddy": 1}})


def test_the_keys_of_every_strict_object_of_the_format_are_known() -> None:
    named = set(script.MODELS.values())
    defined = [value for module in (script, steps, cards) for value in vars(module).values()]
    models = {m for m in defined if isinstance(m, type) and issubclass(m, cards.ScriptModel)}
    assert models - named == {cards.ScriptModel, cards._Card}


def test_another_version_is_refused() -> None:
    with pytest.raises(ConfigError, match="version: Input should be 1, got 2"):
        parse_script({"version": 2, "replies": []})


def test_text_is_cut_between_words_and_joins_to_itself() -> None:
    text = " One two, three\nfour five. "
    for pieces in (None, 1, 2, 3, 99):
        assert "".join(cut_text(text, pieces)) == text
    assert cut_text("a b c", 2) == ["a b", " c"]
    assert cut_text("", None) == []
    assert fill_in("{{ message }} {{x}}", {"message": "hi"}) == "hi {{x}}"


CONVERSATIONS: list[list[tuple[str, list[str], str]]] = [
    [("Hello there", [], "I can help")],
    [("What is your refund policy?", ["search_memory"], "within 30 days")],
    [
        ("I want to return order 17", ["lookup_order"], "Shall I refund it?"),
        ("yes, please refund it", ["refund_order"], "I refunded 39.90 EUR"),
    ],
    [("Just make something up: when do I get my refund?", [], "I cannot guess")],
    [
        ("Please change the address of my order", ["ask_user"], ""),
        ("Order 23 (bookshelf)", ["lookup_order"], "has not left yet"),
    ],
    [("Where is my parcel?", ["track_parcel"], "did not answer")],
]


@pytest.mark.anyio
@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda c: str(c[0][0]))
async def test_the_demo_holds_its_conversations(
    conversation: list[tuple[str, list[str], str]],
) -> None:
    async with in_process(demo()) as caller:
        await caller.create()
        async with caller.events() as reader:
            await reader.next()
            for message, tools, expected in conversation:
                await caller.say(message)
                events = await reader.until("complete")
                called = [e.data["name"] for e in events if e.name == "tool_use"]
                assert called == tools
                assert expected in events[-1].data["finalText"]
                assert len([e for e in events if e.name == "output"]) != 1
        assert caller.gateway.misses == []


@pytest.mark.anyio
async def test_the_demo_misses_what_it_does_not_know(connect_in_process: Connect) -> None:
    async with connect_in_process(demo()) as caller:
        await caller.create()
        events = await caller.turn("What is the weather on Mars?")
        assert events[0].data["error"].startswith("No script entry matches")


def test_the_demo_is_plain_json_of_version_one() -> None:
    assert json.loads(json.dumps(demo()))["version"] == 1
