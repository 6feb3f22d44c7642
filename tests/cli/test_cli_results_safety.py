"""What the commands on results files must never do: command a workflow, or write over a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.cli.workflow_commands import without_commands
from tests.results.made_rows import made, write

from .conftest import RunCli

EVIL = "::error::pwned\n  ::stop-commands::x\n##[add-mask]a ##vso[task.complete]b"


def is_command(line: str) -> bool:
    return line.strip().startswith("::") or "##[" in line or "##vso[" in line


@given(st.text(alphabet=":# \n\t[vso\u00a0\x85", max_size=20))
def test_no_line_of_a_harmless_text_is_a_command(text: str) -> None:
    assert not any(map(is_command, re.split("[\n\r]", without_commands(text))))


def test_a_text_without_commands_is_left_as_it_is() -> None:
    text = "a::b\n## [x] std::vector ###"
    assert without_commands(text) == text


@pytest.fixture
def evil(folder: Path) -> str:
    row = made("::error::name", verdict="fail", provider="::debug::p")
    component = row["gradingResult"]["componentResults"][0]
    component["reason"] = row["error"] = EVIL
    row["response"] = {
        "output": EVIL,
        "metadata": {
            "turns": [{"turn": 1, "user": EVIL, "output": EVIL, "error": EVIL}],
            "toolCalls": [{"turn": 1, "name": EVIL, "input": EVIL, "isError": True}],
            "warnings": [EVIL],
        },
    }
    return str(write(folder / "evil.json", [row]))


@pytest.mark.parametrize(
    "words",
    [
        ["stats", "--min-test-pass-rate", "1"],
        ["explain"],
        ["report", "--gate", "--required", "::error*"],
        ["compare", "good.json"],
        ["compare", "good.json", "--markdown"],
    ],
)
def test_what_an_agent_said_is_no_command_of_a_workflow(
    run_cli: RunCli, folder: Path, evil: str, words: list[str]
) -> None:
    write(folder / "good.json", [made("::error::name", provider="::debug::p")])
    found = run_cli(*words, evil)
    told = found.stdout + found.stderr
    assert "error::name" in told
    assert [line for line in told.splitlines() if is_command(line)] == []


def test_annotations_stay_commands(run_cli: RunCli, evil: str) -> None:
    assert run_cli("report", evil, "--github").stdout.startswith("::error title=")


def test_a_file_that_is_no_baseline_is_replaced_only_by_force(
    run_cli: RunCli, folder: Path
) -> None:
    good = str(write(folder / "good.json", [made("a")]))
    precious = folder / "precious.yaml"
    precious.write_text("keep: me\n", "utf-8")
    refused = run_cli("bless", good, "--to", str(precious))
    assert (refused.exit_code, "is there and no baseline" in refused.stderr) == (2, True)
    assert precious.read_text("utf-8") == "keep: me\n"
    assert run_cli("bless", good, "--to", str(precious), "--force").exit_code == 0
    assert run_cli("bless", good, "--to", str(precious)).exit_code == 0
    (folder / "empty.json").touch()
    assert run_cli("bless", good, "--to", "empty.json").exit_code == 0


def test_two_reports_are_not_written_to_one_file(run_cli: RunCli, folder: Path) -> None:
    good: Any = str(write(folder / "good.json", [made("a")]))
    found = run_cli("report", good, "--junit", "out", "--markdown", "./out")
    assert (found.exit_code, "written twice" in found.stderr) == (2, True)
    assert not (folder / "out").exists()


def test_a_duration_without_bound_is_a_run_that_is_not_known_to_have_ended(
    run_cli: RunCli, folder: Path
) -> None:
    path = write(folder / "r.json", [made("a")])
    path.write_text(path.read_text("utf-8").replace('"durationMs": 5', '"durationMs": 1e999'))
    assert run_cli("report", str(path), "--gate").exit_code == 3


def test_shards_that_leave_tests_out_are_not_good(run_cli: RunCli, folder: Path) -> None:
    files = [
        str(write(folder / f"{n}.json", [made(f"t{n}")], options=options, tests=[{}] * 20))
        for n, options in enumerate(({"filterRange": "0:3"}, {"filterRange": "3:6"}))
    ]
    found = run_cli("report", *files, "--gate", "--shards", "2")
    assert (found.exit_code, "tests 6 to 19 are in no shard" in found.stderr) == (3, True)
