"""Every command on results files, on real runs of both promptfoos through both doors.

The runs: repeats, two providers, tests that pass, fail, are flaky, break or never reach the
agent; the same with planted faults, in two shards; and a paused one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran, run_in_process
from tests.e2e.conftest import CANARY, COMMANDS, installed
from tests.e2e.real_runs.making import RealRuns, run_all
from tests.e2e.real_runs.suite import DOORS

Command = Callable[..., Ran]


@pytest.fixture(
    scope="session",
    params=[(version, door) for version in sorted(COMMANDS) for door in DOORS],
    ids=lambda param: "-".join(param),
)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RealRuns:
    """All runs, once for each version and door, also where pytest-xdist has several workers."""
    version, door = request.param
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"{version}-{door}"
    promptfoo = installed(version, folder)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            run_all(promptfoo, door)
    return RealRuns(promptfoo, door)


@pytest.fixture
def command(runs: RealRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """A function that runs a command beside the results; what it prints has no token in it."""
    for entry in runs.folder.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    printed = []

    def run(*words: str) -> Ran:
        printed.append(run_in_process(*words))
        return printed[-1]

    yield run
    assert not [one for one in printed if CANARY in one.output]


@pytest.fixture
def told(command: Command) -> Callable[..., Any]:
    """A function that runs a command and reads its JSON."""
    return lambda *words: json.loads(command(*words, "--json").stdout)
