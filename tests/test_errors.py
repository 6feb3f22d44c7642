"""The error vocabulary: people filter their results by it."""

from __future__ import annotations

import pytest

from lobu_provider.errors import (
    CODES,
    AgentError,
    ConfigError,
    InfrastructureError,
    LobuError,
    config_error,
    error_for,
    failure,
)

# Written out, not read from CODES: these words stand in people's result filters.
VOCABULARY = [
    ("config", "config", False),
    ("auth", "config", False),
    ("not_found", "config", False),
    ("rate_limit", "infrastructure", True),
    ("gateway", "infrastructure", True),
    ("provider", "infrastructure", False),
    ("worker", "infrastructure", True),
    ("guardrail", "agent", False),
    ("action_required", "agent", False),
    ("timeout", "infrastructure", True),
    ("stream_lost", "infrastructure", True),
    ("empty", "agent", False),
    ("cassette", "config", False),
    ("limit", "agent", False),
    ("cancelled", "infrastructure", True),
    ("internal", "infrastructure", False),
]


@pytest.mark.parametrize(("code", "error_class", "retryable"), VOCABULARY)
def test_each_code_has_its_class_and_retryability(
    code: str, error_class: str, retryable: bool
) -> None:
    made = failure(code, "what happened", phase="turn")
    assert (made.code, made.error_class, made.retryable) == (code, error_class, retryable)
    assert made.turn is None
    assert CODES[code].meaning


def test_there_are_no_other_codes() -> None:
    assert list(CODES) == [code for code, *_ in VOCABULARY]


def test_a_code_outside_the_vocabulary_cannot_be_used() -> None:
    with pytest.raises(KeyError):
        failure("oops", "what happened", phase="turn")


def test_class_and_retryability_can_be_overruled_also_by_false() -> None:
    made = failure("worker", "x", phase="turn", error_class="agent", retryable=False, turn=2)
    assert (made.error_class, made.retryable, made.turn) == ("agent", False, 2)


def test_the_text_starts_with_the_code_in_brackets() -> None:
    made = failure("stream_lost", "The stream ended.", phase="turn")
    assert str(made) == "[stream_lost] The stream ended."
    assert str(error_for(made)) == str(made)


def test_a_failure_is_placed_in_a_turn_without_being_changed() -> None:
    made = failure("timeout", "x", phase="turn")
    assert made.in_turn(3).turn == 3
    assert made.turn is None


@pytest.mark.parametrize(
    ("error_class", "kind"),
    [("config", ConfigError), ("infrastructure", InfrastructureError), ("agent", AgentError)],
)
def test_each_class_is_raised_as_its_own_exception(error_class: str, kind: type[LobuError]) -> None:
    code = next(code for code, facts in CODES.items() if facts.error_class == error_class)
    made = failure(code, "x", phase="create")
    error = error_for(made)
    assert type(error) is kind
    assert isinstance(error, LobuError)
    assert error.failure is made


def test_a_fault_found_before_any_request_is_of_phase_config() -> None:
    found = config_error("wrong").failure
    assert (found.code, found.error_class, found.phase, found.retryable) == (
        "config",
        "config",
        "config",
        False,
    )
