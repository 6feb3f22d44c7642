"""Every command on a run that was paused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.real_runs.conftest import Command
from tests.e2e.real_runs.counting import junit, numbers, tries_of
from tests.e2e.real_runs.making import RealRuns

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_a_paused_run_that_wrote_nothing_is_unknown_to_every_command(
    runs: RealRuns, command: Command
) -> None:
    for words in (
        ["stats", runs.unwritten],
        ["compare", runs.before, runs.unwritten],
        ["compare", runs.unwritten, runs.before],
        ["bless", runs.unwritten, "--to", "no.json"],
        ["explain", runs.unwritten],
        ["report", runs.unwritten, "--gate", "--junit", "no.xml"],
    ):
        found = command(*words)
        assert (found.exit_code, found.stdout) == (3, "")
        assert f"{runs.unwritten} is missing. A paused run (Ctrl-C) writes no JSON" in found.stderr
    assert not Path("no.json").exists()
    assert not Path("no.xml").exists()


def test_a_paused_run_that_is_exported_is_never_good(
    runs: RealRuns, command: Command, told: Any
) -> None:
    stats = told("stats", runs.paused)
    assert tries_of(stats) == {("greets", "steady"): "p", ("is slow", "steady"): "n"}
    (gap,) = stats["gaps"]
    assert "it was paused (end it with `promptfoo eval --resume eval-" in gap
    assert command("stats", runs.paused).exit_code == 0
    assert command("stats", runs.paused, "--min-pass-rate", "1").exit_code == 3
    gate = command("report", runs.paused, "--gate", "--junit", "p.xml", "--github")
    assert gate.exit_code == 3
    assert "unknown: 1 row not judged: the run was interrupted or out of time" in gate.stderr
    assert "a filter?" not in gate.stderr
    assert gate.stdout.startswith("::error title=The run is not whole::")
    root = junit("p.xml")
    assert numbers(root) == (3, 0, 2)
    assert [(s.get("name"), numbers(s)) for s in root] == [
        ("run", (1, 0, 1)),
        ("steady", (2, 0, 1)),
    ]
    assert next(one.get("type") for one in root.iter("error")) == "incomplete"


def test_a_paused_run_is_compared_and_explained_as_far_as_it_came(
    runs: RealRuns, command: Command, told: Any
) -> None:
    assert command("compare", runs.before, runs.paused).exit_code == 3
    found = told("compare", runs.before, runs.paused)
    changes = Counter(one["change"] for one in found["tests"])
    assert (changes, found["unchanged"]) == ({"removed": 21, "added": 1}, 1)
    explained = told("explain", runs.paused)
    assert (explained["test"], explained["outcome"]) == ("is slow", "not run")
    assert explained["rerun"] == "promptfoo eval --filter-pattern '^is slow$'"
    assert command("explain", runs.paused, "greets").stdout.startswith("PASSED: greets\n")
