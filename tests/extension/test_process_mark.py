"""Whether a process still runs, told by more than its number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lobu_provider import process_mark
from lobu_provider.process_mark import ProcessMark, host_mark, own_mark, this_machine

TELL = (
    "import json; from lobu_provider.process_mark import host_mark; "
    "print(json.dumps(host_mark().written()))"
)


def told(*command: str) -> ProcessMark:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    mark = ProcessMark.read(json.loads(done.stdout))
    assert mark is not None
    return mark


def test_the_host_is_the_process_that_started_this_one() -> None:
    mark = told(sys.executable, "-c", TELL)
    assert mark.pid == os.getpid()
    assert not mark.is_gone()


def test_a_host_that_has_ended_is_gone() -> None:
    # "; true": else the shell would become the program instead of starting it
    mark = told("/bin/sh", "-c", f'"{sys.executable}" -c "{TELL}"; true')
    assert mark.pid != os.getpid()
    assert mark.is_gone()


def test_another_process_with_the_same_number_is_not_it() -> None:
    mark = told(sys.executable, "-c", TELL)
    assert replace(mark, started="before").is_gone()


def test_what_cannot_be_told_is_not_gone() -> None:
    mark = told(sys.executable, "-c", TELL)
    assert not replace(mark, pid=2**22 + 1, machine="elsewhere").is_gone()
    assert replace(mark, pid=2**22 + 1).is_gone()


def test_a_mark_without_a_start_is_gone_when_no_process_has_its_number() -> None:
    mark = replace(told(sys.executable, "-c", TELL), started="")
    assert not mark.is_gone()
    assert replace(mark, pid=2**22 + 1).is_gone()


def test_where_the_start_of_the_host_is_not_told_the_mark_is_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = process_mark._started
    parent = os.getppid()  # a zombie by now, or not there
    monkeypatch.setattr(process_mark, "_started", lambda pid: "" if pid == parent else started(pid))
    process_mark.host_mark.cache_clear()
    try:
        assert host_mark() == own_mark()
        assert host_mark().pid == os.getpid()
        assert host_mark().started
    finally:
        process_mark.host_mark.cache_clear()


ADOPT = """
import ctypes, os, subprocess, sys
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER, as systemd --user
host = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
host.wait()
os.wait()
"""
HOST = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", {worker!r}, str(os.getpid())])
if {late}: os._exit(0)
sys.stdin.read(1)
"""
WAIT = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): os.sched_yield()\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only there can a process adopt others")
@pytest.mark.parametrize("loaded", ["before", "after"])
def test_a_process_that_has_adopted_this_one_is_not_its_host(loaded: str) -> None:
    load = "import lobu_provider.process_mark\nprint('loaded', flush=True)\n"
    worker = load + WAIT + TELL if loaded == "before" else WAIT + TELL
    host = HOST.format(worker=f"{worker}\nprint(os.getpid())", late=loaded == "after")
    command = [sys.executable, "-c", ADOPT, host]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        if loaded == "before":
            assert process.stdout.readline() == "loaded\n"
            process.stdin.close()
        written, pid = process.stdout.readlines()
    mark = ProcessMark.read(json.loads(written))
    assert mark is not None
    assert mark.pid == int(pid)
    assert mark.is_gone()


def test_where_there_is_no_proc_the_ps_command_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.access("/bin/ps", os.X_OK):
        pytest.skip("there is no ps")
    monkeypatch.setattr(process_mark, "_PROC", Path("/no-proc"))
    process_mark.host_mark.cache_clear()
    try:
        mark = process_mark.host_mark()
        assert mark.started
        assert not mark.is_gone()
        assert replace(mark, started="before").is_gone()
        assert replace(mark, pid=2**22 + 1).is_gone()
    finally:
        process_mark.host_mark.cache_clear()


def test_a_mark_is_read_as_it_was_written() -> None:
    assert ProcessMark.read(host_mark().written()) == host_mark()
    assert host_mark().machine == this_machine()


@pytest.mark.parametrize("value", [None, 7, [], {}, {"machine": 1, "pid": "x", "started": None}])
def test_anything_else_is_no_mark(value: object) -> None:
    assert ProcessMark.read(value) is None
