"""lobu-provider cases: what a config will run, counted as promptfoo counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import RunCli


@pytest.fixture
def listed(run_cli: RunCli, folder: Path) -> Any:
    """Return a function that lists a config."""

    def made(config: dict[str, Any]) -> dict[str, Any]:
        (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
        result = run_cli("cases", "--json")
        assert result.exit_code == 0
        return dict(json.loads(result.stdout))

    return made


BASE: dict[str, Any] = {
    "prompts": ["{{query}}"],
    "providers": [{"id": "file://lobu_hook.py", "label": "a"}],
}
CHECK = {"type": "contains", "value": "x"}


def test_a_test_is_shown_with_turns_assertions_providers_and_rows(listed: Any) -> None:
    found = listed(
        {
            **BASE,
            "providers": [*BASE["providers"], "echo"],
            "evaluateOptions": {"repeat": 3},
            "tests": [
                {
                    "description": "buys {{what}}",
                    "vars": {"transcript": ["I want {{what}}.", "Yes."], "what": "tea"},
                    "options": {"disableVarExpansion": True},
                    "threshold": 0.5,
                    "assert": [
                        {**CHECK, "weight": 2},
                        {
                            "type": "python",
                            "value": "file://a.py:turns",
                            "config": {"turns": {"2": [CHECK]}},
                        },
                        {
                            "type": "python",
                            "value": "file://a.py:toolCalled",
                            "config": {"tool": "pay"},
                        },
                        {"type": "assert-set", "assert": [{"type": "is-json"}]},
                    ],
                }
            ],
        }
    )
    (test,) = found["tests"]
    assert test["source"] == "tests[0]"
    assert test["description"] == "buys tea"
    assert test["turns"] == ["I want {{what}}.", "Yes."]
    assert test["assertions"] == [
        "contains x (weight 2)",
        "turn 2: contains x",
        "toolCalled {'tool': 'pay'}",
        "is-json",
    ]
    assert (test["providers"], test["repeat"], test["rows"]) == (["a", "echo"], 3, 6)
    assert (test["threshold"], found["rows"], found["notes"]) == (0.5, 6, [])


def test_a_negated_script_is_shown_as_negated(listed: Any) -> None:
    asserts = [
        {"type": "not-python", "value": "file://a.py:toolCalled", "config": {"tool": "pay"}},
        {
            "type": "not-javascript",
            "value": "file://a.js:turns",
            "config": {"turns": {"1": [CHECK]}},
        },
    ]
    found = listed({**BASE, "tests": [{"vars": {"query": "x"}, "assert": asserts}]})
    called, turns = found["tests"][0]["assertions"]
    assert called == "not toolCalled {'tool': 'pay'}"
    assert turns.startswith("not turns {'turns': {'1': ")


def test_nothing_of_an_assertion_that_counts_is_left_out(listed: Any) -> None:
    def turns(groups: Any, **more: Any) -> dict[str, Any]:
        config = {"turns": groups}
        return {"type": "python", "value": "file://a.py:turns", "config": config, **more}

    asserts = [
        turns({"1": [{**CHECK, "weight": 3}], "2": CHECK, "3": ["x"]}, weight=2),
        turns([CHECK]),
        {"type": "llm-rubric", "value": "is kind", "threshold": 0.7, "weight": 0.5},
        {"type": "assert-set", "threshold": 0.5, "assert": [CHECK]},
    ]
    found = listed({**BASE, "tests": [{"vars": {"query": "x"}, "assert": asserts}]})
    assert found["tests"][0]["assertions"] == [
        "turns (weight 2)",
        "turn 1: contains x (weight 3)",
        "turn 2: contains x",
        "turn 3: x",
        "turns {'turns': [{'type': 'contains', 'value': 'x'}]}",
        "llm-rubric is kind (weight 0.5, threshold 0.7)",
        "assert-set (threshold 0.5)",
        "contains x",
    ]


def test_a_date_without_quotes_is_shown_as_a_date(run_cli: RunCli, folder: Path) -> None:
    (folder / "promptfooconfig.yaml").write_text(
        "prompts: ['{{query}}']\n"
        "providers: [echo]\n"
        "tests:\n"
        "  - vars: {query: x}\n"
        "    assert:\n"
        "      - {type: python, value: 'file://a:toolCalled', config: {args: {day: 2026-09-14}}}\n",
        "utf-8",
    )
    shown = run_cli("cases").stdout
    assert "toolCalled {'args': {'day': '2026-09-14'}}" in shown


def test_lists_are_split_into_tests_unless_something_keeps_them_whole(listed: Any) -> None:
    test = {"vars": {"transcript": ["a", "b"], "query": ["c", "d", "e"]}, "assert": [CHECK]}
    assert listed({**BASE, "tests": [test]})["rows"] == 6
    whole = {**test, "options": {"disableVarExpansion": True}}
    assert listed({**BASE, "tests": [whole]})["rows"] == 1
    hook = ["file://{{env.LOBU_EXTENSION}}:beforeAll"]
    repaired = listed({**BASE, "extensions": hook, "tests": [test]})
    assert (repaired["rows"], repaired["tests"][0]["turns"]) == (3, ["a", "b"])


def test_a_split_transcript_is_shown_as_the_error_that_it_will_be(listed: Any) -> None:
    found = listed({**BASE, "tests": [{"vars": {"transcript": ["a", "b"]}, "assert": [CHECK]}]})
    assert "single string 'a', not a list" in found["tests"][0]["turns"][0]


def test_the_turns_of_a_file_are_shown(listed: Any, folder: Path) -> None:
    (folder / "turns").mkdir()
    (folder / "turns" / "a.yaml").write_text("- Hello\n- {user: Yes}\n- 2026-01-02 is fine\n")
    (folder / "turns" / "b.json").write_text('["Hi", "No"]')

    def turns(reference: str, **options: Any) -> list[list[str]]:
        test = {"vars": {"transcript": reference, "query": "q"}, "assert": [CHECK], **options}
        return [one["turns"] for one in listed({**BASE, "tests": [test]})["tests"]]

    hello = ["Hello", "Yes", "2026-01-02 is fine"]
    assert turns("file://turns/a.yaml") == [hello]
    assert turns("file://turns/a.yaml", options={"disableVarExpansion": True}) == [hello]
    assert turns(f"file://{folder}/turns/b.json") == [["Hi", "No"]]
    assert turns("file://turns/*") == [hello, ["Hi", "No"]]  # promptfoo makes a test of each


def test_a_file_of_turns_that_cannot_be_shown_says_why(listed: Any, folder: Path) -> None:
    (folder / "broken.yaml").write_text("- [")
    (folder / "text.txt").write_text("hello")
    told = {}
    for name in ("none.yaml", "broken.yaml", "text.txt", "made.py"):
        test = {"vars": {"transcript": f"file://{name}", "query": "q"}, "assert": [CHECK]}
        ((told[name],),) = [one["turns"] for one in listed({**BASE, "tests": [test]})["tests"]]
    assert "none.yaml cannot be read: No such file" in told["none.yaml"]
    assert "Check the path" in told["none.yaml"]
    assert "broken.yaml" in told["broken.yaml"]
    assert "disableVarExpansion" in told["text.txt"]  # the remedy
    assert told["made.py"] == "(made by file://made.py, which only promptfoo can run)"


def test_a_test_s_own_repeat_and_providers_count(listed: Any) -> None:
    config = {
        **BASE,
        "providers": [
            {"id": "file://lobu_hook.py", "label": "a"},
            {"id": "file://lobu_hook.py", "label": "b"},
            "openai:chat:x",
        ],
        "evaluateOptions": {"repeat": 2},
        "tests": [
            {"vars": {"query": "q"}, "providers": ["b"], "options": {"repeat": 5}},
            {"vars": {"query": "q"}, "providers": ["openai:*", "a"]},
            {"vars": {"query": "q"}, "providers": ["none"]},
        ],
        "defaultTest": {"assert": [CHECK]},
    }
    found = listed(config)
    assert [test["providers"] for test in found["tests"]] == [["b"], ["a", "openai:chat:x"], []]
    assert [test["rows"] for test in found["tests"]] == [5, 4, 0]
    assert found["notes"] == ["tests[2]: its 'providers' name none of the file: never runs"]


def test_default_assertions_come_first_unless_they_are_switched_off(listed: Any) -> None:
    own = {"type": "is-json"}
    found = listed(
        {
            **BASE,
            "defaultTest": {"assert": [CHECK], "vars": {"query": "q"}},
            "tests": [
                {"assert": [own]},
                {"assert": [own], "options": {"disableDefaultAsserts": True}},
            ],
        }
    )
    assert [test["assertions"] for test in found["tests"]] == [
        ["contains x", "is-json"],
        ["is-json"],
    ]
    assert [test["turns"] for test in found["tests"]] == [["q"], ["q"]]


def test_scenarios_and_files_of_tests_are_read_in(listed: Any, folder: Path) -> None:
    (folder / "more.jsonl").write_text('{"vars": {"query": "one"}}\n{"vars": {"query": "two"}}\n')
    found = listed(
        {
            **BASE,
            "tests": ["file://more.jsonl", "file://made.py:tests"],
            "scenarios": [
                {
                    "config": [{"vars": {"lang": "en"}}, {"vars": {"lang": "de"}}],
                    "tests": [{"vars": {"query": "in {{lang}}"}, "assert": [CHECK]}],
                }
            ],
        }
    )
    assert [test["source"] for test in found["tests"]] == [
        "tests[0]",
        "tests[1]",
        "scenarios[0].config[0].tests[0]",
        "scenarios[0].config[1].tests[0]",
    ]
    assert found["notes"] == [
        "not read, only promptfoo can: file://made.py:tests",
        "tests[0]: no assertion: it passes whatever the agent answers",
        "tests[1]: no assertion: it passes whatever the agent answers",
    ]


def test_people_see_a_list_and_a_total(run_cli: RunCli, folder: Path) -> None:
    config = {**BASE, "tests": [{"description": "d", "vars": {"query": "q"}, "assert": [CHECK]}]}
    path = folder / "own.json"
    path.write_text(json.dumps(config), "utf-8")
    result = run_cli("cases", str(path))
    assert result.stdout == (
        f"1. d  [tests[0]]\n   a: 1 row\n   turn 1: q\n   - contains x\n{path}: 1 test, 1 row\n"
    )


def test_a_missing_and_an_unreadable_config_are_usage_errors(run_cli: RunCli, folder: Path) -> None:
    assert run_cli("cases").exit_code == 2
    (folder / "promptfooconfig.json").write_text("{", "utf-8")
    result = run_cli("cases")
    assert (result.exit_code, "is not JSON" in result.stderr) == (2, True)
