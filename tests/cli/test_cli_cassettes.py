"""``cassettes``, ``drift`` and ``record`` on the command line."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import click
import pytest

from lobu_provider import LobuProvider
from lobu_provider.cli.record import _ONLY_WITH_DRIFT, record
from lobu_provider.event_loop import run
from tests.cli.conftest import Process, RunCli, StartCli
from tests.wire.wire_recordings import FOLDER


def recorded(
    folder: Path,
    message: str,
    *,
    tool: str = "look_up",
    run_id: str = "eval-1",
    given: dict[str, Any] | None = None,
) -> None:
    """Record one conversation with an agent that calls one tool."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    arguments = {"id": 7} if given is None else given
    steps = [{"tool": {"name": tool, "input": arguments}}, {"text": "Found.", "delay_ms": 0}]
    script = folder.parent / "script.json"
    script.write_text(json.dumps({"version": 1, "replies": [{"steps": steps}]}), "utf-8")
    config = {"agent": "a", "gateway": f"script:{script}", "cassettes": str(folder)}
    provider = LobuProvider({"config": {**config, "cassetteMode": "record"}})
    row = run(provider.call_api(message, {"evaluationId": run_id}))
    assert "error" not in row


@pytest.fixture
def old(tmp_path: Path) -> Path:
    recorded(tmp_path / "old", "Find it.")
    return tmp_path / "old"


def test_list_tells_each_cassette_and_what_is_wrong_with_any(run_cli: RunCli, old: Path) -> None:
    ran = run_cli("cassettes", "list", str(old))
    assert ran.exit_code == 0
    assert ran.stdout.startswith("find-it-")
    assert ": 1 turns, a, 20" in ran.stdout
    broken = old / "broken-0123456789ab.jsonl"
    broken.write_text('{"cassette": 7}\n')
    ran = run_cli("cassettes", "list", str(old), "--json")
    assert ran.exit_code == 1
    faults = {row["file"]: row["fault"] for row in json.loads(ran.stdout) if "fault" in row}
    assert faults == {broken.name: "it is stale: format 7, and this version reads 1"}


def test_show_reads_like_the_conversation(run_cli: RunCli, old: Path) -> None:
    (path,) = old.iterdir()
    ran = run_cli("cassettes", "show", str(path))
    assert ran.exit_code == 0
    assert '[1] user: Find it.\n    look_up {"id": 7}\n    agent: Found.' in ran.stdout
    told = json.loads(run_cli("cassettes", "show", str(path), "--json").stdout)
    assert [call["name"] for call in told["told"][0]["toolCalls"]] == ["look_up"]


def test_prune_lists_what_the_last_run_did_not_use_and_removes_it_only_when_told_to(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOBU_LEDGER_DIR", str(tmp_path / "ledgers"))
    folder = tmp_path / "cassettes"
    recorded(folder, "First.", run_id="eval-1")
    recorded(folder, "Second.", run_id="eval-2")
    ran = run_cli("cassettes", "prune", str(folder))
    assert ran.exit_code == 0
    assert [Path(line).name.partition("-")[0] for line in ran.stdout.splitlines()] == ["first"]
    assert len(list(folder.iterdir())) == 2
    assert run_cli("cassettes", "prune", str(folder), "--yes").exit_code == 0
    assert [path.name.partition("-")[0] for path in folder.iterdir()] == ["second"]


def test_prune_removes_nothing_where_no_run_is_known(run_cli: RunCli, old: Path) -> None:
    ran = run_cli("cassettes", "prune", str(old), "--yes")
    assert ran.exit_code == 2
    assert "No run that used" in ran.stderr
    assert len(list(old.iterdir())) == 1


def test_to_script_prints_a_script_that_ask_can_use(
    run_cli: RunCli, old: Path, tmp_path: Path
) -> None:
    (path,) = old.iterdir()
    ran = run_cli("cassettes", "to-script", str(path))
    script = tmp_path / "made.json"
    script.write_text(ran.stdout, "utf-8")
    asked = run_cli("ask", "--gateway", f"script:{script}", "--agent", "a", "Find it.")
    assert (asked.exit_code, asked.stdout.strip()) == (0, "Found.")


def test_import_makes_cassettes_and_goes_on_after_what_is_none(
    run_cli: RunCli, tmp_path: Path
) -> None:
    files = [str(FOLDER / f"{name}.json") for name in ("http-errors", "simple")]
    ran = run_cli("cassettes", "import", *files, "--to", str(tmp_path / "made"))
    assert ran.exit_code == 1
    assert "http-errors.json: it holds no session" in ran.stderr
    assert len(list((tmp_path / "made").iterdir())) == 1


@pytest.mark.parametrize("command", [["cassettes", "show"], ["cassettes", "to-script"]])
def test_a_file_that_is_no_cassette_is_told_as_that(
    run_cli: RunCli, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "odd").write_text("{}")
    ran = run_cli(*command, str(tmp_path / "odd"))
    assert ran.exit_code == 1
    assert "first line is not that of a cassette" in ran.stderr


def test_drift_is_told_as_a_table_as_json_and_as_junit_and_fails_only_when_strict(
    run_cli: RunCli, old: Path, tmp_path: Path
) -> None:
    new, report = tmp_path / "new", tmp_path / "drift.xml"
    recorded(new, "Find it.", tool="search")
    ran = run_cli("drift", str(old), str(new), "--junit", str(report))
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[0].split() == ["CASE", "TURN", "FIELD", "OLD", "NEW"]
    assert "look_up" in ran.stdout
    assert ran.stdout.rstrip().endswith("1 conversations: 1 drifted")
    (failure,) = Xml.parse(report).iter("failure")  # noqa: S314 - our own
    assert failure.get("message") == "turn 1: tools: look_up -> search"
    strict = run_cli("drift", str(old), str(new), "--json", "--strict")
    assert strict.exit_code == 1
    (case,) = json.loads(strict.stdout)
    assert case["differences"] == [{"turn": 1, "field": "tools", "old": "look_up", "new": "search"}]
    assert run_cli("drift", str(old), str(old), "--strict").exit_code == 0


@pytest.mark.parametrize("new", ["empty", "old"])
def test_drift_without_an_older_cassette_is_a_mistake(
    run_cli: RunCli, old: Path, tmp_path: Path, new: str
) -> None:
    (tmp_path / "empty").mkdir()
    ran = run_cli("drift", str(tmp_path / "empty"), str(tmp_path / new))
    assert ran.exit_code == 2
    assert "empty holds no cassette, so there is nothing to compare with" in ran.stderr


FAKE: str = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
told = {{k: v for k, v in os.environ.items() if k.startswith("LOBU_CASSETTE")}}
(here / "told.json").write_text(json.dumps([sys.argv[1:], told]))
from lobu_provider import LobuProvider
from lobu_provider.event_loop import run
config = json.loads((here / "promptfooconfig.json").read_text())["providers"][0]["config"]
provider = LobuProvider({{"config": {{**config, "basePath": str(here)}}}})
run(provider.call_api("Find it.", {{}}))
sys.exit({code})
"""


def suite(tmp_path: Path, *, code: int = 0, **config: Any) -> Path:
    """A config, and a promptfoo that makes one call and writes down how it was started."""
    steps = [{"tool": {"name": "search"}}, {"text": "Found.", "delay_ms": 0}]
    folder = tmp_path / "suite"
    folder.mkdir(exist_ok=True)
    (folder / "s.json").write_text(json.dumps({"version": 1, "replies": [{"steps": steps}]}))
    given = {"agent": "a", "gateway": "script:s.json", "cassettes": "old", **config}
    path = folder / "promptfooconfig.json"
    path.write_text(json.dumps({"providers": [{"id": "file://lobu_hook.py", "config": given}]}))
    program = folder / "promptfoo"
    program.write_text(FAKE.format(python=sys.executable, code=code))
    program.chmod(0o755)
    return path


def test_record_runs_promptfoo_in_record_mode_and_ends_as_it_does(
    run_cli: RunCli, tmp_path: Path
) -> None:
    path = suite(tmp_path, code=100)
    program = str(path.parent / "promptfoo")
    ran = run_cli("record", str(path), "--promptfoo", program, "-j", "4")
    assert ran.exit_code == 100
    arguments, told = json.loads((path.parent / "told.json").read_text())
    assert arguments == ["eval", "-c", str(path), "--no-cache", "-j", "4"]
    assert told == {"LOBU_CASSETTE_MODE": "record"}
    assert len(list((path.parent / "old").iterdir())) == 1


def test_record_refuses_a_config_without_a_folder_of_cassettes_before_anything_runs(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = suite(tmp_path, cassettes=None)
    words = ("record", str(path), "--promptfoo", str(path.parent / "promptfoo"))
    refused = run_cli(*words)
    assert (refused.exit_code, (path.parent / "told.json").exists()) == (2, False)
    assert "given in providers[0], so each of its rows would be an error" in refused.stderr
    assert "Add to its config:  cassettes: cassettes  or set LOBU_CASSETTES." in refused.stderr
    monkeypatch.setenv("LOBU_CASSETTES", str(tmp_path / "new"))
    assert run_cli(*words).exit_code == 0
    assert (path.parent / "told.json").exists()


def test_record_with_drift_leaves_the_committed_files_as_they_are(
    run_cli: RunCli, tmp_path: Path
) -> None:
    path = suite(tmp_path)
    recorded(path.parent / "old", "Find it.", tool="look_up")
    before = {file: file.read_bytes() for file in (path.parent / "old").iterdir()}
    options = ["--drift", "--strict", "--promptfoo", str(path.parent / "promptfoo"), "--json"]
    ran = run_cli("record", str(path), *options)
    assert ran.exit_code == 1
    assert json.loads(ran.stdout)[0]["differences"][0]["new"] == "search"
    assert {file: file.read_bytes() for file in (path.parent / "old").iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [["--against", "."], ["--keep", "new"], ["--text"], ["--json"], ["--junit", "x"], ["--strict"]],
)
def test_record_refuses_an_option_of_drift_without_it_before_anything_is_overwritten(
    run_cli: RunCli, tmp_path: Path, words: list[str]
) -> None:
    path = suite(tmp_path)
    ran = run_cli("record", str(path), *words, "--promptfoo", str(path.parent / "promptfoo"))
    assert (ran.exit_code, (path.parent / "told.json").exists()) == (2, False)
    assert f"{words[0]} needs --drift: without it the committed cassettes" in ran.stderr


def test_every_option_that_says_with_drift_is_refused_without_it() -> None:
    options = [one for one in record.params if isinstance(one, click.Option)]
    said = {one.name for one in options if str(one.help).startswith("With --drift")}
    assert said == set(_ONLY_WITH_DRIFT)


@pytest.mark.parametrize("keep", ["old", "old/tonight", "yesterday"])
def test_record_with_drift_keeps_nothing_where_older_recordings_would_count_as_its_own(
    run_cli: RunCli, tmp_path: Path, keep: str
) -> None:
    path = suite(tmp_path)
    for name in ("old", "yesterday"):
        recorded(path.parent / name, "Find it.")
    options = ["--drift", "--keep", str(path.parent / keep)]
    ran = run_cli("record", str(path), *options, "--promptfoo", str(path.parent / "promptfoo"))
    assert (ran.exit_code, (path.parent / "told.json").exists()) == (2, False)
    assert f"--keep {path.parent / keep} " in ran.stderr


@pytest.mark.parametrize(
    ("code", "tool", "expected"),
    [(0, "search", 0), (0, "look_up", 1), (100, "search", 100), (100, "look_up", 100), (3, "x", 3)],
)
def test_record_with_drift_ends_as_promptfoo_did_and_else_by_what_drifted(
    run_cli: RunCli, tmp_path: Path, code: int, tool: str, expected: int
) -> None:
    path = suite(tmp_path, code=code)
    recorded(path.parent / "old", "Find it.", tool=tool, given={})
    program = str(path.parent / "promptfoo")
    ran = run_cli("record", str(path), "--drift", "--strict", "--promptfoo", program)
    assert ran.exit_code == expected
    assert "1 conversations: " in ran.stdout
    assert ("PROMPTFOO_FAILED_TEST_EXIT_CODE=0" in ran.stderr) == (code == 100)
    loose = run_cli("record", str(path), "--drift", "--promptfoo", program)
    assert loose.exit_code == code


def test_record_with_drift_ends_with_1_where_nothing_was_recorded(
    run_cli: RunCli, tmp_path: Path
) -> None:
    path = suite(tmp_path)
    recorded(path.parent / "old", "Find it.")
    program = path.parent / "promptfoo"
    program.write_text("#!/bin/sh\nexit 100\n")
    ran = run_cli("record", str(path), "--drift", "--promptfoo", str(program))
    assert ran.exit_code == 1
    assert "ended with exit code 100, and nothing was recorded" in ran.stderr


def test_record_with_drift_needs_something_to_compare_with(run_cli: RunCli, tmp_path: Path) -> None:
    path = suite(tmp_path)
    words = ("record", str(path), "--drift", "--promptfoo", str(path.parent / "promptfoo"))
    refused = run_cli(*words)
    assert refused.exit_code == 2
    assert "to compare with. Record first, without --drift" in refused.stderr
    (path.parent / "old").mkdir()
    refused = run_cli(*words)
    assert refused.exit_code == 2
    assert "old holds no cassette to compare with. Record first" in refused.stderr
    assert not (path.parent / "told.json").exists()


WAITING = """#!{python}
import pathlib, signal, sys
def end(number, frame):
    (pathlib.Path(__file__).parent / "heard").write_text(str(number))
    sys.exit(7)
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), end)
sys.stderr.write("waiting\\n")
sys.stderr.flush()
while True:
    signal.pause()
"""


def waiting(
    start_cli: StartCli, tmp_path: Path, *options: str, program: str = WAITING
) -> tuple[Process, Path]:
    """Start a recording whose promptfoo waits for a signal; returns it and the suite's folder."""
    path = suite(tmp_path)
    promptfoo = path.parent / "promptfoo"
    promptfoo.write_text(program.format(python=sys.executable))
    if options:
        recorded(path.parent / "old", "Find it.")
    recording = start_cli("record", str(path), *options, "--promptfoo", str(promptfoo))
    recording.stderr.wait_for("waiting")
    return recording, path.parent


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to one child process")
@pytest.mark.parametrize("drift", [[], ["--drift"]])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_record_ends_with_its_promptfoo_when_it_is_told_to_end(
    start_cli: StartCli, tmp_path: Path, number: signal.Signals, drift: list[str]
) -> None:
    recording, folder = waiting(start_cli, tmp_path, *drift)
    recording.process.send_signal(number)
    assert recording.end() == 128 + number
    assert (folder / "heard").read_text() == str(int(number))
    assert "Interrupted; promptfoo ended with exit code 7." in recording.stderr.text
    assert recording.stdout.text == ""  # nothing is compared


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to one child process")
def test_record_kills_a_promptfoo_that_does_not_end_at_the_second_signal(
    start_cli: StartCli, tmp_path: Path
) -> None:
    deaf = WAITING.replace("sys.exit(7)", 'sys.stderr.write("heard it\\n"); sys.stderr.flush()')
    recording, _ = waiting(start_cli, tmp_path, program=deaf)
    recording.process.send_signal(signal.SIGTERM)
    recording.stderr.wait_for("heard it")
    recording.process.send_signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM
    assert "promptfoo ended with exit code 137" in recording.stderr.text


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to one child process")
def test_record_waits_at_ctrl_c_for_promptfoo_which_hears_it_from_the_terminal(
    start_cli: StartCli, tmp_path: Path
) -> None:
    recording, folder = waiting(start_cli, tmp_path)
    recording.process.send_signal(signal.SIGINT)
    recording.process.send_signal(signal.SIGTERM)  # it was not ended by the first
    assert recording.end() == 128 + signal.SIGINT
    assert (folder / "heard").read_text() == str(int(signal.SIGTERM))


def test_record_with_drift_compares_the_sets_of_its_config_alone(
    run_cli: RunCli, tmp_path: Path
) -> None:
    path = suite(tmp_path, cassetteSet="staging")
    program = str(path.parent / "promptfoo")
    assert run_cli("record", str(path), "--promptfoo", program).exit_code == 0
    recorded(path.parent / "old" / "prod", "Another.")
    words = ("record", str(path), "--drift", "--strict", "--promptfoo", program)
    assert run_cli(*words).exit_code == 0
    folder = str(path.parent / "old")
    ran = run_cli(*words, "--against", folder)
    assert (ran.exit_code, "missing" in ran.stdout) == (1, True)
    other = suite(tmp_path, cassetteSet="qa")
    ran = run_cli("record", str(other), "--drift", "--promptfoo", program)
    assert (ran.exit_code, "holds no cassette to compare with" in ran.stderr) == (2, True)


def test_record_takes_the_folder_from_the_env_block_and_from_the_env_file(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = suite(tmp_path, cassettes=None)
    program = str(path.parent / "promptfoo")
    program_text = Path(program).read_text().replace('"basePath"', '"cassettes": "old", "basePath"')
    Path(program).write_text(program_text)  # as promptfoo hands the variable on
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "env": {"LOBU_CASSETTES": "old"}}))
    assert run_cli("record", str(path), "--promptfoo", program).exit_code == 0
    words = ("record", str(path), "--drift", "--strict", "--promptfoo", program)
    assert run_cli(*words).exit_code == 0
    path.write_text(json.dumps(config))
    monkeypatch.chdir(path.parent)
    assert run_cli("record", str(path), "--promptfoo", program).exit_code == 2
    (path.parent / ".env").write_text("LOBU_CASSETTES=old\n")
    assert run_cli("record", str(path), "--promptfoo", program).exit_code == 0


@pytest.mark.parametrize("named", ["--env-file ci.env", "--env-file=ci.env", "envPath"])
@pytest.mark.parametrize("line", ["LOBU_CASSETTES=old", "export LOBU_CASSETTE_MODE=replay"])
def test_record_refuses_an_env_file_that_would_win_over_it(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, line: str
) -> None:
    path = suite(tmp_path)
    monkeypatch.chdir(path.parent)
    Path("ci.env").write_text(f"A=1\n{line}\n")
    if named == "envPath":
        given = {**json.loads(path.read_text()), "commandLineOptions": {"envPath": "ci.env"}}
        path.write_text(json.dumps(given))
    arguments = [] if named == "envPath" else named.split()
    words = ("record", str(path), "--promptfoo", str(path.parent / "promptfoo"), *arguments)
    refused = run_cli(*words)
    assert (refused.exit_code, Path("told.json").exists()) == (2, False)
    assert "ci.env sets LOBU_CASSETTE" in refused.stderr
    Path("ci.env").write_text("A=1\n")
    assert run_cli(*words).exit_code == 0


def test_record_names_a_promptfoo_that_cannot_be_started(run_cli: RunCli, tmp_path: Path) -> None:
    ran = run_cli("record", str(suite(tmp_path)), "--promptfoo", str(tmp_path / "none"))
    assert ran.exit_code == 2
    assert "cannot be started" in ran.stderr
