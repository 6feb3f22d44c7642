"""The hook file, loaded by its path in a process of its own, as promptfoo's worker does it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lobu_provider
from lobu_provider.scripted_gateway import ScriptedGateway, parse_script
from lobu_provider.scripted_gateway.server import running

HOOK = Path(lobu_provider.__file__).parent / "hook" / "lobu_hook.py"

DEMO = {"config": {"agent": "support-agent", "gateway": "script:demo"}}
QUESTION = "Where is my order?"

# promptfoo's worker: loads the file by path, its folder first on the path, calls positionally.
# The answers go to a file: the worker's stdin and stdout belong to promptfoo.
WORKER = """
import importlib.util, json, os, signal, sys

hook_file, answers_file, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path.insert(0, os.path.dirname(hook_file))
spec = importlib.util.spec_from_file_location("lobu_hook", hook_file)
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
{before}
rows = [hook.call_api(*call) for call in calls]
left = sys.stdin.read()
with open(answers_file, "w", encoding="utf-8") as file:
    json.dump({{"rows": rows, "stdin": left}}, file, allow_nan=False, ensure_ascii=False)
"""


def work(
    folder: Path,
    *calls: Any,
    hook: Path = HOOK,
    flags: str = "-I",
    before: str = "",
) -> list[dict[str, Any]]:
    """Make the calls in one worker and return their rows, checked for what always holds."""
    answers = folder / "answers.json"
    arguments = [str(hook), str(answers), json.dumps(calls)]
    done = subprocess.run(
        [sys.executable, *flags.split(), "-c", WORKER.format(before=before), *arguments],
        input="promptfoo's own",
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    told = json.loads(answers.read_text(encoding="utf-8"))
    assert told["stdin"] == "promptfoo's own"
    rows: list[dict[str, Any]] = told["rows"]
    for row in rows:
        assert isinstance(row["output"], str)
        if "error" in row:
            assert row["error"].startswith(f"[{row['metadata']['error']['code']}] ")
            assert row["metadata"]["rateLimitKind"] == "quota"
            assert "Traceback" not in row["error"]
    return rows


def test_a_call_is_answered_by_the_demo_script(tmp_path: Path) -> None:
    one, two = work(
        tmp_path,
        ("Can I return order 17?", {"id": "file://x", **DEMO}, {"vars": {}}),
        ("", DEMO, {"vars": {"transcript": ["Can I return order 17?", "Yes, refund it"]}}),
    )
    assert "error" not in one
    assert "order 17" in one["output"]
    assert [c["name"] for c in one["metadata"]["toolCalls"]] == ["lookup_order"]
    assert "error" not in two
    assert [t["turn"] for t in two["metadata"]["turns"]] == [1, 2]
    assert one["sessionId"] != two["sessionId"]


def test_the_function_is_a_plain_one_as_promptfoo_calls_it(tmp_path: Path) -> None:
    work(
        tmp_path,
        before="import inspect\n"
        "assert not inspect.iscoroutinefunction(hook.call_api)\n"
        "assert list(inspect.signature(hook.call_api).parameters) == "
        "['prompt', 'options', 'context']",
    )


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "config.agent is missing"),
        ({"agent": "a", "agnet": "b"}, "Did you mean 'agent'?"),
        ({"agent": "a", "gateway": "script:nowhere.json"}, "nowhere.json"),
        ({"agent": "a"}, "No token"),
        ({"agent": "a", "token": "Bearer s3cret"}, "starts with 'Bearer'"),
    ],
)
def test_a_bad_configuration_is_an_error_row(
    tmp_path: Path, config: dict[str, Any], said: str
) -> None:
    (row,) = work(tmp_path, ("hi", {"config": config}, {"vars": {}}))
    assert row["error"].startswith("[config] ")
    assert said in row["error"]
    assert "s3cret" not in json.dumps(row)
    assert row["metadata"]["error"]["class"] == "config"


def test_values_come_from_the_config_files_env_block(tmp_path: Path) -> None:
    env = {"LOBU_AGENT": "support-agent", "LOBU_GATEWAY": "script:demo"}
    (row,) = work(tmp_path, (QUESTION, {"config": {"basePath": ""}, "env": env}, {"vars": {}}))
    assert "error" not in row


def test_nothing_that_is_passed_makes_the_hook_raise(tmp_path: Path) -> None:
    garbage: list[Any] = [None, [], ["x"], "x", 7, True, {"vars": 7, "config": 7, "env": 7}]
    deep: Any = {"vars": {"transcript": [[[[[{}]]]], None]}, "test": {"vars": [], "metadata": 7}}
    calls = [
        *((QUESTION, options, None) for options in garbage),
        *((QUESTION, DEMO, context) for context in [*garbage, deep]),
        *((prompt, DEMO, {}) for prompt in garbage),
        *((prompt, prompt, prompt) for prompt in garbage),
    ]
    rows = work(tmp_path, *calls)
    assert len(rows) == len(calls)
    for row in rows[: len(garbage)]:
        assert row["error"].startswith("[config] ")
    for (_, _, context), row in zip(calls, rows, strict=True):
        if context in (None, []) and "error" not in row:
            assert row["output"]


def test_options_and_context_of_none_are_no_fault_of_ours(tmp_path: Path) -> None:
    nothing, no_context = work(tmp_path, (QUESTION, None, None), (QUESTION, DEMO, None))
    assert "config.agent is missing" in nothing["error"]
    assert "error" not in no_context


# --- when it cannot run


def test_without_the_dependencies_the_row_names_the_interpreter(tmp_path: Path) -> None:
    (row,) = work(tmp_path, (QUESTION, DEMO, {}), flags="-I -S")
    assert row["error"].startswith("[config] ")
    assert "No module named" in row["error"]
    assert sys.executable in row["error"]
    assert f"{sys.executable} -m pip install lobu-provider" in row["error"]


def test_an_old_python_is_told_as_such_and_nobody_is_to_install_into_it(tmp_path: Path) -> None:
    old = "sys.version_info, sys.version = (3, 9, 18), '3.9.18 (main)'"
    (row,) = work(tmp_path, (QUESTION, DEMO, {}), before=old)
    assert row["error"] == (
        f"[config] lobu-provider needs Python 3.10 or newer, and {sys.executable} is Python 3.9.18."
        " Set PROMPTFOO_PYTHON to a newer one that has lobu-provider."
    )


@pytest.mark.parametrize("name", ["httpx", "pydantic", "anyio", "httpx_sse", "lobu_provider"])
def test_one_missing_package_is_named(tmp_path: Path, name: str) -> None:
    hidden = f"sys.modules[{name!r}] = None"
    one, two = work(tmp_path, (QUESTION, DEMO, {}), (QUESTION, DEMO, {}), before=hidden)
    assert name in one["error"]
    assert sys.executable in one["error"]
    assert two == one


def test_a_copy_of_the_file_works_anywhere(tmp_path: Path) -> None:
    copy = tmp_path / "copied" / "my_hook.py"
    copy.parent.mkdir()
    shutil.copy(HOOK, copy)
    (row,) = work(tmp_path, (QUESTION, DEMO, {}), hook=copy)
    assert "error" not in row
    (row,) = work(tmp_path, (QUESTION, DEMO, {}), hook=copy, flags="-I -S")
    assert "No module named 'lobu_provider'" in row["error"]
    assert sys.executable in row["error"]


def test_files_beside_a_copy_do_not_take_the_place_of_pythons_own(tmp_path: Path) -> None:
    for name in ("http", "random", "types", "signal", "anyio"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    copy = tmp_path / "lobu_hook.py"
    shutil.copy(HOOK, copy)
    (row,) = work(tmp_path, (QUESTION, DEMO, {}), hook=copy)
    assert "error" not in row


# Not by exec(): a KeyboardInterrupt out of exec() makes Python itself end by a signal, later.
RAISING = """
import builtins
import lobu_provider.promptfoo.provider as module
class LobuProvider:
    def __init__(self, options, **_):
        self._raise, self._arguments, at_once = options["config"]["raise"]
        if at_once:
            self._now()
    def _now(self):
        raise getattr(builtins, self._raise)(*self._arguments)
    async def call_api(self, *_, **__):
        self._now()
module.LobuProvider = LobuProvider
"""


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("SystemExit", [1]),
        ("SystemExit", ["429 rate limit"]),
        ("KeyboardInterrupt", []),
        ("GeneratorExit", []),
        ("MemoryError", []),
        ("RecursionError", ["deep"]),
        ("RuntimeError", ["\udc80 \ud800"]),
    ],
)
def test_whatever_is_raised_inside_becomes_a_row(
    tmp_path: Path, name: str, arguments: list[Any], at_once: bool
) -> None:
    call: Any = (QUESTION, {"config": {"raise": [name, arguments, at_once]}}, {})
    for row in work(tmp_path, call, call, before=RAISING):
        assert row["error"].startswith(f"[internal] lobu-provider could not run: {name}")


# --- interrupts

SLOW = {
    "version": 1,
    "replies": [
        {
            "steps": [
                {"tool": {"name": "lookup_order"}},
                {"text": "a partial", "deltas": 1},
                {"delay_ms": 50},
                {"status": "Working"},
                {"delay_ms": 3_600_000},
                {"text": " answer"},
            ]
        }
    ],
}

# Ctrl-C arrives at the moment when the gateway's status does, once the text is there.
INTERRUPT_AT_STATUS = """
import lobu_provider.event_stream as module
read = module.parse_event
def interrupting(frame, **options):
    if frame.event == "status":
        for _ in range({times}):
            os.kill(os.getpid(), signal.SIGINT)
    return read(frame, **options)
module.parse_event = interrupting
"""


@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupted_call_tells_what_it_had_and_the_worker_lives_on(
    tmp_path: Path, times: int
) -> None:
    (tmp_path / "slow.json").write_text(json.dumps(SLOW))
    slow = {"config": {"agent": "a", "gateway": "script:slow.json", "timeoutMs": 40_000}}
    interrupted, next_one = work(
        tmp_path,
        (QUESTION, slow, {"vars": {}}),
        (QUESTION, DEMO, {"vars": {}}),
        before=INTERRUPT_AT_STATUS.format(times=times),
    )
    assert interrupted["error"].startswith("[cancelled] ")
    assert interrupted["output"] == "a partial"
    assert [c["name"] for c in interrupted["metadata"]["toolCalls"]] == ["lookup_order"]
    assert interrupted["metadata"]["error"]["class"] == "infrastructure"
    assert next_one["error"].startswith("[cancelled] ")
    assert next_one["metadata"]["turns"] == []


def test_an_interrupt_between_calls_stops_the_next_and_kills_nothing(tmp_path: Path) -> None:
    interrupt = "os.kill(os.getpid(), signal.SIGINT)"
    for row in work(tmp_path, (QUESTION, DEMO, {}), (QUESTION, DEMO, {}), before=interrupt):
        assert row["error"].startswith("[cancelled] ")
        assert row["metadata"]["turns"] == []


def test_outside_the_main_thread_the_hook_loads_and_answers_too(tmp_path: Path) -> None:
    in_a_thread = """
import threading
def reload():
    spec.loader.exec_module(hook)
    rows.append(hook.call_api("Where is my order?", {demo!r}, None))
rows = []
thread = threading.Thread(target=reload)
thread.start()
thread.join()
assert "error" not in rows[0], rows
""".replace("{demo!r}", repr(DEMO))
    work(tmp_path, before=in_a_thread)


# --- SIGTERM and SIGHUP


def terminated(folder: Path, calls: Any, before: str) -> int:
    """Run a worker to its end by a signal; returns the exit code."""
    arguments = [str(HOOK), str(folder / "answers.json"), json.dumps(calls)]
    done = subprocess.run(
        [sys.executable, "-I", "-c", WORKER.format(before=before), *arguments],
        input="",
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=50,
    )
    assert done.stderr == ""
    return done.returncode


ENDING = [signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_the_worker_after_the_session_of_its_call_is_deleted(
    tmp_path: Path, number: signal.Signals
) -> None:
    scripted = ScriptedGateway(parse_script(SLOW))
    with running(scripted) as url:
        slow = {"config": {"agent": "a", "gateway": url, "token": "some-token"}}
        before = INTERRUPT_AT_STATUS.format(times=2).replace("SIGINT", number.name)
        code = terminated(tmp_path, [(QUESTION, slow, {})], before)
    assert code == -number
    assert [request.method for request in scripted.requests][-1] == "DELETE"


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_between_calls_ends_the_worker_at_once(
    tmp_path: Path, number: signal.Signals
) -> None:
    code = terminated(tmp_path, [], f"os.kill(os.getpid(), signal.{number.name})")
    assert code == -number
    assert not (tmp_path / "answers.json").exists()


def test_under_nohup_a_closed_terminal_ends_nothing(tmp_path: Path) -> None:
    ignored = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
spec.loader.exec_module(hook)
os.kill(os.getpid(), signal.SIGHUP)
"""
    (row,) = work(tmp_path, (QUESTION, DEMO, {}), before=ignored)
    assert "error" not in row
