"""Seeing that a suite has lost functions on its way to a Python hook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lobu_provider.extension.holes import first_hole
from lobu_provider.extension.host_program import arguments_of_parent, config_is_a_program
from tests.extension.conftest import suite_of


def suite(*assertions: Any, **more: Any) -> dict[str, Any]:
    return suite_of(**{"tests": [{"description": "t", "assert": list(assertions)}], **more})


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "contains", "value": "x"},
        {"type": "javascript", "value": "output > 1"},
        {"type": "not-is-json"},
        {"type": "latency", "threshold": 3},
        {"type": "context-recall", "value": "x"},
        {"type": "contains", "value": None},
        {"type": "assert-set", "assert": [{"type": "cost", "threshold": 1}]},
        {"type": "llm-rubric", "value": "x", "provider": {"id": "openai:gpt", "config": {}}},
        {"type": "llm-rubric", "value": "x", "provider": {"text": "openai:gpt"}},
        {"type": "llm-rubric", "value": "x", "provider": {"openai:gpt": {"config": {}}}},
        {"type": "promptfoo:redteam:pii"},
    ],
)
def test_an_assertion_that_a_yaml_file_can_hold_is_no_hole(assertion: Any) -> None:
    assert first_hole(suite(assertion)) is None


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "javascript"},
        {"type": "not-equals"},
        {"type": "assert-set", "assert": [{"type": "javascript"}]},
        {"type": "something-new"},
        {"type": "llm-rubric", "value": "x", "provider": {}},
        None,
    ],
)
def test_an_assertion_that_lost_its_function_is_one(assertion: Any) -> None:
    assert first_hole(suite(assertion)) == "an assertion of 't'"
    defaults = {"defaultTest": {"assert": [assertion]}, "tests": []}
    assert first_hole(suite(**defaults)) == "an assertion of defaultTest"


def test_providers_and_metrics_that_were_objects_are_holes() -> None:
    loaded = {"config": {}, "options": {}, "scriptPath": "grader.py"}
    assert first_hole(suite(defaultTest={"options": {"provider": loaded}}))
    assert first_hole(suite(tests=[{"provider": loaded}]))
    assert first_hole(suite(derivedMetrics=[{"name": "f1"}]))
    named = {"options": {"provider": "file://grader.py"}}
    metric = {"name": "f1", "value": "a / b"}
    assert first_hole(suite(defaultTest=named, derivedMetrics=[metric])) is None


@pytest.mark.parametrize(
    ("template", "hole"),
    [
        ("{{ q | shout }}", "shout"),
        ("{{q|shout}}", "shout"),
        ("{{ q | upper | shout('x') }}", "shout"),
        ("{% set x = q | shout %}", "shout"),
        ("{{ q | upper | trim }}", None),
        ("{{ q | default('a | b') }}", None),
        ("a | shout", None),
        ("| a | b |\n| c | d |", None),
        ("{{ q }} | shout | {{ q }}", None),
    ],
)
def test_a_filter_that_nunjucks_does_not_have_is_a_function_too(
    template: str, hole: str | None
) -> None:
    said = f"the template filter {hole!r}" if hole else None
    assert first_hole(suite(prompts=[{"raw": template}])) == said
    assert first_hole(suite(tests=[{"vars": {"q": template}}])) == said


PROMPTFOO = ["node", "/x/node_modules/.bin/promptfoo", "eval"]


@pytest.mark.parametrize(
    ("arguments", "is_program"),
    [
        (["-c", "conf/a.yaml"], False),
        (["-c", "a.yaml", "-o", "out.js"], False),
        (["-c", "conf/a.mjs"], True),
        (["--config=a.ts"], True),
        (["--config", "a.yaml", "b.cjs"], True),
        (["-c", "js"], True),
        (["-c", "yaml"], False),
        (["-c", "yaml", "--output=results.js"], False),
        (["-c", "yaml", "-oresults.js"], False),
        (["-o", "config.js", "-c", "config.js"], True),
        ([], False),
    ],
)
def test_a_config_that_is_a_program_is_told_by_promptfoos_command_line(
    tmp_path: Path, arguments: list[str], is_program: bool
) -> None:
    for name in ("js", "yaml"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"promptfooconfig.{name}").touch()
    assert config_is_a_program([*PROMPTFOO, *arguments], tmp_path) is is_program


@pytest.mark.parametrize("arguments", [PROMPTFOO, None])
def test_without_a_named_config_the_one_that_promptfoo_takes_counts(
    tmp_path: Path, arguments: list[str] | None
) -> None:
    (tmp_path / "promptfooconfig.mjs").touch()
    assert config_is_a_program(arguments, tmp_path)
    (tmp_path / "promptfooconfig.yaml").touch()
    assert not config_is_a_program(arguments, tmp_path)


def test_another_program_that_calls_promptfoo_may_hold_functions(tmp_path: Path) -> None:
    assert config_is_a_program(["node", "run-evals.mjs"], tmp_path)


def test_the_parents_command_line_can_be_read() -> None:
    arguments = arguments_of_parent()
    assert arguments is None or all(isinstance(part, str) for part in arguments)
