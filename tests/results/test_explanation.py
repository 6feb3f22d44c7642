"""One row in full: whose words its error is, and what is said where nothing was kept."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.results.explanation import explain, explanation_lines
from lobu_provider.results.junit import details_of

from .made_rows import made, read

ERROR = "[worker] The gateway broke the turn off"


def failed(*checks: tuple[bool, str]) -> dict[str, Any]:
    row = made(verdict="fail")
    row["error"] = ERROR
    row["gradingResult"]["componentResults"] = [
        {"pass": passed, "score": int(passed), "reason": why, "assertion": {"type": "contains"}}
        for passed, why in checks
    ]
    return row


@pytest.mark.parametrize(
    ("checks", "is_shown"),
    [
        ([(True, "ok")], True),
        ([(True, "broke"), (False, "no refund")], True),
        ([(True, "ok"), (False, ERROR)], False),
        ([(False, "")], True),
        ([], True),
    ],
)
def test_an_error_is_left_out_only_where_a_check_that_did_not_pass_tells_it(
    checks: list[tuple[bool, str]], is_shown: bool
) -> None:
    row = failed(*checks)
    assert (f"error: {ERROR}" in explanation_lines(explain(row))) is is_shown
    assert (ERROR in details_of(read(row)[0])) is is_shown


@pytest.mark.parametrize(
    "error", ["Evaluation exceeded max duration of 5000ms", "Error: Worker shutting down"]
)
def test_of_a_row_that_promptfoo_ended_it_is_not_said_that_nothing_was_sent(error: str) -> None:
    row = made(verdict="infrastructure", error=error)
    del row["response"]
    told = explain(row)
    assert (told["outcome"], told["turns"]) == ("not run", [])
    words = "promptfoo ended the run before this row's answer; what was sent is not told"
    assert told["noTurns"] == words
    assert words in list(explanation_lines(told))


@pytest.mark.parametrize(
    ("phase", "words"),
    [("create", "nothing was sent to the agent"), ("turn", "what was sent is not told")],
)
def test_a_call_that_was_cancelled_tells_how_far_it_came(phase: str, words: str) -> None:
    row = made(verdict="infrastructure")
    row["response"]["metadata"]["error"] = {
        "code": "cancelled", "class": "infrastructure", "phase": phase,
    }  # fmt: skip
    told = explain(row)
    assert told["outcome"] == "not run"
    assert told["noTurns"].endswith(words)
