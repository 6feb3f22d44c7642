"""Hubzoid's Markdown cases: frontmatter, sections, tool checks, and which files are cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from lobu_provider.convert.conversion import convert

from .conftest import SOURCES, Write, converted_tests, notes_of, problems_of

HUB = SOURCES / "hub"
OURS = "file://{{env.LOBU_ASSERTIONS}}:"


def test_a_hub_s_cases_are_those_that_the_hub_would_run() -> None:
    done = convert([HUB])
    (file,) = done.files
    assert file.path == HUB / "evals" / "promptfooconfig.yaml"
    assert [test["description"] for test in file.config["tests"]] == [
        "approvals/plain-body",
        "finance-locked",
        "refund-by-date",
        "refund-follow-up",
        "refund-order",
        "refund-window",
    ]
    assert ("enabled", "false: the case is left out, as it was") in notes_of(done, "lost")
    assert [path.name for path, _ in done.passed_over] == ["manifest.yaml"]


def test_every_frontmatter_key_is_carried_over() -> None:
    test = converted_tests(HUB)["refund-by-date"]
    assert test["metadata"] == {"tags": ["canary"], "schedule": "0 6 * * 1"}
    assert "threshold" not in test  # each check must pass
    rubric = test["assert"].pop()
    assert test["assert"] == [
        {"type": "icontains", "value": "refund"},
        {"type": "not-icontains", "value": "as an AI"},
        {
            "type": "python",
            "value": f"{OURS}toolCalled",
            "config": {"tool": ["days_since_delivery"]},
        },
        {
            "type": "python",
            "value": f"{OURS}toolCalled",
            "config": {
                "tool": "days_since_delivery",
                "args": {"delivered_on": "2026-09-14"},
                "text": "contains",
            },
        },
        {"type": "python", "value": f"{OURS}toolNotCalled", "config": {"tool": ["http_get"]}},
    ]
    assert (rubric["type"], rubric["threshold"]) == ("llm-rubric", 0.7)
    assert "toolsCalled" in rubric["transform"]


def test_the_timeout_is_that_of_the_whole_case() -> None:
    (file,) = convert([HUB]).files
    limits = {p["label"]: p["config"] for p in file.config["providers"]}
    tests = {test["description"]: test for test in file.config["tests"]}
    assert limits[tests["refund-by-date"]["providers"][0]] == {"timeoutMs": 90_000}
    assert limits[tests["refund-window"]["providers"][0]] == {"timeoutMs": 120_000}
    assert limits[tests["refund-follow-up"]["providers"][0]]["timeoutMs"] == 180_000


def test_turns_are_a_conversation_and_synonyms_are_known() -> None:
    tests = converted_tests(HUB)
    assert tests["refund-follow-up"]["vars"]["transcript"] == [
        "What is the refund policy?",
        "Does that apply to an order delivered 40 days ago?",
    ]
    locked = tests["finance-locked"]
    assert locked["vars"]["query"].startswith("Run the margin report")
    assert locked["assert"][0]["value"].startswith("Explains that")


def test_a_call_outside_of_the_fakes_fails_as_it_did_and_the_danger_is_told() -> None:
    done = convert([HUB])
    lost = dict(notes_of(done, "lost"))
    assert "RUN FOR REAL (lookup_order, send_email)" in lost["fake_tools"]
    assert "tokenEnv" in lost["run_as"]
    assert "--filter-metadata 'schedule=0 6 * * 1'" in lost["schedule"]
    test = converted_tests(HUB)["refund-order"]
    assert test["assert"] == [
        {
            "type": "python",
            "value": f"{OURS}toolOrder",
            "config": {
                "mode": "subset",
                "tools": [
                    {"tool": "lookup_order", "args": {"order_id": "A-1001"}, "text": "contains"},
                    {"tool": "send_email"},
                    "read_knowledge",
                    "days_since_delivery",
                ],
            },
        }
    ]
    assert test["metadata"]["fake_tools"][1] == {"tool": "send_email", "error": "SMTP is down"}


def test_real_mcp_tools_cannot_be_told_apart_and_are_told(write: Write) -> None:
    path = write(
        "case.md",
        "---\nfake_tools: [{tool: a}]\nallow_real_mcp: true\ncontains: x\n---\nhi\n",
    )
    assert [field for field, _ in notes_of(convert([path]), "lost")] == [
        "fake_tools",
        "allow_real_mcp",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "---\nexpected_tools: [a]\n---\nhi\n",
            "unknown frontmatter key(s): expected_tools; did you mean",
        ),
        ("## Criteria\nGood.\n", "body: no prompt; add a '## Prompt' section"),
        ("## Prompt\na\n## Turn 1\nb\n", "body: a case cannot have both ## Prompt and ## Turn"),
        ("## Turn 1\na\n## Turn 2\n\n## Criteria\nc\n", "body: turn 2 has no text"),
        ("## Prompt\na\n## Input\nb\n", "body: two sections for the prompt"),
        ("## Prompt\na\n## Rubric\n", "body: the criteria have no text"),
        ("---\ncontains: a\n", "frontmatter: the closing --- is missing"),
        ("---\nthreshold: 11\n---\nhi\n", "threshold: expected a number from 1 to 10, got 11"),
        ("---\ntimeout: 3601\n---\nhi\n", "timeout: expected a number from 1 to 3600, got 3601"),
        ("---\nexpect_tools: a\n---\nhi\n", 'expect_tools: expected a list of texts, got "a"'),
        ("---\ncontains: [1]\n---\nhi\n", "contains: expected a text or a list of texts, got [1]"),
        ("---\nenabled: maybe\n---\nhi\n", "enabled: expected true or false"),
        (
            "---\nexpect_tool_args: {a: [1]}\n---\nhi\n",
            "expect_tool_args.a: expected arguments by name",
        ),
        ("---\na: [\n---\nhi\n", "frontmatter: is not YAML"),
        ("\n---\ncontains: a\n---\nhi\n", "frontmatter: --- must be the file's first line"),
        ("contains: a\n---\n## Prompt\nhi\n", "frontmatter: --- must be the file's first line"),
        ("contains: a\n\nhi\n", "frontmatter: --- must be the file's first line"),
        ("", "body: no prompt"),
    ],
)
def test_what_the_hub_refuses_is_refused(write: Write, text: str, problem: str) -> None:
    assert problem in "\n".join(problems_of(write("case.md", text)))


def test_a_heading_in_a_fenced_block_and_an_unknown_one_belong_to_their_section(
    write: Write,
) -> None:
    body = "# Notes\nignored\n## PROMPT ##\nExplain:\n```\n# Criteria\n```\n### Details\nmore\n"
    path = write("case.md", f"{body}#### rubric\nGood.\n")
    (test,) = converted_tests(path).values()
    assert test["vars"]["query"] == "Explain:\n```\n# Criteria\n```\n### Details\nmore"
    assert test["assert"][0]["value"] == "Good."


@pytest.mark.parametrize("heading", ["Turn 2: follow up", "TURN 2 - later", "turn 2 (again)"])
def test_a_turn_whose_heading_says_more_is_a_turn(write: Write, heading: str) -> None:
    path = write("case.md", f"## Turn 1\na\n## {heading}\nb\n")
    (test,) = converted_tests(path).values()
    assert test["vars"] == {"transcript": ["a", "b"], "query": "b"}


def test_what_stands_before_the_first_section_is_told(write: Write) -> None:
    path = write("case.md", "Be careful.\n## Prompt\nhi\n")
    assert ("body", 'no section before the first heading: "Be careful."') in notes_of(
        convert([path]), "lost"
    )


def test_windows_line_ends_do_not_matter(write: Write) -> None:
    path = write("case.md", "---\r\ncontains: a\r\n---\r\n## Prompt\r\nhi\r\n")
    (test,) = converted_tests(path).values()
    assert (test["vars"], test["assert"][0]["value"]) == ({"query": "hi"}, "a")


def test_a_case_outside_of_an_evals_folder_is_named_by_its_file(
    write: Write, tmp_path: Path
) -> None:
    write("notes/case.md", "---\ncontains: a\n---\nhi\n")
    assert list(converted_tests(tmp_path / "notes")) == ["case"]


def test_a_case_named_from_within_its_folder_keeps_its_name_and_its_config_s_place(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("evals/approvals/case.md", "---\ncontains: a\n---\nhi\n")
    monkeypatch.chdir(tmp_path / "evals" / "approvals")
    (file,) = convert([Path("case.md")]).files
    assert file.path.resolve() == (tmp_path / "evals" / "promptfooconfig.yaml").resolve()
    assert file.config["tests"][0]["description"] == "approvals/case"


def test_a_text_that_promptfoo_fills_in_from_the_environment_is_told(write: Write) -> None:
    path = write("case.md", "---\ncontains: '{{ env.HOME }}'\n---\nhi\n")
    ((_, text),) = notes_of(convert([path]), "differs")
    assert "fills in {{env.NAME}}" in text
