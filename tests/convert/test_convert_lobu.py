"""Lobu's older YAML evals: every field is carried over or told."""

from __future__ import annotations

from pathlib import Path

import pytest

from lobu_provider.convert.conversion import convert

from .conftest import SOURCES, Write, converted_tests, notes_of, problems_of

EVALS = SOURCES / "agents" / "support" / "evals"


def test_the_minimal_example_has_the_format_s_defaults() -> None:
    (file,) = convert([EVALS / "ping.yaml"]).files
    assert file.path == EVALS / "promptfooconfig.yaml"
    assert file.config["evaluateOptions"] == {"cache": False, "repeat": 3}
    (provider,) = file.config["providers"]
    assert provider["config"] == {
        "agent": "support",
        "timeoutMs": 150_000,
        "turnTimeoutMs": 120_000,
    }
    assert file.config["tests"] == [
        {
            "description": "ping",
            "metadata": {"description": "Agent responds to a greeting"},
            "vars": {"query": "Hello, are you there?"},
            "threshold": 0.8,
            "assert": [{"type": "icontains", "value": "hello"}],
        }
    ]


def test_the_full_example_weighs_its_rubric_as_much_as_all_assertions() -> None:
    test = converted_tests(EVALS / "follows-instructions.yaml")["follows-instructions"]
    assert test["metadata"]["tags"] == ["behavioral"]
    regex, one, whole = test["assert"]
    # JavaScript's [\s\S] is not in the dialect of `turns`; the engine itself runs it, without case.
    assert regex == {
        "type": "javascript",
        "value": 'new RegExp("^[\\\\s\\\\S]*[-•].*[-•].*[-•]", "i").test(output)',
        "weight": 0.5,
    }
    assert (one["type"], one["weight"]) == ("llm-rubric", 0.5)
    assert whole["value"].startswith("# Instruction Following\n\n## Direct Compliance\n")
    assert "weight" not in whole  # 1, which is 0.5 + 0.5
    assert test["assertScoringFunction"].endswith(":countYesOrNo")


def test_the_checks_of_each_turn_become_one_assertion_with_the_sum_of_their_weights() -> None:
    test = converted_tests(EVALS / "context-retention.yaml")["context-retention"]
    assert test["vars"]["transcript"] == [
        "My name is Alice and I work at Acme Corp.",
        "What company do I work at?",
        "And what's my name?",
    ]
    assert test["options"] == {"disableVarExpansion": True}
    turns, rubric = test["assert"]
    assert turns == {
        "type": "python",
        "value": "file://{{env.LOBU_ASSERTIONS}}:turns",
        "config": {
            "turns": {
                2: [{"type": "contains", "value": "Acme", "weight": 0.5}],
                3: [{"type": "contains", "value": "Alice"}],
            }
        },
        "weight": 1.5,
    }
    assert rubric["transform"] == "context.metadata.turns[1].output"
    assert rubric["weight"] == 0.5


def test_evals_with_other_trials_and_timeouts_keep_their_own_in_one_config() -> None:
    (file,) = convert([EVALS]).files
    limits = {p["label"]: p["config"]["turnTimeoutMs"] for p in file.config["providers"]}
    assert sorted(limits.values()) == [60_000, 120_000, 200_000]
    tests = {test["description"]: test for test in file.config["tests"]}
    assert limits[tests["ping"]["providers"][0]] == 120_000
    assert limits[tests["every-field"]["providers"][0]] == 200_000
    assert file.config["evaluateOptions"]["repeat"] == 3
    assert tests["context-retention"]["options"]["repeat"] == 5
    assert tests["every-field"]["options"]["repeat"] == 2
    assert "repeat" not in tests["ping"].get("options", {})


def test_a_limit_longer_than_promptfoo_s_own_and_than_the_idle_limit_takes_both_along() -> None:
    (file,) = convert([EVALS / "every-field.yaml"]).files
    assert file.config["providers"][0]["config"] == {
        "agent": "support",
        "timeoutMs": 430_000,
        "timeout": 460_000,
        "idleTimeoutMs": 200_000,
        "turnTimeoutMs": 200_000,
    }


def test_every_field_is_carried_over() -> None:
    test = converted_tests(EVALS / "every-field.yaml")["every-field"]
    assert test["metadata"] == {
        "description": "Each field of the format, in a conversation",
        "tags": ["smoke", "orders"],
        "evalVersion": 1,
    }
    assert test["threshold"] == 0.6
    turns, blanks, lookbehind, polite, rubric = test["assert"]
    assert turns["config"]["turns"][1] == [
        {"type": "contains", "value": "order 17", "weight": 2},
        {"type": "regex", "value": "Order 17"},
    ]
    # \s has more than ASCII's blanks in JavaScript, and so it is JavaScript that reads it.
    assert blanks["value"] == r'new RegExp("\\bORDER\\s+\\d+\\b", "i").test(output)'
    assert blanks["transform"] == "context.metadata.turns[0].output"
    assert lookbehind["transform"] == "context.metadata.turns[0].output"
    assert (polite["weight"], "transform" in polite) == (1.5, False)
    assert rubric["weight"] == 7
    assert "context.metadata.turns" in rubric["transform"]


def test_a_text_that_looks_like_a_template_stays_a_text() -> None:
    test = converted_tests(EVALS / "every-field.yaml")["every-field"]
    assert test["vars"]["transcript"][1] == "Thanks, {{name}}."
    (check,) = test["assert"][0]["config"]["turns"][2]
    assert check == {"type": "icontains", "value": "{{literals.0}}", "weight": 0.5}
    assert test["vars"]["literals"] == ["{{name}}"]


def test_the_report_says_that_rubrics_count_whole_or_not_at_all() -> None:
    done = convert([EVALS / "follows-instructions.yaml"])
    ((field, text),) = notes_of(done, "differs")
    assert field == "turns"
    assert "0 or 1" in text
    assert [field for field, _ in notes_of(done, "todo")] == ["turns"]
    assert notes_of(convert([EVALS], grader="openai:chat:x"), "todo") == []


def test_an_option_beside_options_is_told_with_where_it_belongs(write: Write) -> None:
    path = write(
        "evals/odd.yaml",
        "name: odd\ncase_insensitive: true\nturns:\n  - content: hi\n    assert:\n"
        "      - {type: contains, value: a, case_insensitive: true}\n",
    )
    top, beside = sorted(notes_of(convert([path]), "lost"))
    assert "under options" not in top[1]
    assert beside[0] == "turns[0].assert[0].case_insensitive"
    assert "it stands under options, as in  options: {case_insensitive: true}" in beside[1]


def test_unknown_keys_and_options_without_meaning_are_told(write: Write) -> None:
    path = write(
        "evals/odd.yaml",
        "name: odd\nretries: 2\nscoring: {min: 1}\nturns:\n"
        "  - content: hi\n    wait: 3\n    assert:\n"
        "      - {type: llm-rubric, value: kind, options: {case_insensitive: true}}\n"
        "      - {type: contains, value: a, weight: 0}\n",
    )
    lost = [field for field, _ in notes_of(convert([path]), "lost")]
    assert lost == [
        "retries",
        "turns[0].wait",
        "turns[0].assert[0].options.case_insensitive",
        "turns[0].assert[1].weight",
        "scoring.min",
    ]


def test_an_eval_without_a_check_is_told_of(write: Write) -> None:
    path = write("quiet.yaml", "name: quiet\nturns: [{content: hi}]\n")
    done = convert([path])
    assert "passes whatever" in notes_of(done, "differs")[0][1]
    assert "threshold" not in done.files[0].config["tests"][0]


_TYPES = 'expected contains or regex or llm-rubric, got "contain"; did you mean "contains"?'


def test_all_faults_of_a_file_are_told_at_once(write: Write) -> None:
    path = write(
        "bad.yaml",
        "trials: 0\ntimeout: soon\ntags: [1]\nrubric: none.md\nscoring: {pass_threshold: 2}\n"
        "turns:\n  - assert:\n      - {type: contain, value: 3, weight: -1}\n      - {value: x}\n",
    )
    assert problems_of(path) == [
        "name: is missing",
        "turns[0].content: is missing",
        f"turns[0].assert[0].type: {_TYPES}",
        "turns[0].assert[0].value: expected a text, got 3; put it in quotes",
        "turns[0].assert[0].weight: expected a number from 0, got -1",
        "turns[0].assert[1].type: is missing",
        "scoring.pass_threshold: expected a number from 0 to 1, got 2",
        f"rubric: {path.parent / 'none.md'} cannot be read: No such file or directory",
        'timeout: expected a number above 0, got "soon"',
        "tags: expected a text or a list of texts, got [1]; put it in quotes",
        "trials: expected a whole number from 1, got 0",
    ]


def test_a_key_that_stands_twice_is_a_fault_and_not_a_loss(write: Write) -> None:
    path = write("twice.yaml", "name: a\nname: b\nturns: [{content: hi}]\n")
    assert "a key stands twice in line 2" in problems_of(path)[0]


def test_two_evals_of_one_name_are_refused(write: Write) -> None:
    text = "name: same\nturns: [{content: hi}]\n"
    write("evals/a.yaml", text)
    second = write("evals/b.yaml", text)
    assert "the name 'same' is also that of" in problems_of(second.parent)[0]


def test_the_agents_of_a_project_get_a_config_each(write: Write, tmp_path: Path) -> None:
    for agent in ("a", "b"):
        write(f"agents/{agent}/evals/ping.yaml", "name: ping\nturns: [{content: hi}]\n")
    files = convert([tmp_path]).files
    assert [file.path for file in files] == [
        tmp_path / "agents" / agent / "evals" / "promptfooconfig.yaml" for agent in ("a", "b")
    ]
    assert [file.config["providers"][0]["config"]["agent"] for file in files] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("trials: .inf", "trials: expected a whole number from 1, not over 1,000,000,000, got"),
        ("trials: .nan", "trials: expected a whole number from 1, got"),
        ("timeout: .inf", "timeout: expected a number above 0, not over 1,000,000,000, got"),
        ("timeout: 1.0e+308", "timeout: expected a number above 0, not over 1,000,000,000, got"),
    ],
)
def test_a_number_without_bound_is_a_fault(write: Write, text: str, problem: str) -> None:
    path = write("a.yaml", f"name: a\n{text}\nturns: [{{content: hi}}]\n")
    assert problem in "\n".join(problems_of(path))


def test_a_weight_without_bound_is_a_fault(write: Write) -> None:
    check = "{type: contains, value: a, weight: .inf}"
    path = write("a.yaml", f"name: a\nturns: [{{content: hi, assert: [{check}]}}]\n")
    assert "turns[0].assert[0].weight: expected a number from 0, not over" in problems_of(path)[0]
