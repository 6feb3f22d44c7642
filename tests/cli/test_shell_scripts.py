"""``make demo`` and ``make view``: what they say, with promptfoo and the install steps replaced."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import free_port

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
VERSION = "0.121.20"
COST = "about 2 minutes and 300 MB the first time, seconds after"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX shell")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the port is tried with Node")

Ran = subprocess.CompletedProcess[str]
RunScript = Callable[..., Ran]


def executable(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), "utf-8")
    path.chmod(0o755)


@pytest.fixture
def clone(folder: Path) -> Path:
    """A folder with our scripts and a promptfoo that says what it was called with."""
    shutil.copytree(SCRIPTS, folder / "scripts")
    executable(folder / "scripts" / "venv.sh", "exit 0")
    promptfoo = folder / ".tools" / f"promptfoo-{VERSION}"
    executable(
        promptfoo / "run",
        'echo "called: $*"',
        "[ -z \"${RESULTS:-}\" ] || echo '{}' >.demo/results.json",
        'exit "${CODE:-0}"',
    )
    (promptfoo / "own-node").touch()
    (folder / "config.yaml").touch()
    (folder / ".demo").mkdir()
    (folder / ".demo" / "promptfoo-version").write_text(f"{VERSION}\n", "utf-8")
    return folder


@pytest.fixture
def run_script(clone: Path) -> RunScript:
    def run(name: str, *arguments: str, **variables: str) -> Ran:
        keep = {k: v for k, v in os.environ.items() if k not in ("PORT", "CONFIG", "PYTHON")}
        return subprocess.run(
            ["sh", clone / "scripts" / name, *arguments],
            cwd=clone,
            env={**keep, "VENV": sys.prefix, "CONFIG": "config.yaml", **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return run


@pytest.mark.parametrize("port", ["abc", "80a", "0", "0155", "65536", "155000", "-1", " 1"])
def test_a_port_that_is_no_number_is_one_sentence(run_script: RunScript, port: str) -> None:
    ran = run_script("view.sh", PORT=port)
    assert ran.returncode == 1
    assert ran.stderr.startswith("PORT must be a number from 1 to 65535")
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stdout == ""


@needs_node
def test_a_free_port_is_passed_on(run_script: RunScript) -> None:
    port = str(free_port())
    ran = run_script("view.sh", PORT=port)
    assert (ran.returncode, ran.stdout) == (0, f"called: view --port {port} --no\n")


@needs_node
def test_a_port_in_use_is_told_with_another_one(run_script: RunScript) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:  # noqa: S104 - as promptfoo does
        port = taken.getsockname()[1]
        ran = run_script("view.sh", PORT=str(port))
    assert ran.returncode == 1
    assert ran.stderr == f"Port {port} is busy: make view PORT=15501\n"
    assert ran.stdout == ""


def test_a_demo_that_passes_says_neither_cost_nor_hint(run_script: RunScript) -> None:
    ran = run_script("demo.sh", VERSION, RESULTS="yes")
    assert ran.returncode == 0
    assert COST not in ran.stderr
    assert "doctor" not in ran.stderr
    assert ran.stdout.endswith("make view\n")


def test_a_demo_with_failed_rows_ends_with_where_to_look(run_script: RunScript) -> None:
    ran = run_script("demo.sh", VERSION, RESULTS="yes", CODE="100")
    assert ran.returncode == 100
    assert "rows that failed are in .demo/results.json; 'make view' shows them" in ran.stderr
    assert ran.stderr.endswith(f"'{sys.prefix}/bin/lobu-provider doctor' checks the setup.\n")


def test_a_demo_without_results_names_the_doctor_only(run_script: RunScript) -> None:
    ran = run_script("demo.sh", VERSION, CODE="1")
    assert ran.returncode == 1
    assert "make view" not in ran.stdout + ran.stderr
    assert ran.stderr.endswith("checks the setup.\n")


def test_the_cost_is_told_once_before_the_first_install(run_script: RunScript, clone: Path) -> None:
    tools = clone / ".tools"
    tools.rename(clone / "installed")
    executable(
        clone / "scripts" / "promptfoo.sh", "mv installed .tools", 'echo "told: $COST_IS_TOLD" >&2'
    )
    executable(clone / "bin" / "node", "echo v20.20.2")
    path = f"{clone / 'bin'}{os.pathsep}{os.environ['PATH']}"
    ran = run_script("demo.sh", VERSION, RESULTS="yes", PATH=path)
    assert ran.returncode == 0
    assert ran.stderr.count(COST) == 1
    assert ran.stderr.index(COST) < ran.stderr.index("told: yes")
