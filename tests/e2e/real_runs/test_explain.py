"""`explain` on real runs, and the command that it names."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Promptfoo
from tests.e2e.real_runs.conftest import Command
from tests.e2e.real_runs.counting import session_of
from tests.e2e.real_runs.making import RealRuns, project
from tests.e2e.real_runs.suite import CONFIG, REFUND, TURNS, WAREHOUSE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

NO_CONFIG = (
    "The results do not tell which config file they are of, and this folder has none with the "
    "test: name it by -c.\n"
)
PATTERN = r"'^refunds \| an order \(once\): \[17\]$'"


def test_explain_shows_what_the_agent_did_wrong(
    runs: RealRuns, command: Command, told: Any
) -> None:
    words = (runs.after[0], "--shard", runs.after[1])
    found = told("explain", *words)
    assert [found[key] for key in ("test", "provider", "outcome", "repeat", "repeats")] == [
        REFUND, "model", "failed", 1, 2,
    ]  # fmt: skip
    assert [(turn["user"], turn["output"]) for turn in found["turns"]] == [
        (TURNS[0], "Shall I refund order 17?"),
        (TURNS[1], "Refunded 71."),
    ]
    assert [turn["tools"] for turn in found["turns"]] == [
        [{"name": "lookup_order", "arguments": '{"order_id": 17}', "isError": False}],
        [{"name": "refund_order", "arguments": '{"order_id": 71}', "isError": False}],
    ]
    (check,) = found["checks"]
    assert (check["type"], check["verdict"]) == ("contains", "failed")
    assert check["reason"] == 'Expected output to contain "Refunded 17"'
    row = next(r for r in runs.rows(runs.after[0]) if session_of(r) == found["ids"]["sessionId"])
    assert row["provider"]["label"] == "model"
    text = command("explain", *words)
    again = f"again: promptfoo eval --filter-pattern {PATTERN} --filter-providers '^model$'"
    assert text.stdout.splitlines()[-1] == again
    assert text.stdout.startswith(f"FAILED: {REFUND}\nprovider: model ")


@pytest.mark.parametrize(
    ("test", "provider", "outcome", "told_of"),
    [
        ("a worker dies", "model", "infrastructure", "[worker] The gateway ended the turn"),
        ("a check breaks", "steady", "grader", 'broken: javascript "nothing.isThere"'),
        ("says nothing", "steady", "config", "[config] The prompt is blank"),
        (WAREHOUSE, "model", "infrastructure", "failed: worker"),
        ("never right", "steady", "failed", 'Expected output to contain "impossible"'),
        ("greets", "model", "passed", "checks: none gave a verdict"),
    ],
)
def test_explain_tells_whose_fault_it_is(
    runs: RealRuns, command: Command, test: str, provider: str, outcome: str, told_of: str
) -> None:
    words = ["--shard", runs.after[1], "--provider", provider]
    found = command("explain", runs.after[0], test, *words)
    assert found.stdout.startswith(f"{outcome.upper()}: {test}\nprovider: {provider} ")
    assert told_of in found.stdout
    assert (found.exit_code, found.stderr) == (0, NO_CONFIG)


def test_each_repeat_of_a_flaky_test_is_shown(runs: RealRuns, command: Command, told: Any) -> None:
    words = ("explain", runs.before, "sometimes right", "--provider", "model")
    shown = [told(*words, "--repeat", number) for number in ("1", "2")]
    assert sorted(one["outcome"] for one in shown) == ["failed", "passed"]
    assert len({one["ids"]["sessionId"] for one in shown}) == 2
    text = command(*words).stdout
    assert text.startswith("FAILED: sometimes right\n")
    assert " of 2, of which 1 passed\n" in text


@pytest.mark.parametrize(
    ("test", "selects", "is_exact"),
    [
        (REFUND, f"--filter-pattern {PATTERN}", True),
        ("one #1", "--filter-range 1:2", False),  # promptfoo can only run both of its texts
        ("one #2", "--filter-range 2:3", True),
        ("two", "--filter-range 1:2", False),
        ("greets", "--filter-pattern '^greets$'", True),
        ("says nothing", "--filter-pattern '^says nothing$'", True),
    ],
)
def test_the_command_that_runs_a_test_again_selects_it(
    runs: RealRuns, command: Command, told: Any, test: str, selects: str, is_exact: bool
) -> None:
    words = ("explain", runs.before, test, "--provider", "steady")
    found = told(*words)
    assert found["rerun"] == f"promptfoo eval {selects} --filter-providers '^steady$'"
    assert found["rerunIsExact"] is is_exact
    assert ("may select more" in command(*words).stderr) is not is_exact
    named = told(*words, "-c", runs.config)["rerun"]
    assert named == found["rerun"].replace("eval", f"eval -c {runs.config}")


def test_a_test_that_is_run_again_is_that_test_and_its_good_run_passes_the_gate(
    runs: RealRuns, command: Command, told: Any, tmp_path: Path
) -> None:
    again = project(Promptfoo(runs.promptfoo.command, tmp_path), "again", runs.door)

    def rerun(*words: str) -> list[dict[str, Any]]:
        given = shlex.split(told("explain", runs.before, *words)["rerun"])
        assert given[:2] == ["promptfoo", "eval"]
        return again.eval(again.folder / CONFIG, *given[2:]).rows

    (row,) = rerun(REFUND, "--provider", "steady")
    assert (row["testCase"]["description"], row["provider"]["label"]) == (REFUND, "steady")
    gate = command("report", "again/results.json", "--gate", "--required", "suite=safety")
    assert (gate.exit_code, gate.stderr.splitlines()[-1]) == (0, "gate: ok")
    assert "note: again/results.json has 1 of the config's 10 tests: a filter?" in gate.stderr
    if runs.door == "python":  # what a range selects does not depend on the door
        (row,) = rerun("one #2", "--provider", "model")
        assert row["testCase"]["assert"] == [{"type": "contains", "value": "one"}]
        assert row["provider"]["label"] == "model"


def test_explain_that_shows_one_of_several_says_so(
    runs: RealRuns, command: Command, told: Any
) -> None:
    found = command("explain", runs.before, REFUND)
    assert found.stdout.startswith(f"PASSED: {REFUND}\nprovider: steady ")
    shown = f"Not shown: '{REFUND} (model)'. Choose by --provider.\n"
    assert found.stderr == NO_CONFIG + shown
    found = command("explain", runs.before, REFUND, "-c", runs.config)
    assert found.stderr == shown
    first = told("explain", runs.before)
    assert (first["test"], first["provider"]) == ("never right", "steady")
    names = ("never right (model)", "sometimes right (steady)", "sometimes right (model)")
    assert first["alsoFit"] == list(names)
    choose = "Choose by TEST and --provider.\n"
    assert command("explain", runs.before).stderr.endswith(choose)
    assert "2 tests fit 'one': 'one #1', 'one #2'" in command("explain", runs.before, "one").stderr
