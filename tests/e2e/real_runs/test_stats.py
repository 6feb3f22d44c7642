"""`stats` on real runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.e2e.real_runs.conftest import Command
from tests.e2e.real_runs.counting import tries_of
from tests.e2e.real_runs.making import RealRuns
from tests.e2e.real_runs.suite import AFTER, BEFORE, REFUND

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_stats_counts_each_test_and_provider_apart(runs: RealRuns, told: Any) -> None:
    before, after = told("stats", runs.before), told("stats", *runs.after)
    assert tries_of(before) == {key: "".join(sorted(tries)) for key, tries in BEFORE.items()}
    assert tries_of(after) == {key: "".join(sorted(tries)) for key, tries in AFTER.items()}
    verdicts = Counter(test["verdict"] for test in before["tests"])
    assert verdicts == {"stable": 12, "flaky": 2, "failing": 2, "unjudged": 6}
    assert (before["k"], before["gaps"], after["gaps"]) == (2, [], [])
    whole = before["overall"]
    assert (whole["rows"], whole["passed"], whole["judged"]) == (44, 26, 32)
    assert (whole["passRate"], whole["meanScore"]) == (26 / 32, 26 / 32)
    assert (whole["passAllK"], whole["passAtK"]) == (12 / 16, 14 / 16)
    assert whole["latencyP50Ms"] > 0


@pytest.mark.parametrize(
    ("options", "code", "reasons"),
    [
        ("--min-pass-rate 81%", 3, ["reached by what was judged, which is not all"]),
        ("--min-pass-rate 82%", 1, ["26 of 32 judged rows passed (81.2%)"]),
        ("--min-test-pass-rate 50%", 1, ["right (steady): passed 0", "right (model): passed 0"]),
    ],
)
def test_stats_holds_rates_against_the_judged_rows(
    runs: RealRuns, command: Command, options: str, code: int, reasons: list[str]
) -> None:
    found = command("stats", runs.before, *options.split())
    assert found.exit_code == code
    assert not [reason for reason in reasons if reason not in found.stderr]
    assert "2/2" in next(line for line in found.stdout.splitlines() if f"{REFUND} (model)" in line)
