"""Cards of a script: what each type needs, what is refused, and that nothing is made up."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import LobuProvider
from lobu_provider.errors import ConfigError
from lobu_provider.scripted_gateway.flavours import Wording
from lobu_provider.scripted_gateway.script import parse_script
from lobu_provider.scripted_gateway.timeline import build_timeline


def script(*steps: dict[str, Any], **entry: Any) -> dict[str, Any]:
    return {"version": 1, "replies": [{"steps": list(steps), **entry}]}


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (
            {"type": "tool-approval", "tool": "book_room"},
            [
                "card.toolName: it is needed, and not given",
                "card: 'tool' is not a key here. Did you mean 'toolName'?",
            ],
        ),
        ({"type": "question"}, ["card.question: it is needed"]),
        (
            {"type": "question", "question": "Which?", "option": ["a"]},
            ["card: 'option' is not a key here. Did you mean 'options'?"],
        ),
        ({"type": "link-button", "label": "Connect"}, ["card.url: it is needed"]),
        ({"type": "suggestion"}, ["card.prompts: it is needed"]),
        (
            {"type": "suggestion", "prompts": [{"titel": "More", "message": "More"}]},
            ["card.prompts[0]: 'titel' is not a key here. Did you mean 'title'?"],
        ),
        (
            {"type": "tool_approval"},
            ["a 'type' of question, tool-approval, link-button, suggestion, got"],
        ),
        ("question", ['got "question"']),
    ],
)
def test_a_card_with_an_unknown_or_a_missing_key_is_refused_with_its_path(
    card: Any, said: list[str]
) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_script(script({"card": card}))
    for words in said:
        assert words in str(refused.value)
    assert "replies[0].steps[0].card" in str(refused.value)


@pytest.mark.parametrize("flavour", ["u11", "f11", "n"])
def test_an_approval_names_no_tool_or_server_that_the_script_does_not(flavour: Any) -> None:
    card = {"type": "tool-approval", "toolName": "book_room"}
    steps = parse_script(script({"card": card})).replies[0].steps
    first = build_timeline(steps, Wording(flavour, "m-1", ("m-1",)), start_ms=0)[0]
    data = first.frame.data  # type: ignore[union-attr]
    assert data["toolName"] == "book_room"
    assert {"mcpId", "args", "grantPattern"}.isdisjoint(data)


def test_once_counts_anew_in_each_row_of_a_script_that_is_played_in_process(tmp_path: Path) -> None:
    path = tmp_path / "flaky.json"
    entries = [
        {"once": True, "steps": [{"text": "wrong", "delay_ms": 0}]},
        {"steps": [{"text": "right", "delay_ms": 0}]},
    ]
    path.write_text(json.dumps({"version": 1, "replies": entries}), "utf-8")
    provider = LobuProvider({"config": {"agent": "a", "gateway": f"script:{path}"}})

    def row(**variables: Any) -> list[str]:
        found = asyncio.run(provider.call_api("Hello", {"vars": variables}))
        return [turn["output"] for turn in found["metadata"]["turns"]]

    assert [row(), row()] == [["wrong"], ["wrong"]]
    assert row(transcript=["One", "Two"]) == ["wrong", "right"]
