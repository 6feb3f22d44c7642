"""The assertions under the real promptfoo, in both supported versions and in both languages."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from lobu_provider.assertions.options import CHECKS
from tests.assertions.test_assertions_docs import (
    CONFIG,
    OTHER,
    SCRIPT,
    TALKS,
    examples,
)
from tests.e2e.conftest import HOOK, Promptfoo, Run
from tests.e2e.test_promptfoo_package import install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

IN_PYTHON = "file://{{env.LOBU_ASSERTIONS}}:"
FORMS = {
    "python": ("python", IN_PYTHON),
    "package": ("javascript", "package:@lobu/promptfoo-provider:"),
    "file": ("javascript", "file://./node_modules/@lobu/promptfoo-provider/assertions.js:"),
}
"""Each way to name an assertion: its type, and what stands before the check's name."""

PATHS = {
    "LOBU_PROVIDER_HOOK": str(HOOK),
    "LOBU_ASSERTIONS": str(HOOK.parent / "lobu_assertions.py"),
}


def in_form(form: str, assertion: dict[str, Any], negate: str = "") -> dict[str, Any]:
    kind, start = FORMS[form]
    if not str(assertion["value"]).startswith(IN_PYTHON):
        return assertion
    value = assertion["value"].replace(IN_PYTHON, start)
    return {**assertion, "type": f"{negate}{kind}", "value": value}


def in_all_forms(test: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            **copy.deepcopy(test),
            "description": f"{form}: {test['description']}",
            "assert": [in_form(form, one) for one in test["assert"]],
        }
        for form in FORMS
    ]


def run(promptfoo: Promptfoo, script: str, *tests: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Evaluate the tests and return the rows by description."""
    install(promptfoo.folder)
    (promptfoo.folder / "shop.json").write_text(script, encoding="utf-8")
    done: Run = promptfoo.eval({**CONFIG, "tests": list(tests)}, **PATHS)
    assert len(done.rows) == len(tests), done.log
    return {row["testCase"]["description"]: row for row in done.rows}


def reasons(row: dict[str, Any]) -> list[str]:
    """Why assertions of a row failed; parts of an assertion come after it."""
    parts = row["gradingResult"]["componentResults"]
    return [part["reason"] for part in parts if not part["pass"]]


def talk(description: str, *assertions: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": description,
        "vars": {"transcript": [TALKS["refund"]], "query": TALKS["refund"][-1]},
        "assert": list(assertions),
    }


def test_the_first_example_and_the_whole_page_pass(promptfoo: Promptfoo) -> None:
    page = [one for name, one, _ in examples("passes") if name == "refund"]
    page += [one for _, one, _ in examples("promptfoo")]
    tests = [*CONFIG["tests"], talk("the page", *page)]
    rows = run(promptfoo, SCRIPT, *[one for test in tests for one in in_all_forms(test)])
    for name, row in rows.items():
        assert row["success"], (name, row.get("error"), reasons(row))


def test_another_agent_is_red_with_the_same_words_in_each_form(promptfoo: Promptfoo) -> None:
    rows = run(promptfoo, OTHER, *[one for test in CONFIG["tests"] for one in in_all_forms(test)])
    for test in CONFIG["tests"]:
        told = [reasons(rows[f"{form}: {test['description']}"]) for form in FORMS]
        assert told[0] == told[1] == told[2]
        wrong = [text.partition(" ")[0] for text in told[0]]
        assert wrong[-2:] == ["toolCalled", "toolNotCalled"]
        missing = [text for text in told[0][:-2] if '"30 days"' in text]
        assert len(missing) == len(wrong) - 2 == ("30 days" in str(test["assert"]))


FIRST_ANSWER = json.loads(SCRIPT)["replies"][0]["steps"][-1]["text"]
TURNS = {
    "type": "python",
    "value": f"{IN_PYTHON}turns",
    "config": {
        "turns": {
            1: [
                {"type": "contains", "value": "{{days}} days", "metric": "policy", "weight": 3},
                {"type": "toolCalled", "config": {"tool": "lookup_order"}},
            ],
            2: [{"type": "contains", "value": "USD"}],
        }
    },
}


def test_the_checks_of_each_turn_are_shown_one_by_one(promptfoo: Promptfoo) -> None:
    test = talk("turns", TURNS)
    test["vars"]["days"] = 30
    rows = run(promptfoo, SCRIPT, *in_all_forms(test))
    for row in rows.values():
        assert not row["success"]
        assert row["namedScores"] == {"turn 1": 1, "policy": 1, "turn 2": 0}
        whole, *parts = row["gradingResult"]["componentResults"]
        assert whole["score"] == pytest.approx(0.8)
        assert [part["reason"] for part in parts] == [
            f'turn 1: contains "30 days": the answer was "{FIRST_ANSWER}"',
            "turn 1: toolCalled: lookup_order was called 1 time",
            'turn 2: contains "USD" failed: the answer was "Done: ticket 7 asks for 39.90 EUR."',
        ]
        if "javascript" in whole["assertion"]["type"]:
            assert parts[0]["assertion"]["type"] == "contains"


def test_no_mistake_passes_in_any_form(promptfoo: Promptfoo) -> None:
    mistakes = {
        "unknown option": {"tol": "issue_refund"},
        "unknown variable": {"tool": "{{tool}}"},
        "date": {"tool": "open_ticket", "args": {"order_id": "42"}, "turn": 9},
    }
    tests = [
        talk(
            f"{form}, {name}",
            in_form(form, {"value": f"{IN_PYTHON}toolNotCalled", "config": config}),
        )
        for form in FORMS
        for name, config in mistakes.items()
    ]
    right = {"value": f"{IN_PYTHON}toolCalled", "config": {"tool": "issue_refund"}}
    beside = {"value": f"{IN_PYTHON}toolCalled", "config": {"tool": "open_ticket"}, "times": 7}
    tests += [talk(f"{form}, beside config", in_form(form, beside)) for form in FORMS]
    tests += [talk(f"{form}, negated", in_form(form, right, "not-")) for form in FORMS]
    rows = run(promptfoo, SCRIPT, *tests)
    assert [name for name, row in rows.items() if row["success"]] == []
    for form in FORMS:
        assert "did you mean" in json.dumps(rows[f"{form}, unknown option"])
        (told,) = {*reasons(rows[f"{form}, beside config"])}
        assert "times stands beside type and value" in told
        assert "Write toolNotCalled" in json.dumps(rows[f"{form}, negated"])


def test_promptfoo_finds_each_check_by_its_name(promptfoo: Promptfoo) -> None:
    checks = [{"value": IN_PYTHON + check, "config": {"x": 1}} for check in CHECKS]
    tests = [talk(form, *[in_form(form, check) for check in checks]) for form in FORMS]
    for row in run(promptfoo, SCRIPT, *tests).values():
        told = "\n".join(reasons(row))
        for check in CHECKS:
            assert f"{check}: the configuration is wrong: x is no option" in told
