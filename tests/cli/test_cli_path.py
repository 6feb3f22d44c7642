"""``lobu-provider path``."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import RunCli


def test_without_a_name_the_hook_s_path_is_printed_and_nothing_else(run_cli: RunCli) -> None:
    result = run_cli("path")
    printed = Path(result.stdout.removesuffix("\n"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert printed.is_absolute()
    assert "def call_api(" in printed.read_text("utf-8")
    assert run_cli("path", "hook").stdout == result.stdout


def test_the_extension_s_path_is_that_of_the_hooks_around_a_run(run_cli: RunCli) -> None:
    printed = Path(run_cli("path", "extension").stdout.strip())
    assert "def beforeAll(" in printed.read_text("utf-8")


def test_the_path_of_the_assertions_is_that_of_a_file_with_each_check(run_cli: RunCli) -> None:
    printed = Path(run_cli("path", "assertions").stdout.strip())
    assert "def toolCalled(" in printed.read_text("utf-8")


def test_the_path_of_the_transforms_is_that_of_a_file_with_each_transform(run_cli: RunCli) -> None:
    printed = Path(run_cli("path", "transforms").stdout.strip())
    assert "def evidence(" in printed.read_text("utf-8")


def test_the_schema_s_path_is_that_of_a_json_schema(run_cli: RunCli) -> None:
    printed = Path(run_cli("path", "schema").stdout.strip())
    assert "agent" in json.loads(printed.read_text("utf-8"))["properties"]


def test_an_unknown_name_is_a_usage_error_that_lists_the_names(run_cli: RunCli) -> None:
    result = run_cli("path", "hok")
    assert result.exit_code == 2
    assert "hook" in result.stderr
    assert "schema" in result.stderr
