"""A row has a size that promptfoo's database can bear, and says what it left out."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.errors import failure
from lobu_provider.events import Frame, parse_event
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo import size_limits
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.json_cuts import (
    MIN_BYTES,
    cut_text,
    json_bytes,
    level,
    mark,
    text_bytes,
)
from lobu_provider.promptfoo.metadata import describe_turns
from lobu_provider.promptfoo.metadata_parts import parts_of
from lobu_provider.promptfoo.response import build_response
from lobu_provider.promptfoo.size_limits import limit_metadata
from lobu_provider.turn import Turn, fold_turn

UNLIMITED = settings(deadline=None)

KEPT = ("name", "toolCallId", "turn", "isError")
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
LONG = st.builds(lambda text, times: text * times, TEXT, st.integers(1, 60))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | LONG,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
FRAMES = st.one_of(
    st.tuples(st.just("output"), st.fixed_dictionaries({"content": LONG})),
    st.tuples(
        st.just("tool_use"),
        st.fixed_dictionaries(
            {"name": st.sampled_from(["search_memory", "refund", ""])},
            optional={
                "toolCallId": TEXT,
                "isError": st.booleans() | JSON,
                "input": JSON,
                "result_summary": st.fixed_dictionaries(
                    {"snippets": st.lists(st.fixed_dictionaries({"id": TEXT, "text": LONG}))}
                )
                | JSON,
                "messages": JSON,
            },
        ),
    ),
    st.tuples(st.sampled_from(["question", "novel"]), st.dictionaries(TEXT, JSON, max_size=4)),
)
METADATA = st.lists(st.tuples(LONG, st.lists(FRAMES, max_size=6)), max_size=3).map(
    lambda told: json_safe(
        {
            **describe_turns([_turn(text, *frames) for text, frames in told]),
            "warnings": ["one"],
            "error": {"code": "worker"},
        }
    )
)


def _turn(text: str, *frames: tuple[str, Any]) -> Turn:
    return fold_turn(text, [parse_event(Frame(name, json.dumps(data))) for name, data in frames])


def _entries(metadata: Any) -> list[dict[str, Any]]:
    return [
        {key: call[key] for key in KEPT if not isinstance(call.get(key, {}), (dict, list))}
        for call in metadata["toolCalls"]
    ]


def _only_entries_are_left(metadata: Any) -> bool:
    return all(json_bytes(part.holder[part.key]) <= 3 * MIN_BYTES for part in parts_of(metadata))


# --- the promise


@UNLIMITED
@given(METADATA, st.integers(1, 4000))
def test_metadata_is_within_its_limit_or_only_entries_are_left(metadata: Any, limit: int) -> None:
    found = limit_metadata(metadata, limit)
    json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    json.loads(found["messages"])
    told = found.get("truncated", {})
    assert (json_bytes(found) > limit) == bool(told.get("stillOver"))
    if told.get("stillOver"):
        assert _only_entries_are_left(found)


@UNLIMITED
@given(METADATA, st.integers(1, 4000))
def test_no_entry_is_lost_or_moved_by_a_cut(metadata: Any, limit: int) -> None:
    before = copy.deepcopy(metadata)
    found = limit_metadata(metadata, limit)
    assert metadata == before
    assert _entries(found) == _entries(metadata)
    assert [turn["turn"] for turn in found["turns"]] == [t["turn"] for t in metadata["turns"]]
    assert [t["toolCallIds"] for t in found["turns"]] == [
        t["toolCallIds"] for t in metadata["turns"]
    ]
    assert [(c["type"], c["turn"]) for c in found["interactions"]] == [
        (c["type"], c["turn"]) for c in metadata["interactions"]
    ]
    assert found["error"] == metadata["error"]
    assert found["warnings"][:1] == metadata["warnings"]


@UNLIMITED
@given(METADATA, st.integers(1, 4000))
def test_a_second_cut_changes_nothing_more(metadata: Any, limit: int) -> None:
    once = limit_metadata(metadata, limit)
    assert limit_metadata(once, limit) == once


@UNLIMITED
@given(METADATA)
def test_what_is_within_the_limit_is_not_touched(metadata: Any) -> None:
    assert limit_metadata(metadata, json_bytes(metadata)) is metadata


# --- what goes first


def test_the_longest_texts_are_cut_with_a_mark_and_short_ones_stay() -> None:
    turn = _turn(
        "the question",
        ("tool_use", {"name": "a", "input": {"q": "x" * 9000, "order_id": 17, "why": "short"}}),
        ("output", {"content": "The answer."}),
    )
    found = limit_metadata({**describe_turns([turn]), "warnings": []}, 3000)
    (call,) = found["toolCalls"]
    assert call["input"]["order_id"] == 17
    assert call["input"]["why"] == "short"
    kept, _, rest = call["input"]["q"].partition("... [cut: ")
    assert set(kept) == {"x"}
    assert rest == f"{9000 - len(kept)} characters]"
    assert found["turns"][0]["output"] == "The answer."
    assert json.loads(found["messages"])[1]["content"] == "The answer."
    assert found["truncated"]["cut"] == ["toolCalls[].input"]
    assert found["truncated"]["limitBytes"] == 3000
    assert found["truncated"]["bytes"] > 9000
    assert json_bytes(found) <= 3000


def test_the_room_that_there_is_is_used() -> None:
    turn = _turn("q", ("output", {"content": "y" * 100_000}))
    found = limit_metadata({**describe_turns([turn]), "warnings": []}, 20_000)
    assert 18_000 < json_bytes(found) <= 20_000


def test_a_value_without_long_texts_becomes_a_note_of_its_own_type() -> None:
    calls = [
        ("tool_use", {"name": "a", "input": list(range(5000))}),
        ("tool_use", {"name": "b", "input": {str(n): n for n in range(5000)}}),
        ("tool_use", {"name": "c", "input": {"order_id": 17}}),
    ]
    found = limit_metadata({**describe_turns([_turn("q", *calls)]), "warnings": []}, 3000)
    a, b, c = found["toolCalls"]
    assert a["input"] == [mark(23891)]
    assert list(b["input"]) == ["cut"]
    assert c["input"] == {"order_id": 17}
    assert "stillOver" not in found["truncated"]


def test_two_thousand_calls_keep_their_entries_even_where_those_alone_are_too_much() -> None:
    calls = [
        ("tool_use", {"name": "search", "toolCallId": f"call-{n}", "isError": False, "input": {}})
        for n in range(2000)
    ]
    metadata = {**describe_turns([_turn("q", *calls)]), "warnings": []}
    found = limit_metadata(metadata, 50_000)
    assert [call["toolCallId"] for call in found["toolCalls"]] == [f"call-{n}" for n in range(2000)]
    assert set(found["toolCalls"][0]) == set(KEPT)
    assert found["truncated"]["stillOver"] is True
    (warning,) = found["warnings"]
    assert "Entries alone take more" in warning
    assert "toolCalls[].input" in warning


def test_messages_stay_a_chat_in_json_however_little_room_there_is() -> None:
    turns = [Turn("question " * 500, output='an "answer"\n' * 500) for _ in range(4)]
    for limit in (500, 2000, 8000, 30_000):
        found = limit_metadata({**describe_turns(turns), "warnings": []}, limit)
        for message in json.loads(found["messages"]):
            assert set(message) == {"role", "content"}


# --- the row


def test_the_limit_holds_for_a_failed_row_too_and_the_error_stays() -> None:
    turn = _turn("q", ("output", {"content": "z" * 50_000}))
    record = CallRecord(
        thread="t-1",
        turns=[turn],
        failure=failure("worker", "It died.", phase="turn"),
        max_metadata_bytes=4096,
        warnings=["first"],
        secrets=["s3cret-value"],
    )
    response = build_response(record)
    metadata = response["metadata"]
    assert json_bytes(metadata) <= 4096
    assert response["output"] == "z" * 50_000
    assert metadata["error"]["code"] == "worker"
    assert metadata["thread"] == "t-1"
    assert metadata["warnings"][0] == "first"
    assert metadata["truncated"]["limitBytes"] == 4096


@pytest.mark.parametrize("letter", ["x", "ü", "\U0001f600", '"', "\\", "\n"])
def test_a_row_is_cut_exactly_when_its_metadata_is_over_the_limit(letter: str) -> None:
    turn = Turn(letter, output=letter * 300, completed=True, has_final_text=True)
    record = CallRecord(agent_id="a", thread="t", turns=[turn], message_count=1)
    size = json_bytes(build_response(record)["metadata"])
    record.max_metadata_bytes = size
    assert "truncated" not in build_response(record)["metadata"]
    record.max_metadata_bytes = size - 1
    assert build_response(record)["metadata"]["truncated"]["bytes"] == size


def test_an_endless_answer_is_an_error_and_its_beginning_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(size_limits, "MAX_OUTPUT", 1000)
    turn = Turn("q", output="w" * 1500, completed=True, has_final_text=True)
    response = build_response(CallRecord(turns=[turn], message_count=1))
    assert response["output"] == "w" * 1000 + mark(500)
    assert response["error"].startswith("[gateway] The answer has 1,500 characters")
    assert response["metadata"]["error"]["retryable"] is False
    assert response["metadata"]["error"]["turn"] == 1
    assert response["metadata"]["truncated"] == {
        "output": {"limitCharacters": 1000, "characters": 1500}
    }
    assert "output was cut" in response["metadata"]["warnings"][-1]


def test_both_cuts_of_one_row_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "MAX_OUTPUT", 1000)
    turn = Turn("q", output="w" * 9000)
    lost = failure("stream_lost", "x", phase="turn")
    response = build_response(CallRecord(turns=[turn], failure=lost, max_metadata_bytes=4000))
    assert response["error"] == "[stream_lost] x"
    truncated = response["metadata"]["truncated"]
    assert truncated["output"]["characters"] == 9000
    assert truncated["limitBytes"] == 4000
    assert len(response["metadata"]["warnings"]) == 2


# --- the tools


@UNLIMITED
@given(LONG, st.integers(MIN_BYTES, 300), st.booleans())
def test_a_cut_text_is_as_long_as_it_may_be_and_counts_what_is_gone(
    text: str, allowed: int, nested: bool
) -> None:
    if text_bytes(text, in_json_text=nested) <= allowed:
        return
    found = cut_text(text, allowed, in_json_text=nested)
    assert text_bytes(found, in_json_text=nested) <= allowed
    kept, _, rest = found.rpartition("... [cut: ")
    assert text.startswith(kept)
    assert int(rest.removesuffix(" characters]")) == len(text) - len(kept)
    more = text[: len(kept) + 1] + mark(len(text) - len(kept) - 1)
    assert text_bytes(more, in_json_text=nested) > allowed


@given(TEXT)
def test_the_bytes_of_a_text_are_those_that_it_takes_inside_json(text: str) -> None:
    assert text_bytes(text) == json_bytes(text) - 2
    inside = json.dumps([text], ensure_ascii=False)
    empty = json.dumps([""], ensure_ascii=False)
    assert text_bytes(text, in_json_text=True) == json_bytes(inside) - json_bytes(empty)


@given(st.lists(st.integers(MIN_BYTES + 1, 5000)), st.integers(1, 50_000))
def test_cutting_to_the_level_takes_enough_and_never_below_what_a_mark_needs(
    sizes: list[int], too_many: int
) -> None:
    found = level(sizes, too_many)
    saved = sum(max(0, size - found) for size in sizes)
    assert found == MIN_BYTES or saved >= too_many
    assert found >= MIN_BYTES
    if found > MIN_BYTES:
        assert sum(max(0, size - found - 1) for size in sizes) < too_many
