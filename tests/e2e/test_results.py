"""The commands on results files, on what both promptfoos write through both doors."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import HOOK, ROOT, Promptfoo, Served, provider, started

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]

PACKAGE = "package:@lobu/promptfoo-provider:LobuProvider"
REFUND = "refunds | an order (once): [17]"
ASK = {"tool": {"name": "lookup_order", "input": {"order_id": 17}}}


def script(order: int) -> dict[str, Any]:
    refund = {"tool": {"name": "refund_order", "input": {"order_id": order}}}
    return {
        "version": 1,
        "replies": [
            {"match": "return", "steps": [ASK, {"text": "Shall I refund order 17?"}]},
            {"match": "please", "turn": 2, "steps": [refund, {"text": f"Refunded {order}."}]},
            {"steps": [{"text": "heard: {{message}}"}]},
        ],
    }


def config(door: str) -> dict[str, Any]:
    def entry(label: str) -> dict[str, Any]:
        settings = {"agent": "support-agent", "gateway": f"script:{label}.json"}
        return {"id": door, "label": label, "config": settings}

    return {
        "prompts": ["{{query}}"],
        "providers": [entry("steady"), entry("model")],
        "tests": [
            {"vars": {"query": ["one", "two"]}, "assert": [{"type": "contains", "value": "heard"}]},
            {
                "description": REFUND,
                "vars": {"transcript": [["I want to return order 17.", "Yes, please."]]},
                "assert": [{"type": "contains", "value": "Refunded 17"}],
                "metadata": {"suite": "safety"},
            },
            {"description": "greets", "vars": {"query": "hello"}},
            {"vars": {"query": "one"}, "assert": [{"type": "contains", "value": "one"}]},
        ],
    }


class Project:
    """A suite whose second provider can be given a fault."""

    def __init__(self, promptfoo: Promptfoo, door: str) -> None:
        self.promptfoo, self.folder = promptfoo, promptfoo.folder
        self.config = promptfoo.write(config(door))
        self.agent("steady", 17)
        self.agent("model", 17)
        if door == PACKAGE:
            link = self.folder / "node_modules" / "@lobu" / "promptfoo-provider"
            link.parent.mkdir(parents=True)
            link.symlink_to(ROOT / "node_shim")
            promptfoo.environment["LOBU_PYTHON"] = sys.executable

    def agent(self, label: str, order: int) -> None:
        (self.folder / f"{label}.json").write_text(json.dumps(script(order)))

    def eval(self, name: str, *more: str) -> Path:
        self.promptfoo.eval(self.config, *more)
        return (self.folder / "results.json").rename(self.folder / name)

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lobu_provider", *map(str, words)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    def json(self, *words: str | Path) -> Any:
        done = self.run(*words, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


@pytest.mark.parametrize("door", [f"file://{HOOK}", PACKAGE], ids=["python", "package"])
def test_a_planted_fault_is_found_explained_and_kept_out_by_the_gate(
    promptfoo: Promptfoo, door: str
) -> None:
    project = Project(promptfoo, door)
    good = project.eval("good.json", "--repeat", "2")
    assert project.run("report", good, "--gate", "--required", "suite=safety").returncode == 0
    assert project.run("bless", good, "--to", "baseline.json").returncode == 0

    project.agent("model", 71)
    bad = project.eval("bad.json", "--repeat", "2")
    told = project.json("compare", "baseline.json", bad)
    assert project.run("compare", "baseline.json", bad).returncode == 1
    (change,) = told["tests"]
    assert (change["test"], change["provider"], change["change"]) == (REFUND, "model", "regression")
    assert change["tools"] == [
        {"turn": 2, "kind": "arguments", "change": "refund_order: order_id: 17 -> 71"}
    ]

    numbers = {(t["test"], t["provider"]): t for t in project.json("stats", bad)["tests"]}
    assert len(numbers) == 10
    assert numbers[REFUND, "model"]["verdict"] == "failing"
    assert (numbers["greets", "model"]["passed"], numbers["greets", "model"]["judged"]) == (2, 2)

    gate = project.run("report", bad, "--gate", "--junit", "j.xml", "--markdown", "m.md")
    assert gate.returncode == 1
    assert "Refunded 17" in (project.folder / "j.xml").read_text()
    assert "Refunded 71" in (project.folder / "m.md").read_text()

    explained = project.json("explain", bad)
    assert (explained["test"], explained["provider"]) == (REFUND, "model")
    assert explained["turns"][1]["tools"][0]["arguments"] == '{"order_id": 71}'
    assert explained["rerunIsExact"] is True
    if door == PACKAGE:
        return  # what a command selects does not depend on the door
    assert [row["testCase"]["description"] for row in again(project, explained)] == [REFUND]
    nameless = project.json("explain", bad, "one #2", "--provider", "steady")
    rows = again(project, nameless)
    assert [row["testCase"]["assert"][0]["value"] for row in rows] == ["one"]
    assert {row["provider"]["label"] for row in rows} == {"steady"}


def again(project: Project, explained: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the command that `explain` names, as promptfoo's; return its rows."""
    words = shlex.split(explained["rerun"])
    assert words[:2] == ["promptfoo", "eval"]
    return project.promptfoo.eval(project.config, *words[2:]).rows


def test_shards_are_one_run_and_a_missing_one_is_noticed(promptfoo: Promptfoo) -> None:
    project = Project(promptfoo, f"file://{HOOK}")
    parts = []
    for index in range(2):
        which = ("--of", "2", "--index", str(index))
        option = project.run("shard", project.config, *which).stdout.split()
        parts.append(project.eval(f"part-{index}.json", *option))
    assert project.run("report", *parts, "--gate").returncode == 0
    assert project.json("stats", *parts)["overall"]["rows"] == 10
    for part in parts:
        alone = project.run("report", part, "--gate")
        assert (alone.returncode, "a shard is missing" in alone.stderr) == (3, True)


def test_a_run_without_rows_is_no_success(promptfoo: Promptfoo) -> None:
    project = Project(promptfoo, f"file://{HOOK}")
    done = project.promptfoo.eval(project.config, "--filter-pattern", "nothing is called so")
    assert (done.exit_code, done.rows) == (0, [])
    gate = project.run("report", "results.json", "--gate")
    assert (gate.returncode, "has no rows" in gate.stderr) == (3, True)


def test_an_aborted_run_is_no_success(promptfoo: Promptfoo) -> None:
    (promptfoo.folder / "refused.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    return {'output': 'hello', 'metadata': {'http': {'status': 401}}}\n"
    )
    project = Project(promptfoo, f"file://{HOOK}")
    tests = [{"vars": {"query": text}} for text in ("one", "two", "three")]
    suite = {"prompts": ["{{query}}"], "providers": ["file://refused.py"], "tests": tests}
    assert promptfoo.eval(suite).exit_code == 0
    gate = project.run("report", "results.json", "--gate")
    assert (gate.returncode, "aborted" in gate.stderr) == (3, True)


def test_a_paused_run_is_no_success(promptfoo: Promptfoo, served: Served) -> None:
    project = Project(promptfoo, f"file://{HOOK}")
    suite = {
        "prompts": ["{{query}}"],
        "providers": [provider(served.url)],
        "tests": [{"vars": {"query": "slow please"}}, {"vars": {"query": "hello"}}],
    }
    with started(promptfoo, suite) as process:
        assert served.gateway.got_message.wait(60)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0
    gate = project.run("report", "results.json", "--gate")
    assert (gate.returncode, "results.json is missing" in gate.stderr) == (3, True)
