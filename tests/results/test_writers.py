"""JUnit, GitHub annotations and Markdown: well formed, bounded and harmless, whatever was said."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.results.baseline import baseline_lines
from lobu_provider.results.explanation import explain, explanation_lines
from lobu_provider.results.github import MOST, annotation_commands
from lobu_provider.results.junit import junit_lines
from lobu_provider.results.markdown import block, bounded, escaped, percent
from lobu_provider.results.run_report import report_lines, transcript_places
from lobu_provider.results.runs import Run, group_tests, read_run, whole_rows
from lobu_provider.results.texts import json_shown, reason, shown

from .made_rows import FIXTURES, made, read, tries

TOKEN = "owl_pat_canary_0123456789abcdef"
ANYTHING = st.text() | st.text(alphabet=st.characters(codec=None), max_size=30)


def run_of(*rows: dict[str, Any]) -> Run:
    return Run(tuple(read(*rows)), ())


def junit(run: Run, *gaps: str) -> ElementTree.Element:
    text = "\n".join(junit_lines(run, gaps))
    return ElementTree.fromstring(text.encode("utf-8"))  # noqa: S314 - our own document


def test_junit_counts_rows_and_tells_the_real_reason_the_tools_and_the_trace() -> None:
    root = junit(read_run([FIXTURES / "package-0.123.1.json"]))
    counts = {name: root.get(name) for name in ("tests", "failures", "errors")}
    assert counts == {"tests": "78", "failures": "30", "errors": "24"}
    assert [suite.get("name") for suite in root] == ["good", "other"]
    case = next(c for c in root[1] if c.get("name") == "refunds an order (repeat 1 of 3)")
    text = case[0].text or ""
    assert "the closest call (call 2, turn 2) differs in order_id: expected 17, got 71" in text
    assert "tools seen: turn 1: search_orders; turn 2: refund_order" in text
    assert "trace: " in text
    kinds = {case[0].tag: case[0].get("type") for case in root[0] if len(case)}
    assert kinds == {"failure": "assertion", "error": "grader"}


def test_junit_shows_a_run_that_is_not_whole_as_an_error() -> None:
    root = junit(run_of(), "r.json has no rows")
    assert (root.get("tests"), root.get("errors")) == ("1", "1")
    assert root[0][0][0].get("message") == "r.json has no rows"


@given(ANYTHING, ANYTHING)
def test_junit_is_well_formed_whatever_was_said(name: str, why: str) -> None:
    row = made(name, verdict="fail", provider=why)
    row["error"] = row["gradingResult"]["componentResults"][0]["reason"] = why
    assert junit(run_of(row), why).get("failures") == "1"


@given(ANYTHING, ANYTHING)
def test_an_annotation_is_one_line_that_starts_no_other_command(name: str, why: str) -> None:
    row = made(name, verdict="fail")
    row["error"] = why
    (line,) = annotation_commands(group_tests(read(row)))
    assert line.startswith("::error title=")
    assert len(line.splitlines()) == 1
    title = line.removeprefix("::error title=").partition("::")[0]
    assert not set(title) & set(",\n\r")


def test_annotations_are_at_most_ten_and_say_how_many_are_left_out() -> None:
    rows = [row for n in range(30) for row in tries(f"t{n}", "f")]
    lines = list(annotation_commands(group_tests(read(*rows))))
    assert len(lines) == MOST
    assert "21 more" in lines[-1]


def test_failures_are_annotated_before_what_was_not_judged() -> None:
    rows = [*tries("a", "i"), *tries("b", "f")]
    first, second = annotation_commands(group_tests(read(*rows)))
    assert first.startswith("::error title=b")
    assert second.startswith("::warning title=a")


def test_the_report_has_models_tests_rubrics_and_failed_transcripts() -> None:
    run = read_run([FIXTURES / "python-0.121.20.json"])
    tests = group_tests(run.rows)
    text = "\n".join(report_lines(tests, [], whole_rows(run, set(transcript_places(tests)))))
    assert "| good | 12 of 27 | 44.4% | 28% to 63% | 0.50 |" in text
    assert "| refunds an order | stable 3/3 | failing 0/3 |" in text
    assert "tool:  refund_order {" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("kind", ["llm-rubric", "not-llm-rubric", "model-graded-factuality", "pi"])
def test_rubrics_are_counted_for_each_model(kind: str) -> None:
    def judged(score: float) -> dict[str, Any]:
        row = made("t", verdict="pass" if score > 0.5 else "fail")
        component = row["gradingResult"]["componentResults"][0]
        component |= {"score": score, "assertion": {"type": kind, "value": "is kind"}}
        return row

    tests = group_tests(read(judged(1.0), judged(0.25)))
    assert f"| {kind}: is kind | model | 1 of 2 | 0.62 |" in list(report_lines(tests, [], {}))


def test_markdown_has_no_markup_of_others() -> None:
    assert escaped("a|b `c` <img> @you #1 http://x") == (
        "a\\|b \\`c\\` \\<img\\> \\@you \\#1 http:\\//x"
    )
    assert next(block("a\n```\nb")) == "````text"


def test_a_document_that_is_too_long_is_cut_at_a_line_and_says_so() -> None:
    assert list(bounded(["ab", "cd"], 6)) == ["ab", "cd"]
    assert list(bounded(["ab", "cd"], 5))[:2] == ["ab", ""]


def test_a_rate_is_rounded_to_all_or_nothing_only_where_it_is() -> None:
    assert [percent(rate) for rate in (0.0, 0.00001, 0.5, 0.99999, 1.0, None)] == [
        "0%", "0.1%", "50.0%", "99.9%", "100%", "-",
    ]  # fmt: skip


def test_secrets_are_hidden_by_their_shape_and_by_their_name() -> None:
    key = "sk-proj-abcdefghijklmnop1234"
    assert shown(f"{TOKEN} {key}") == "*** ***"
    told = json_shown({"headers": {"Authorization": "abc"}, "client_secret": "x", "tokens": "5"})
    assert told == '{"headers": {"Authorization": "***"}, "client_secret": "***", "tokens": "5"}'


@pytest.mark.parametrize(
    "key",
    [
        "clientSecret", "privateKey", "pwd", "accessToken", "APIKey", "apikey", "auth_token",
        "X-Api-Key", "Cookie", "userPassword", "passwordHash", "aws_secret_access_key", "token",
        "resetToken",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", ["hunter2", 12345678, {"v": "hunter3"}, ["hunter4"]])
def test_whatever_stands_under_the_name_of_a_secret_is_hidden_as_a_whole(
    key: str, value: Any
) -> None:
    assert json_shown([{key: value}]) == f'[{{"{key}": "***"}}]'


@pytest.mark.parametrize(
    "told",
    [
        {"tokens": 5}, {"maxTokens": 500}, {"tokenCount": 7}, {"tokens": "5"}, {"author": "a"},
        {"keyboard": "b"},
        {"key": "c"}, {"hasPassword": True}, {"token": None}, {"passenger": "d"},
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_secret_is_shown(told: dict[str, Any]) -> None:
    assert json_shown(told) == json.dumps(told)


def test_a_baseline_tells_nothing_of_a_secret_argument_not_even_its_digest() -> None:
    def lines(password: str) -> list[str]:
        call = {"name": "login", "input": {"password": password}, "turn": 1}
        row = made("t")
        row["response"]["metadata"]["toolCalls"] = [call]
        return list(baseline_lines(run_of(row)))

    assert lines("hunter2") == lines("hunter3")


@given(ANYTHING)
def test_what_is_shown_is_bounded_and_drives_no_terminal(text: str) -> None:
    told = shown(text, 50)
    assert len(told) <= 50
    assert not [letter for letter in told if ord(letter) < 32 and letter not in "\n\t"]
    told.encode("utf-8")


def test_a_reason_is_without_the_stack_of_the_program_that_gave_it() -> None:
    text = "Custom function threw error: x\nStack Trace: ReferenceError\n    at eval (file:///x)"
    assert reason(text) == "Custom function threw error: x"
    assert reason("Error: y\n    at z (file:///x)") == "Error: y"


def explained(name: str, provider: str) -> str:
    run = read_run([FIXTURES / "package-0.123.1.json"])
    (test,) = (t for t in group_tests(run.rows) if (t.name, t.column.provider) == (name, provider))
    place = (0, test.first.test_idx, test.first.prompt_idx)
    return "\n".join(explanation_lines(explain(whole_rows(run, {place})[place])))


def test_an_explanation_shows_turns_tools_checks_and_ids() -> None:
    text = explained("refunds an order", "other")
    assert text.startswith("FAILED: refunds an order\nprovider: other")
    assert '  tool:  refund_order {"order_id": 71}' in text
    assert 'passed: icontains "refunded"' in text
    assert "got 71" in text
    assert "traceId: " in text
    assert "\\x1b[31m" in text


def test_an_explanation_shows_a_tools_error_and_a_broken_check() -> None:
    assert 'track {"id": "x"} ERROR' in explained("parcel | fails: [x]", "good")
    assert '{"error": "carrier down"}' in explained("parcel | fails: [x]", "good")
    assert "broken: llm-rubric" in explained("grader error", "good")
    assert "fault: code empty, class agent" in explained("empty answer", "good")


def test_a_row_of_another_provider_is_explained_by_prompt_and_output() -> None:
    row = made("t", verdict="fail", response={"output": {"a": 1}})
    told = explain(row)
    assert told["turns"] == [{"turn": 1, "user": "t", "tools": [], "output": '{"a": 1}'}]


def broken_by_turns() -> dict[str, Any]:
    row = made(verdict="fail")
    told = 'turn 2: toolCalled failed: "hold" was not called'
    members = [
        {"pass": True, "score": 1, "reason": "turn 1: icontains: x", "assertion": {
            "type": "icontains", "value": "x"}},
        {"pass": False, "score": 0, "reason": told, "assertion": {
            "type": "toolCalled", "value": '{"tool":"hold"}'}},
    ]  # fmt: skip
    about = {"type": "python", "value": "file:///home/me/lobu_assertions.py:turns"}
    reason_of_all = f"turns failed: 1 of 2 checks failed\n{told}"
    whole = {"pass": False, "score": 0.5, "reason": reason_of_all, "assertion": about}
    row["gradingResult"]["componentResults"] = [{**whole, "componentResults": members}, *members]
    return {**row, "error": reason_of_all}


def test_each_check_of_turns_is_shown_once_with_its_turn() -> None:
    row = broken_by_turns()
    lines = list(explanation_lines(explain(row)))
    assert [line for line in lines if line.startswith(("passed:", "failed:"))] == [
        'passed: turn 1: icontains "x"',
        'failed: turn 2: toolCalled {"tool":"hold"}',
    ]
    (failure,) = junit(run_of(row)).iter("failure")
    assert str(failure.text).count("was not called") == 1


def test_the_file_of_an_assertion_is_named_without_its_folders() -> None:
    row = made()
    (check,) = row["gradingResult"]["componentResults"]
    check["assertion"] = {"type": "python", "value": "file:///home/me/my_checks.py:polite"}
    assert 'passed: python "my_checks.py:polite"' in list(explanation_lines(explain(row)))


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("config", "nothing was sent to the agent"),
        ("create", "nothing was sent to the agent"),
        ("turn", "the results do not tell what was said"),
    ],
)
def test_a_turn_that_was_never_sent_is_not_shown(phase: str, words: str) -> None:
    row = made("not sent", "config")
    row["response"]["metadata"]["error"]["phase"] = phase
    told = explain(row)
    assert (told["turns"], told["noTurns"]) == ([], words)
    assert words in list(explanation_lines(told))


def test_where_a_check_threw_it_is_said_that_the_answer_is_not_kept() -> None:
    row = made(verdict="infrastructure", error="TypeError: x\n    at runAssertion (file:///e.js)")
    del row["response"]
    assert explain(row)["noTurns"] == "promptfoo keeps no answer where a check threw"


def test_the_answer_of_another_provider_is_shown() -> None:
    row = made("hi")
    row["response"] = {"output": "hello"}
    (turn,) = explain(row)["turns"]
    assert (turn["user"], turn["output"]) == ("hi", "hello")
