"""Model-graded assertions over our evidence, with a stubbed grader, through both doors."""

from __future__ import annotations

import copy
import json
import re
import sys
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import HOOK, ROOT, Promptfoo, provider
from tests.e2e.test_promptfoo_package import PACKAGE, install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

PAGE = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8")
ASSERTS: dict[str, list[dict[str, Any]]] = {
    name: yaml.safe_load(text)
    for name, text in re.findall(r"<!-- asserts: (\w+) -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
}
IN_PYTHON = "file://{{env.LOBU_TRANSFORMS}}:"
IN_JAVASCRIPT = "file://./node_modules/@lobu/promptfoo-provider/transforms.js:"

REFUNDS = "Customers may return any item within 30 days."
PAYMENT = "Refunds are paid to the card within 5 days."


def found(number: int, text: str) -> dict[str, Any]:
    summary = {"snippets": [{"id": number, "text": text}]}
    return {"name": "search_memory", "input": {}, "result_summary": summary}


SCRIPT = {
    "version": 1,
    "replies": [
        {"match": "hit", "steps": [{"tool": found(1, REFUNDS)}, {"text": REFUNDS}]},
        {
            "match": "several",
            "steps": [
                {"tool": {"name": "search_memory", "input": {}}},
                {"tool": found(2, PAYMENT)},
                {"text": PAYMENT},
            ],
        },
        {
            "match": "none",
            "steps": [{"tool": {"name": "search_memory", "input": {}}}, {"text": "I do not know."}],
        },
        {
            "match": "failed",
            "steps": [
                {"tool": {"name": "search_memory", "input": {}, "isError": True}},
                {"text": "I cannot look."},
            ],
        },
        {"match": "no search", "steps": [{"text": "Hello."}]},
    ],
}
CASES = {
    "hit": (["hit: how do I return it?"], True),
    "two turns, three searches": (["several: when is it paid?", "hit: how do I return it?"], True),
    "zero hits": (["none: how do I return it?"], False),
    "failed search": (["failed: how do I return it?"], False),
    "no search": (["no search: how do I return it?"], False),
}
"""The turns of each, and whether what is asserted of its context holds."""

NEVER = {
    "type": "llm-rubric",
    "transform": f"{IN_PYTHON}evidence",
    "value": 'Somewhere stands "Tool call 1: refund_order".',
}


def in_javascript(assertion: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value.replace(IN_PYTHON, IN_JAVASCRIPT) if isinstance(value, str) else value
        for key, value in assertion.items()
    }


def case(name: str, turns: list[str]) -> dict[str, Any]:
    test: dict[str, Any] = {"query": turns[-1]}
    if len(turns) > 1:
        test["transcript"] = [turns]
    in_python = ASSERTS["retrieval"]
    forms = [*ASSERTS["inline"], *in_python, *map(in_javascript, in_python)]
    return {"description": name, "vars": test, "assert": copy.deepcopy(forms)}


def refund(name: str, *assertions: dict[str, Any]) -> dict[str, Any]:
    turns = ["I want to return order 17.", "Yes, please refund it."]
    return {
        "description": name,
        "vars": {"transcript": [turns]},
        "assert": list(assertions),
    }


def parts(row: dict[str, Any]) -> list[dict[str, Any]]:
    assert row["gradingResult"] is not None, row["error"]  # judged, and no error
    return list(row["gradingResult"]["componentResults"])


@pytest.mark.parametrize("door", ["hook", "package"])
def test_each_row_reaches_a_verdict_and_the_right_one(promptfoo: Promptfoo, door: str) -> None:
    install(promptfoo.folder)
    (promptfoo.folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
    rubric = {
        **ASSERTS["evidence"][0],
        "value": 'First "Tool call 1: lookup_order", then "Call 2".',
    }
    f1 = ASSERTS["f1"][0]
    agents = [provider("script:script.json"), {**provider("script:demo"), "label": "demo"}]
    for agent in agents if door == "package" else []:
        agent["id"] = PACKAGE
    run = promptfoo.eval(
        {
            "prompts": ["{{query}}"],
            "providers": agents,
            "defaultTest": {"options": {"provider": f"file://{ROOT / 'examples' / 'grader.py'}"}},
            "tests": [
                *(
                    {**case(name, turns), "providers": ["agent"]}
                    for name, (turns, _) in CASES.items()
                ),
                {
                    **refund("evidence", rubric, in_javascript(rubric), f1),
                    "providers": ["demo"],
                },
                {
                    **refund(
                        "wrong", NEVER, in_javascript(NEVER), {**f1, "value": ["track_parcel"]}
                    ),
                    "providers": ["demo"],
                },
            ],
        },
        "-j",
        "4",
        LOBU_PYTHON=sys.executable,
        LOBU_TRANSFORMS=str(HOOK.parent / "lobu_transforms.py"),
    )
    rows = {row["testCase"]["description"]: row for row in run.rows}
    assert len(run.rows) == len(CASES) + 2, run.log
    for name, (_, holds) in CASES.items():
        reasons = [part["reason"] for part in parts(rows[name])]
        assert len(reasons) == 9
        assert reasons[:3] == reasons[3:6] == reasons[6:9], name  # in each form
        assert [part["pass"] for part in parts(rows[name])] == [holds] * 9, reasons
    assert [part["pass"] for part in parts(rows["evidence"])] == [True] * 3
    wrong = parts(rows["wrong"])
    assert [part["pass"] for part in wrong] == [False] * 3
    assert wrong[0]["reason"] == "not found: Tool call 1: refund_order"
    assert "track_parcel" in wrong[2]["reason"]
