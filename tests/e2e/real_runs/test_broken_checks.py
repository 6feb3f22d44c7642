"""Checks that cannot judge, checks of `turns`, and turns of a file, as promptfoo writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import run_in_process
from tests.e2e.conftest import ROOT, Promptfoo, provider

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

PYTHON = f"file://{ROOT}/lobu_provider/hook/lobu_assertions.py"
PACKAGE = "package:@lobu/promptfoo-provider"
BROKEN: list[dict[str, Any]] = [
    {"type": "python", "value": "file://throws.py"},
    {"type": "python", "value": "file://none.py"},
    {"type": "javascript", "value": "file://throws.js"},
    {"type": "python", "value": f"{PYTHON}:toolCaled", "config": {"tool": "x"}},
    {"type": "python", "value": f"{PYTHON}:toolCalled", "config": {"toool": "x"}},
    {"type": "not-python", "value": f"{PYTHON}:toolCalled", "config": {"tool": "x"}},
    {"type": "python", "value": PYTHON},
    {"type": "javascript", "value": f"{PACKAGE}:toolCaled", "config": {"tool": "x"}},
    {"type": "javascript", "value": f"{PACKAGE}:toolCalled", "config": {"toool": "x"}},
    {"type": "not-javascript", "value": f"{PACKAGE}:toolCalled", "config": {"tool": "x"}},
    {"type": "regex", "value": "("},
]
SPOKEN = ["Hello.", "And then?"]


@pytest.fixture
def project(promptfoo: Promptfoo) -> Promptfoo:
    """A folder with an agent that repeats, and files that break."""
    folder = promptfoo.folder
    link = folder / "node_modules" / "@lobu" / "promptfoo-provider"
    link.parent.mkdir(parents=True)
    link.symlink_to(ROOT / "node_shim")
    reply = {"steps": [{"text": "heard: {{message}}"}]}
    (folder / "agent.json").write_text(json.dumps({"version": 1, "replies": [reply]}))
    (folder / "throws.py").write_text("def get_assert(output, context):\n    return {}['x']\n")
    (folder / "throws.js").write_text("module.exports = () => { throw new TypeError('no'); };\n")
    (folder / "turns.yaml").write_text("\n".join(f"- {text}" for text in SPOKEN))
    return promptfoo


def suite(*tests: dict[str, Any]) -> dict[str, Any]:
    entry = {**provider("script:agent.json"), "label": "agent"}
    return {"prompts": ["{{query}}"], "providers": [entry], "tests": list(tests)}


def test_a_check_that_cannot_judge_is_never_the_fault_of_the_agent(project: Promptfoo) -> None:
    tests = [
        {"description": f"check {n}", "vars": {"query": "hi"}, "assert": [one]}
        for n, one in enumerate(BROKEN)
    ]
    project.eval(suite(*tests))
    results = str(project.folder / "results.json")
    told = json.loads(run_in_process("stats", results, "--json").stdout)
    assert {one["test"]: one["graderFailures"] for one in told["tests"]} == {
        f"check {n}": 1 for n in range(len(BROKEN))
    }
    gate = run_in_process("report", results, "--gate")
    assert (gate.exit_code, "failed" in gate.stderr) == (3, False)


def test_turns_are_shown_once_each_and_those_of_a_file_before_they_run(project: Promptfoo) -> None:
    groups = {
        "1": [
            {"type": "contains", "value": "Hello"},
            {"type": "toolCalled", "config": {"tool": "x"}},
        ],
        "2": [{"type": "contains", "value": "then"}],
    }
    check = {"type": "python", "value": f"{PYTHON}:turns", "config": {"turns": groups}}
    run = project.eval(suite({"vars": {"transcript": "file://turns.yaml"}, "assert": [check]}))
    config, results = (str(project.folder / n) for n in ("promptfooconfig.yaml", "results.json"))
    (case,) = json.loads(run_in_process("cases", config, "--json").stdout)["tests"]
    assert case["turns"] == SPOKEN == [turn["user"] for turn in run.metadata()["turns"]]
    found = run_in_process("explain", results, "-c", config)
    assert found.stdout.startswith("FAILED: turns.yaml\n")
    assert (found.stderr, "error:" in found.stdout) == ("", False)
    assert [one for one in found.stdout.splitlines() if one.startswith(("passed:", "failed:"))] == [
        'passed: turn 1: contains "Hello"',
        'failed: turn 1: toolCalled {"tool":"x"}',
        'passed: turn 2: contains "then"',
    ]
