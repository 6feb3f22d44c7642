"""What is told of a turn after its end, or under another name, counts for the row all the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from lobu_provider import conversation
from lobu_provider.promptfoo import case
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    answers,
    call,
    complete,
    event,
    failed,
    stream,
    tool_use,
)
from tests.wire.wire_gateway import LIMIT_S, Exchange, WireGateway

pytestmark = pytest.mark.anyio

Parts = list[bytes | AfterMessage]


async def row_of(
    *parts: bytes | AfterMessage, messages: tuple[str, ...] = ("hello",), **config: Any
) -> tuple[Mapping[str, Any], int]:
    """Hold a conversation on one stream; returns the row and how many messages were sent."""
    events = stream(CONNECTED, AfterMessage(1), *parts)
    async with WireGateway(answers(events=events)) as gateway:
        row = await call(gateway.url, *messages, **config)
        return row, sum(request.kind == "message" for request in gateway.requests)


def warned(row: Mapping[str, Any], words: str) -> bool:
    return any(words in warning for warning in row["metadata"]["warnings"])


# --- tool calls

TWO = tool_use("lookup", "1") + tool_use("lookup", "2")
LATE = complete(finalText="fine") + TWO


async def test_calls_told_after_the_end_of_the_turn_count_against_the_limit() -> None:
    row, sent = await row_of(LATE, messages=("1", "2"), maxToolCalls=1)
    assert row["error"].startswith("[limit] The agent called 'lookup', its tool call number 2;")
    assert row["metadata"]["error"]["turn"] == 1
    assert row["metadata"]["turns"][0]["error"] == "limit"
    assert sent == 1


async def test_calls_told_at_the_very_end_of_the_stream_count_against_the_limit() -> None:
    late = TWO + event("closed", reason="deleted")
    row, _ = await row_of(complete(finalText="fine"), late, maxToolCalls=1)
    assert row["error"].startswith("[limit]")
    assert len(row["metadata"]["toolCalls"]) == 2


def late(*told: bytes, first: bytes) -> Callable[[Exchange], Awaitable[None]]:
    """A gateway that ends a turn by ``first``, tells more a while later, and then no more."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD)
        await exchange.chunk(CONNECTED)
        await exchange.gateway.message_arrived(1)
        await exchange.chunk(first)
        await anyio.sleep(0.02)
        await exchange.chunk(b"".join(told) + event("closed", reason="deleted"))
        await exchange.client_gone()

    return answer


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for is the end of the stream, not a time of silence."""
    monkeypatch.setattr(case, "_LATE_S", LIMIT_S)
    monkeypatch.setattr(conversation, "LATE_S", LIMIT_S)


JUDGED = {"test": {"assert": [{"type": "contains", "value": "fine"}]}}


@pytest.mark.usefixtures("patient")
async def test_a_call_told_after_a_failed_turn_is_told_of_the_attempt_that_was_repeated() -> None:
    first = late(tool_use("delete_all", "1"), first=failed("500 overloaded") + complete())
    end = complete("m-2", finalText="fine") + event("closed", reason="deleted")
    again = stream(CONNECTED, AfterMessage(2), end)
    async with WireGateway(answers(events=[first, again])) as gateway:
        row = await call(gateway.url, "hello", more_context=JUDGED, retries=1)
    assert row["output"] == "fine"
    assert row["metadata"]["attempts"][0]["toolCalls"] == ["delete_all"]


@pytest.mark.usefixtures("patient")
async def test_a_turn_is_empty_only_once_nothing_more_has_come() -> None:
    answer = late(tool_use("send_mail", "1"), first=complete(finalText=""))
    async with WireGateway(answers(events=answer)) as gateway:
        row = await call(gateway.url, "hello")
    assert "error" not in row
    assert [one["name"] for one in row["metadata"]["toolCalls"]] == ["send_mail"]


@pytest.mark.usefixtures("patient")
async def test_what_is_recorded_is_listened_to_as_if_it_were_judged(tmp_path: Path) -> None:
    config: dict[str, Any] = {"cassettes": str(tmp_path), "cassetteMode": "record"}
    answer = late(TWO, first=complete(finalText="fine"))
    async with WireGateway(answers(events=answer)) as gateway:
        await call(gateway.url, "hello", **config)
        row = await call(
            gateway.url, "hello", more_context=JUDGED, **{**config, "cassetteMode": "replay"}
        )
    assert [one["toolCallId"] for one in row["metadata"]["toolCalls"]] == ["1", "2"]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.usefixtures("patient")
async def test_calls_told_a_while_after_the_end_are_heard_where_they_are_judged(
    kept: bool,
) -> None:
    answer = late(TWO, first=complete(finalText="fine"))
    async with WireGateway(answers(events=answer)) as gateway:
        row = await call(gateway.url, "hello", more_context=JUDGED, keepSession=kept)
    assert [one["toolCallId"] for one in row["metadata"]["toolCalls"]] == ["1", "2"]
    assert "error" not in row


async def test_calls_told_under_the_name_of_a_merged_message_count_against_the_limit() -> None:
    merged = b"".join(tool_use("lookup", str(n), "m-0") for n in range(2))
    end = event("complete", messageId="m-0", processedMessageIds=["m-0", "m-1"], finalText="both")
    row, sent = await row_of(merged + end, messages=("1", "2"), maxToolCalls=1)
    assert row["error"].startswith("[limit]")
    assert sent == 1


async def test_calls_that_nothing_tells_apart_are_each_a_call() -> None:
    one = event("tool_use", name="lookup", input={"a": 1}, messageId="m-1")
    row, _ = await row_of(one, one, complete(finalText="fine"), maxToolCalls=1)
    assert row["error"].startswith("[limit]")


async def test_the_same_call_at_another_time_is_another_call() -> None:
    calls = [
        event("tool_use", name="t", toolCallId="0", input={}, timestamp=at, messageId="m-1")
        for at in (5, 6)
    ]
    row, _ = await row_of(*calls, complete(finalText="fine"), maxToolCalls=1)
    assert row["error"].startswith("[limit]")


async def test_a_repeat_that_lost_its_input_is_no_second_call() -> None:
    first = event(
        "tool_use", name="t", toolCallId="1", input={"a": 1}, timestamp=5, messageId="m-1"
    )
    again = event("tool_use", name="t", toolCallId="1", timestamp=5, messageId="m-1")
    row, _ = await row_of(first, again, complete(finalText="fine"), maxToolCalls=1)
    assert "error" not in row
    assert row["metadata"]["toolCalls"][0]["input"] == {"a": 1}


async def test_calls_are_counted_over_all_turns() -> None:
    parts: Parts = [tool_use("t", "1"), complete(finalText="a"), AfterMessage(2)]
    parts += [tool_use("t", "1", "m-2"), complete("m-2", finalText="b")]
    row, _ = await row_of(*parts, messages=("1", "2"), maxToolCalls=1)
    assert row["error"].startswith("[limit]")
    assert row["metadata"]["error"]["turn"] == 2


async def test_a_tool_to_stop_on_that_is_told_late_ends_the_conversation() -> None:
    row, sent = await row_of(LATE, messages=("1", "2", "3"), stopOnTool="lookup")
    assert "error" not in row
    assert sent == 1
    assert warned(row, "The tool 'lookup' was called in turn 1 (stopOnTool)")
    assert warned(row, "messages not sent: 2")


async def test_a_tool_to_stop_on_after_the_last_message_is_told() -> None:
    row, _ = await row_of(LATE, stopOnTool="lookup")
    assert "error" not in row
    assert warned(row, "(stopOnTool)")
    assert not warned(row, "not sent")


async def test_as_many_late_calls_as_are_allowed_change_nothing() -> None:
    parts: Parts = [LATE, AfterMessage(2), complete("m-2", finalText="good")]
    row, sent = await row_of(*parts, messages=("1", "2"), maxToolCalls=2, stopOnTool="refund")
    assert "error" not in row
    assert (row["output"], sent) == ("good", 2)


# --- questions


def question(text: str = "Which size?") -> bytes:
    return event("question", question=text, options=["Large"], messageId="random")


ASKING = tool_use("ask_user", "1") + complete(finalText="", awaitingHumanDecision=True)
SIZE = {"size": "Large"}


async def test_a_question_that_comes_after_the_end_of_its_turn_is_answered() -> None:
    parts: Parts = [ASKING, question(), AfterMessage(2), complete("m-2", finalText="Large it is.")]
    row, sent = await row_of(*parts, answers=SIZE)
    assert "error" not in row
    assert (row["output"], sent) == ("Large it is.", 2)


async def test_a_question_that_comes_too_late_to_be_answered_is_told() -> None:
    old = event("question", question="Which size?", options=["Large"], turnMessageId="m-1")
    parts: Parts = [complete(finalText="a"), AfterMessage(2), old, complete("m-2", finalText="b")]
    row, sent = await row_of(*parts, messages=("1", "2"), answers=SIZE)
    assert "error" not in row
    assert sent == 2
    assert warned(row, "Turn 1: a question came after the end of its turn and was not answered")


async def test_a_late_question_that_nobody_would_answer_is_no_matter() -> None:
    old = event("question", question="Which colour?", turnMessageId="m-1")
    parts: Parts = [complete(finalText="a"), AfterMessage(2), old, complete("m-2", finalText="b")]
    row, _ = await row_of(*parts, messages=("1", "2"), answers=SIZE)
    assert not warned(row, "a question came")


async def test_an_agent_that_asks_on_after_ten_answers_fails_the_row() -> None:
    parts: Parts = []
    for number in range(1, 13):
        end = complete(f"m-{number}", finalText="", awaitingHumanDecision=True)
        parts += [question() + end, AfterMessage(number + 1)]
    row, sent = await row_of(*parts, messages=("1", "2"), answers=SIZE)
    assert sent == 11
    assert row["error"].startswith("[limit] The agent asks on after 10 answers to one message")
    assert "'Which size?'" in row["error"]
    assert row["metadata"]["error"]["turn"] == 11
