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
from lobu_provider.process_mark import ProcessMark, host_mark, this_machine

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
    assert not replace(mark, pid=2**22 + 1, started="").is_gone()
    assert replace(mark, pid=2**22 + 1).is_gone()


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
