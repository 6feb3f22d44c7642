"""Which folder the ledgers lie in, and what is told where it cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lobu_provider import ledger
from lobu_provider.extension.hooks import before_all
from lobu_provider.ledger_folder import folder, folder_fault
from tests.extension.conftest import Serve, python_provider, suite_of

posix = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


def noted() -> bool:
    return ledger.note_created("eval-1", "g", "i", "a", "t")


def test_a_folder_that_is_not_there_is_made_and_nothing_is_told(ledgers: Path) -> None:
    assert folder_fault() is None
    assert list(ledgers.iterdir()) == []
    assert noted()


@posix
def test_a_folder_made_under_the_usual_umask_is_used(ledgers: Path) -> None:
    ledgers.mkdir()
    ledgers.chmod(0o755)
    assert folder_fault() is None
    assert noted()
    assert [path.stat().st_mode & 0o777 for path in ledgers.iterdir()] == [0o600]


def open_to_a_group(path: Path) -> None:
    path.mkdir()
    path.chmod(0o775)


def open_to_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def link(path: Path) -> None:
    target = path.with_name("target")
    target.mkdir(mode=0o700)
    path.symlink_to(target)


def under_a_file(path: Path) -> None:
    path.symlink_to("/dev/null/no-folder")


@posix
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (open_to_a_group, "can be written to by others (mode 0775)"),
        (open_to_all, "can be written to by others (mode 0777)"),
        (link, "is a symbolic link"),
        (under_a_file, "is a symbolic link"),
        (Path.touch, "is no folder"),
    ],
)
def test_a_folder_that_cannot_be_used_is_not_and_the_reason_is_told(
    ledgers: Path, make: Callable[[Path], object], reason: str
) -> None:
    make(ledgers)
    assert folder(create=True) is None
    assert not noted()
    said = folder_fault()
    assert said is not None
    assert f"the folder {str(ledgers)!r} {reason}. Set LOBU_LEDGER_DIR to a folder of" in said


@posix
@pytest.mark.parametrize("given", ["/dev/null", "/dev/null/deeper"])
def test_a_path_where_no_folder_can_be_is_told(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("LOBU_LEDGER_DIR", given)
    said = folder_fault()
    assert said is not None
    assert f"the folder {given!r} " in said
    assert not noted()


@posix
def test_a_folder_of_another_user_is_told(ledgers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledgers.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: ledgers.stat().st_uid + 1)
    assert "belongs to another user" in str(folder_fault())
    assert not noted()


@posix
def test_a_disk_that_takes_nothing_is_told_and_leaves_no_file(ledgers: Path) -> None:
    full = (
        "import resource; from lobu_provider.ledger_folder import folder_fault\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))\n"
        "print(folder_fault())\n"
    )
    done = subprocess.run([sys.executable, "-c", full], capture_output=True, text=True, check=True)
    assert f"the folder {str(ledgers)!r} cannot be written to: " in done.stdout
    assert list(ledgers.iterdir()) == []


def test_where_it_is_switched_off_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_LEDGER_DIR", "off")
    assert folder_fault() is None


@pytest.mark.usefixtures("patient", "token")
def test_the_hook_tells_once_before_a_run(serve: Serve, ledgers: Path, told: list[str]) -> None:
    ledgers.touch()
    before_all({"suite": suite_of(serve().provider(), serve().provider())}, say=told.append)
    (said,) = told
    assert "is no folder" in said


def test_the_hook_tells_nothing_where_nothing_would_be_written_down(
    ledgers: Path, told: list[str]
) -> None:
    ledgers.touch()
    demo = python_provider(agent="a", gateway="script:demo")
    before_all({"suite": suite_of(demo)}, say=told.append)
    assert told == []
