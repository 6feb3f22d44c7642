"""Turns that end badly, look good and are not, or look bad and are good; and ended on purpose."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.faults.fault_rows import INFRA, PING, TURN, heard, held
from tests.wire.wire_answers import (
    CONNECTED,
    AfterMessage,
    complete,
    event,
    failed,
    html,
    output,
    queued,
    stream,
    tool_use,
)
from tests.wire.wire_gateway import Exchange

pytestmark = pytest.mark.anyio

CREDENTIALS: Final = "Your AI provider credentials are invalid or expired. Ask an admin."

RETRY: Final = "🔄 *Retrying (attempt 1/3)...*"

FAILURES: Final = [
    (CREDENTIALS, "provider", INFRA, False),
    ("❌ Session failed: 500 The server had an error", "provider", INFRA, True),
    ("❌ Session failed: something new", "worker", "agent", False),
    ("💥 Worker crashed (exit 1)", "worker", INFRA, True),
    ("Message blocked by guardrail: no", "guardrail", "agent", False),
]


@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize(("text", "code", "error_class", "retryable"), FAILURES)
async def test_a_failure_text_in_the_answers_place_is_an_error(
    text: str, code: str, error_class: str, retryable: bool, final: bool
) -> None:
    end = complete(finalText=text) if final else output(text) + complete()
    row = await heard(tool_use("lookup", "call_1"), end)
    row.failed(code, error_class, "turn", retryable=retryable).kept(text)


@pytest.mark.parametrize("text", [text for text, *_ in FAILURES])
async def test_failure_texts_off_takes_such_a_text_for_an_answer(text: str) -> None:
    row = await heard(complete(finalText=text), config={"failureTexts": False})
    row.passed(text)


@pytest.mark.parametrize("text", [text for text, *_ in FAILURES])
@pytest.mark.parametrize("frame", ["The log says: {}", "You asked what '{}' means. Well:"])
async def test_an_answer_that_merely_mentions_a_failure_text_passes(frame: str, text: str) -> None:
    said = frame.format(text)
    row = await heard(output(said), complete(finalText=said))
    row.passed(said)


EMPTY: Final = [
    complete(),
    complete(finalText=""),
    complete(finalText=" \n\t"),
    complete(finalText="\u200b"),
    complete(finalText=None),
]


@pytest.mark.parametrize("end", EMPTY)
async def test_a_turn_without_any_text_is_empty(end: bytes) -> None:
    row = await heard(end)
    assert row.metadata["error"]["code"] == "empty"
    assert row.metadata["error"]["class"] == "agent"


@pytest.mark.parametrize("end", EMPTY)
async def test_allow_empty_takes_a_turn_without_text_for_an_answer(end: bytes) -> None:
    row = await heard(end, config={"allowEmpty": True})
    assert row.error is None
    assert row.output.strip("\u200b \n\t") == ""


@pytest.mark.parametrize("before", [b"", tool_use("refund", "call_1")])
async def test_allow_empty_takes_no_session_that_timed_out_for_an_answer(before: bytes) -> None:
    newer = event("status", status="running", messageId="m-1")
    row = await heard(newer, before, complete(), config={"allowEmpty": True})
    assert row.metadata["error"]["code"] == "timeout"


async def test_an_action_without_words_is_an_answer() -> None:
    row = await heard(tool_use("refund", "call_1"), complete(finalText=""))
    row.passed("", "call_1")
    assert row.warns("without text")


async def test_a_bare_end_after_a_tool_call_is_no_proof_of_success() -> None:
    row = await heard(tool_use("refund", "call_1"), complete())
    row.failed("empty", "agent", "turn", retryable=True).kept("")


async def test_an_error_told_three_ways_is_one_error() -> None:
    row = await held(
        "1", "2", events=stream(CONNECTED, AfterMessage(1), TURN, failed("400 Bad request"))
    )
    row.failed("provider", INFRA, "turn", retryable=False).kept()
    assert row.error is not None
    assert row.error.count("400 Bad request") == 1
    assert (row.count("message"), len(row.turns)) == (1, 1)


async def test_an_error_of_another_turn_fails_no_turn_of_ours() -> None:
    row = await heard(failed("400 Bad request", "m-other"), TURN, complete(finalText="fine"))
    row.passed("fine", "call_1")


@pytest.mark.parametrize("place", [0, 1])
async def test_what_trails_the_first_turn_does_not_leak_into_the_second(place: int) -> None:
    late = output("late text") + complete(finalText="late text")
    parts: list[bytes | AfterMessage]
    parts = [complete(finalText="one"), AfterMessage(2), complete("m-2", finalText="two")]
    parts.insert(1 + place, late)
    row = await heard(*parts, messages=("1", "2"))
    row.passed("two")
    assert [turn["output"] for turn in row.turns] == ["one", "two"]


async def test_a_late_answer_after_its_error_does_not_turn_the_error_into_a_pass() -> None:
    late = output("the real answer") + complete(finalText="the real answer")
    words = "The worker handling your request stopped responding before it could reply."
    row = await heard(failed(words), late)
    row.failed("worker", INFRA, "turn", retryable=True)
    assert "the real answer" not in row.output


async def test_an_error_that_comes_after_the_first_turns_end_fails_the_first_turn() -> None:
    error = event("error", type="error", error="500 late", messageId="m-1", timestamp=4)
    row = await heard(
        complete(finalText="one"),
        AfterMessage(2),
        error,
        complete("m-2", finalText="two"),
        messages=("1", "2"),
    )
    row.failed("provider", INFRA, "turn", retryable=True)
    assert row.metadata["error"]["turn"] == 1


NOTICE: Final = event(
    "ephemeral", type="ephemeral", content="Sign in: https://x.example", messageId="m-1"
)


@pytest.mark.parametrize("end", [b"", complete(), complete(finalText="")])
async def test_a_notice_without_an_answer_asks_a_person_to_act(end: bytes) -> None:
    row = await heard(tool_use("lookup", "call_1"), NOTICE, end, PING)
    row.failed("action_required", "agent", "turn", retryable=False).kept("")
    assert row.error is not None
    assert "Sign in: https://x.example" in row.error
    assert row.metadata["interactions"][0]["content"] == "Sign in: https://x.example"


async def test_a_notice_beside_an_answer_is_recorded_and_the_answer_passes() -> None:
    row = await heard(NOTICE, complete(finalText="fine"))
    row.passed("fine")
    assert len(row.metadata["interactions"]) == 1


WORKING: Final = event("status", type="status", status="Working", messageId="m-1", timestamp=3)


async def test_a_notice_is_no_end_where_the_agent_goes_on() -> None:
    """Its next limit is far longer than the time that is left to a notice alone."""
    row = await heard(NOTICE, WORKING, TURN, PING, config={"idleTimeoutMs": 700})
    row.failed("timeout", INFRA, "turn", retryable=True).kept()
    assert "idleTimeoutMs" in (row.error or "")
    assert len(row.metadata["interactions"]) == 1


async def test_a_notice_before_a_tool_call_that_ends_the_conversation_is_no_failure() -> None:
    row = await heard(NOTICE, TURN, config={"stopOnTool": "lookup"})
    assert (row.error, row.tools) == (None, ["call_1"])
    assert row.turns[0]["cutShort"]


async def test_a_decision_that_is_awaited_without_its_card_asks_a_person_to_act() -> None:
    row = await heard(complete(finalText="", awaitingHumanDecision=True))
    row.failed("action_required", "agent", "turn", retryable=False)


async def test_retry_lines_stay_in_the_output_of_a_failed_turn() -> None:
    row = await heard(output(RETRY), output("❌ Session failed: 500 x"), failed("500 x"))
    row.failed("provider", INFRA, "turn", retryable=True)
    assert row.output == f"{RETRY}❌ Session failed: 500 x"
    assert row.error is not None
    assert "Retrying" not in row.error


async def test_notices_in_a_streamed_answer_without_a_final_text_are_a_warning() -> None:
    row = await heard(output(RETRY), output("The answer."), complete())
    row.passed(f"{RETRY}The answer.")
    assert row.warns("lines of the gateway's own")


async def test_notices_in_the_stream_do_not_matter_where_a_final_text_came() -> None:
    row = await heard(output(RETRY), output("The answer."), complete(finalText="The answer."))
    row.passed("The answer.")
    assert not row.warns("lines of the gateway's own")


@pytest.mark.parametrize(
    "broken",
    [
        b"event: tool_use\ndata: {not json\n\n",
        b"event: complete\ndata: [1]\n\n",
        b"event: error\ndata: null\n\n",
        b"event: tool_use\ndata:\n\n",
    ],
)
async def test_an_event_that_is_needed_and_cannot_be_read_is_an_error(broken: bytes) -> None:
    row = await heard(TURN, broken, complete(finalText="fine"))
    row.failed("gateway", INFRA, "turn", retryable=True)
    assert row.output == "fine" or b"complete" in broken


async def test_a_piece_of_text_that_cannot_be_read_is_made_good_by_the_final_text() -> None:
    row = await heard(TURN, b"event: output\ndata: {\n\n", complete(finalText="fine"))
    row.passed("fine", "call_1")


async def test_an_event_that_nobody_knows_is_kept_and_hurts_nothing() -> None:
    news = event("work-state", messageId="m-1", state=["new"])
    row = await heard(TURN, news, complete(finalText="fine"))
    row.passed("fine", "call_1")
    assert row.turns[0]["otherEvents"][0]["event"] == "work-state"


# --- ended on purpose --------------------------------------------------------------------------


async def test_stop_on_tool_ends_the_conversation_and_says_that_the_turn_may_go_on() -> None:
    row = await heard(TURN, config={"stopOnTool": "lookup"}, messages=("1", "2", "3"))
    assert (row.error, row.tools) == (None, ["call_1"])
    assert row.turns[0]["cutShort"]
    assert row.warns("messages not sent: 2; the turn may go on at the gateway")


async def test_max_tool_calls_ends_the_conversation_as_a_failure() -> None:
    calls = [tool_use("lookup", f"call_{number}") for number in range(5)]
    row = await heard(*calls, complete(finalText="fine"), config={"maxToolCalls": 2})
    row.failed("limit", "agent", "turn", retryable=False)
    assert row.tools[:3] == ["call_0", "call_1", "call_2"]


async def test_as_many_tool_calls_as_are_allowed_are_no_failure() -> None:
    calls = [tool_use("lookup", f"call_{number}") for number in range(2)]
    row = await heard(*calls, *calls, complete(finalText="fine"), config={"maxToolCalls": 2})
    row.passed("fine", "call_0", "call_1")


# --- answers to questions ----------------------------------------------------------------------


def question(message: str, *options: Any) -> bytes:
    """A card as version 11 sends it, under a random id; and the end of its turn."""
    card = event(
        "question", type="question", question="Which size?", options=options, messageId="r-1"
    )
    return card + complete(message, finalText="", awaitingHumanDecision=True)


async def test_a_question_is_answered_with_the_offered_option_in_the_next_turn() -> None:
    row = await heard(
        question("m-1", "Small", "Large"),
        AfterMessage(2),
        complete("m-2", finalText="Large it is."),
        config={"answers": {"size": "large"}},
    )
    row.passed("Large it is.")
    assert [turn["user"] for turn in row.turns] == ["hello", "Large"]


async def test_an_option_that_is_not_offered_is_not_said_and_that_is_told() -> None:
    row = await heard(question("m-1", "Small"), config={"answers": {"size": "Large"}})
    row.passed("")
    assert row.warns("the agent offers 'Small'")
    assert row.count("message") == 1


async def test_an_agent_that_asks_for_ever_is_answered_ten_times() -> None:
    parts: list[bytes | AfterMessage] = []
    for number in range(1, 30):
        parts += [question(f"m-{number}", "Large"), AfterMessage(number + 1)]
    row = await heard(*parts, config={"answers": {"size": "Large"}})
    row.failed("limit", "agent", "turn", retryable=False)
    assert row.count("message") == 11


# --- a pinned thread ---------------------------------------------------------------------------


async def test_in_a_pinned_thread_replays_of_earlier_turns_are_dropped_and_it_stays() -> None:
    old = (
        output("old", "m-0")
        + tool_use("old_tool", "call_0", "m-0")
        + event("question", type="question", question="Old?", options=["a"], timestamp=1)
        + complete("m-0", finalText="old")
    )
    connected = event("connected", agentId="support-agent", timestamp=10)
    events = stream(connected, old, AfterMessage(1), old, TURN, complete(finalText="fine"))
    row = await held(events=events, config={"thread": "t-1"}, kept=True)
    row.passed("fine", "call_1")
    assert row.metadata["interactions"] == []
    assert row.gateway.of_kind("create")[0].json["forceNew"] is False
    assert row.count("delete") == 0


@pytest.mark.parametrize(
    "old",
    [
        event("tool_use", name="lookup", toolCallId="call_0", input={}, timestamp=1),
        event("error", type="error", error="429 slow down", timestamp=1),
        event("ephemeral", type="ephemeral", content="Sign in", timestamp=1),
    ],
    ids=["tool_use", "error", "ephemeral"],
)
async def test_in_a_pinned_thread_a_replay_before_connected_ends_no_turn(old: bytes) -> None:
    connected = event("connected", agentId="support-agent", timestamp=10)
    now = event("question", type="question", question="Now?", options=["a"], timestamp=11)
    events = stream(b": hi\n\n", AfterMessage(1), old, connected, now, complete(finalText="fine"))
    config = {"thread": "t-1", "stopOnTool": "lookup"}
    row = await held(events=events, config=config, kept=True)
    row.passed("fine")
    assert [card["question"] for card in row.metadata["interactions"]] == ["Now?"]


OLD_QUESTION: Final = event(
    "question", type="question", question="Which account?", options=["A", "B"], timestamp=50
)


def connected_at(timestamp: int) -> bytes:
    return event("connected", agentId="support-agent", timestamp=timestamp)


@pytest.mark.parametrize("own", [b"", event("status", status="x", messageId="m-1", timestamp=150)])
@pytest.mark.parametrize("away", [0, 2])
async def test_in_a_pinned_thread_an_old_card_is_none_of_now_on_a_later_connection_either(
    own: bytes, away: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first connection breaks before its backlog; the next one brings it."""
    monkeypatch.setattr("lobu_provider.outage.WAITS_S", (0.0,) * 5)
    first = stream(connected_at(100), AfterMessage(1), own, end="reset")
    then = stream(connected_at(4100), OLD_QUESTION, complete(finalText="Done."))
    events = [first, *[html(503)] * away, then]
    config = {"thread": "t-1", "answers": {"which account": "A"}}
    row = await held(events=events, config=config, kept=True)
    row.passed("Done.")
    assert row.metadata["interactions"] == []
    assert row.count("message") == 1  # nobody answered it


async def test_in_a_pinned_thread_an_event_of_the_turn_before_connected_ends_no_backlog() -> None:
    own = event("status", status="x", messageId="m-1", timestamp=110)
    end = OLD_QUESTION + complete(finalText="")
    events = stream(b": hi\n\n", AfterMessage(1), own, connected_at(100), end)
    row = await held(events=events, config={"thread": "t-1"}, kept=True)
    row.failed("empty", "agent", "turn", retryable=False)


async def test_a_pinned_thread_stays_also_when_its_turn_fails() -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN, failed("400 Bad request"))
    row = await held(events=events, config={"thread": "t-1"}, kept=True)
    row.failed("provider", INFRA, "turn", retryable=False).kept()
    assert (row.count("delete"), row.count("create")) == (0, 1)


async def test_a_message_that_was_merged_into_another_turn_is_told() -> None:
    end = event("complete", messageId="m-0", processedMessageIds=["m-0", "m-1"], finalText="both")
    row = await heard(output("both", "m-0"), end)
    row.passed("both")
    assert row.warns("answered other messages of the thread")


async def test_a_gateway_that_gives_two_messages_one_id_is_refused() -> None:
    async def same(exchange: Exchange) -> None:
        body = json.dumps({"success": True, "messageId": "m-1"}).encode()
        await exchange.reply(200, body, "application/json")

    row = await heard(complete(finalText="one"), message=[queued, same], messages=("1", "2"))
    row.failed("gateway", INFRA, "send", retryable=True)
    assert row.turns[0]["output"] == "one"
