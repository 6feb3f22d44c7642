"""promptfoo's ProviderResponse: never a field that hurts, always JSON, no secret."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.errors import CODES, Failure, failure
from lobu_provider.events import Frame, parse_event
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.response import build_response, describe_failure
from lobu_provider.turn import Turn, fold_turn

UNLIMITED = settings(deadline=None)

LOST = failure("stream_lost", "The stream ended.", phase="turn", turn=2)
SECRET = "s3cret-value"


def strict(response: dict[str, Any]) -> str:
    text = json.dumps(response, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")
    return text


def test_a_good_call_has_an_output_and_no_error() -> None:
    record = CallRecord(
        agent_id="support",
        thread="promptfoo-1",
        gateway_session_id="support_u_promptfoo-1",
        turns=[
            Turn("q1", output="a1", completed=True, has_final_text=True),
            Turn("q2", output="a2", completed=True, has_final_text=True),
        ],
        message_count=2,
        latency_s=2.5,
        warnings=["mind this"],
        run={"ci": False, "commit": "abc"},
    )
    response = build_response(record)
    metadata = response.pop("metadata")
    assert response == {"output": "a2", "sessionId": "promptfoo-1", "latencyMs": 2500}
    assert metadata["agent"] == "support"
    assert metadata["thread"] == metadata["sessionId"] == "promptfoo-1"
    assert metadata["gatewaySessionId"] == "support_u_promptfoo-1"
    assert metadata["warnings"] == ["mind this"]
    assert metadata["run"] == {"ci": False, "commit": "abc"}
    assert [t["output"] for t in metadata["turns"]] == ["a1", "a2"]
    assert not {"error", "rateLimitKind"} & set(metadata)


def test_a_call_of_which_nothing_is_known_is_still_a_response() -> None:
    response = build_response(CallRecord(failure=LOST))
    assert response["output"] == ""
    assert response["error"] == "[stream_lost] The stream ended."
    assert "sessionId" not in response
    assert "latencyMs" not in response
    assert response["metadata"]["toolCalls"] == []


@pytest.mark.parametrize("code", CODES)
def test_every_error_is_text_with_its_code_and_switches_promptfoos_replay_off(code: str) -> None:
    response = build_response(CallRecord(failure=failure(code, "429 rate limit", phase="create")))
    assert response["error"] == f"[{code}] 429 rate limit"
    assert response["metadata"]["rateLimitKind"] == "quota"
    assert response["metadata"]["error"]["code"] == code


def test_an_error_is_described_with_all_its_parts() -> None:
    assert describe_failure(LOST) == {
        "code": "stream_lost",
        "class": "infrastructure",
        "phase": "turn",
        "retryable": True,
        "turn": 2,
    }
    assert "turn" not in describe_failure(failure("auth", "x", phase="create"))


def test_a_failed_turn_makes_the_call_fail_and_keeps_what_had_arrived() -> None:
    frames = [
        Frame("tool_use", '{"name":"search","toolCallId":"t-1"}'),
        Frame("output", '{"content":"partial"}'),
        Frame("error", '{"error":"500 oops"}'),
    ]
    broken = fold_turn("q2", [parse_event(frame) for frame in frames])
    response = build_response(CallRecord(turns=[Turn("q1", output="a1"), broken]))
    assert response["error"].startswith("[provider]")
    assert response["output"] == "partial"
    assert [c["name"] for c in response["metadata"]["toolCalls"]] == ["search"]
    assert len(response["metadata"]["turns"]) == 2


def test_a_turns_own_failure_says_more_than_the_calls() -> None:
    turn = Turn("q", failure=failure("worker", "It died.", phase="turn"))
    assert build_response(CallRecord(turns=[turn], failure=LOST))["error"] == "[worker] It died."


def test_a_failure_after_good_turns_is_an_error_all_the_same() -> None:
    response = build_response(CallRecord(turns=[Turn("q", output="a")], failure=LOST))
    assert response["error"].startswith("[stream_lost]")
    assert response["output"] == "a"


@pytest.mark.parametrize(
    ("turns", "messages"),
    [
        ([], 0),
        ([], 1),
        ([Turn("q", output="a", completed=True, has_final_text=True)], 2),
        ([Turn("q", output="a", completed=True, has_final_text=True), Turn("q", output="a")], 2),
        ([Turn("q", output="a")], 1),
    ],
)
def test_a_call_with_less_than_a_whole_turn_for_each_message_is_never_a_success(
    turns: list[Turn], messages: int
) -> None:
    response = build_response(CallRecord(turns=turns, message_count=messages))
    assert response["error"].startswith("[internal] ")


def test_a_warning_of_several_turns_is_told_once_with_their_numbers() -> None:
    unconfirmed = Turn("a", output="a", completed=True)
    confirmed = Turn("b", output="b", completed=True, has_final_text=True)
    (odd,) = unconfirmed.warnings
    record = CallRecord(turns=[unconfirmed, confirmed, unconfirmed], warnings=["first"])
    warnings = build_response(record)["metadata"]["warnings"]
    assert warnings == ["first", f"Turn 1, 3: {odd}"]


def test_an_endless_error_text_is_cut() -> None:
    record = CallRecord(failure=failure("gateway", "x" * 1_000_000, phase="turn"))
    assert 1000 < len(build_response(record)["error"]) < 10_000


FORBIDDEN = {"prompt", "tokenUsage", "cost", "cached", "http"}


@pytest.mark.parametrize("failed", [None, LOST])
def test_fields_that_promptfoo_takes_amiss_are_never_there(failed: Failure | None) -> None:
    response = build_response(
        CallRecord(
            turns=[Turn("q", output="a", completed=True, has_final_text=True)],
            message_count=1,
            failure=failed,
        )
    )
    assert not FORBIDDEN & set(response)
    assert not {"http", "headers", "redteamFinalPrompt"} & set(response["metadata"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**300) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = st.sampled_from(["output", "tool_use", "complete", "error", "question", "ephemeral", "x"])


@UNLIMITED
@given(
    st.lists(st.tuples(NAMES, st.dictionaries(st.sampled_from(
        ["content", "name", "input", "result_summary", "finalText", "error", "http", "type"]
    ), JSON)), max_size=5),
    st.text(st.characters(exclude_categories=())),
)  # fmt: skip
def test_whatever_a_gateway_sends_the_response_is_strict_json_with_a_text_as_output(
    frames: list[tuple[str, dict[str, Any]]], text: str
) -> None:
    events = [parse_event(Frame(name, json.dumps(data))) for name, data in frames]
    turn = fold_turn(text, events)
    response = build_response(CallRecord(thread=text, turns=[turn], warnings=[text]))
    strict(response)
    assert isinstance(response["output"], str)
    assert isinstance(response.get("error", ""), str)
    assert "http" not in response["metadata"]
    json.loads(response["metadata"]["messages"])


@pytest.mark.parametrize("depth", [50, 500, 900])
def test_deep_nesting_from_a_gateway_does_not_cost_the_row(depth: int) -> None:
    data = f'{{"name":"deep","input":{"[" * depth}{"]" * depth}}}'
    turn = fold_turn("q", [parse_event(Frame("tool_use", data))])
    response = build_response(CallRecord(turns=[turn], secrets=[SECRET]))
    strict(response)
    assert response["metadata"]["toolCalls"][0]["name"] == "deep"


# --- secrets


@pytest.mark.parametrize("secret", [SECRET, 's3cret"quoted\\value', "Basic s3cretvalue"])
def test_no_secret_of_the_call_is_anywhere_in_the_response(secret: str) -> None:
    echo = json.dumps(f"<{secret}>")
    frames = [
        Frame("tool_use", f'{{"name":"t","input":{{{echo}:[{echo}]}},"toolCallId":{echo}}}'),
        Frame("output", f'{{"content":{echo}}}'),
        Frame("file-uploaded", f'{{"permalink":{echo}}}'),
        Frame("ephemeral", f'{{"content":{echo}}}'),
    ]
    turn = fold_turn(f"say {secret}", [parse_event(frame) for frame in frames])
    record = CallRecord(
        gateway_session_id=f"a_{secret}",
        turns=[turn],
        failure=failure("gateway", f"it says {secret}", phase="turn"),
        warnings=[f"left at {secret}"],
        secrets=[None, secret],
    )
    text = strict(build_response(record))
    assert "s3cret" not in text
    assert "***" in text


def test_a_secret_cut_into_deltas_is_hidden_in_the_joined_text() -> None:
    frames = [Frame("output", '{"content":"s3cret-"}'), Frame("output", '{"content":"value"}')]
    turn = fold_turn("q", [parse_event(frame) for frame in frames])
    assert "s3cret" not in strict(build_response(CallRecord(turns=[turn], secrets=[SECRET])))


def test_what_is_shaped_like_a_secret_is_hidden_in_our_texts_and_left_in_the_answer() -> None:
    shaped = "owl_pat_abcdef123"
    record = CallRecord(
        turns=[Turn("q", output=f"use {shaped}")],
        failure=failure("gateway", f"bad {shaped}", phase="turn"),
        warnings=[f"left {shaped}"],
    )
    response = build_response(record)
    assert response["output"] == f"use {shaped}"
    assert shaped not in response["error"]
    assert shaped not in response["metadata"]["warnings"][0]


def test_a_header_that_says_promptfoo_does_not_break_the_session_to_go_on_with() -> None:
    record = CallRecord(
        agent_id="promptfoo-agent",
        thread="promptfoo-1234",
        failure=failure("timeout", "x", phase="turn"),
        secrets=["promptfoo", "timeout", "metadata", "output"],
    )
    response = build_response(record)
    assert response["sessionId"] == "promptfoo-1234"
    assert response["metadata"]["sessionId"] == "promptfoo-1234"
    assert response["metadata"]["agent"] == "promptfoo-agent"
    assert response["error"].startswith("[timeout]")
    assert response["metadata"]["error"]["code"] == "timeout"


def test_the_agents_words_are_masked_for_secrets_and_ours_for_plain_header_values_too() -> None:
    record = CallRecord(
        turns=[
            Turn("q", output="in production: s3cret-value", completed=True, has_final_text=True)
        ],
        message_count=1,
        warnings=["left in production"],
        secrets=[SECRET],
        private=["production"],
    )
    response = build_response(record)
    assert response["output"] == "in production: ***"
    own, told = response["metadata"]["warnings"]
    assert own == "left in ***"
    assert "replaced by ***" in told
