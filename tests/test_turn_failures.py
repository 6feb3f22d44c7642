"""Why a turn failed, from the words that gateways really use (protocol, section 12)."""

from __future__ import annotations

import pytest

from lobu_provider.turn_failures import failure_of_answer, failure_of_error

WORKER = "The worker handling your request"
STARTUP = "Worker startup failed"
RETRY = "Please retry in a moment."


@pytest.mark.parametrize(
    ("error_code", "code", "error_class", "retryable"),
    [
        ("PROVIDER_QUOTA_EXHAUSTED", "rate_limit", "infrastructure", True),
        ("PROVIDER_AUTH", "provider", "infrastructure", False),
        ("PROVIDER_UNKNOWN_MODEL", "provider", "infrastructure", False),
        ("PROVIDER_BASE_URL_UNRESOLVED", "provider", "infrastructure", False),
        ("NO_MODEL_CONFIGURED", "provider", "infrastructure", False),
        ("PROVIDER_TOOL_CALL_FAILED", "provider", "infrastructure", True),
        ("WORKER_UNRESPONSIVE", "worker", "infrastructure", True),
        ("WORKER_DIED", "worker", "infrastructure", True),
        ("WORKER_STARTUP_FAILED", "worker", "infrastructure", True),
        ("SESSION_TIMEOUT", "timeout", "infrastructure", True),
    ],
)
def test_an_error_code_of_a_newer_gateway_decides(
    error_code: str, code: str, error_class: str, retryable: bool
) -> None:
    found = failure_of_error("some sentence about a quota", error_code)
    assert (found.code, found.error_class, found.retryable) == (code, error_class, retryable)
    assert "some sentence about a quota" in found.message
    assert error_code in found.message
    assert found.phase == "turn"


@pytest.mark.parametrize(
    ("sentence", "code", "retryable"),
    [
        ("500 The server had an error while processing your request", "provider", True),
        ("429 Rate limit reached for requests", "rate_limit", True),
        ("OpenAI returned an error:\n429 Too many requests", "rate_limit", True),
        ("You exceeded your current quota", "rate_limit", True),
        ("400 Bad request", "provider", False),
        ("401 Incorrect API key provided", "provider", False),
        ("Anthropic returned an error:\nbad schema", "provider", False),
        ("Overloaded", "provider", True),
        ("The socket connection was closed unexpectedly. For more information…", "provider", True),
        (
            "To use fake-llm-1, an admin needs to connect fake-llm on the base agent.",
            "provider",
            False,
        ),
        (
            "No model configured. Ask an admin to connect a provider for the base agent.",
            "provider",
            False,
        ),
        (f"{WORKER} stopped unexpectedly before it could reply. {RETRY}", "worker", True),
        (f"{WORKER} stopped responding before it could reply. {RETRY}", "worker", True),
        (f"{STARTUP} and your request could not be processed. {RETRY}", "worker", True),
        ("SESSION_TIMEOUT", "timeout", True),
        ("agent turn cancelled", "worker", False),
        ("Message rejected: asks for a quota of secrets", "guardrail", False),
        ("Message blocked by guardrail: pii", "guardrail", False),
        ("task_completion_empty_final", "empty", False),
        ("task_completion_write_intent_without_write", "guardrail", False),
        ("No script entry matches 'hello'", "config", False),
    ],
)
def test_a_sentence_of_version_11_is_recognised(sentence: str, code: str, retryable: bool) -> None:
    found = failure_of_error(sentence, None)
    assert (found.code, found.retryable) == (code, retryable)
    assert sentence in found.message


@pytest.mark.parametrize("text", ["Something new went wrong", "", "fehlgeschlagen 500"])
def test_an_unknown_error_is_laid_at_the_agents_door_and_not_run_again(text: str) -> None:
    found = failure_of_error(text, None)
    assert (found.code, found.error_class, found.retryable) == ("worker", "agent", False)
    assert text in found.message


def test_an_unknown_code_falls_back_to_the_sentence_and_is_quoted() -> None:
    found = failure_of_error("429 slow down", "NEW_CODE")
    assert found.code == "rate_limit"
    assert "NEW_CODE" in found.message


def test_an_error_without_words_names_its_code_once_or_says_that_there_is_none() -> None:
    assert failure_of_error("", "WORKER_DIED").message.count("WORKER_DIED") == 1
    assert "(no text)" in failure_of_error("", None).message


@pytest.mark.parametrize("sentence", ["Worker startup failed and …", "No model configured."])
def test_where_something_can_be_done_the_message_says_what(sentence: str) -> None:
    assert len(failure_of_error(sentence, None).message) > len(
        failure_of_error("Something new", None).message
    )


@pytest.mark.parametrize(
    ("answer", "code", "error_class"),
    [
        (
            "Your AI provider credentials are invalid or expired. Please update them.",
            "provider",
            "infrastructure",
        ),
        ("\n Your AI provider credentials are invalid or expired.", "provider", "infrastructure"),
        ("❌ Session failed: 429 slow down", "rate_limit", "infrastructure"),
        ("❌ Session failed: 400 Bad request", "provider", "infrastructure"),
        ("❌ Session failed: who knows", "worker", "agent"),
        ("❌ Session failed", "worker", "agent"),
        ("💥 Worker crashed: out of memory\nstack", "worker", "infrastructure"),
        ("Message blocked by guardrail: pii", "guardrail", "agent"),
    ],
)
def test_a_gateways_own_failure_text_is_no_answer(answer: str, code: str, error_class: str) -> None:
    found = failure_of_answer(answer, [])
    assert found is not None
    assert (found.code, found.error_class) == (code, error_class)
    assert answer.strip().splitlines()[0] in found.message
    assert "stack" not in found.message


@pytest.mark.parametrize(
    "answer",
    ["", " ", "All good.", "Worker crashed", "quota exceeded"],
)
def test_an_honest_answer_is_no_failure(answer: str) -> None:
    assert failure_of_answer(answer, []) is None
    assert failure_of_answer(None, [answer]) is None


@pytest.mark.parametrize(
    "answer",
    [
        "I read: ❌ Session failed: 429",
        "Message blocked by guardrail is what you see when a rule matches.",
        "❌ Session failed means that the worker gave up.",
        "The line '🔄 *Retrying (attempt 1/3)...*' is a note of the gateway.",
        "***",
    ],
)
def test_an_answer_that_speaks_of_failures_is_an_answer(answer: str) -> None:
    assert failure_of_answer(answer, [answer]) is None


SENTENCE = "Your AI provider credentials are invalid or expired. Please update them."


@pytest.mark.parametrize(
    "answer",
    [
        f"🔄 *Retrying (attempt 1/3)...*\n\n{SENTENCE}",
        f"🗜️ *Compacting context...*{SENTENCE}",
        f"\ufeff\u200b{SENTENCE}",
        f"> **{SENTENCE}**",
        SENTENCE.upper(),
    ],
)
def test_noise_and_ornaments_hide_no_failure_text(answer: str) -> None:
    found = failure_of_answer(answer, [])
    assert found is not None
    assert found.code == "provider"


def test_a_streamed_piece_that_replaces_the_answer_is_seen_without_a_final_text() -> None:
    found = failure_of_answer(None, ["The order is ", "💥 Worker crashed: out of memory"])
    assert found is not None
    assert found.code == "worker"


@pytest.mark.parametrize(
    "text", ["💥 Worker crashed: out of memory", SENTENCE, "❌ Session failed:"]
)
def test_a_last_piece_of_the_gateways_own_is_seen_where_the_final_text_is_the_joined_pieces(
    text: str,
) -> None:
    pieces = ["The order is ", text]
    assert failure_of_answer("".join(pieces), pieces) is not None
    assert failure_of_answer(f" {''.join(pieces)}\n", pieces) is not None
    trailed = [*pieces, "\n", "🔄 *Retrying (attempt 1/3)...*\n"]
    assert failure_of_answer("".join(trailed), trailed) is not None
    assert failure_of_answer("The order is late.", pieces) is None  # replaced by the agent's own
    assert failure_of_answer("".join([*pieces, " It said."]), [*pieces, " It said."]) is None


def test_words_that_an_agent_may_say_in_the_middle_are_no_failure_of_a_confirmed_answer() -> None:
    pieces = ["The shop wrote: ", "Message rejected: no such order."]
    assert failure_of_answer("".join(pieces), pieces) is None


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("❌ Session failed:", "worker"),
        ("❌ Session failed:\nout of memory", "worker"),
        ("Message blocked by guardrail:", "guardrail"),
        ("Message rejected:\npolicy", "guardrail"),
        ("Your AI provider credentials are invalid or expired", "provider"),
        ("🔄 *Retrying…*\n", "empty"),
    ],
)
def test_a_failure_text_whose_reason_is_empty_or_elsewhere_is_one(answer: str, code: str) -> None:
    found = failure_of_answer(answer, [])
    assert found is not None
    assert found.code == code


def test_an_answer_of_nothing_but_the_gateways_notes_is_empty() -> None:
    found = failure_of_answer("🔄 *Retrying (attempt 1/3)...*\n", [])
    assert found is not None
    assert found.code == "empty"
