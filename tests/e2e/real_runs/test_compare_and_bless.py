"""`compare` and `bless` on real runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.real_runs.conftest import Command
from tests.e2e.real_runs.counting import session_of
from tests.e2e.real_runs.making import RealRuns
from tests.e2e.real_runs.suite import REFUND, WAREHOUSE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_compare_finds_the_planted_fault_and_nothing_else(
    runs: RealRuns, command: Command, told: Any
) -> None:
    found = told("compare", runs.before, *runs.after)
    changes = {(one["test"], one["provider"]): one for one in found["tests"]}
    assert {key: one["change"] for key, one in changes.items()} == {
        (REFUND, "model"): "regression",
        (WAREHOUSE, "model"): "unjudged",
    }
    wrong = changes[REFUND, "model"]
    change = "refund_order: order_id: 17 -> 71"
    argument = {"turn": 2, "kind": "arguments", "change": change, "rows": 2, "of": 2}
    assert (wrong["tools"], wrong["checksChanged"]) == ([argument], False)
    assert wrong["reason"] == 'Expected output to contain "Refunded 17"'
    assert changes[WAREHOUSE, "model"]["reason"].startswith("[worker] The gateway ended")
    assert (found["regressions"], found["unchanged"], found["gaps"]) == (1, 20, [])
    assert {
        one["provider"]: (one["old"]["passed"], one["new"]["passed"]) for one in found["providers"]
    } == {"steady": (13, 13), "model": (13, 9)}
    for option in ([], ["--markdown"]):
        text = command("compare", runs.before, *runs.after, *option)
        assert (text.exit_code, "order_id: 17 -> 71" in text.stdout.replace("\\", "")) == (1, True)


def test_compare_ends_with_1_only_on_regressions(
    runs: RealRuns, command: Command, told: Any
) -> None:
    assert command("compare", runs.before, runs.before).exit_code == 0
    old = ("--old-shard", runs.after[1], runs.after[0])
    assert command("compare", *old, runs.before).exit_code == 0
    back = {one["test"]: one["change"] for one in told("compare", *old, runs.before)["tests"]}
    assert back == {REFUND: "fix", WAREHOUSE: "judged again"}
    alone = command("compare", runs.before, runs.after[1])  # the regression is in the other one
    assert (alone.exit_code, "a shard is missing" in alone.stderr) == (3, True)


def test_a_baseline_says_what_the_run_said(runs: RealRuns, command: Command, told: Any) -> None:
    baseline = Path("evals", f"{runs.door}.json")
    blessed = command("bless", runs.before, "--to", str(baseline))
    assert blessed.exit_code == 0
    assert blessed.stderr.startswith(f"{baseline}: 44 rows of 22 tests\n6 of them could not be")
    by_baseline, by_run = (
        told("compare", old, *runs.after) for old in (str(baseline), runs.before)
    )
    assert by_baseline == by_run
    kept = baseline.read_text("utf-8")
    assert not [row for row in runs.rows(runs.before) if session_of(row) in kept]
    assert "I want to return" not in kept


def test_what_is_not_whole_is_not_blessed(runs: RealRuns, command: Command) -> None:
    for name in (runs.after[0], runs.paused):
        refused = command("bless", name, "--to", "no.json")
        assert (refused.exit_code, Path("no.json").exists()) == (3, False)
        assert refused.stderr.endswith("Nothing was written. --force blesses it all the same.\n")
    blessed = command("bless", *runs.after, "--to", "failures.json")
    assert blessed.exit_code == 0
    assert "7 of them could not be judged, so there is nothing to compare" in blessed.stderr
    assert command("compare", "failures.json", *runs.after).exit_code == 0
