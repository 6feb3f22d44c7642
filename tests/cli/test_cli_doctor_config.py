"""``lobu-provider doctor``: what it finds in promptfoo's config file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import AGENT, CANARY, RunCli

CONFIG = {"agent": AGENT, "gateway": "script:demo"}
PACKAGE = "package:@lobu/promptfoo-provider:LobuProvider"

Row = tuple[str, str, str]
Lint = Callable[..., list[Row]]


@pytest.fixture(autouse=True)
def this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTFOO_PYTHON", sys.executable)


@pytest.fixture
def examine(run_cli: RunCli, folder: Path) -> Lint:
    """Return a function that writes a config file and returns what is found in it."""

    def run(config: dict[str, Any], *arguments: str) -> list[Row]:
        config = {"providers": [{"id": PACKAGE, "config": CONFIG}], **config}
        (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config), "utf-8")
        result = run_cli("doctor", "--json", *arguments)
        rows = json.loads(result.stdout)
        faults = [row for row in rows if row["status"] == "fail"]
        assert result.exit_code == (1 if faults else 0)
        return [(row["check"], row["status"], row["detail"]) for row in rows]

    return run


def statuses(rows: list[Row], check: str) -> list[str]:
    return [status for name, status, _ in rows if name == check]


def a_test(**keys: Any) -> dict[str, Any]:
    return {"description": "one", "vars": {"query": "hi"}, **keys}


def asserting(**assertion: Any) -> dict[str, Any]:
    return {"tests": [a_test(**{"assert": [assertion]})]}


def test_a_good_file_has_nothing_but_ok(examine: Lint) -> None:
    rows = examine({"tests": [a_test()]})
    told = [row for row in rows if row[0] not in ("promptfoo", "node")]
    assert {status for _, status, _ in told} == {"ok"}
    assert ("tests", "ok", "1 tests read in promptfooconfig.yaml") in rows


@pytest.mark.parametrize(
    ("config", "is_split"),
    [
        ({"tests": [a_test(vars={"transcript": ["a", "b"]})]}, True),
        ({"tests": [a_test(vars={"transcript": [["a", "b"]]})]}, False),
        ({"tests": [a_test(vars={"transcript": [{"role": "user", "content": "a"}]})]}, False),
        (
            {"tests": [a_test(vars={"transcript": ["a"]}, options={"disableVarExpansion": True})]},
            False,
        ),
        (
            {
                "defaultTest": {"options": {"disableVarExpansion": True}},
                "tests": [a_test(vars={"transcript": ["a"]})],
            },
            False,
        ),
        ({"defaultTest": {"vars": {"transcript": ["a"]}}, "tests": [a_test()]}, True),
        (
            {
                "defaultTest": {
                    "options": {"transformVars": "({...vars, transcript: [vars.transcript]})"}
                },
                "tests": [a_test(vars={"transcript": ["a"]})],
            },
            False,
        ),
        ({"scenarios": [{"tests": [a_test(vars={"transcript": ["a"]})]}]}, True),
    ],
)
def test_a_transcript_that_promptfoo_splits_is_a_fault(
    examine: Lint, config: dict[str, Any], is_split: bool
) -> None:
    assert statuses(examine(config), "transcripts") == (["fail"] if is_split else [])


@pytest.mark.parametrize("word", ["true", "1", "Yes", "yup", "yeppers"])
def test_promptfoo_s_variable_against_splitting_is_respected(
    examine: Lint, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTFOO_DISABLE_VAR_EXPANSION", word)
    assert statuses(examine({"tests": [a_test(vars={"transcript": ["a"]})]}), "transcripts") == []


@pytest.mark.parametrize(
    ("entry", "is_repaired"),
    [
        ("file:///x/hook/lobu_extension.py:beforeAll", True),
        ("file://{{env.LOBU_EXTENSION}}:beforeAll", True),
        ("file://./node_modules/@lobu/promptfoo-provider/extension.js:beforeAll", True),
        ("file:///x/hook/lobu_extension.py:afterAll", False),
        ("file://hooks.py:beforeAll", False),
    ],
)
def test_a_transcript_that_our_hook_repairs_is_no_fault(
    examine: Lint, entry: str, is_repaired: bool
) -> None:
    config = {"tests": [a_test(vars={"transcript": ["a"]})], "extensions": [entry]}
    assert statuses(examine(config), "transcripts") == ([] if is_repaired else ["fail"])


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ("metadata.retrievedContext", ["fail"]),
        ("context.metadata.retrievedContext", []),
        ("output.metadata", []),
    ],
)
def test_a_context_transform_without_context_is_a_fault(
    examine: Lint, transform: str, expected: list[str]
) -> None:
    rows = examine(
        asserting(
            type="context-recall", contextTransform=transform, threshold=0.5, provider="file://g.py"
        )
    )
    assert statuses(rows, "context") == expected


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ("metadata.retrievedContext", []),
        ("metadata", ["fail"]),
        ("metadata + metadata.a", ["fail"]),
        ("metadata.a;\nreturn 1", ["fail"]),
    ],
)
def test_a_context_transform_that_our_hook_corrects_is_no_fault(
    examine: Lint, transform: str, expected: list[str]
) -> None:
    assertion = {"type": "context-recall", "contextTransform": transform, "threshold": 0.5}
    tests = [a_test(**{"assert": [{**assertion, "provider": "file://g.py"}]})]
    extensions = ["file://{{env.LOBU_EXTENSION}}:beforeAll"]
    rows = examine({"tests": tests, "extensions": extensions})
    assert statuses(rows, "context") == expected


def test_a_context_assertion_without_query_or_threshold_is_told(examine: Lint) -> None:
    assertion = {"type": "context-faithfulness", "provider": "file://g.py"}
    test = {"description": "one", "vars": {"transcript": [["a"]]}, "assert": [assertion]}
    assert statuses(examine({"tests": [test]}), "context") == ["fail", "warn"]


def test_a_file_variable_that_is_not_set_is_a_fault_with_the_export(
    examine: Lint, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOBU_ASSERTIONS", "LOBU_EXTENSION"):
        monkeypatch.delenv(name, raising=False)
    value = "file://{{env.LOBU_ASSERTIONS}}:completed"
    config = {
        **asserting(type="python", value=value),
        "extensions": ["file://{{ env.LOBU_EXTENSION }}:beforeAll"],
    }
    rows = examine(config)
    assert [row[2] for row in rows if row[0] == "variables"] == [
        "the config names {{env.LOBU_ASSERTIONS}}, which is not set in this shell",
        "the config names {{env.LOBU_EXTENSION}}, which is not set in this shell",
    ]
    assert statuses(examine({**config, "env": {"LOBU_ASSERTIONS": "a.py"}}), "variables") == [
        "fail"
    ]
    (folder / ".env").write_text("LOBU_ASSERTIONS=a.py\n#LOBU_EXTENSION=b.py\n", "utf-8")
    ((_, _, told),) = [row for row in examine(config) if row[0] == "variables"]
    assert "LOBU_EXTENSION" in told
    assert statuses(examine({**config, "commandLineOptions": {"envPath": "x"}}), "variables") == []
    monkeypatch.setenv("LOBU_EXTENSION", "b.py")
    assert statuses(examine(config), "variables") == []


@pytest.mark.parametrize(
    ("day", "found"), [(date(2026, 9, 14), ["fail"]), ("2026-09-14", []), (2026, [])]
)
def test_a_date_without_quotes_is_a_fault(examine: Lint, day: Any, found: list[str]) -> None:
    config = {"args": {"days": [{"from": day}]}}
    check = {"type": "python", "value": "file://a.py:toolCalled", "config": config}
    assert statuses(examine(asserting(**check)), "dates") == found
    assert statuses(examine({"tests": [a_test(vars={"query": day})]}), "dates") == found
    assert statuses(examine({"defaultTest": {"vars": {"d": day}}}), "dates") == found


@pytest.mark.parametrize("kind", ["llm-rubric", "not-llm-rubric", "factuality", "context-recall"])
def test_a_model_graded_assertion_without_a_pinned_grader_is_a_warning(
    examine: Lint, kind: str
) -> None:
    rows = examine(asserting(type=kind, threshold=0.5))
    assert statuses(rows, "graders") == ["warn"]
    in_a_set = asserting(**{"type": "assert-set", "assert": [{"type": kind, "threshold": 0.5}]})
    assert statuses(examine(in_a_set), "graders") == ["warn"]


@pytest.mark.parametrize("place", ["assertion", "test", "defaultTest"])
def test_a_grader_can_be_pinned_in_three_places(examine: Lint, place: str) -> None:
    assertion = {"type": "llm-rubric", "value": "is kind"}
    options = {"provider": "file://grader.py"}
    test = a_test(**{"assert": [{**assertion, **(options if place == "assertion" else {})}]})
    test.update({"options": options} if place == "test" else {})
    default = {"defaultTest": {"options": options}} if place == "defaultTest" else {}
    assert statuses(examine({"tests": [test], **default}), "graders") == []


def test_an_assertion_of_the_default_test_is_judged_with_each_test(examine: Lint) -> None:
    default = {"assert": [{"type": "context-relevance", "threshold": 1, "provider": "file://g.py"}]}
    assert statuses(examine({"defaultTest": default, "tests": [a_test()]}), "context") == []


def test_missing_and_double_descriptions_are_warnings(examine: Lint) -> None:
    rows = examine({"tests": [a_test(), a_test(), {"vars": {"query": "hi"}}]})
    assert statuses(rows, "descriptions") == ["warn", "warn"]


def test_a_token_in_the_file_is_a_fault_and_a_templated_one_a_warning(
    examine: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOBU_TOKEN", CANARY)
    written = {"providers": [{"id": PACKAGE, "config": {**CONFIG, "token": CANARY}}]}
    assert statuses(examine(written), "token in file") == ["fail"]
    templated = {
        "providers": [{"id": PACKAGE, "config": {**CONFIG, "token": "{{env.LOBU_TOKEN}}"}}]
    }
    rows = examine(templated)
    assert statuses(rows, "token in file") == ["warn"]
    assert statuses(rows, "config") == ["ok"]


def test_a_provider_key_other_than_claude_is_a_fault(examine: Lint) -> None:
    for value, expected in (("openai", ["fail"]), ("claude", [])):
        config = {"providers": [{"id": PACKAGE, "config": {**CONFIG, "provider": value}}]}
        assert statuses(examine(config), "provider key") == expected


CALLED = {
    "type": "python",
    "value": "file:///a/lobu_assertions.py:toolCalled",
    "config": {"tool": "refund_order"},
}
NOT_UNDER_CONFIG = "stands beside type and value, where promptfoo ignores it"


def assertion_faults(rows: list[Row]) -> list[str]:
    assert set(statuses(rows, "assertions")) <= {"fail"}
    return [detail for check, _, detail in rows if check == "assertions"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"args": {"order_id": 17}}, f"args {NOT_UNDER_CONFIG}: move it under config"),
        ({"Times": 1}, f"Times {NOT_UNDER_CONFIG}: move it under config, as times"),
        ({"options": {"max": 1}}, f"options {NOT_UNDER_CONFIG}: move what it holds under config"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [{}, {"type": "javascript", "value": "package:@lobu/promptfoo-provider:toolCalled"}],
)
def test_an_option_beside_an_assertion_s_config_is_a_fault(
    examine: Lint, keys: dict[str, Any], form: dict[str, Any], told: str
) -> None:
    own = {**CALLED, **form, **keys}
    assert assertion_faults(examine(asserting(**own))) == [f"toolCalled: {told} ('one')"]
    in_a_set = asserting(**{"type": "assert-set", "assert": [own]})
    assert assertion_faults(examine(in_a_set)) == [f"toolCalled: {told} ('one')"]


def test_an_option_beside_the_config_of_a_default_or_a_template_is_told_with_its_tests(
    examine: Lint,
) -> None:
    told = f"toolCalled: turn {NOT_UNDER_CONFIG}: move it under config"
    tests = [a_test(), a_test(description="two")]
    default = {"assert": [{**CALLED, "turn": 2}]}
    rows = examine({"defaultTest": default, "tests": tests})
    assert assertion_faults(rows) == [f"{told} ('one', 'two')"]
    for template, own in (({**CALLED, "turn": 2}, {}), (CALLED, {"turn": 2})):
        config = asserting(**{"$ref": "#/assertionTemplates/refund", **own})
        rows = examine({**config, "assertionTemplates": {"refund": template}})
        assert assertion_faults(rows) == [f"{told} ('one')"]
    assert assertion_faults(examine(asserting(**{"$ref": "#/nowhere/refund", "turn": 2}))) == []


def test_promptfoo_s_keys_notes_and_assertions_of_others_are_no_fault(examine: Lint) -> None:
    own = {**CALLED, "weight": 2, "threshold": 1, "metric": "m", "_times": 1, "x-args": {"a": 1}}
    other = {"type": "python", "value": "file://checks.py:polite", "args": {"a": 1}}
    lone = {"type": "contains", "value": "hi:completed", "turn": 1}
    rows = examine({"tests": [a_test(**{"assert": [own, other, lone]})]})
    assert assertion_faults(rows) == []


@pytest.mark.parametrize(
    ("keys", "fix"),
    [
        ({"maxToolCalls": 0}, "Move it under"),
        ({"max_tool_calls": 0}, "Move it, as maxToolCalls, under"),
        ({"workers": 2}, "Move it under"),
        ({"Config": {"retries": 1}}, "Move what it holds under"),
    ],
)
def test_a_setting_beside_a_provider_s_config_is_a_fault(
    run_cli: RunCli, folder: Path, keys: dict[str, Any], fix: str
) -> None:
    (key,) = keys
    kept = {"label": "shop", "delay": 1, "transform": "output", "inputs": {}, "note": {"a": 1}}
    for provider in (
        {"id": PACKAGE, "config": CONFIG, **kept, **keys},
        {PACKAGE: {"config": CONFIG, **kept, **keys}},
    ):
        config = {"providers": [provider], "tests": [a_test()]}
        (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
        result = run_cli("doctor", "--json", "-c", "promptfooconfig.json")
        (row,) = [row for row in json.loads(result.stdout) if row["status"] == "fail"]
        assert row["detail"] == f"providers[0]: {key} stands beside id, where promptfoo ignores it"
        assert row["fix"] == f"{fix} the provider's  config:  block."
        assert result.exit_code == 1


def test_a_hook_under_another_name_is_known_by_keys_beside_its_config(examine: Lint) -> None:
    rows = examine({"providers": [{"id": "file://{{env.MY_HOOK}}", "agent": AGENT}]})
    told = "providers[0]: agent stands beside id, where promptfoo ignores it"
    assert ("config", "fail", told) in rows


def test_a_typo_in_the_config_block_is_the_provider_s_own_error(examine: Lint) -> None:
    rows = examine({"providers": [{"id": PACKAGE, "config": {**CONFIG, "agnet": "x"}}]})
    assert statuses(rows, "config") == ["fail"]
    assert "Did you mean 'agent'" in str(rows)
    assert ("gateway", "warn", "not checked: no usable config") in rows


@pytest.mark.parametrize(
    "entry",
    [
        PACKAGE,
        {"id": PACKAGE},
        {"id": "file://hooks/lobu_hook.py"},
        {"id": "python:hooks/lobu_hook.py:call_api"},
        {"file://hooks/lobu_hook.py": {"label": "x"}},
        {"id": "file://shim.py"},
        {"id": "file://{{env.HOOK | default('hooks/lobu_hook.py', true)}}"},
        {"id": "file://other.py", "config": {"agent": AGENT}},
    ],
)
def test_each_way_to_name_a_lobu_provider_is_recognised(
    examine: Lint, folder: Path, monkeypatch: pytest.MonkeyPatch, entry: Any
) -> None:
    monkeypatch.setenv("LOBU_AGENT", AGENT)
    monkeypatch.setenv("LOBU_GATEWAY", "script:demo")
    (folder / "hooks").mkdir()
    (folder / "hooks" / "lobu_hook.py").touch()
    (folder / "other.py").touch()
    (folder / "shim.py").write_text("from lobu_provider.hook.lobu_hook import call_api\n", "utf-8")
    rows = examine({"providers": ["openai:gpt-4.1", entry], "tests": [a_test()]})
    assert statuses(rows, "config") == ["ok"]
    assert "providers[1]" in str(rows)
    assert "fail" not in {status for name, status, _ in rows if name == "hook"}


def test_a_file_without_a_lobu_provider_is_told(examine: Lint, run_cli: RunCli) -> None:
    rows = examine({"providers": ["openai:gpt-4.1"]}, "--agent", AGENT, "--gateway", "script:demo")
    assert statuses(rows, "file") == ["warn"]
    named = run_cli(
        "doctor", "-c", "promptfooconfig.yaml", "--agent", AGENT, "--gateway", "script:demo"
    )
    assert named.exit_code == 1


def test_a_hook_that_is_not_there_is_a_fault(examine: Lint) -> None:
    rows = examine({"providers": [{"id": "file://lobu_hook.py", "config": CONFIG}]})
    assert statuses(rows, "hook") == ["fail"]
    unset = examine({"providers": [{"id": "file://{{env.NO_SUCH_HOOK}}", "config": CONFIG}]})
    assert "names a variable that is not set" in str(unset)


def test_templates_are_filled_in_as_promptfoo_does(
    examine: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def agent_of(text: str) -> str:
        config = {"providers": [{"id": PACKAGE, "config": {**CONFIG, "agent": text}}]}
        rows = examine({**config, "env": {"FROM_BLOCK": AGENT}})
        return next(detail for name, _, detail in rows if name == "config")

    monkeypatch.setenv("FROM_SHELL", AGENT)
    monkeypatch.setenv("EMPTY", "")
    ok = f"providers[0]: agent '{AGENT}' at script:demo"
    assert agent_of("{{env.FROM_SHELL}}") == ok
    assert agent_of("{{ env['FROM_BLOCK'] }}") == ok
    assert agent_of("{{env.NOT_SET | default('support-agent')}}") == ok
    assert agent_of("{{env.EMPTY | default('support-agent', true)}}") == ok
    assert "still holds a template" in agent_of("{{env.NOT_SET}}")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, "one call at a time"),
        ({"evaluateOptions": {"maxConcurrency": 4}}, "4 calls at a time (evaluateOptions."),
        ({"commandLineOptions": {"maxConcurrency": 3}}, "3 calls at a time (commandLineOptions."),
    ],
)
def test_how_many_calls_run_at_a_time_is_told(
    examine: Lint, folder: Path, keys: dict[str, Any], told: str
) -> None:
    (folder / "lobu_hook.py").touch()
    providers = [{"id": "file://lobu_hook.py", "config": CONFIG}]
    rows = examine({"providers": providers, "tests": [a_test()], **keys})
    assert statuses(rows, "workers") == ["ok"]
    assert told in str(rows)


def test_workers_of_the_config_come_before_the_environment(
    examine: Lint, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "lobu_hook.py").touch()
    monkeypatch.setenv("PROMPTFOO_PYTHON_WORKERS", "5")
    providers = [{"id": "file://lobu_hook.py", "config": CONFIG}]
    assert "5 calls at a time (PROMPTFOO_PYTHON_WORKERS)" in str(examine({"providers": providers}))
    many = [{"id": "file://lobu_hook.py", "config": {**CONFIG, "workers": 40}}]
    assert statuses(examine({"providers": many}), "workers") == ["warn"]


def test_linked_test_files_are_read_and_others_named(examine: Lint, folder: Path) -> None:
    (folder / "cases.yaml").write_text("- {vars: {transcript: [a, b]}, description: x}\n", "utf-8")
    rows = examine({"tests": ["file://cases.yaml", "file://cases.csv"]})
    assert statuses(rows, "transcripts") == ["fail"]
    assert "only promptfoo can read it: file://cases.csv" in str(rows)


def test_a_json_config_is_read_without_pyyaml(
    run_cli: RunCli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    config = {"providers": [{"id": PACKAGE, "config": CONFIG}], "tests": [a_test()]}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
    assert "providers[0]: agent 'support-agent'" in run_cli("doctor").stdout


def test_a_file_that_could_not_be_read_is_a_fault_that_says_what_to_install(
    run_cli: RunCli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (folder / "promptfooconfig.yaml").write_text("providers: []\n", "utf-8")
    result = run_cli("doctor", "--json")
    rows = {row["check"]: row for row in json.loads(result.stdout)}
    assert result.exit_code == 1
    assert rows["file"]["status"] == "fail"
    assert f"{sys.executable} -m pip install pyyaml" in rows["file"]["fix"]
    assert "lobu-provider[yaml]" in rows["file"]["fix"]
    unread = "not checked, because promptfooconfig.yaml could not be read (see 'file')"
    for check in ("config", "workers", "hook", "tests", "gateway", "token", "agent"):
        assert (rows[check]["status"], rows[check]["detail"]) == ("warn", unread)


def test_a_connection_that_is_given_is_checked_although_the_file_could_not_be_read(
    run_cli: RunCli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (folder / "promptfooconfig.yaml").write_text("providers: []\n", "utf-8")
    result = run_cli("doctor", "--agent", AGENT, "--gateway", "script:demo")
    assert result.exit_code == 1
    assert "ok    agent: from the options and LOBU_* variables: " in result.stdout
    assert "warn  tests: not checked, because promptfooconfig.yaml" in result.stdout


def test_a_javascript_config_is_a_warning_since_nothing_makes_it_readable(
    run_cli: RunCli, folder: Path
) -> None:
    (folder / "promptfooconfig.js").write_text("module.exports = {}", "utf-8")
    result = run_cli("doctor")
    assert result.exit_code == 0
    assert "is a program, which is not run here" in result.stdout
    assert "warn  gateway: not checked, because promptfooconfig.js" in result.stdout


def test_a_file_that_is_not_yaml_is_the_only_fault_and_not_quoted(
    run_cli: RunCli, folder: Path
) -> None:
    (folder / "bad.yaml").write_text(f'a: 1\ntoken: "{CANARY}\nx: [\n', "utf-8")
    result = run_cli("doctor", "-c", "bad.yaml")
    assert result.exit_code == 1
    assert "bad.yaml is not YAML: found unexpected end of stream in line 4, column 1" in (
        result.stdout
    )
    assert "a quoted scalar that begins in line 2" in result.stdout
    assert "fix: Correct it there or just before: close quotes" in result.stdout
    assert len(result.stdout.splitlines()) == 2
    assert "canary" not in result.output


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("c.json", '{\n"a": 1,\n}', "c.json is not JSON: "),
        ("c.json", '{\n"a": 1,\n}', " in line "),
        ("c.yaml", "a: 1\nb: \x01\n", "special characters are not allowed in line 2"),
        ("c.yaml", "a: {{env.X}}\n", "found unhashable key in line 1, column 5"),
        ("c.yaml", "- a\n", "c.yaml does not hold a mapping of keys"),
        ("c.yaml", "\n", "c.yaml is empty"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_told_with_its_line_and_a_fix(
    run_cli: RunCli, folder: Path, name: str, text: str, told: str
) -> None:
    (folder / name).write_text(text, "utf-8")
    result = run_cli("doctor", "-c", name, "--json")
    (row,) = json.loads(result.stdout)
    assert (result.exit_code, row["check"], row["status"]) == (1, "file", "fail")
    assert told in row["detail"]
    assert len(row["fix"]) > 40


def test_several_providers_are_told_apart_by_label_or_id(
    examine: Lint,
) -> None:
    labelled = {"id": PACKAGE, "label": "live", "config": CONFIG}
    unlabelled = {"id": PACKAGE, "config": {**CONFIG, "org": "acme"}}
    rows = examine({"providers": [labelled, unlabelled]})
    ((_, _, told),) = [row for row in rows if row[0] == "config"]
    assert told.startswith(f"providers[0] (live), providers[1] ({PACKAGE}): agent")
    one = examine({"providers": ["openai:gpt-4.1", labelled]})
    assert "providers[1]: agent 'support-agent' at script:demo" in str(one)


def test_the_same_finding_of_several_providers_is_one_line(examine: Lint) -> None:
    labels = ("a", "b", "c")
    same = [{"id": PACKAGE, "label": x, "config": CONFIG} for x in labels]
    rows = examine({"providers": same})
    assert [d for name, _, d in rows if name == "config"] == [
        "providers[0] (a), providers[1] (b), providers[2] (c): agent 'support-agent' at script:demo"
    ]
    assert statuses(rows, "gateway") == statuses(rows, "token") == statuses(rows, "agent") == ["ok"]
    bad = [{**entry, "config": {**CONFIG, "agnet": "x"}} for entry in same[:2]]
    rows = examine({"providers": [*bad, same[2]]})
    assert statuses(rows, "config") == ["fail", "ok"]
    assert "providers[0] (a), providers[1] (b): config.agnet is not a key" in str(rows)


def test_a_config_option_that_names_no_file_is_a_usage_error(run_cli: RunCli) -> None:
    assert run_cli("doctor", "-c", "nope.yaml").exit_code == 2


def test_relative_paths_start_at_the_config_file(run_cli: RunCli, folder: Path) -> None:
    evals = folder / "evals"
    evals.mkdir()
    script = {"version": 1, "agents": [AGENT], "replies": []}
    (evals / "mine.json").write_text(json.dumps(script), "utf-8")
    (evals / "lobu_hook.py").touch()
    config = {"agent": AGENT, "gateway": "script:mine.json"}
    (evals / "promptfooconfig.yaml").write_text(
        yaml.safe_dump({"providers": [{"id": "file://lobu_hook.py", "config": config}]}), "utf-8"
    )
    result = run_cli("doctor", "-c", "evals/promptfooconfig.yaml")
    assert "a session of 'support-agent' was made and deleted" in result.stdout
    assert "ok    hook: " in result.stdout
