"""`cases` and `shard`: what they say is what promptfoo runs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.e2e.real_runs.making import RealRuns
from tests.e2e.real_runs.suite import REFUND, TURNS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_cases_lists_what_promptfoo_then_runs(runs: RealRuns, told: Any) -> None:
    listed = told("cases", runs.config)
    rows = runs.rows(runs.before)
    assert 2 * listed["rows"] == len(rows)  # two repeats
    assert [len(test["providers"]) * test["prompts"] for test in listed["tests"]] == [2] * 11
    said = Counter(
        (row["testCase"].get("description", ""), *(turn["user"] for turn in turns))
        for row in rows
        if (turns := row["response"]["metadata"].get("turns"))
    )
    expected = Counter[tuple[str, ...]]()
    for test in listed["tests"]:
        if test["description"] != "says nothing":
            what = (test["description"], *test["turns"])
            expected[what] += 2 * test["rows"]
    assert said == expected
    assert (REFUND, *TURNS) in said


def test_shards_hold_each_test_once(runs: RealRuns) -> None:
    def places(name: str) -> Counter[tuple[str, ...]]:
        return Counter(
            (row["provider"]["label"], json.dumps([row["testCase"][k] for k in ("vars", "assert")]))
            for row in runs.rows(name)
        )

    parts = [places(name) for name in runs.after]
    assert parts[0] + parts[1] == places(runs.before)
    assert not parts[0].keys() & parts[1].keys()
