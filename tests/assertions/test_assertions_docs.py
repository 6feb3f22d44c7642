"""What docs/assertions.md shows is true: its examples are run, its messages are compared."""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from lobu_provider import LobuProvider
from lobu_provider.assertions.judge import judge
from lobu_provider.assertions.options import CHECKS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "assertions.md").read_text(encoding="utf-8")
MARKED = re.compile(
    r"<!-- (\w+): ([\w.]+) -->\n```(\w+)\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL
)
BLOCKS = [match.groups() for match in MARKED.finditer(PAGE)]
TALKS = {
    "refund": ["Please refund order 42.", "Yes, go ahead."],
    "question": ["I want to change my order."],
}
(SCRIPT,) = [text for kind, _, _, text, _ in BLOCKS if kind == "script"]
(CONFIG,) = [yaml.safe_load(text) for kind, _, _, text, _ in BLOCKS if kind == "config"]


def examples(kind: str) -> list[tuple[str, dict[str, Any], str]]:
    return [
        (name, assertion, message)
        for one, name, _, text, message in BLOCKS
        if one == kind
        for assertion in yaml.safe_load(text)
    ]


def ask(folder: Path, script: str, variables: dict[str, Any]) -> dict[str, Any]:
    path = folder / "shop.json"
    path.write_text(script, encoding="utf-8")
    config = {"agent": "support-agent", "gateway": f"script:{path}"}
    provider = LobuProvider({"config": config})
    return asyncio.run(provider.call_api(variables.get("query", ""), {"vars": variables}))


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Any:
    @cache
    def held(name: str) -> dict[str, Any]:
        return ask(tmp_path_factory.mktemp("talk"), SCRIPT, {"transcript": TALKS[name]})

    return held


def verdict(assertion: dict[str, Any], response: dict[str, Any], **context: Any) -> dict[str, Any]:
    # promptfoo hands a config over as JSON: a turn's number becomes a text.
    config = json.loads(json.dumps(assertion.get("config")))
    check = assertion["value"].rpartition(":")[2]
    test = {"assert": [assertion]}
    return judge(check, {"config": config, "providerResponse": response, "test": test, **context})


@pytest.mark.parametrize(("name", "assertion", "_message"), examples("passes"))
def test_an_example_passes(talk: Any, name: str, assertion: dict[str, Any], _message: str) -> None:
    result = verdict(assertion, talk(name))
    assert result["pass"], result["reason"]


@pytest.mark.parametrize(("name", "assertion", "message"), examples("fails"))
def test_an_example_of_a_failure_says_what_the_page_says(
    talk: Any, name: str, assertion: dict[str, Any], message: str
) -> None:
    result = verdict(assertion, talk(name))
    assert not result["pass"]
    assert result["reason"] == message.rstrip("\n")


@pytest.mark.parametrize("check", CHECKS)
def test_every_option_is_shown_in_an_example(check: str) -> None:
    shown = [
        assertion.get("config", {})
        for _, assertion, _ in examples("passes")
        if assertion["value"].endswith(f":{check}")
    ]
    assert set(CHECKS[check]) == {key for config in shown for key in config}


def test_every_choice_of_an_option_stands_on_the_page() -> None:
    for kinds in CHECKS.values():
        for kind in kinds.values():
            for choice in kind.split("|")[1:]:
                assert choice in PAGE


@pytest.mark.parametrize("test", CONFIG["tests"], ids=lambda test: test["description"])
def test_the_first_example_passes(tmp_path: Path, test: dict[str, Any]) -> None:
    response = ask(tmp_path, SCRIPT, test["vars"])
    for assertion in test["assert"]:
        if assertion["type"] == "python":
            result = verdict(assertion, response, vars=test["vars"])
            assert result["pass"], result["reason"]


def other_script(**replies: list[Any]) -> str:
    script = json.loads(SCRIPT)
    for entry in script["replies"]:
        entry["steps"] = replies.get(entry["match"].split()[0], entry["steps"])
    return json.dumps(script)


OTHER = other_script(
    refund=[
        {"tool": {"name": "search_memory", "input": {}}},
        {"tool": {"name": "mcp__shop__lookup_order", "input": {"order_id": "41"}}},
        {"tool": {"name": "issue_refund", "input": {"order_id": "41"}}},
        {"text": "Refunded."},
    ],
    delivered=[
        {"tool": {"name": "http_get", "input": {"url": "https://example.com"}}},
        {"text": "A refund is possible."},
    ],
)


@pytest.mark.parametrize(("name", "index"), [("refund", 0), ("date", 1)])
def test_another_agent_makes_the_first_example_red_with_the_page_s_words(
    tmp_path: Path, name: str, index: int
) -> None:
    (message,) = [text for kind, one, _, text, _ in BLOCKS if (kind, one) == ("red", name)]
    test = CONFIG["tests"][index]
    response = ask(tmp_path, OTHER, test["vars"])
    results = [
        verdict(assertion, response, vars=test["vars"])
        for assertion in test["assert"]
        if assertion["type"] == "python"
    ]
    assert [r["reason"] for r in results if not r["pass"]] == message.splitlines()


LOOK_UP = {"tool": {"name": "mcp__shop__lookup_order", "input": {"order_id": "42"}}}
SEARCH = {"tool": {"name": "search_memory", "input": {}}}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            [LOOK_UP, SEARCH],
            "toolOrder failed: lookup_order was not called after search_memory (call 2)\n",
        ),
        ([SEARCH, LOOK_UP, *[SEARCH] * 3], "maxToolCalls failed: 5 tool calls, at most 4 allowed"),
        (
            [SEARCH, LOOK_UP, {"card": {"type": "question", "question": "Sure?", "options": []}}],
            'completed failed: turn 1 waits for a person: question "Sure?"',
        ),
    ],
)
def test_each_other_check_of_the_first_example_is_red_where_the_script_breaks_it(
    tmp_path: Path, steps: list[Any], message: str
) -> None:
    test = CONFIG["tests"][0]
    script = other_script(refund=[*steps, {"text": "Within 30 days."}])
    response = ask(tmp_path, script, test["vars"])
    results = [
        verdict(assertion, response, vars=test["vars"])
        for assertion in test["assert"]
        if assertion["type"] == "python"
    ]
    (failed,) = [result["reason"] for result in results if not result["pass"]]
    assert failed.startswith(message)
