"""Messages that a gateway would not read as they are written."""

from __future__ import annotations

import pytest

from lobu_provider.config.settings import load_settings
from lobu_provider.promptfoo.call_plan import plan_call
from lobu_provider.promptfoo.message_checks import message_warnings


@pytest.mark.parametrize("message", ["/cancel", " /cancel\n", "/Cancel"])
def test_a_message_that_is_a_command_is_warned_of(message: str) -> None:
    (warning,) = message_warnings(["hello", message])
    assert warning.startswith("Turn 2: ")
    assert "'/cancel'" in warning


@pytest.mark.parametrize("message", ["!ls", " !important", "!"])
def test_a_message_that_some_gateways_run_in_a_shell_is_warned_of(message: str) -> None:
    (warning,) = message_warnings([message])
    assert warning.startswith("Turn 1: ")
    assert "shell command" in warning


@pytest.mark.parametrize("message", ["x" * 32_001, "\U0001f600" * 16_001])
def test_a_message_that_is_cut_is_warned_of_in_javascripts_counting(message: str) -> None:
    (warning,) = message_warnings([message])
    assert "32,000" in warning


@pytest.mark.parametrize(
    "message",
    ["", "hello", "/cancel my order", "please /cancel", "Hi!", "x" * 32_000, "\U0001f600" * 16_000],
)
def test_a_common_message_is_not(message: str) -> None:
    assert list(message_warnings([message])) == []


def test_the_warnings_stand_in_the_plan_of_the_call() -> None:
    settings = load_settings({"config": {"agent": "a"}})
    plan = plan_call(settings, "", {"vars": {"transcript": ["hello", "/cancel"]}})
    assert plan.messages == ("hello", "/cancel")
    assert any("'/cancel'" in warning for warning in plan.warnings)
