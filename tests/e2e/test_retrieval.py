"""Model-graded assertions over our evidence, with a stubbed grader, through both doors."""

from __future__ import annotations

import json
import re
import shutil
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
        {
            "match": "return order",
            "steps": [{"tool": {"name": "lookup_order", "input": {"id": 17}}}, {"text": "Sure?"}],
        },
        {
            "match": "refund it",
            "steps": [
                {"tool": {"name": "refund_order", "input": {}, "result_summary": {"id": "r1"}}},
                {"text": "Done."},
            ],
        },
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

REFUND = ["I want to return order 17.", "Yes, please refund it."]


def in_form_of(door: str, assertion: dict[str, Any]) -> dict[str, Any]:
    """The Python file through the Python door, the JavaScript one through the other."""
    start = IN_PYTHON if door == "hook" else IN_JAVASCRIPT
    return {
        key: value.replace(IN_PYTHON, start) if isinstance(value, str) else value
        for key, value in assertion.items()
    }


def case(name: str, turns: list[str], assertions: list[dict[str, Any]]) -> dict[str, Any]:
    given: dict[str, Any] = {"query": turns[-1]}
    if len(turns) > 1:
        given["transcript"] = [turns]
    return {"description": name, "vars": given, "assert": assertions}


def parts(row: dict[str, Any]) -> list[dict[str, Any]]:
    assert row["gradingResult"] is not None, row["error"]  # judged, and no error
    return list(row["gradingResult"]["componentResults"])


@pytest.mark.parametrize("door", ["hook", "package"])
def test_each_row_reaches_a_verdict_and_the_right_one(promptfoo: Promptfoo, door: str) -> None:
    install(promptfoo.folder)
    (promptfoo.folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
    by_file = [in_form_of(door, one) for one in ASSERTS["retrieval"]]
    (rubric,), (f1,) = [in_form_of(door, one) for one in ASSERTS["evidence"]], ASSERTS["f1"]
    met = {**rubric, "value": 'First "Tool call 1: lookup_order", then "Call 2 reported".'}
    not_met = {**rubric, "value": 'Somewhere stands "Tool call 1: refund_order".'}
    agent = provider("script:script.json")
    agent["id"] = agent["id"] if door == "hook" else PACKAGE
    run = promptfoo.eval(
        {
            "prompts": ["{{query}}"],
            "providers": [agent],
            "defaultTest": {"options": {"provider": f"file://{ROOT / 'examples' / 'grader.py'}"}},
            "tests": [
                *(
                    case(name, turns, [*ASSERTS["inline"], *by_file])
                    for name, (turns, _) in CASES.items()
                ),
                case("second turn", CASES["two turns, three searches"][0], ASSERTS["turn"]),
                case("no second turn", CASES["hit"][0], ASSERTS["turn"]),
                case("right", REFUND, [met, f1]),
                case("wrong", REFUND, [not_met, {**f1, "value": ["track_parcel"]}]),
            ],
        },
        "-j",
        "1",
        LOBU_PYTHON=sys.executable,
        LOBU_TRANSFORMS=str(HOOK.parent / "lobu_transforms.py"),
    )
    assert len(run.rows) == len(CASES) + 4, run.log
    rows = {row["testCase"]["description"]: parts(row) for row in run.rows}
    for name, (_, holds) in CASES.items():
        reasons = [part["reason"] for part in rows[name]]
        assert [part["pass"] for part in rows[name]] == [holds] * 6, (name, reasons)
        assert reasons[:3] == reasons[3:]  # in both forms
    assert rows["second turn"][0]["pass"]
    assert not rows["no second turn"][0]["pass"]
    assert [part["pass"] for part in rows["right"]] == [True] * 2
    assert [part["pass"] for part in rows["wrong"]] == [False] * 2
    assert rows["wrong"][0]["reason"] == "not found: Tool call 1: refund_order"
    assert "Called: [lookup_order, refund_order]" in rows["wrong"][1]["reason"]


def test_the_whole_config_of_the_page_passes_and_a_rubric_without_a_phrase_fails(
    promptfoo: Promptfoo,
) -> None:
    found = re.search(r"<!-- config: whole -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    config = yaml.safe_load(found[1])
    shutil.copy(ROOT / "examples" / "grader.py", promptfoo.folder)
    plain = {"type": "llm-rubric", "value": "The agent is polite."}
    config["tests"].append({"description": "plain", "vars": {"query": "Hello"}, "assert": [plain]})
    run = promptfoo.eval(
        config,
        LOBU_PROVIDER_HOOK=str(HOOK),
        LOBU_TRANSFORMS=str(HOOK.parent / "lobu_transforms.py"),
    )
    rows = {row["testCase"]["description"]: parts(row) for row in run.rows}
    assert [part["pass"] for part in rows.pop("answers from what was found")] == [True, True]
    (failed,) = rows.pop("plain")
    assert (failed["pass"], "quotes no phrase" in failed["reason"]) == (False, True)
    assert rows == {}
