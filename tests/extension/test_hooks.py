"""The file that promptfoo loads, and the same hooks for the npm package: each as a process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lobu_provider
from lobu_provider.extension import hooks
from lobu_provider.extension.hooks import before_all
from tests.extension.conftest import AGENT, TOKEN, Serve, python_provider, suite_of

FILE = Path(lobu_provider.__file__).parent / "hook" / "lobu_extension.py"
RUN = "eval-abc"
TURNS = ["a", "b"]

# What promptfoo's wrapper.py does, in short.
WRAPPER = """
import importlib.util, json, os, sys
path, method, arguments = sys.argv[1], sys.argv[2], json.load(sys.stdin)
sys.path.insert(0, os.path.dirname(path))
spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
before = set(sys.modules)
{before}
result = getattr(module, method)(*arguments)
json.dump({"result": result, "loaded": sorted(set(sys.modules) - before)}, sys.stdout)
"""


@dataclass(frozen=True)
class Done:
    code: int
    result: Any
    loaded: set[str]
    stderr: str


def call(
    method: str,
    context: Any,
    *,
    file: Path = FILE,
    flags: str = "",
    before: str = "",
    cwd: Path | None = None,
) -> Done:
    wrapper = WRAPPER.replace("{before}", before)
    done = subprocess.run(
        [sys.executable, *flags.split(), "-c", wrapper, str(file), method],
        input=json.dumps([context, {"hookName": method}]),
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ,
    )
    said = json.loads(done.stdout) if done.stdout else {"result": None, "loaded": []}
    return Done(done.returncode, said["result"], set(said["loaded"]), done.stderr)


def demo(**more: Any) -> dict[str, Any]:
    return suite_of(python_provider(agent=AGENT, gateway="script:demo"), **more)


SPLIT = {"description": "t", "vars": {"transcript": TURNS}, "assert": [{"type": "is-json"}]}


def test_a_split_transcript_comes_back_repaired_with_all_else_as_it_was(tmp_path: Path) -> None:
    suite = demo(tests=[SPLIT], defaultTest={"assert": []}, extra={"kept": 1})
    # As under promptfoo, whose command line is looked at; here that of the test runner.
    hook = "import lobu_provider.extension.hooks as h; h.arguments_of_parent = lambda: None"
    done = call("beforeAll", {"suite": suite}, before=hook, cwd=tmp_path)
    assert (done.code, done.stderr) == (0, "")
    expected = json.loads(json.dumps(suite))
    expected["tests"][0]["vars"]["transcript"] = [TURNS]
    assert done.result == {"suite": expected}


def test_a_suite_without_anything_to_repair_is_not_returned() -> None:
    test = {**SPLIT, "vars": {"transcript": [TURNS], "other": ["x", "y"]}}
    done = call("beforeAll", {"suite": demo(tests=[test])})
    assert (done.code, done.result, done.stderr) == (0, None, "")


def test_a_suite_with_functions_is_not_returned_and_the_reason_is_told(told: list[str]) -> None:
    test = {**SPLIT, "assert": [{"type": "javascript"}]}
    assert before_all({"suite": demo(tests=[test])}, say=told.append) is None
    assert "the suite holds functions (an assertion of 't')" in told[0]
    assert "disableVarExpansion: true" in told[0]


def test_a_javascript_config_is_not_changed_at_all(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["node", "promptfoo", "eval", "-c", "promptfooconfig.mjs"]
    monkeypatch.setattr(hooks, "arguments_of_parent", lambda: command)
    assert before_all({"suite": demo(tests=[SPLIT])}, say=told.append) is None
    assert "(a JavaScript config)" in told[0]


def test_advice_goes_to_stderr_line_by_line() -> None:
    done = call("beforeAll", {"suite": demo(tests=[{"vars": {"query": "x"}}])})
    first, second = done.stderr.splitlines()
    assert first.startswith("lobu-provider: Without assertions a test passes")
    assert second.startswith("lobu-provider: Without a description")


def test_a_suite_without_our_providers_is_left_alone() -> None:
    done = call("beforeAll", {"suite": suite_of({"id": "echo"}, tests=[{"vars": {}}])})
    assert (done.code, done.result, done.stderr) == (0, None, "")


@pytest.mark.parametrize("context", [None, 7, [], {}, {"suite": None}, {"suite": [1]}])
@pytest.mark.parametrize("method", ["beforeAll", "afterAll"])
def test_an_odd_context_raises_nothing(method: str, context: Any) -> None:
    done = call(method, context)
    assert (done.code, done.result, done.stderr) == (0, None, "")


def test_a_fault_ends_the_process_with_the_reason_and_nothing_else(serve: Serve) -> None:
    provider = python_provider(agent="no-such", gateway=serve().address, token=TOKEN)
    done = call("beforeAll", {"suite": suite_of(provider, tests=[{"vars": {}}])})
    assert done.code == 1
    assert done.stderr.startswith("lobu-provider: The run was stopped before its first test.\n")
    assert "Traceback" not in done.stderr
    assert "Without" not in done.stderr
    assert TOKEN not in done.stderr


def test_without_the_package_the_run_is_stopped_with_the_command_to_install_it(
    tmp_path: Path,
) -> None:
    copy = tmp_path / "lobu_extension.py"
    shutil.copy(FILE, copy)
    done = call("beforeAll", {"suite": {}}, file=copy, flags="-I -S")
    assert done.code == 1
    assert f"{sys.executable} -m pip install lobu-provider" in done.stderr
    done = call("afterAll", {"evalId": RUN}, file=copy, flags="-I -S")
    assert done.code == 0
    assert "(ModuleNotFoundError). The run goes on." in done.stderr


def test_a_fault_of_ours_stops_nothing_and_shows_no_values() -> None:
    broken = """
import lobu_provider.extension.hooks as h
def broken(*_, **__): raise RuntimeError("owl_pat_secret_0123456789")
h.our_providers = h.ledger.left = broken
"""
    for method in ("beforeAll", "afterAll"):
        done = call(method, {"suite": {}, "evalId": RUN}, before=broken)
        assert (done.code, done.result) == (0, None)
        assert "(RuntimeError). The run goes on." in done.stderr
        assert "owl_pat" not in done.stderr


@pytest.mark.parametrize("raised", ["SystemExit(7)", "KeyboardInterrupt()", "MemoryError()"])
def test_nothing_whatever_comes_out_of_after_all(raised: str) -> None:
    broken = f"""
import lobu_provider.extension.hooks as h
def broken(*_, **__): raise {raised}
h.ledger.left = broken
"""
    assert call("afterAll", {"evalId": RUN}, before=broken).code == 0


def test_a_copy_works_anywhere_and_its_neighbours_shadow_nothing(tmp_path: Path) -> None:
    for name in ("http", "random", "types", "signal", "anyio", "time"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    copy = tmp_path / "lobu_extension.py"
    shutil.copy(FILE, copy)
    done = call("beforeAll", {"suite": demo(tests=[])}, file=copy)
    assert (done.code, done.stderr) == (0, "")


def test_a_run_that_left_nothing_pays_for_no_imports() -> None:
    done = call("afterAll", {"evalId": RUN, "suite": demo()})
    assert done.code == 0
    assert not {"pydantic", "httpx", "anyio", "asyncio"} & done.loaded


def test_naming_the_file_without_a_hook_is_told(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRAPPER.replace("{before}", ""), str(FILE), "get_transform"],
        input=json.dumps(["beforeAll", {"suite": {}}]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "file://PATH:beforeAll" in done.stderr


# --- for the npm package


def ask(hook: str, context: Any) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "lobu_provider.extension"],
        input=json.dumps({"hook": hook, "context": context}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1]), done.stderr


def npm_provider(**config: Any) -> dict[str, Any]:
    return {"package": "@lobu/promptfoo-provider", "options": {"config": config, "env": {}}}


def test_the_npm_hook_is_told_that_all_is_well_and_the_advice() -> None:
    suite = suite_of(npm_provider(agent=AGENT, gateway="script:demo"), tests=[{"assert": [True]}])
    answer, stderr = ask("beforeAll", {"suite": suite})
    assert answer == {"done": True}
    assert "Without a description" in stderr


def test_the_npm_hook_is_told_why_the_run_cannot_work(serve: Serve) -> None:
    provider = npm_provider(agent="no-such", gateway=serve().address, token=TOKEN)
    answer, stderr = ask("beforeAll", {"suite": suite_of(provider)})
    assert "[not_found]" in answer["stop"]
    assert stderr == ""


def test_the_npm_hook_sweeps(serve: Serve) -> None:
    from lobu_provider import ledger

    served = serve()
    ledger.note_created(RUN, served.url, "", AGENT, "left")
    provider = npm_provider(agent=AGENT, gateway=served.address, token=TOKEN)
    answer, stderr = ask("afterAll", {"evalId": RUN, "suite": suite_of(provider)})
    assert answer == {"done": True}
    assert "1 session left by this run was deleted." in stderr
    assert ledger.left(RUN) == []
