"""Values by the million are taken out of a row before anything looks at each of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lobu_provider.events import Frame, parse_event
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo import response
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.json_cuts import json_bytes, mark
from lobu_provider.promptfoo.metadata import describe_turns
from lobu_provider.promptfoo.response import build_response
from lobu_provider.promptfoo.structures import take_out_structures
from lobu_provider.turn import Turn, fold_turn


def turn_of(*frames: tuple[str, dict[str, Any]]) -> Turn:
    return fold_turn("q", [parse_event(Frame(name, json.dumps(data))) for name, data in frames])


def tool(call_id: str, /, **data: Any) -> tuple[str, dict[str, Any]]:
    return "tool_use", {"name": "t", "toolCallId": call_id, "isError": False, **data}


def values_in(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values_in, inner))


MANY = {f"key-{n}": n for n in range(5000)}


@pytest.mark.parametrize(
    ("frames", "label"),
    [
        ([tool("1", input=MANY)], "toolCalls[].input"),
        ([tool("1", input={"deep": [MANY]})], "toolCalls[].input"),
        ([tool("1", **MANY)], "toolCalls[] other keys"),
        ([tool(str(n), input={"n": n}) for n in range(2000)], "toolCalls[].input"),
        ([("novel", MANY)], "turns[].otherEvents"),
        ([("question", {"question": "q", "options": [MANY]})], "interactions[]"),
        ([("complete", {"finalText": "x", "suggestions": list(MANY)})], "turns[].suggestions"),
    ],
)
def test_what_is_left_has_no_more_values_than_a_row_has_room_for(
    frames: list[Any], label: str
) -> None:
    metadata = describe_turns([turn_of(*frames)])
    size, entries = json_bytes(metadata), len(metadata["toolCalls"])
    taken = take_out_structures(metadata, 4000)
    assert label in taken.labels
    assert json_bytes(metadata) == size - taken.size  # exact where nothing needs an escape
    kept = [set(call) for call in metadata["toolCalls"]]
    assert len(kept) == entries
    assert all({"name", "toolCallId", "isError", "turn"} <= keys for keys in kept)
    assert values_in({**metadata, "toolCalls": metadata["toolCalls"][:1]}) < 4000


def test_the_largest_structures_go_and_small_ones_and_long_texts_stay() -> None:
    small = {"order_id": 17, "text": "x" * 9000}
    metadata = describe_turns([turn_of(tool("1", input=MANY), tool("2", input=small))])
    take_out_structures(metadata, 4000)
    first, second = metadata["toolCalls"]
    assert first["input"] == {"cut": mark(json_bytes(MANY))}
    assert second["input"] == small


def test_a_row_with_room_for_everything_keeps_it() -> None:
    metadata = describe_turns([turn_of(tool("1", input=MANY))])
    before = json.dumps(metadata)
    assert take_out_structures(metadata, json_bytes(metadata)) == (frozenset(), 0)
    assert json.dumps(metadata) == before


def test_the_events_themselves_are_not_changed() -> None:
    turn = turn_of(tool("1", input=MANY), ("question", MANY))
    take_out_structures(describe_turns([turn]), 1000)
    assert turn.tool_calls[0].data["input"] == MANY
    assert turn.interactions[0].data == MANY


def test_nothing_of_a_huge_input_is_copied_value_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(value: Any, **options: Any) -> Any:
        seen.append(values_in(value))
        return json_safe(value, **options)

    monkeypatch.setattr(response, "json_safe", counted)
    frames = [tool(str(n), input={f"key-{k}": k for k in range(50_000)}) for n in range(8)]
    record = CallRecord(turns=[turn_of(*frames)], message_count=1, max_metadata_bytes=50_000)
    row = build_response(record)
    assert max(seen) < 30_000
    told = row["metadata"]["truncated"]
    assert told["cut"] == ["toolCalls[].input"]
    assert told["bytes"] > 8 * 50_000 * 10
    assert json_bytes(row["metadata"]) <= 50_000
    assert [call["toolCallId"] for call in row["metadata"]["toolCalls"]] == list("01234567")


@pytest.mark.parametrize("inner", [MANY, [[]] * 5000, [{"a": [n]} for n in range(2500)]])
def test_nobody_counts_the_values_of_what_is_too_much_to_its_end(inner: Any) -> None:
    class Watched(list[Any]):
        def __len__(self) -> int:
            raise AssertionError("looked into")

    metadata = describe_turns([turn_of(tool("1", input={}))])
    metadata["toolCalls"][0]["input"] = [
        Watched(),
        *([inner] if isinstance(inner, dict) else inner),
    ]
    assert take_out_structures(metadata, 4000).labels == {"toolCalls[].input"}


@pytest.mark.parametrize(
    "text", [", " * 20, ": " * 20, '"' * 20, "\n", "\ud83d\ude00", "\ud800", ""]
)
def test_what_was_taken_out_is_told_whatever_its_texts_make_of_its_size(text: str) -> None:
    turn = turn_of(tool("1", input=[text] * 2500))
    record = CallRecord(turns=[turn], message_count=1, max_metadata_bytes=4000)
    row = build_response(record)
    told = row["metadata"]["truncated"]
    assert told["cut"] == ["toolCalls[].input"]
    assert told["bytes"] > 4000
    assert "toolCalls[].input" in row["metadata"]["warnings"][-1]


def test_lone_surrogates_and_nesting_do_not_stop_the_count() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    metadata = describe_turns([turn_of(tool("1", input={"a": "\ud800", "b": deep, **MANY}))])
    assert take_out_structures(metadata, 1000).labels == {"toolCalls[].input"}
