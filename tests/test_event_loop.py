"""What runs a coroutine ends with it, also where a name is never looked up."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.event_loop import run

LIMIT_S = 60
"""A net under processes that end within seconds when all is well."""

HANGING = """
import socket, threading
real = socket.getaddrinfo
def look_up(host, *args, **kwargs):
    if "slow" in str(host):
        threading.Event().wait()
    return real(host, *args, **kwargs)
socket.getaddrinfo = look_up
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables of a process whose look-ups of slow.example hang for ever."""
    (tmp_path / "sitecustomize.py").write_text(HANGING, encoding="utf-8")
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(tmp_path), *([before] if before else [])])
    ledgers = str(tmp_path / "ledgers")
    token = "owl_pat_x12345"
    return {**os.environ, "PYTHONPATH": path, "LOBU_TOKEN": token, "LOBU_LEDGER_DIR": ledgers}


def ended(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_a_look_up_that_hangs_holds_neither_the_call_nor_the_end_of_the_process(
    environment: dict[str, str],
) -> None:
    program = """
import asyncio
from lobu_provider.event_loop import run
async def main():
    loop = asyncio.get_running_loop()
    try:
        await asyncio.wait_for(loop.getaddrinfo("slow.example", 80), 0.05)
    except asyncio.TimeoutError:
        return "in time"
print(run(main()))
"""
    done = ended(environment, "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "in time\n", "")


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_ask_ends_in_time_where_a_name_is_never_looked_up(
    environment: dict[str, str], json_option: list[str]
) -> None:
    where = ["--gateway", "http://slow.example:80", "--agent", "a", "--timeout-ms", "500"]
    done = ended(environment, "-m", "lobu_provider", "ask", *json_option, *where, "hi")
    assert done.returncode == 3
    assert "[timeout]" in done.stdout + done.stderr


def test_the_sweep_after_a_run_ends_in_time_where_a_name_is_never_looked_up(
    environment: dict[str, str],
) -> None:
    program = """
from lobu_provider import ledger
from lobu_provider.extension import hooks
ledger.note_created("eval-x", "http://slow.example/lobu", "s-1", "a", "t-1", marker="")
config = {"agent": "a", "gateway": "http://slow.example"}
suite = {"providers": [{"scriptPath": "lobu_hook.py", "options": {"config": config}}]}
hooks.AFTER_S = 1.0
hooks.after_all({"evalId": "eval-x", "suite": suite})
"""
    done = ended(environment, "-c", program)
    assert done.returncode == 0
    assert "1 session of this run could not be deleted" in done.stderr


def test_what_work_in_a_thread_returns_or_raises_comes_back() -> None:
    async def main() -> Any:
        number = await asyncio.to_thread(int, "7", base=8)
        with pytest.raises(ValueError, match="invalid literal"):
            await asyncio.to_thread(int, "x")
        return number

    assert run(main()) == 7
