"""The ledger: what a run has created and not deleted, over processes and their deaths."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import ledger, ledger_files, process_mark
from lobu_provider.config.settings import load_settings
from lobu_provider.ledger_folder import folder
from lobu_provider.session_notes import marker_of, notes_for
from tests.extension.conftest import TOKEN, age

RUN = "eval-abc-2026-09-01T10:00:00"
GATEWAY = "http://localhost:8787/lobu"


def note(thread: str, session_id: str = "", run: str = RUN) -> bool:
    return ledger.note_created(run, GATEWAY, session_id or f"id-{thread}", "a", thread)


def threads(run: str = RUN) -> list[str]:
    return [session.thread for session in ledger.left(run)]


def test_what_was_created_and_not_deleted_is_left(ledgers: Path) -> None:
    assert note("one")
    assert note("two")
    assert ledger.note_deleted(RUN, GATEWAY, "a", "one")
    assert ledger.left(RUN) == [ledger.LeftSession(GATEWAY, "a", "two", "id-two", "")]


def test_runs_do_not_see_each_other(ledgers: Path) -> None:
    note("one", run="eval-1:a")
    note("two", run="eval-1-a")
    assert threads("eval-1:a") == ["one"]
    assert threads("eval-1-a") == ["two"]


def test_a_note_before_the_create_is_replaced_by_the_one_with_the_id(ledgers: Path) -> None:
    ledger.note_created(RUN, GATEWAY, "", "a", "one")
    assert [s.session_id for s in ledger.left(RUN)] == [""]
    note("one", "the-id")
    assert [s.session_id for s in ledger.left(RUN)] == ["the-id"]


def test_only_the_user_can_read_it_and_it_holds_ids_only(ledgers: Path) -> None:
    note("one")
    (path,) = ledgers.iterdir()
    assert stat.S_IMODE(ledgers.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    record = json.loads(path.read_text())
    assert set(record) == {
        "run", "did", "gateway", "agent", "thread", "session", "marker", "host",
    }  # fmt: skip


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_LEDGER_DIR", "off")
    assert not note("one")
    assert threads() == []
    assert ledger.forget(RUN)
    assert list(ledger.runs()) == []


def test_the_usual_place_is_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if sys.platform in ("darwin", "win32"):
        pytest.skip("there it is another folder")
    monkeypatch.delenv("LOBU_LEDGER_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert folder(create=True) == tmp_path / "cache" / "lobu-provider" / "sessions"


def test_without_a_home_it_lies_in_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LOBU_LEDGER_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = folder(create=True)
    assert found is not None
    assert found.is_relative_to(tmp_path)
    assert stat.S_IMODE(found.stat().st_mode) == 0o700


def test_a_line_that_a_dying_process_cut_off_spoils_no_other(ledgers: Path) -> None:
    note("one")
    (path,) = ledgers.iterdir()
    with path.open("a") as file:
        file.write('\n{"did": "create", "thre')
    note("two")
    assert threads() == ["one", "two"]


@pytest.mark.parametrize(
    "text", ["[]", "7", "null", '{"did": 7}', '{"thread": []}', "\0\0", "[" * 9000]
)
def test_what_is_no_record_is_skipped(ledgers: Path, text: str) -> None:
    note("one")
    (path,) = ledgers.iterdir()
    path.write_text(f"{text}\n{path.read_text()}")
    assert threads() == ["one"]


def test_many_processes_write_at_once_and_every_record_is_whole(ledgers: Path) -> None:
    code = (
        "import sys; from lobu_provider import ledger\n"
        "run, name = sys.argv[1:]\n"
        "for n in range(200):\n"
        "    assert ledger.note_created(run, 'g', 'x' * 300, 'a', f'{name}-{n}')\n"
        "for n in range(100):\n"
        "    assert ledger.note_deleted(run, 'g', 'a', f'{name}-{n}')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, RUN, name]) for name in "pqrs"]
    assert [writer.wait(50) for writer in writers] == [0] * 4
    assert sorted(threads()) == sorted(f"{w}-{n}" for w in "pqrs" for n in range(100, 200))


def test_a_record_written_while_the_file_is_removed_is_not_lost(ledgers: Path) -> None:
    code = (
        "import sys; from lobu_provider import ledger\n"
        "for n in range(300):\n"
        f"    assert ledger.note_created({RUN!r}, 'g', 'i', 'a', str(n))\n"
        f"    if n % 3: assert ledger.note_deleted({RUN!r}, 'g', 'a', str(n))\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code])
    while writer.poll() is None:
        ledger.forget(RUN)
    assert writer.returncode == 0
    assert sorted(threads(), key=int) == [str(n) for n in range(0, 300, 3)]


def test_a_process_that_keeps_the_lock_holds_up_neither_notes_nor_removals(ledgers: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    note("one")
    ledger.note_deleted(RUN, GATEWAY, "a", "one")
    (path,) = ledgers.iterdir()
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert note("two")
        age(path, ledger.EXPIRED_S + 1)
        assert list(ledger.runs()) == []
        assert path.exists()
    assert threads() == ["two"]
    assert list(ledger.runs()) == []
    assert not path.exists()


def test_a_note_is_written_again_where_the_file_was_removed_meanwhile(
    ledgers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note("one")
    (path,) = ledgers.iterdir()
    write = os.write

    def removed_before_the_write(file: int, line: bytes) -> int:
        if b'"two"' in line and path in ledgers.iterdir() and b"one" in path.read_bytes():
            path.unlink()
        return write(file, line)

    monkeypatch.setattr(ledger_files, "_lock", lambda file, *, exclusive: False)
    monkeypatch.setattr(os, "write", removed_before_the_write)
    assert note("two")
    assert threads() == ["two"]


def test_a_run_is_forgotten_when_nothing_is_left(ledgers: Path) -> None:
    note("one")
    assert not ledger.forget(RUN)
    ledger.note_deleted(RUN, GATEWAY, "a", "one")
    assert ledger.forget(RUN)
    assert list(ledgers.iterdir()) == []
    assert ledger.forget(RUN)


def test_a_run_whose_promptfoo_lives_is_not_dead(ledgers: Path) -> None:
    note("one")
    (path,) = ledgers.iterdir()
    age(path, ledger.QUIET_S + 1)
    assert [run.is_dead for run in ledger.runs()] == [False]


def test_a_run_is_dead_when_its_promptfoo_has_ended_and_a_while_has_passed(
    ledgers: Path, end_of_run: Callable[[], None]
) -> None:
    note("one")
    assert [run.is_dead for run in ledger.runs()] == [False]
    end_of_run()
    assert list(ledger.runs()) == [ledger.Run(RUN, ledger.left(RUN), is_dead=True)]


def test_a_killed_run_of_many_sessions_costs_one_look_at_its_process(
    ledgers: Path, end_of_run: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        note(str(number))
    end_of_run()
    looks: list[int] = []

    def started(pid: int) -> str:
        looks.append(pid)
        return ""

    monkeypatch.setattr(process_mark, "_started", started)
    assert [run.is_dead for run in ledger.runs()] == [True]
    assert len(looks) == 1


def test_a_file_that_is_being_written_is_not_read_to_find_dead_runs(
    ledgers: Path, end_of_run: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    note("one", run="dead")
    end_of_run()
    note("two", run="alive")
    read: list[str] = []

    def reading(path: Path) -> list[dict[str, Any]]:
        read.append(path.name)
        return ledger_files.read(path)

    monkeypatch.setattr(ledger, "read", reading)
    found = list(ledger.runs(at_least_quiet_s=ledger.QUIET_S))
    assert [(run.evaluation_id, run.is_dead) for run in found] == [("dead", True)]
    assert len(read) == 1


def test_where_an_open_file_cannot_be_removed_it_is_closed_before(
    ledgers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note("one")
    ledger.note_deleted(RUN, GATEWAY, "a", "one")
    (path,) = ledgers.iterdir()
    opened: set[int] = set()
    open_file, close_file, unlink = os.open, os.close, Path.unlink

    def opening(name: Any, *arguments: Any) -> int:
        file = open_file(name, *arguments)
        if Path(name) == path:
            opened.add(file)
        return file

    def closing(file: int) -> None:
        opened.discard(file)
        close_file(file)

    def unlinking(name: Path, missing_ok: bool = False) -> None:
        assert not opened
        unlink(name, missing_ok)

    monkeypatch.setattr(ledger, "_CAN_REMOVE_OPEN", False)
    monkeypatch.setattr(ledger, "read", lambda _: [])
    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "close", closing)
    monkeypatch.setattr(Path, "unlink", unlinking)
    assert ledger.forget(RUN)
    assert not path.exists()


def test_a_run_of_another_machine_is_never_called_dead(
    ledgers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lobu_provider.process_mark import ProcessMark

    monkeypatch.setattr(ledger, "host_mark", lambda: ProcessMark("elsewhere", 1, "1"))
    note("one")
    (path,) = ledgers.iterdir()
    age(path, 3600)
    assert [run.is_dead for run in ledger.runs()] == [False]


def test_files_of_expired_sessions_go_when_another_run_writes(ledgers: Path) -> None:
    note("one")
    (path,) = ledgers.iterdir()
    age(path, ledger.EXPIRED_S + 1)
    command = "from lobu_provider import ledger; ledger.note_created('new', 'g', 'i', 'a', 't')"
    subprocess.run([sys.executable, "-c", command], check=True)
    assert not path.exists()
    assert len(list(ledgers.iterdir())) == 1


def test_a_run_that_cannot_be_read_is_no_fault(ledgers: Path) -> None:
    ledgers.mkdir(mode=0o700)
    (ledgers / "link.jsonl").symlink_to("/etc/hostname")
    (ledgers / "folder.jsonl").mkdir()
    (ledgers / "empty.jsonl").touch()
    assert all(not run.sessions for run in ledger.runs())


def test_a_pipe_among_the_ledgers_holds_up_nobody(ledgers: Path) -> None:
    assert note("one")
    (path,) = ledgers.iterdir()
    os.mkfifo(ledgers / "pipe.jsonl")
    assert sorted(len(run.sessions) for run in ledger.runs()) == [0, 1]
    path.unlink()
    os.mkfifo(path)  # also under the name of the run's own file
    assert not note("two")
    assert threads() == []
    ledger.forget(RUN)


def settings(**config: Any) -> Any:
    return load_settings({"config": {"agent": "a", **config}})


def test_the_marker_tells_accounts_apart_and_does_not_come_from_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = marker_of(settings(tokenEnv="ONE"))
    assert one == marker_of(settings(tokenEnv="ONE", timeoutMs=5000))
    assert one != marker_of(settings(tokenEnv="TWO"))
    assert one != marker_of(settings(tokenEnv="ONE", org="other"))
    assert marker_of(settings(token=TOKEN)) == marker_of(settings(token="another1"))


def test_a_call_notes_its_session_from_before_the_create_to_the_end(ledgers: Path) -> None:
    notes = notes_for(settings(tokenEnv="ONE"), RUN, "one")
    assert notes is not None
    notes.creating()
    (session,) = ledger.left(RUN)
    assert (session.thread, session.session_id) == ("one", "")
    assert session.gateway == GATEWAY
    assert session.marker == marker_of(settings(tokenEnv="ONE"))
    notes.created("the-id")
    assert [s.session_id for s in ledger.left(RUN)] == ["the-id"]
    notes.gone()
    assert ledger.left(RUN) == []


@pytest.mark.parametrize(
    ("config", "evaluation_id"),
    [
        ({}, None),
        ({}, ""),
        ({}, 7),
        ({"gateway": "script:demo"}, RUN),
        ({"thread": "mine"}, RUN),
        ({"keepSession": True}, RUN),
    ],
)
def test_what_is_no_session_of_a_run_or_is_to_stay_is_not_noted(
    config: dict[str, Any], evaluation_id: Any
) -> None:
    assert notes_for(settings(**config), evaluation_id, "t") is None


def test_importing_it_costs_next_to_nothing() -> None:
    code = "import sys, lobu_provider.ledger; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert not {"pydantic", "httpx", "anyio", "subprocess"} & set(done.stdout.split())


def test_a_deletion_that_is_told_after_the_sweep_makes_no_new_file(ledgers: Path) -> None:
    assert note("one")
    ledger.note_deleted(RUN, GATEWAY, "a", "one")
    assert ledger.forget(RUN)
    ledger.note_deleted(RUN, GATEWAY, "a", "one")
    assert list(ledger.runs()) == []
