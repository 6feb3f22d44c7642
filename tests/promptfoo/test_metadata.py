"""``metadata``: the keys that people assert on, and what stands under them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lobu_provider.errors import failure
from lobu_provider.events import Frame, parse_event
from lobu_provider.promptfoo.metadata import describe_turns, is_retrieval, milliseconds
from lobu_provider.turn import Turn, fold_turn


def turn(*frames: tuple[str, dict[str, Any]], text: str = "hello") -> Turn:
    events = [
        parse_event(Frame(name, json.dumps({"messageId": "m-1", "timestamp": 5, **data})))
        for name, data in frames
    ]
    return fold_turn(text, events)


def tool(name: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return "tool_use", {"name": name, **data}


def snippets(*texts: tuple[Any, Any], name: str = "search_memory", call: str = "c") -> Any:
    found = [{"id": key, "text": text} for key, text in texts]
    return tool(name, toolCallId=call, result_summary={"snippets": found, "event_ids": [1]})


DONE = ("complete", {"finalText": "done"})


def test_without_turns_everything_is_empty_and_what_is_unknown_is_absent() -> None:
    assert describe_turns([]) == {
        "toolCalls": [],
        "retrievedSnippets": [],
        "turns": [],
        "interactions": [],
        "messages": "[]",
    }


def test_tool_calls_of_all_turns_are_listed_in_order_with_their_turn() -> None:
    one = turn(tool("a", toolCallId="1"), tool("b", toolCallId="2"), DONE)
    two = turn(tool("a", toolCallId="3"), DONE)
    calls = describe_turns([one, two])["toolCalls"]
    assert [(c["name"], c["toolCallId"], c["turn"]) for c in calls] == [
        ("a", "1", 1),
        ("b", "2", 1),
        ("a", "3", 2),
    ]


def test_a_tool_call_is_told_as_it_came_without_the_wires_own_keys() -> None:
    call = tool(
        "docs",
        type="tool_use",
        toolCallId="1",
        input={"q": [1]},
        isError=True,
        result_summary={"error": "x", "new": 1},
        novel=2,
    )
    assert describe_turns([turn(call)])["toolCalls"] == [
        {
            "toolCallId": "1",
            "name": "docs",
            "input": {"q": [1]},
            "isError": True,
            "result_summary": {"error": "x", "new": 1},
            "novel": 2,
            "turn": 1,
        }
    ]


def test_a_gateways_own_key_turn_does_not_replace_ours() -> None:
    assert describe_turns([turn(tool("a", turn="x"))])["toolCalls"][0]["turn"] == 1


def test_snippets_are_joined_by_a_blank_line_and_each_id_counts_once() -> None:
    one = turn(snippets((101, "Bern."), (102, "Basel."), call="1"), DONE)
    two = turn(snippets((102, "Basel."), (103, "Chur."), call="2"), DONE)
    told = describe_turns([one, two])
    assert told["retrievedSnippets"] == ["Bern.", "Basel.", "Chur."]
    assert told["retrievedContext"] == "Bern.\n\nBasel.\n\nChur."


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        ([(1, "a"), ("1", "b"), (1.5, "c"), (None, "d"), (None, "d")], ["a", "b", "c", "d"]),
        ([(1, ""), (1, " "), (1, "a")], ["a"]),
        ([(1, None), (2, 7), (3, ["x"]), (4, "a")], ["a"]),
        ([({"x": 1}, "a"), ({"x": 1}, "b"), ({"x": 1}, "a")], ["a", "b"]),
    ],
)
def test_a_snippet_is_known_by_its_id_and_its_text(found: Any, texts: list[str]) -> None:
    assert describe_turns([turn(snippets(*found))])["retrievedSnippets"] == texts


def test_two_tools_may_give_their_snippets_the_same_ids() -> None:
    turns = [turn(snippets((1, "Bern."), call="1"), snippets((1, "Basel."), call="2"), DONE)]
    assert describe_turns(turns)["retrievedSnippets"] == ["Bern.", "Basel."]


def test_snippets_without_an_id_are_known_by_their_text() -> None:
    summary = {"snippets": [{"text": "a"}, {"text": "a"}, {"text": "b"}]}
    told = describe_turns([turn(tool("search_memory", result_summary=summary))])
    assert told["retrievedSnippets"] == ["a", "b"]


@pytest.mark.parametrize(
    "summary",
    [None, 7, "x", [], {}, {"snippets": None}, {"snippets": "x"}, {"snippets": [7, None]}],
)
def test_a_summary_without_snippets_gives_no_context_at_all(summary: Any) -> None:
    told = describe_turns([turn(tool("search_memory", result_summary=summary))])
    assert told["retrievedSnippets"] == []
    assert "retrievedContext" not in told


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("search_memory", True),
        ("lobu_search_memory", True),
        ("mcp__lobu-memory__search_memory", True),
        ("plugin__x__lobu_search_memory", True),
        ("docs_search", True),
        ("mcp__docs__docs_search", True),
        ("save_memory", False),
        ("search_memory_v2", False),
        ("my_search_memory", False),
        ("search_memory__mcp", False),
        ("", False),
    ],
)
def test_only_retrieval_tools_give_context(name: str, counts: bool) -> None:
    told = describe_turns([turn(snippets((1, "text"), name=name))], ["docs_search"])
    assert told["retrievedSnippets"] == (["text"] if counts else [])


def test_is_retrieval_takes_only_whole_names() -> None:
    assert is_retrieval("x__y", ["y"])
    assert is_retrieval("mcp__shop__search-docs", ["Search_Docs"])
    assert not is_retrieval("xy", ["y"])


def test_a_turns_entry_holds_what_the_documentation_names() -> None:
    told = Turn(
        "the question",
        output="the answer",
        streamed_text="the answer",
        message_id="m-1",
        trace_id="4bf9",
        latency_s=1.2345,
        first_text_s=10.5,
        sent_s=10.0,
    )
    (entry,) = describe_turns([told])["turns"]
    assert entry == {
        "turn": 1,
        "user": "the question",
        "output": "the answer",
        "toolCallIds": [],
        "messageId": "m-1",
        "latencyMs": 1234,
        "firstTextMs": 500,
        "traceId": "4bf9",
    }


def test_a_turns_entry_leaves_out_what_the_gateway_did_not_tell() -> None:
    (entry,) = describe_turns([Turn("q")])["turns"]
    assert entry == {"turn": 1, "user": "q", "output": "", "toolCallIds": []}


def test_a_turns_entry_lists_its_tool_call_ids_and_unknown_events() -> None:
    told = turn(tool("a", toolCallId="1"), tool("b"), ("file-uploaded", {"name": "r.pdf"}), DONE)
    (entry,) = describe_turns([told])["turns"]
    assert entry["toolCallIds"] == ["1"]
    (other,) = entry["otherEvents"]
    assert (other["event"], other["data"]["name"]) == ("file-uploaded", "r.pdf")


@pytest.mark.parametrize(
    ("streamed", "output", "told"),
    [("old new", "new", "old new"), (" new ", "new", None), ("", "new", ""), ("new", "new", None)],
)
def test_streamed_text_is_told_only_where_it_differs_from_the_answer(
    streamed: str, output: str, told: str | None
) -> None:
    (entry,) = describe_turns([Turn("q", output=output, streamed_text=streamed)])["turns"]
    assert entry.get("streamedText") == told


def test_a_failed_turn_names_its_code_and_one_that_waits_says_so() -> None:
    failed = Turn("q", failure=failure("timeout", "x", phase="turn"))
    waiting = Turn("q", awaiting_human_decision=True)
    first, second = describe_turns([failed, waiting])["turns"]
    assert first["error"] == "timeout"
    assert "awaitingHumanDecision" not in first
    assert second["awaitingHumanDecision"] is True
    assert "error" not in second


def test_the_trace_id_is_that_of_the_last_turn_that_has_one() -> None:
    turns = [Turn("a", trace_id="t-1"), Turn("b", trace_id="t-2"), Turn("c")]
    assert describe_turns(turns)["traceId"] == "t-2"


def test_cards_and_notices_are_told_as_they_came_with_their_turn() -> None:
    card = ("question", {"turnMessageId": "m-1", "question": "Which?", "options": ["A", "B"]})
    link = ("link-button", {"turnMessageId": "m-1", "url": "https://x", "linkType": "oauth"})
    notice = ("ephemeral", {"content": "Sign in"})
    one, two = turn(card, DONE), turn(link, notice)
    told = describe_turns([one, two])["interactions"]
    assert [(i["type"], i["turn"]) for i in told] == [
        ("question", 1),
        ("link-button", 2),
        ("ephemeral", 2),
    ]
    assert told[0]["options"] == ["A", "B"]
    assert told[1]["url"] == "https://x"


def test_messages_is_json_text_of_role_and_content() -> None:
    turns = [Turn("q1", output="a1 é \ud800"), Turn("q2", output="")]
    text = describe_turns(turns)["messages"]
    assert isinstance(text, str)
    text.encode("utf-8")
    assert json.loads(text) == [
        {"role": "user", "content": "q1"},
        {"role": "assistant", "content": "a1 é \\ud800"},
        {"role": "user", "content": "q2"},
        {"role": "assistant", "content": ""},
    ]


def test_a_deeply_nested_snippet_id_is_no_trouble() -> None:
    nested = f"{'[' * 900}{']' * 900}"
    data = (
        f'{{"name":"search_memory","result_summary":{{"snippets":[{{"id":{nested},"text":"a"}}]}}}}'
    )
    told = describe_turns([fold_turn("q", [parse_event(Frame("tool_use", data))])])
    assert told["retrievedSnippets"] == ["a"]


@pytest.mark.parametrize(
    ("seconds", "ms"), [(None, None), (0.0, 0), (1.2344, 1234), (1.2346, 1235), (120.0, 120000)]
)
def test_milliseconds_are_whole(seconds: float | None, ms: int | None) -> None:
    assert milliseconds(seconds) == ms
    assert ms is None or isinstance(milliseconds(seconds), int)
