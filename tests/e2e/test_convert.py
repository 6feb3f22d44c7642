"""Converted suites under the real promptfoo: the verdicts that each source format prescribes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.convert.conversion import Converted, convert
from tests.e2e.conftest import HOOK, Promptfoo

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

SOURCES = Path(__file__).resolve().parents[1] / "convert" / "sources"
GRADER = """
import json

def call_api(prompt, options, context):
    rubric, text = context["vars"]["rubric"], str(context["vars"]["output"])
    bad = "RUDE" if "polite" in rubric else "WRONG"
    passed = bad not in text
    # A no with a high score: as a fraction it would lift a failed row over its threshold.
    return {"output": json.dumps({"pass": passed, "score": 1 if passed else 0.9, "reason": rubric})}
"""


def says(agent: str, match: str, *steps: Any, turn: int | None = None) -> dict[str, Any]:
    """An entry of a script; a step that is a text is the answer, one with a name a tool call."""
    made = [
        {"text": step} if isinstance(step, str) else {"tool": {"name": step[0], "input": step[1]}}
        for step in steps
    ]
    entry = {"agent": agent, "match": match, "steps": made}
    return entry if turn is None else {**entry, "turn": turn}


LIST = "Three: - saves time - saves money - saves nerves"
DAYS = ("days_since_delivery", {"delivered_on": "2026-09-14"})
REPLIES = [
    # Lobu's older evals
    says("good", "are you there", "HELLO!"),
    says("bad", "are you there", "Yes."),
    says("good", "remote work", LIST),
    says("bad", "remote work", f"{LIST} WRONG"),
    says("good", "My name is Alice", "Noted."),
    says("bad", "My name is Alice", "Noted."),
    says("good", "What company", "Acme"),
    says("bad", "What company", "Acme WRONG"),
    says("good", "what's my name", "Alice"),
    says("bad", "what's my name", "Alice"),
    says("good", "My order is", "Order 17 and order 17 are found."),
    says("bad", "My order is", "Nothing found."),
    says("good", "Thanks, {{name}}", "{{NAME}}, RUDE"),
    says("bad", "Thanks, {{name}}", "WRONG"),
    # Hubzoid
    says("good", "$650", "A Manager does."),
    says("bad", "$650", "Nobody."),
    says("good", "margin report", "You lack the permission."),
    says("bad", "margin report", "WRONG: 12 %"),
    says("good", "delivered on 2026-09-14", DAYS, "A refund is possible."),
    says("bad", "delivered on 2026-09-14", ("http_get", {}), DAYS, "A refund is possible."),
    says("good", "refund policy", ("mcp__hubzoid__read_knowledge", {"name": "House-Rules"}), "."),
    says("bad", "refund policy", ("read_knowledge", {"name": "other"}), "."),
    says("good", "40 days ago", "No."),
    says("bad", "40 days ago", "No."),
    says("good", "order A-1001", ("lookup_order", {"order_id": "A-1001"}), "Yes."),
    says("bad", "order A-1001", ("issue_refund", {"order_id": "A-1001"}), "Done."),
    says("good", "What can we offer", "Nothing, says house-rules.md."),
    says("bad", "What can we offer", "WRONG, says house-rules.md."),
    # Astromesh
    says("good", "How much stock", ("check_stock", {"sku": "X"}), "There are 12."),
    says("bad", "How much stock", "There are 12."),
    says("good", "in words", "Twelve.\n"),
    says("bad", "in words", ("order_stock", {}), "Twelve.\n"),
    says("good", "X cost", "12 dollars."),
    says("bad", "X cost", "12 eur."),
    says("good", "Hello", "Hello."),
    says("bad", "Hello", "WRONG"),
]  # fmt: skip


def converted(path: str, agent: str) -> Converted:
    done = convert([SOURCES / path], agent=agent, grader="file://grader.py")
    (file,) = done.files
    return file


def prepared(promptfoo: Promptfoo) -> dict[str, str]:
    (promptfoo.folder / "grader.py").write_text(GRADER, encoding="utf-8")
    script = promptfoo.folder / "agent.json"
    script.write_text(json.dumps({"version": 1, "replies": REPLIES}), encoding="utf-8")
    return {
        "LOBU_PROVIDER_HOOK": str(HOOK),
        "LOBU_ASSERTIONS": str(HOOK.parent / "lobu_assertions.py"),
        "LOBU_GATEWAY": f"script:{script}",
    }


def together(files: dict[str, list[Converted]]) -> dict[str, Any]:
    """One config of several agents' configs: promptfoo and a worker are started once for each."""
    tests = []
    for agent, converted_files in files.items():
        for file in converted_files:
            for test in json.loads(json.dumps(file.config["tests"])):
                common = file.config["evaluateOptions"].get("repeat", 1)
                options = {"repeat": common, **test.get("options", {})}
                if agent == "bad":  # once is enough to see red
                    options["repeat"] = 1
                description = f"{agent}: {test['description']}"
                made = {"description": description, "providers": [agent], "options": options}
                tests.append({**test, **made})
    first = next(iter(files.values()))[0].config
    (hook, *_) = first["providers"]
    return {
        "prompts": first["prompts"],
        "providers": [{"id": hook["id"], "label": a, "config": {"agent": a}} for a in files],
        "defaultTest": first["defaultTest"],
        "tests": tests,
    }


PATHS = ("agents/support/evals", "hub", "config/evals")
NAMES = {
    "agents/support/evals": {"ping": 3, "follows-instructions": 3, "context-retention": 5,
                             "every-field": 2},
    "hub": dict.fromkeys(["approvals/plain-body", "finance-locked", "refund-by-date",
                          "refund-follow-up", "refund-order", "refund-window"], 1),
    "config/evals": dict.fromkeys(["stock-simple", "stock-memory", "price", "polite"], 1),
}  # fmt: skip
"""Each case, and how often it runs."""


def test_a_good_agent_is_green_and_a_bad_one_red_in_each_case(promptfoo: Promptfoo) -> None:
    variables = prepared(promptfoo)
    files = {agent: [converted(path, agent) for path in PATHS] for agent in ("good", "bad")}
    done = promptfoo.eval(together(files), **variables)
    seen: dict[str, list[bool]] = {}
    for row in done.rows:
        assert not row["response"].get("error"), row["response"]
        seen.setdefault(row["testCase"]["description"], []).append(row["success"])
    expected = {
        f"{agent}: {name}": [True] * times if agent == "good" else [False]
        for agent in ("good", "bad")
        for path in PATHS
        for name, times in NAMES[path].items()
    }
    assert seen == expected
    rows = {row["testCase"]["description"]: row for row in done.rows}
    # 13 of 14 parts: the rude answer costs its own weight and no more.
    polite = rows["good: every-field"]
    assert polite["score"] == pytest.approx(12.5 / 14)
    # The model's no counts 0, not the 0.9 that it also said: 0.75 is below 0.8, 0.975 is not.
    assert rows["bad: context-retention"]["score"] == pytest.approx(0.75)


def test_what_is_written_is_a_config_that_promptfoo_validates_and_runs(
    promptfoo: Promptfoo,
) -> None:
    variables = prepared(promptfoo)
    for path in PATHS:
        file = converted(path, "good")
        name = promptfoo.folder / f"{path.replace('/', '-')}.yaml"
        name.write_text(file.text, encoding="utf-8")
        done = subprocess.run(
            [promptfoo.arguments(name)[0], "validate", "-c", str(name)],
            cwd=promptfoo.folder,
            env={**promptfoo.environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    ran = promptfoo.eval(promptfoo.folder / "config-evals.yaml", **variables)
    assert ran.exit_code == 0, ran.log
    assert len(ran.rows) == len(NAMES["config/evals"])


def test_the_pass_rate_of_astromesh_decides_the_exit_code(
    promptfoo: Promptfoo, tmp_path: Path
) -> None:
    variables = prepared(promptfoo)
    texts = {"right": "dollars", "wrong": "EUR"}
    cases = [
        {"id": name, "turns": ["What does X cost?"], "expect": [{"contains": text}]}
        for name, text in texts.items()
    ]

    def exit_code(rate: float) -> int:
        path = tmp_path / "rate.eval.yaml"
        spec = {"agent": "good", "thresholds": {"pass_rate": rate}, "cases": cases}
        source = {"apiVersion": "astromesh/v1", "kind": "Eval", "metadata": {"name": "rate"}}
        path.write_text(json.dumps({**source, "spec": spec}), encoding="utf-8")
        (file,) = convert([path]).files
        config = promptfoo.folder / "rate.yaml"
        config.write_text(file.text, encoding="utf-8")
        return promptfoo.eval(config, **variables).exit_code

    assert exit_code(0.5) == 0
    assert exit_code(0.501) == 100
