"""Which files are evals, and the YAML that is written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.convert.conversion import convert, told_once
from lobu_provider.convert.suite import Note
from lobu_provider.convert.yaml_writer import write_yaml

from .conftest import SOURCES, Write, converted_tests, problems_of


@pytest.mark.parametrize("path", ["agents/support/evals", "hub", "config/evals"])
def test_what_is_written_reads_back_as_the_config(path: str) -> None:
    (file,) = convert([SOURCES / path]).files
    assert yaml.safe_load(file.text) == file.config
    assert list(yaml.safe_load(file.text)) == list(file.config)


def test_the_head_tells_what_was_not_carried_over() -> None:
    (file,) = convert([SOURCES / "hub"]).files
    head = [line for line in file.text.splitlines() if line.startswith("#")]
    assert "# Not carried over:" in head
    assert any("refund-order (fake_tools)" in line for line in head)


def test_the_head_tells_what_is_to_do_before_a_run_and_not_what_an_option_has_done() -> None:
    evals = SOURCES / "agents/support/evals"
    (file,) = convert([evals]).files
    (named,) = convert([evals], grader="openai:chat:x").files
    assert "# To do before a run:\n# - " in file.text
    assert "the format names no grading model; name one with --grader" in file.text
    assert "To do before a run" not in named.text


def test_a_conversation_has_its_last_turn_for_a_prompt_unless_promptfoo_would_change_it(
    write: Write,
) -> None:
    check = "assert: [{type: contains, value: x}]"
    turns = f"turns:\n  - {{content: One.}}\n  - {{content: 'TEXT', {check}}}"
    write("evals/plain.yaml", f"name: plain\n{turns.replace('TEXT', 'Two.')}\n")
    path = write("evals/braces.yaml", f"name: braces\n{turns.replace('TEXT', 'Two {{x}}.')}\n")
    tests = converted_tests(path.parent)
    assert tests["plain"]["vars"]["query"] == "Two."
    assert "query" not in tests["braces"]["vars"]


def test_texts_of_several_lines_are_blocks() -> None:
    assert write_yaml({"value": "one\ntwo\n"}) == "value: |\n  one\n  two\n"


@pytest.mark.parametrize("text", ["1e3", "0o17", "1_000", ".5", "12", "yes", "null", "2026-01-01"])
def test_a_text_that_another_yaml_takes_for_something_else_is_quoted(text: str) -> None:
    assert write_yaml({"value": text}) == f"value: '{text}'\n"


@settings(deadline=None)
@given(st.text() | st.text(alphabet="\n\r\t\x85\u2028 -#:'\"{|>e1.\\"))
def test_any_text_survives(text: str) -> None:
    data = {"tests": [{"value": text, "vars": {"k": [text]}}]}
    assert yaml.safe_load(write_yaml(data)) == data


def test_a_note_never_breaks_out_of_its_comment() -> None:
    assert write_yaml({}, ["a\nprompts: [x]"]).startswith("# a prompts: [x]\n")


def test_one_thing_is_told_once_with_all_its_cases() -> None:
    notes = [Note("lost", "f.md", "run_as", "why", case) for case in ("a", "b")]
    assert told_once([*notes, Note("lost", "f.md", "", "other")]) == [
        "a, b (run_as): why",
        "f.md: other",
    ]


def test_other_files_of_a_folder_are_passed_over_and_told(write: Write, tmp_path: Path) -> None:
    write("evals/ping.yaml", "name: ping\nturns: [{content: hi}]\n")
    write("evals/notes.yaml", "a: 1\n")
    write("evals/promptfooconfig.yaml", "tests: []\n")
    write("evals/evals-report.md", "# Report\n")
    done = convert([tmp_path])
    assert [path.name for path, _ in done.passed_over] == ["notes.yaml"]
    assert len(done.files[0].config["tests"]) == 1


def test_a_folder_without_evals_and_a_file_of_no_format_are_refused(
    write: Write, tmp_path: Path
) -> None:
    assert "no eval here" in problems_of(tmp_path)[0]
    assert "no known eval format" in problems_of(write("a.yaml", "a: 1\n"))[0]
    assert "no known eval format" in problems_of(write("a.txt", "hi"))[0]


@pytest.mark.parametrize("text", ["file://secret.txt", "package:x:y"])
def test_a_text_that_promptfoo_would_load_stays_a_text(write: Write, text: str) -> None:
    path = write("case.md", f"---\ncontains: ['{text}']\n---\n{text}\n")
    (test,) = converted_tests(path).values()
    assert test["vars"]["transcript"] == [text]
    assert test["assert"][0]["config"] == {"turns": {1: [{"type": "icontains", "value": text}]}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("file://secret.txt", "{% raw %}file://secret.txt{% endraw %}"),
        ("package:x:y", "{% raw %}package:x:y{% endraw %}"),
        ("{{a}}", "{% raw %}{{a}}{% endraw %}"),
        ('{% endraw %} "{{a}}" \\', '{{ "{% endraw %} \\"{{a}}\\" \\\\" }}'),
    ],
)
def test_criteria_that_promptfoo_would_load_or_fill_in_stay_criteria(
    write: Write, text: str, value: str
) -> None:
    (test,) = converted_tests(write("case.md", f"## Prompt\nhi\n## Criteria\n{text}\n")).values()
    assert test["assert"][0]["value"] == value


def test_arguments_that_our_assertions_read_otherwise_are_refused(write: Write) -> None:
    path = write("case.md", "---\nexpect_tool_args: {a: {b: {$regexp: x}}}\n---\nhi\n")
    assert "toolCalled" in problems_of(path)[0]
