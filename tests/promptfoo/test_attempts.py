"""A whole case is repeated where only the infrastructure failed, and the row says so."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.errors import CODES, ConfigError, Failure, LobuError, error_for, failure
from lobu_provider.promptfoo import attempts
from lobu_provider.promptfoo.attempts import hold_case, may_be_repeated, pause_s
from lobu_provider.promptfoo.call_plan import CallPlan
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.response import build_response
from lobu_provider.promptfoo.time_limit import TimeLimit
from lobu_provider.session_life import SessionPlan
from lobu_provider.turn import ToolCall, Turn
from tests.wire.wire_answers import (
    CONNECTED,
    AfterMessage,
    answers,
    call,
    complete,
    failed,
    json_reply,
    stream,
    tool_use,
)
from tests.wire.wire_gateway import SESSION_TOKEN, WireGateway

pytestmark = pytest.mark.anyio

DIED = failure("worker", "The worker died.", phase="turn")
GOOD = Turn("q", output="fine", completed=True, has_final_text=True)
CRASH = "The worker handling your request stopped unexpectedly before it could reply."


@pytest.fixture(autouse=True)
def paused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No pauses; returns after which attempts there would have been one."""
    asked: list[int] = []

    def no_pause(attempt: int) -> float:
        asked.append(attempt)
        return 0.0

    monkeypatch.setattr(attempts, "pause_s", no_pause)
    return asked


class Script:
    """What the attempts run into: a failure raised, or the turns that they leave."""

    def __init__(self, record: CallRecord, *outcomes: LobuError | list[Turn]) -> None:
        self.record = record
        self.threads: list[str] = []
        self._outcomes = iter(outcomes)

    async def attempt(self, plan: CallPlan) -> None:
        self.threads.append(plan.session.thread)
        self.record.thread = plan.session.thread
        self.record.message_count = len(plan.messages)
        outcome = next(self._outcomes)
        if isinstance(outcome, LobuError):
            raise outcome
        self.record.turns = outcome


async def hold(
    *outcomes: LobuError | list[Turn],
    retries: int = 1,
    timeout_s: float = 120.0,
    **session: Any,
) -> tuple[Script, dict[str, Any]]:
    record = CallRecord()
    script = Script(record, *outcomes)
    plan = CallPlan(("q",), SessionPlan("a", thread="first", **session))
    try:
        await hold_case(script.attempt, plan, TimeLimit(timeout_s), record, retries=retries)
    except LobuError as exc:
        record.failure = exc.failure
    return script, build_response(record)


def broken(found: Failure = DIED, *tools: str, output: str = "") -> list[Turn]:
    calls = tuple(ToolCall(name, {}) for name in tools)
    return [Turn("q", output=output, tool_calls=calls, failure=found)]


async def test_without_retries_a_failure_is_the_row() -> None:
    script, row = await hold(broken(), retries=0)
    assert len(script.threads) == 1
    assert row["error"].startswith("[worker]")
    assert "attempts" not in row["metadata"]


async def test_a_case_that_failed_is_repeated_on_a_fresh_thread_and_the_last_is_the_row() -> None:
    script, row = await hold(broken(DIED, "refund", "mail", output="half"), [GOOD])
    first, second = script.threads
    assert first == "first"
    assert second.startswith("promptfoo-")
    assert "error" not in row
    assert (row["output"], row["sessionId"]) == ("fine", second)
    metadata = row["metadata"]
    assert metadata["attempts"] == [
        {
            "attempt": 1,
            "thread": "first",
            "error": "worker",
            "turnsCompleted": 0,
            "toolCalls": ["refund", "mail"],
        }
    ]
    assert metadata["toolCalls"] == []
    assert len(metadata["turns"]) == 1
    (warning,) = metadata["warnings"]
    assert "2 tool calls" in warning
    assert "stays done" in warning
    assert "The worker died." in warning


async def test_a_good_case_is_not_repeated() -> None:
    script, row = await hold([GOOD], retries=5)
    assert len(script.threads) == 1
    assert "attempts" not in row["metadata"]


async def test_what_fails_before_the_first_turn_is_repeated_too() -> None:
    down = error_for(failure("gateway", "It is down.", phase="create"))
    script, row = await hold(down, down, [GOOD], retries=2)
    assert len(set(script.threads)) == 3
    assert "error" not in row
    assert [a["error"] for a in row["metadata"]["attempts"]] == ["gateway", "gateway"]


async def test_the_last_failure_is_the_row_when_none_succeeds(paused: list[int]) -> None:
    lost = failure("stream_lost", "Gone.", phase="turn")
    script, row = await hold(broken(), broken(), broken(lost, "search"), retries=2)
    assert len(script.threads) == 3
    assert row["error"] == "[stream_lost] Gone."
    assert [call["name"] for call in row["metadata"]["toolCalls"]] == ["search"]
    assert [a["attempt"] for a in row["metadata"]["attempts"]] == [1, 2]
    assert paused == [1, 1, 2, 2]


@pytest.mark.parametrize("code", CODES)
async def test_only_retryable_failures_of_the_infrastructure_are_repeated(code: str) -> None:
    found = failure(code, "x", phase="turn")
    repeated = {"rate_limit", "gateway", "worker", "stream_lost"}
    assert may_be_repeated(found) == (code in repeated)
    script, _ = await hold(broken(found), [GOOD])
    assert len(script.threads) == (2 if code in repeated else 1)


def test_a_single_failure_that_differs_from_its_code_counts_as_what_it_is() -> None:
    gone = failure("not_found", "x", phase="send", error_class="infrastructure", retryable=True)
    refused = failure("gateway", "x", phase="send", error_class="config", retryable=False)
    empty = failure("empty", "x", phase="turn", retryable=True)
    assert may_be_repeated(gone)
    assert not may_be_repeated(refused)
    assert not may_be_repeated(empty)


async def test_a_repeat_that_cannot_fit_is_not_begun_and_that_is_told() -> None:
    script, row = await hold(broken(), [GOOD], timeout_s=4.0)
    assert len(script.threads) == 1
    assert row["error"].startswith("[worker]")
    assert "too little is left of its time limit" in row["metadata"]["warnings"][0]


@pytest.mark.parametrize("session", [{"resume": True}, {"keep": True}])
async def test_a_conversation_that_goes_on_elsewhere_is_not_repeated(
    session: dict[str, Any],
) -> None:
    script, row = await hold(broken(), [GOOD], **session)
    assert len(script.threads) == 1
    assert "was not repeated: it goes on in a thread" in row["metadata"]["warnings"][0]


async def test_a_fault_of_the_configuration_is_raised_as_it_is() -> None:
    record = CallRecord()
    bad = ConfigError(failure("config", "x", phase="create"))
    script = Script(record, bad)
    plan = CallPlan(("q",), SessionPlan("a", thread="first"))
    await hold_case(script.attempt, plan, TimeLimit(60.0), record, retries=2)
    assert record.first_failure == bad.failure


def test_pauses_grow_and_stay_bounded() -> None:
    assert [pause_s(n) for n in range(1, 7)] == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


# --- over a socket


async def test_a_worker_that_died_costs_no_row_and_no_session_is_left() -> None:
    first = stream(CONNECTED, AfterMessage(1), tool_use("refund", "c-1"), failed(CRASH))
    second = stream(CONNECTED, AfterMessage(2), complete("m-2", finalText="fine"))
    async with WireGateway(answers(events=[first, second])) as gateway:
        row = await call(gateway.url, "hello", retries=1)
    assert "error" not in row
    assert row["output"] == "fine"
    (attempt,) = row["metadata"]["attempts"]
    assert (attempt["error"], attempt["toolCalls"]) == ("worker", ["refund"])
    kinds = [request.kind for request in gateway.requests]
    assert kinds.count("create") == kinds.count("delete") == 2
    threads = [r.json["thread"] for r in gateway.requests if r.kind == "create"]
    assert threads == [attempt["thread"], row["sessionId"]]
    assert len(set(threads)) == 2
    assert SESSION_TOKEN not in str(row)


async def test_a_refused_token_is_not_tried_again() -> None:
    refusal = json_reply(401, {"error": "Unauthorized"})
    async with WireGateway(answers(create=refusal)) as gateway:
        row = await call(gateway.url, "hello", retries=3)
    assert row["error"].startswith("[auth]")
    assert len(gateway.requests) == 1
    assert "attempts" not in row["metadata"]
