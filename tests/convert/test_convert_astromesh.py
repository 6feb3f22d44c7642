"""Astromesh's evals: cases here and in a file, expectations, judge, thresholds, context."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.convert.conversion import convert

from .conftest import SOURCES, Write, converted_tests, notes_of, problems_of

EVALS = SOURCES / "config" / "evals"
OURS = "file://{{env.LOBU_ASSERTIONS}}:"


def eval_of(*cases: dict[str, Any], **spec: Any) -> str:
    return json.dumps(
        {
            "apiVersion": "astromesh/v1",
            "kind": "Eval",
            "metadata": {"name": "one"},
            "spec": {"agent": "a", "thresholds": {"pass_rate": 1}, "cases": list(cases), **spec},
        }
    )


CASE = {"id": "c", "turns": ["hi"], "expect": [{"contains": "x"}]}


def test_the_example_is_carried_over() -> None:
    (file,) = convert([EVALS]).files
    assert file.config["env"] == {"PROMPTFOO_PASS_RATE_THRESHOLD": "90"}
    assert file.config["defaultTest"]["options"]["provider"] == {
        "id": "openai:chat:kimi-k2",
        "config": {
            "apiBaseUrl": "https://api.moonshot.ai/v1",
            "apiKeyEnvar": "MOONSHOT_API_KEY",
        },
    }
    assert [test["description"] for test in file.config["tests"]] == [
        "stock-simple", "stock-memory", "price", "polite",
    ]  # fmt: skip
    stock = file.config["tests"][0]
    assert stock["metadata"]["fixtures"] == {"check_stock": {"sku": "X", "stock": 12}}
    assert stock["assert"] == [
        {"type": "icontains", "value": "12"},
        {"type": "python", "value": f"{OURS}toolCalled", "config": {"tool": "check_stock"}},
        {"type": "not-icontains", "value": "I don't know"},
        {
            "type": "llm-rubric",
            "value": "Answers with the quantity and does not make up prices.",
            "threshold": 0.7,
        },
    ]


def test_a_case_s_context_is_sent_by_a_provider_entry_of_its_own() -> None:
    (file,) = convert([EVALS]).files
    configs = {p["label"]: p["config"] for p in file.config["providers"]}
    tests = {test["description"]: test for test in file.config["tests"]}
    (label,) = tests["stock-simple"]["providers"]
    assert json.loads(configs[label]["ephemeralContext"]) == {"prefetch": {"stock": 12}}
    (other,) = tests["price"]["providers"]
    assert configs[other] == {"agent": "lucia"}


def test_each_kind_of_expectation_is_about_the_last_answer() -> None:
    test = converted_tests(EVALS)["stock-memory"]
    loose, program, plain, same, tool = test["assert"]
    # A regex of Python: JavaScript's where both find the same texts, else run by Python itself.
    assert loose["value"] == "import re\nreturn re.search('(?i)TWELVE', output) is not None\n"
    assert program["value"].startswith("import re\nreturn re.search(")
    assert plain == {"type": "regex", "value": "^Twelve"}
    assert same == {"type": "equals", "value": "Twelve.", "transform": "output.trim()"}
    assert tool["value"] == f"{OURS}toolNotCalled"


def test_what_has_no_place_is_told() -> None:
    done = convert([EVALS])
    lost = dict(notes_of(done, "lost"))
    assert "6000" in lost["spec.thresholds.max_avg_tokens"]
    assert "RUN FOR REAL (check_stock)" in lost["spec.cases[0].tools"]
    differs = {field for field, _ in notes_of(done, "differs")}
    assert differs == {"spec.cases[0].context", "spec.judge"}


def test_blocked_tools_are_told_of_in_each_case(write: Write) -> None:
    path = write("a.eval.yaml", eval_of(CASE, tools_default="block"))
    ((field, text),) = notes_of(convert([path]), "lost")
    assert field == "spec.tools_default"
    assert "blocks no tool" in text


def test_evals_with_pass_rates_get_a_config_each(write: Write, tmp_path: Path) -> None:
    rate = {"thresholds": {"pass_rate": 0.5}}
    for name in ("x", "y"):
        text = eval_of(CASE, **rate).replace('"one"', f'"{name}"')
        write(f"evals/{name}.eval.yaml", text)
    files = convert([tmp_path]).files
    assert [file.path.name for file in files] == [
        "x.promptfooconfig.yaml",
        "y.promptfooconfig.yaml",
    ]
    assert all(f.config["env"]["PROMPTFOO_PASS_RATE_THRESHOLD"] == "50" for f in files)


def test_a_judge_that_is_not_known_is_told_and_can_be_named(write: Write) -> None:
    judge = {"model": {"provider": "bedrock", "model": "m", "region": "x"}, "pass_score": 0.4}
    case = {"id": "c", "turns": ["hi"], "rubric": "Good."}
    path = write("a.eval.yaml", eval_of(case, judge=judge))
    lost = dict(notes_of(convert([path]), "lost"))
    assert set(lost) == {"spec.judge.model.region", "spec.judge.model.provider"}
    (file,) = convert([path], grader="anthropic:messages:m").files
    assert file.config["defaultTest"] == {"options": {"provider": "anthropic:messages:m"}}
    assert file.config["tests"][0]["assert"][0]["threshold"] == 0.4


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (eval_of({"id": "c", "turns": ["hi"]}), "a case needs expect, rubric or both"),
        (eval_of({**CASE, "id": "C!"}), "id: expected 1 to 64 of a-z"),
        (eval_of(CASE, CASE), "id: 'c' stands twice"),
        (eval_of({**CASE, "turns": []}), "turns: expected at least one message"),
        (eval_of({**CASE, "turns": "hi"}), "turns: expected a list of texts"),
        (eval_of({**CASE, "note": 1}), "spec.cases[0].note: is no key"),
        (eval_of(CASE, threshold=1), "spec.threshold: is no key; did you mean"),
        (eval_of(CASE, thresholds={}), "spec.thresholds.pass_rate: is missing"),
        (eval_of(CASE, thresholds={"pass_rate": 90}), "pass_rate: expected a number from 0 to 1"),
        (eval_of(CASE, tools_default="off"), "expected real or block"),
        (eval_of(CASE, cases_file="none.jsonl"), "spec.cases_file: "),
        (eval_of({**CASE, "expect": [{"contain": "x"}]}), "contain: is no key; did you mean"),
        (eval_of({**CASE, "expect": [{"contains": 12}]}), "expected a text, got 12; put it in"),
        (eval_of({**CASE, "expect": [{"regex": "("}]}), "regex: is no regular expression"),
        (eval_of({**CASE, "expect": [{"contains": "a", "regex": "b"}]}), "expected one assertion"),
        (eval_of(), "spec.cases: "),
        (eval_of(CASE).replace("astromesh/v1", "astromesh/v2"), "apiVersion: expected"),
    ],
)
def test_what_the_runner_refuses_is_refused(write: Write, text: str, problem: str) -> None:
    assert problem in "\n".join(problems_of(write("a.eval.yaml", text)))


def test_a_wrong_line_of_the_cases_file_is_named(write: Write) -> None:
    write("more.jsonl", '{"id": "a", "turns": ["x"], "expect": [{"contains": "y"}]}\n[1]\n')
    path = write("a.eval.yaml", eval_of(CASE, cases_file="more.jsonl"))
    assert problems_of(path) == ["more.jsonl:2: expected the keys of a case"]
    write("more.jsonl", "\n{oops}\n")
    assert "is not JSON" in problems_of(path)[0]
    assert "in line 2" in problems_of(path)[0]


def test_cases_of_two_evals_with_one_id_are_told_apart(write: Write, tmp_path: Path) -> None:
    for name in ("x", "y"):
        write(f"evals/{name}.eval.yaml", eval_of(CASE).replace('"one"', f'"{name}"'))
    (file,) = convert([tmp_path]).files
    assert [test["description"] for test in file.config["tests"]] == ["x: c", "y: c"]


def test_a_context_that_promptfoo_fills_in_from_the_environment_is_told(write: Write) -> None:
    path = write("a.eval.yaml", eval_of({**CASE, "context": {"key": "{{ env.HOME }}"}}))
    assert any("{{env.NAME}}" in text for _, text in notes_of(convert([path]), "differs"))
