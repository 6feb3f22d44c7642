"""The fold: which turn a stream's events tell, and whether it may count as an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.errors import AgentError, InfrastructureError
from lobu_provider.events import Event, Frame, parse_event
from lobu_provider.turn import Turn, fold_turn
from lobu_provider.turn_events import belongs_to_turn, events_of_turn
from lobu_provider.turn_story import TurnRules

UNLIMITED = settings(deadline=None)

MINE = frozenset({"m-1"})
CONNECTED_MS = 1000.0


def event(
    wire_name: str, /, message_id: Any = "m-1", at: float | None = 2000, **data: Any
) -> Event:
    given_id = {} if message_id is None else {"messageId": message_id}
    return parse_event(Frame(wire_name, json.dumps({**data, **given_id, "timestamp": at})))


def output(text: str, message_id: Any = "m-1") -> Event:
    return event("output", message_id, content=text)


def tool(name: str = "bash", message_id: Any = "m-1", **data: Any) -> Event:
    return event("tool_use", message_id, name=name, **data)


def complete(final: Any = "", message_id: str = "m-1", **data: Any) -> Event:
    text = {} if final is None else {"finalText": final}
    return event("complete", message_id, **text, **data)


def error(text: str = "400 Bad request", message_id: str = "m-1", **data: Any) -> Event:
    return event("error", message_id, error=text, **data)


def fold(*events: Event) -> Turn:
    return fold_turn("hello", events_of_turn(events, MINE, before_ms=CONNECTED_MS))


def verdict(turn: Turn) -> str:
    """The one thing that a turn is: running, an answer, or a failure."""
    if turn.failure is not None:
        return turn.failure.code
    return "answer" if turn.completed else "running"


# --- text


@pytest.mark.parametrize(
    ("events", "text", "streamed"),
    [
        ([output("Paris"), output(" is"), complete("Paris is")], "Paris is", "Paris is"),
        ([output("old"), output("new"), complete("new")], "new", "oldnew"),
        ([complete("guarded answer")], "guarded answer", ""),
        ([output("Paris"), complete(None)], "Paris", "Paris"),
        ([output("Paris"), complete(7)], "Paris", "Paris"),
        ([output("par")], "par", "par"),
        ([output("par"), error(), complete(None)], "par", "par"),
        ([output(""), output("tick0"), output(" tick1")], "tick0 tick1", "tick0 tick1"),
    ],
)
def test_the_text_is_final_text_when_that_is_a_string_else_the_deltas(
    events: list[Event], text: str, streamed: str
) -> None:
    turn = fold(*events)
    assert (turn.output, turn.streamed_text) == (text, streamed)


def test_the_time_of_the_first_text_is_that_of_the_first_words_and_not_of_a_blank() -> None:
    events = [
        replace(e, received_s=float(i))
        for i, e in enumerate([tool(), output(" "), output("x"), output("y"), complete("xy")])
    ]
    assert fold(*events).first_text_s == 2.0
    assert fold(*events[:2], events[4]).first_text_s == 4.0
    assert fold(*events[:2]).first_text_s is None


def test_the_first_text_latency_is_never_negative_and_unknown_without_a_start() -> None:
    assert Turn("hi", first_text_s=5.0, sent_s=3.0).first_text_latency_s == 2.0
    assert Turn("hi", first_text_s=5.0, sent_s=6.0).first_text_latency_s == 0.0
    assert Turn("hi", first_text_s=5.0).first_text_latency_s is None
    assert Turn("hi", sent_s=5.0).first_text_latency_s is None


# --- tool calls


@pytest.mark.parametrize(
    ("events", "names"),
    [
        ([tool("a", toolCallId="1"), tool("a", toolCallId="1")], ["a"]),
        ([tool("a", toolCallId="1"), output("x"), tool("a", toolCallId="1", isError=True)], ["a"]),
        ([tool("a", toolCallId="1"), tool("a", toolCallId="2")], ["a", "a"]),
        ([tool("a", toolCallId="0"), tool("b", toolCallId="0")], ["a", "b"]),
        (
            [tool("a", toolCallId="0", input={"q": 1}), tool("a", toolCallId="0", input={"q": 2})],
            ["a", "a"],
        ),
        (
            [
                tool("a", toolCallId="0", input={"q": 1, "r": 2}),
                tool("a", toolCallId="0", input={"r": 2, "q": 1}),
            ],
            ["a"],
        ),
        ([tool("a", input={"q": 1}), tool("a", input={"q": 1})], ["a"]),
        ([tool("a", at=2000), tool("a", at=2001)], ["a", "a"]),
        ([tool("b"), tool("a"), complete("x"), tool("late")], ["b", "a", "late"]),
        ([tool("a", input={"q": 1}, toolCallId="1"), tool("a", toolCallId="1")], ["a"]),
        ([tool("a", at=None), tool("a", at=None)], ["a", "a"]),
    ],
)
def test_each_tool_call_is_listed_once_and_in_order(events: list[Event], names: list[str]) -> None:
    assert [call.name for call in fold(*events).tool_calls] == names


def test_a_tool_call_is_kept_as_it_came_with_unknown_keys() -> None:
    call = fold(tool("docs", toolCallId="t", input=None, result_summary={"new_key": 1}, x=2))
    (kept,) = call.tool_calls
    assert (kept.name, kept.tool_call_id) == ("docs", "t")
    assert kept.data["result_summary"] == {"new_key": 1}
    assert kept.data["x"] == 2


@pytest.mark.parametrize("name", [None, 7, ""])
def test_a_tool_call_without_a_usable_name_is_still_a_call(name: Any) -> None:
    (call,) = fold(tool(name), complete("x")).tool_calls
    assert call.name == ""


def test_a_tool_call_with_deeply_nested_input_is_read() -> None:
    data = f'{{"messageId":"m-1","name":"deep","input":{"[" * 900}{"]" * 900}}}'
    turn = fold(parse_event(Frame("tool_use", data)), complete("done"))
    assert [call.name for call in turn.tool_calls] == ["deep"]


# --- the verdict


CARD = event("question", message_id="random", turnMessageId="m-1", question="Which?")
SUGGESTION = event("suggestion", message_id="random", turnMessageId="m-1", prompts=[])
NOTICE = event("ephemeral", content="Connect your account: https://x")
CREDENTIALS = (
    "Your AI provider credentials are invalid or expired. Ask an admin to connect a provider."
)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], "running"),
        ([output("par")], "running"),
        ([tool()], "running"),
        ([CARD], "running"),
        ([event("status", status="Working")], "running"),
        ([complete("an answer")], "answer"),
        ([output("an answer"), complete(None)], "answer"),
        ([tool(), complete("")], "answer"),
        ([CARD, tool("ask_user"), complete("", awaitingHumanDecision=True)], "answer"),
        ([CARD, complete("")], "answer"),
        ([CARD, complete(None)], "answer"),
        ([complete("", awaitingHumanDecision=True)], "action_required"),
        ([tool("ask_user"), complete("", awaitingHumanDecision=True)], "answer"),
        ([NOTICE, complete("an answer")], "answer"),
        ([complete("")], "empty"),
        ([complete(" \n")], "empty"),
        ([complete(None)], "empty"),
        ([tool(), complete(None)], "empty"),
        ([output(" "), complete(None)], "empty"),
        ([output("streamed"), complete("")], "empty"),
        ([error()], "provider"),
        ([error(), complete(None)], "provider"),
        ([output("right"), error(), event("agent-error", error="x"), complete(None)], "provider"),
        ([error(), complete("an answer all the same")], "provider"),
        ([event("agent-error", error="429 slow down"), complete("x")], "rate_limit"),
        ([error("No model configured."), NOTICE, complete(None)], "provider"),
        ([NOTICE], "action_required"),
        ([NOTICE, complete("")], "action_required"),
        ([NOTICE, complete(None)], "action_required"),
        ([tool(), NOTICE], "action_required"),
        ([NOTICE, CARD], "action_required"),
        ([NOTICE, tool(), NOTICE], "action_required"),
        ([tool(toolCallId="t"), NOTICE, tool(toolCallId="t")], "action_required"),  # told again
        ([NOTICE, tool()], "running"),
        ([NOTICE, output("par")], "running"),
        ([NOTICE, event("status", status="Working"), CARD], "running"),
        ([NOTICE, event("file-uploaded", fileId="f")], "running"),
        ([NOTICE, tool(), complete("")], "action_required"),
        ([output(CREDENTIALS), complete(CREDENTIALS)], "provider"),
        ([output(CREDENTIALS), complete(None)], "provider"),
        ([complete("Message blocked by guardrail: secrets")], "guardrail"),
        ([output("💥 Worker crashed: oom"), complete(None)], "worker"),
        ([output("❌ Session failed: 429 slow down"), complete(None)], "rate_limit"),
        ([tool(), complete("❌ Session failed: who knows")], "worker"),
    ],
)
def test_a_turn_has_the_verdict_that_its_events_give(events: list[Event], expected: str) -> None:
    assert verdict(fold(*events)) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "The log says '❌ Session failed: 429'.",
        "It means: Your AI provider credentials are invalid or expired.",
        "Why was my Message blocked by guardrail?",
        "I could not find it. The request failed with error 500.",
    ],
)
def test_an_answer_that_only_mentions_a_failure_is_an_answer(answer: str) -> None:
    assert verdict(fold(complete(answer))) == "answer"


def test_an_empty_turn_without_final_text_may_be_run_again_and_one_with_it_not() -> None:
    bare, told = fold(complete(None)).failure, fold(complete("")).failure
    assert bare is not None
    assert told is not None
    assert (bare.retryable, told.retryable) == (True, False)


def test_text_and_ends_after_the_end_of_a_turn_are_a_late_echo() -> None:
    events = [output("a"), complete("a"), output("b"), complete("other")]
    assert fold(*events) == fold(*events[:2])
    assert verdict(fold(*events)) == "answer"


def test_an_error_or_a_tool_call_after_the_end_of_its_turn_still_counts() -> None:
    late_call = fold(complete("a"), tool("delete_account"))
    assert [call.name for call in late_call.tool_calls] == ["delete_account"]
    assert verdict(fold(complete("a"), error("429 slow down"))) == "rate_limit"


def test_a_merged_turn_gives_the_answer_to_our_message_and_not_to_the_other() -> None:
    other = [output("FOREIGN", "m-0"), complete("FOREIGN", "m-0", processedMessageIds=["m-0"])]
    merged = [
        output("OURS", "m-0"),
        tool("look", "m-0"),
        complete("OURS", "m-0", processedMessageIds=["m-0", "m-1"]),
    ]
    turn = fold(*other, *merged)
    assert (turn.output, [c.name for c in turn.tool_calls]) == ("OURS", ["look"])
    assert turn.merged_with == ("m-0", "m-1")
    failed = [
        error("429 slow down", "m-0", processedMessageIds=["m-0", "m-1"]),
        complete(None, "m-0", processedMessageIds=["m-0", "m-1"]),
    ]
    assert verdict(fold(*other, *failed)) == "rate_limit"


def test_an_end_without_final_text_fails_only_where_the_gateway_is_known_to_send_it() -> None:
    events = [output("The refund is"), complete(None)]
    assert verdict(fold_turn("hi", events)) == "answer"
    assert "streamed text" in fold_turn("hi", events).warnings[0]
    cut = fold_turn("hi", events, TurnRules(final_text_expected=True))
    assert (verdict(cut), cut.output) == ("timeout", "The refund is")


def test_an_error_of_any_depth_at_an_end_is_told() -> None:
    nested: Any = "boom"
    for _ in range(100_000):
        nested = [nested]
    end = complete("fine")
    end = replace(end, data={**end.data, "error": nested})
    turn = fold(end)
    assert turn.failure is not None
    assert "nested too deep" in turn.failure.message


@pytest.mark.parametrize("text", ["\u200b", "\ufeff", "\u3164", "\u2800", "\0", "\u00a0\n"])
def test_an_answer_of_invisible_characters_is_empty(text: str) -> None:
    assert verdict(fold(complete(text))) == "empty"


def test_a_suggestion_excuses_no_empty_answer() -> None:
    assert verdict(fold(event("suggestion", "x", turnMessageId="m-1"), complete(""))) == "empty"


def test_an_answer_shorter_than_what_was_streamed_is_told() -> None:
    (warning,) = fold(output("Full long answer"), complete("Full")).warnings
    assert "shorter" in warning


def test_tool_calls_and_text_that_name_no_message_are_the_turns_in_flight() -> None:
    turn = fold(tool("delete", None), output("do", None), output("ne", 5), complete(None))
    assert ([c.name for c in turn.tool_calls], turn.output) == (["delete"], "done")


def test_a_failed_turn_keeps_its_tool_calls_cards_and_partial_text() -> None:
    turn = fold(tool("a"), CARD, output("partial"), error("it broke"), complete(None))
    assert turn.failure is not None
    assert (turn.output, [c.name for c in turn.tool_calls]) == ("partial", ["a"])
    assert turn.interactions == (CARD,)


def test_cards_and_notices_are_interactions_in_order_and_unknown_events_are_kept() -> None:
    other = event("file-uploaded", name="report.pdf")
    turn = fold(CARD, other, NOTICE, SUGGESTION, complete("x"))
    assert turn.interactions == (CARD, NOTICE, SUGGESTION)
    assert turn.other_events == (other,)


def test_raising_for_a_failure_gives_back_a_usable_turn() -> None:
    turn = fold(complete("x"))
    assert turn.raise_for_failure() is turn


@pytest.mark.parametrize(
    ("events", "kind"),
    [([complete("")], AgentError), ([error("500 oops"), complete(None)], InfrastructureError)],
)
def test_raising_for_a_failure_raises_what_its_class_is(
    events: list[Event], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        fold(*events).raise_for_failure()


# --- which events are mine


@pytest.mark.parametrize(
    ("foreign", "belongs"),
    [
        (output("x", "m-2"), False),
        (event("output", None, content="x"), True),
        (event("output", None, content="x", at=999), False),
        (event("complete", None, finalText="x"), False),
        (event("ephemeral", None, content="x"), True),
        (complete("x", "m-2"), False),
        (complete("x", "m-2", processedMessageIds=["m-2", "m-1"]), True),
        (event("question", "random", turnMessageId="m-2"), False),
        (event("question", "random", originMessageId="m-1"), True),
        (event("question", "random"), True),
        (event("question", "random", at=999), False),
        (event("question", "random", at=1000), True),
        (event("error", None, error="x"), True),
        (event("error", None, error="x", at=999), False),
        (event("ping", None), False),
        (event("connected", None), False),
        (event("work-state", None), False),
        (event("work-state", "m-1"), True),
    ],
)
def test_an_event_belongs_to_the_turn_that_it_names_or_to_the_one_in_flight(
    foreign: Event, belongs: bool
) -> None:
    assert belongs_to_turn(foreign, MINE, before_ms=CONNECTED_MS) is belongs
    assert (foreign in events_of_turn([foreign], MINE, before_ms=CONNECTED_MS)) is belongs


def test_the_failed_end_of_a_merged_turn_takes_nothing_from_the_message_that_it_named_before() -> (
    None
):
    """After an error a gateway leaves ``processedMessageIds`` out."""
    turn = fold(
        event("ephemeral", "m-9", content="Sign in", processedMessageIds=["m-9", "m-1"]),
        output("Half", "m-9"),
        error("500 boom", "m-9"),
        complete(None, "m-9"),
    )
    assert (turn.output, turn.completed, verdict(turn)) == ("Half", False, "provider")


def test_the_halves_of_a_surrogate_pair_in_two_pieces_are_one_character() -> None:
    turn = fold(output("Hi \ud83d"), output("\ude00 there, \ud83d"), complete(None))
    assert turn.output == "Hi \U0001f600 there, \ud83d"


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"success": False}, "worker"),
        ({"status": "failed"}, "worker"),
        ({"errorCode": "SESSION_TIMEOUT"}, "timeout"),
        ({"error": {"message": "no"}}, "worker"),
        ({"status": "canceled"}, "worker"),
        ({"isError": True}, "worker"),
        ({"status": "FAILED"}, "worker"),
        ({"status": "timeout"}, "timeout"),
        ({"status": "Timed_Out", "success": True}, "timeout"),
        ({"status": ["failed"]}, "worker"),
        ({"status": {"state": "Error"}}, "worker"),
        ({"status": False}, "worker"),
        ({"isError": "true"}, "worker"),
        ({"success": "False"}, "worker"),
        ({"success": 0}, "worker"),
        ({"success": True, "error": "429 slow down"}, "rate_limit"),
        ({"success": None, "error": ["no"]}, "worker"),
        ({"error": True}, "worker"),
        ({"errorCode": 17}, "worker"),
    ],
)
def test_an_end_that_says_it_is_none_is_a_failure(told: dict[str, Any], code: str) -> None:
    assert verdict(fold(output("All fine."), complete("All fine.", **told))) == code


@pytest.mark.parametrize(
    "told",
    [
        {"success": True},
        {"success": "true", "isError": "false", "error": "false"},
        {"success": None, "isError": None, "error": None, "errorCode": None, "status": None},
        {"success": "", "isError": "", "error": " ", "errorCode": "", "status": ""},
        {"success": [], "isError": {}, "error": [], "errorCode": 0, "status": []},
        {"success": {}, "isError": [], "error": {}, "errorCode": "null", "status": {}},
        {"error": False, "isError": 0, "status": True},
        {"status": "done"},
        {"status": ["completed", None, 200]},
        {"status": {"state": "is running..", "elapsedSeconds": 20}},
        {"status": "not failed"},
    ],
)
def test_an_end_that_says_it_is_one_is_none(told: dict[str, Any]) -> None:
    assert fold(output("All fine."), complete("All fine.", **told)).failure is None


def test_in_a_fresh_thread_a_card_is_no_replay_whatever_its_timestamp() -> None:
    assert belongs_to_turn(event("question", "random", at=1), MINE)


def test_in_a_merged_turn_the_other_messages_events_are_mine_too() -> None:
    turn = fold(
        tool("a", "m-9"),
        output("both", "m-9"),
        complete("both answered", "m-9", processedMessageIds=["m-9", "m-1"]),
    )
    assert (turn.output, verdict(turn)) == ("both answered", "answer")
    assert [call.name for call in turn.tool_calls] == ["a"]


# --- properties

TEXTS = st.sampled_from(["", " ", "a", "Paris", "❌ Session failed: x", "\u2028"])


def middle_of(message_id: str) -> st.SearchStrategy[list[Event]]:
    one = st.one_of(
        TEXTS.map(lambda text: output(text, message_id)),
        st.builds(
            lambda name, call: tool(name, message_id, toolCallId=call),
            st.sampled_from(["search_memory", "bash"]),
            st.sampled_from(["t-1", "t-2", None]),
        ),
        st.just(event("status", message_id, status="Working")),
        st.just(event("question", "random", turnMessageId=message_id)),
        st.just(event("file-uploaded", message_id, name="x")),
    )
    return st.lists(one, max_size=6)


def end_of(message_id: str) -> st.SearchStrategy[list[Event]]:
    ids = [message_id]
    good = TEXTS.map(lambda text: [complete(text, message_id, processedMessageIds=ids)])
    bare = st.just([complete(None, message_id)])
    bad = st.just(
        [
            error("500 oops", message_id),
            event("agent-error", message_id, error="500 oops"),
            complete(None, message_id),
        ]
    )
    notice = st.just([event("ephemeral", message_id, content="Sign in")])
    return st.one_of(good, bare, bad, notice)


def story_of(message_id: str) -> st.SearchStrategy[list[Event]]:
    return st.builds(lambda m, e: [*m, *e], middle_of(message_id), end_of(message_id))


@st.composite
def interleaved(
    draw: st.DrawFn, *stories: st.SearchStrategy[list[Event]]
) -> tuple[list[list[Event]], list[Event]]:
    """Stories, and one stream in which each keeps its own order."""
    drawn = [draw(story) for story in stories]
    order = draw(st.permutations([i for i, story in enumerate(drawn) for _ in story]))
    rest = [iter(story) for story in drawn]
    return drawn, [next(rest[i]) for i in order]


FOREIGN = st.lists(
    st.sampled_from(
        [
            event("connected", None, agentId="a"),
            event("ping", None),
            output("foreign", "m-7"),
            tool("foreign", "m-7"),
            complete("foreign", "m-7", processedMessageIds=["m-7"]),
            error("foreign", "m-7"),
            event("ephemeral", "m-7", content="foreign"),
            event("question", "random", turnMessageId="m-7"),
            event("question", "random", at=1),  # replayed
            event("error", None, error="foreign", at=1),
        ]
    ),
    max_size=6,
)


@UNLIMITED
@given(interleaved(story_of("m-1"), FOREIGN))
def test_events_of_others_change_nothing(told: tuple[list[list[Event]], list[Event]]) -> None:
    (mine, _), stream = told
    assert fold(*stream) == fold(*mine)


@UNLIMITED
@given(interleaved(story_of("m-1"), story_of("m-2")))
def test_two_messages_on_one_stream_get_each_its_own_turn(
    told: tuple[list[list[Event]], list[Event]],
) -> None:
    (first, second), stream = told
    for message_id, story in (("m-1", first), ("m-2", second)):
        ids = frozenset({message_id})
        own = events_of_turn(stream, ids, before_ms=CONNECTED_MS)
        assert own == story
        assert fold_turn("hello", own) == fold_turn("hello", story)


@UNLIMITED
@given(story_of("m-1"))
def test_the_beginning_of_a_story_gives_the_turn_as_far_as_it_had_come(story: list[Event]) -> None:
    turns = [fold(*story[:i]) for i in range(len(story) + 1)]
    for before, after in pairwise(turns):
        assert after.streamed_text.startswith(before.streamed_text)
        assert after.tool_calls[: len(before.tool_calls)] == before.tool_calls
        assert after.interactions[: len(before.interactions)] == before.interactions
        assert not before.completed
    assert turns[0].output == ""


@UNLIMITED
@given(story_of("m-1"), st.data())
def test_a_tool_event_told_again_anywhere_is_listed_once(
    story: list[Event], data: st.DataObject
) -> None:
    once = fold(*story)
    tools = [e for e in story if e.name == "tool_use"]
    for repeated in tools:
        at = data.draw(st.integers(story.index(repeated) + 1, len(story)))
        story.insert(at, repeated)
    assert fold(*story).tool_calls == once.tool_calls
    assert fold(*story).failure == once.failure


@UNLIMITED
@given(st.lists(st.one_of(middle_of("m-1"), end_of("m-1"), FOREIGN), max_size=4))
def test_any_stream_has_exactly_one_verdict_and_the_last_word_is_never_a_silent_pass(
    parts: list[list[Event]],
) -> None:
    stream = [e for part in parts for e in part]
    turn = fold(*stream)
    said = verdict(turn)
    before_end = _up_to_end(stream)
    errors = [e for e in before_end if e.name in ("error", "agent-error") and e.message_id]
    ended = any(e.name == "complete" and e.message_id == "m-1" for e in stream)
    if said == "answer":
        assert ended
        assert not [e for e in errors if e.message_id == "m-1"]
        assert turn.output.strip() or turn.interactions or turn.tool_calls
    if said == "running":
        assert not ended


def _up_to_end(stream: Sequence[Event]) -> list[Event]:
    ends = [i for i, e in enumerate(stream) if e.name == "complete" and e.message_id == "m-1"]
    return list(stream[: ends[0]]) if ends else list(stream)


# --- events that cannot be read


def test_a_tool_event_that_cannot_be_read_fails_the_turn_since_a_call_may_be_missing() -> None:
    unreadable = parse_event(Frame("tool_use", '{"name": "delete_'))
    turn = fold(unreadable, complete("done"))
    assert verdict(turn) == "gateway"
    assert turn.other_events == (unreadable,)


def test_a_piece_of_text_that_cannot_be_read_matters_only_without_a_final_text() -> None:
    unreadable = parse_event(Frame("output", "{"))
    assert verdict(fold(unreadable, complete("done"))) == "answer"
    assert verdict(fold(unreadable, output("do"), complete(None))) == "gateway"


def test_suggestions_at_the_end_of_a_turn_are_kept() -> None:
    proposed = [{"title": "More", "message": "Tell me more"}]
    assert list(fold(complete("done", suggestions=proposed)).suggestions) == proposed
