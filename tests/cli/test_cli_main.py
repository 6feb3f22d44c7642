"""The group: help, version, lazy loading, exit codes."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from lobu_provider.cli.common import exit_code
from lobu_provider.errors import CODES, error_for, failure

from .conftest import RunCli

COMMANDS = [
    "ask",
    "bless",
    "cases",
    "cassettes",
    "compare",
    "convert",
    "doctor",
    "drift",
    "explain",
    "init",
    "path",
    "record",
    "report",
    "serve",
    "shard",
    "shim-path",
    "stats",
]


def test_the_help_lists_every_command_and_the_exit_codes(run_cli: RunCli) -> None:
    result = run_cli("--help")
    assert result.exit_code == 0
    assert [name for name in COMMANDS if f"\n  {name} " in result.stdout] == COMMANDS
    assert [code for code in (0, 1, 2, 3, 130) if f"\n    {code} " in result.stdout] == [
        0,
        1,
        2,
        3,
        130,
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_stands_alone(run_cli: RunCli, command: str) -> None:
    result = run_cli(command, "--help")
    assert result.exit_code == 0
    assert "Exit codes:" in result.stdout
    assert "Example" in result.stdout
    assert f"lobu-provider {command}" in result.stdout


def test_the_help_imports_neither_the_http_client_nor_the_models() -> None:
    program = (
        "import sys\n"
        "from lobu_provider.cli.main import cli\n"
        "cli(['--help'], standalone_mode=False)\n"
        "heavy = {'httpx', 'pydantic', 'anyio', 'starlette', 'uvicorn', 'yaml', 'ijson'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_the_version_is_the_package_s(run_cli: RunCli) -> None:
    result = run_cli("--version")
    assert (result.exit_code, result.stdout) == (0, f"lobu-provider {version('lobu-provider')}\n")


def test_the_package_runs_as_a_module_under_its_own_name() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lobu_provider", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "lobu-provider")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-", "> /dev/full 2> /dev/full"])
@pytest.mark.parametrize(
    "command",
    [
        "ask --gateway script:demo --agent support-agent hello",
        "ask --json --gateway script:demo --agent support-agent hello",
        "--help",
        "path hook",
    ],
)
def test_an_output_that_cannot_be_written_is_one_line_and_exit_code_2(
    command: str, redirection: str
) -> None:
    line = f'exec "$0" -m lobu_provider {command} {redirection}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable], capture_output=True, text=True, check=False
    )
    reason = "it is closed" if "&" in redirection else "No space left on device"
    told = (
        f"error: The output cannot be written: {reason}. Send stdout to a file or to /dev/null.\n"
        if "2>" not in redirection
        else ""
    )
    assert (done.returncode, done.stderr) == (2, told)


def test_an_unknown_command_or_option_is_a_usage_error(run_cli: RunCli) -> None:
    assert run_cli("aks").exit_code == 2
    assert run_cli("ask", "--token", "secret", "hi").exit_code == 2


@pytest.mark.parametrize(
    ("code", "phase", "expected"),
    [
        ("config", "config", 2),
        ("auth", "create", 3),
        ("not_found", "create", 3),
        ("gateway", "connect", 3),
        ("timeout", "config", 3),
        ("timeout", "create", 3),
        ("timeout", "send", 3),
        ("rate_limit", "send", 3),
        ("config", "create", 3),
        ("stream_lost", "turn", 3),
        ("timeout", "turn", 1),
        ("provider", "turn", 1),
        ("worker", "turn", 1),
        ("guardrail", "turn", 1),
        ("empty", "turn", 1),
        ("config", "turn", 1),
        ("internal", "config", 1),
        ("cancelled", "turn", 130),
    ],
)
def test_code_and_phase_of_a_failure_give_the_exit_code(
    code: str, phase: str, expected: int
) -> None:
    assert exit_code(code, phase) == expected


def test_every_known_code_has_an_exit_code_that_is_not_success() -> None:
    for code in CODES:
        error = error_for(failure(code, "text", phase="turn"))
        assert exit_code(error.failure.code, error.failure.phase) in (1, 3, 130)
