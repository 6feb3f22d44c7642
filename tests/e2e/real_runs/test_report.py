"""`report` on real runs: JUnit, annotations, Markdown and the gate."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT
from tests.e2e.real_runs.conftest import Command
from tests.e2e.real_runs.counting import junit, numbers, session_of
from tests.e2e.real_runs.making import RealRuns
from tests.e2e.real_runs.suite import AFTER, BEFORE, REFUND, WAREHOUSE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]


def test_junit_counts_and_names_every_row(runs: RealRuns, command: Command) -> None:
    for tries, names in ((BEFORE, (runs.before,)), (AFTER, runs.after)):
        assert command("report", *names, "--junit", "junit.xml").exit_code == 0
        root = junit("junit.xml")
        counts = {}
        for suite in root.findall("testsuite"):
            cases = suite.findall("testcase")
            assert {case.get("classname") for case in cases} == {suite.get("name")}
            found = Counter(child.tag for case in cases for child in case)
            counts[suite.get("name")] = (len(cases), found["failure"], found["error"])
            assert numbers(suite) == counts[suite.get("name")]
        assert counts == {
            label: (
                sum(len(one) for (_, owner), one in tries.items() if owner == label),
                sum(one.count("f") for (_, owner), one in tries.items() if owner == label),
                sum(one.count(c) for (_, o), one in tries.items() if o == label for c in "gic"),
            )
            for label in ("steady", "model")
        }
        assert numbers(root) == tuple(map(sum, zip(*counts.values(), strict=True)))


def test_junit_tells_reason_turn_tools_and_session(runs: RealRuns, command: Command) -> None:
    command("report", *runs.after, "--junit", "junit.xml")
    cases = junit("junit.xml").iter("testcase")
    bad = {(case.get("classname"), case.get("name")): case[0] for case in cases if len(case)}
    wrong = bad["model", f"{REFUND} (repeat 2 of 2)"]
    assert (wrong.tag, wrong.get("type")) == ("failure", "assertion")
    lines = str(wrong.text).strip().splitlines()
    assert lines[:2] == [
        'failed: contains: Expected output to contain "Refunded 17"',
        "tools seen: turn 1: lookup_order; turn 2: refund_order",
    ]
    sessions = {session_of(r) for r in runs.rows(*runs.after) if r["vars"].get("transcript")}
    assert lines[2].removeprefix("session: ") in sessions
    kinds = {(owner, name): (one.tag, one.get("type")) for (owner, name), one in bad.items()}
    for name, kind in (
        ("a worker dies", "worker"),
        ("a check breaks", "grader"),
        ("says nothing", "config"),
    ):
        assert kinds["steady", f"{name} (repeat 1 of 2)"] == ("error", kind)
    assert kinds["model", f"{WAREHOUSE} (repeat 2 of 2)"] == ("error", "worker")
    assert "turn: 1" in str(bad["model", "a worker dies (repeat 1 of 2)"].text)


def test_github_is_told_the_agent_s_failures_first_and_no_more_than_ten(
    runs: RealRuns, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    lines = command("report", *runs.after, "--github", "--markdown", "m.md").stdout.splitlines()
    titles = [line.partition("title=")[2].partition("::")[0] for line in lines]
    failed = ["never right (steady)", "never right (model)", "sometimes right (steady)",
              "sometimes right (model)"]  # fmt: skip
    escaped = REFUND.replace(":", "%3A").replace(",", "%2C")
    assert [title.partition("%3A ")[0] for title in titles[1:5]] == failed
    assert titles[0] == f"{escaped} (model)%3A 2 of 2 not passed"
    assert [line[2:].split()[0] for line in lines] == [*["error"] * 5, *["warning"] * 4, "error"]
    assert lines[9].endswith("::3 more are in the report")
    assert Path("summary.md").read_text("utf-8") == Path("m.md").read_text("utf-8")


def test_the_markdown_report_sets_the_models_side_by_side(runs: RealRuns, command: Command) -> None:
    command("report", *runs.after, "--markdown", "m.md")
    text = Path("m.md").read_text("utf-8")
    for line in (
        "| steady | 13 of 16 | 81.2% | ",
        "| model | 9 of 14 | 64.3% | ",
        r"| refunds \| an order (once): \[17\] | stable 2/2 | failing 0/2 |",
        "| a worker dies | 2 infrastructure | 2 infrastructure |",
        f"| {WAREHOUSE} | stable 2/2 | 2 infrastructure |",
        r"### refunds \| an order (once): \[17\] (model): failed",
        "### never right (steady): failed",
        '  tool:  refund_order {"order_id": 71}',
    ):
        assert f"\n{line}" in text


@pytest.mark.parametrize(
    ("run", "options", "answer", "reasons"),
    [
        ("before", [], "failed", ["26 of 32 judged rows passed (81.2%); at least 100.0% must"]),
        ("before", ["--min-pass-rate", "80%"], "unknown", ["4 rows not judged: a check broke"]),
        (
            "before",
            ["--min-pass-rate", "80%", "--required", "suite=safety"],
            "unknown",
            [f"required ok      {REFUND} ({name}): passed all 2" for name in ("steady", "model")],
        ),
        (
            "after",
            ["--min-pass-rate", "70%", "--required", "suite=safety"],
            "failed",
            [
                f"required ok      {REFUND} (steady): passed all 2",
                f"required failed  {REFUND} (model): passed 0 of 2",
                f"failed: required suite=safety: {REFUND} (model) passed 0 of 2",
            ],
        ),
        (
            "after",
            ["--min-pass-rate", "70%", "--required", "asks*"],
            "unknown",
            [f"required pending {WAREHOUSE} (model): not judged: 2 infrastructure"],
        ),
        (
            "before",
            ["--min-pass-rate", "80%", "--required", "nothing is called so"],
            "failed",
            ["required failed  nothing is called so: no test of the run matches it"],
        ),
    ],
)  # fmt: skip
def test_the_gate_answers_by_its_exit_code_and_says_why(
    runs: RealRuns, command: Command, run: str, options: list[str], answer: str, reasons: list[str]
) -> None:
    names = (runs.before,) if run == "before" else runs.after
    found = command("report", *names, "--gate", *options)
    assert found.exit_code == {"failed": 1, "unknown": 3}[answer]
    assert not [reason for reason in reasons if reason not in found.stderr], found.stderr
    assert found.stderr.splitlines()[-1] == f"gate: {answer}"
    as_json = command("report", *names, "--gate", *options, "--json")
    assert as_json.exit_code == found.exit_code
    assert json.loads(as_json.stdout)["gate"]["answer"] == answer


def test_a_missing_shard_keeps_the_gate_shut(runs: RealRuns, command: Command) -> None:
    for name in runs.after:
        alone = command("report", name, "--gate", "--min-pass-rate", "0")
        assert (alone.exit_code, "a shard is missing" in alone.stderr) == (3, True)
        assert "a filter?" not in alone.stderr


def test_the_program_s_exit_code_is_the_gate_s(runs: RealRuns) -> None:
    words = [sys.executable, "-m", "lobu_provider", "report", *runs.after, "--gate"]
    environment = {**runs.promptfoo.environment, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=runs.folder, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
