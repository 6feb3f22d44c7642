"""The hooks around a run under the real promptfoo, in both supported versions."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from lobu_provider import ledger
from lobu_provider.scripted_gateway import ScriptedGateway, parse_script
from lobu_provider.scripted_gateway.server import running
from tests.e2e.conftest import CANARY, HOOK, ROOT, TURNS, Promptfoo, Served, provider, started
from tests.e2e.test_promptfoo_package import PACKAGE, install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

PYTHON_HOOK = str(HOOK.parent / "lobu_extension.py")
NPM_HOOK = "./node_modules/@lobu/promptfoo-provider/extension.js"
JUDGED = {"assert": [{"type": "contains", "value": "heard"}]}


def extensions(file: str) -> list[str]:
    return [f"file://{file}:beforeAll", f"file://{file}:afterAll"]


def config_of(hook: str, entry: Mapping[str, Any], *tests: Any, **more: Any) -> dict[str, Any]:
    return {
        "prompts": ["{{query}}"],
        "providers": [entry],
        "tests": list(tests),
        "extensions": extensions(hook),
        **more,
    }


def talk(name: str, *turns: str, **variables: Any) -> dict[str, Any]:
    return {"description": name, "vars": {"transcript": list(turns), **variables}, **JUDGED}


# --- transcripts


@pytest.fixture(params=["python", "npm"])
def hooked(request: pytest.FixtureRequest, promptfoo: Promptfoo) -> tuple[str, str]:
    """Each hook with the provider that it is for: its file, and the provider's id."""
    if request.param == "python":
        return PYTHON_HOOK, f"file://{HOOK}"
    install(promptfoo.folder)
    return NPM_HOOK, PACKAGE


def test_a_transcript_as_lobu_documents_it_is_one_conversation(
    promptfoo: Promptfoo, served: Served, hooked: tuple[str, str]
) -> None:
    hook, provider_id = hooked
    entry = {**provider(served.url), "id": provider_id}
    scenario = {
        "config": [{"vars": {"transcript": ["s1", "s2"]}}],
        "tests": [{"description": "scenario", **JUDGED}],
    }
    run = promptfoo.eval(
        config_of(
            hook,
            entry,
            talk("test", *TURNS),
            talk("with another list", "a", "b", language=["en", "de"]),
            {"description": "from the defaults", **JUDGED},
            scenarios=[scenario],
            defaultTest={"vars": {"transcript": ["d1", "d2"]}},
        ),
        LOBU_TOKEN=CANARY,
    )
    assert run.exit_code == 0, run.log
    rows = [(row["testCase"]["description"], row["vars"].get("language")) for row in run.rows]
    assert sorted(rows, key=str) == [
        ("from the defaults", None),
        ("scenario", None),
        ("test", None),
        ("with another list", "de"),
        ("with another list", "en"),
    ]
    turns = {
        row["testCase"]["description"]: [t["user"] for t in run.metadata(index)["turns"]]
        for index, row in enumerate(run.rows)
    }
    assert turns == {
        "from the defaults": ["d1", "d2"],
        "scenario": ["s1", "s2"],
        "test": TURNS,
        "with another list": ["a", "b"],
    }
    # promptfoo gives a scenario's tests a conversationId, so that its session stays to the end.
    assert run.log.count("lobu-provider:") == 1, run.log
    assert "lobu-provider: 1 session left by this run was deleted." in run.log
    assert not served.gateway.sessions


def test_a_context_transform_as_lobu_documents_it_finds_the_retrieved_text(
    promptfoo: Promptfoo, hooked: tuple[str, str]
) -> None:
    hook, provider_id = hooked
    grader = {"options": {"provider": f"file://{ROOT / 'examples' / 'grader.py'}"}}
    recall = {
        "type": "context-recall",
        "contextTransform": "metadata.retrievedContext",
        "threshold": 0.5,
        "value": "Customers may return any item within 30 days.",
    }
    test = {"description": "a", "vars": {"query": "How do refunds work?"}, "assert": [recall]}
    entry = {**provider("script:demo"), "id": provider_id}
    run = promptfoo.eval(config_of(hook, entry, test, defaultTest=grader))
    assert run.exit_code == 0, run.log
    assert run.rows[0]["gradingResult"]["componentResults"][0]["pass"]


def test_without_the_hook_the_same_transcript_is_split(
    promptfoo: Promptfoo, served: Served
) -> None:
    config = config_of(PYTHON_HOOK, provider(served.url), talk("test", *TURNS))
    del config["extensions"]
    run = promptfoo.eval(config, LOBU_TOKEN=CANARY)
    assert (run.exit_code, len(run.rows)) == (100, 2)
    assert "disableVarExpansion" in run.rows[0]["error"]


def test_what_is_missing_in_the_tests_is_told(
    promptfoo: Promptfoo, served: Served, hooked: tuple[str, str]
) -> None:
    hook, provider_id = hooked
    entry = {**provider(served.url), "id": provider_id}
    run = promptfoo.eval(config_of(hook, entry, {"vars": {"query": "x"}}), LOBU_TOKEN=CANARY)
    assert run.exit_code == 0
    assert "lobu-provider: Without assertions a test passes" in run.log
    assert "lobu-provider: Without a description" in run.log


# --- functions

SHOUT = "module.exports = (text) => String(text ?? '').toUpperCase();"

PROGRAM = """
export default {
  prompts: ['{{query | shout}}'],
  nunjucksFilters: {shout: './shout.cjs'},
  extensions: EXTENSIONS,
  providers: [PROVIDER],
  defaultTest: {
    options: {transform: (output) => `${output}!`},
    assert: [{type: 'javascript', value: (output) => output.endsWith('!')}],
  },
  tests: [
    {description: 'a', vars: {query: 'q'},
     assert: [{type: 'javascript', value: (output) => output === 'heard: Q!'}]},
    {description: 'b', vars: {query: 'q'},
     assert: [{type: 'equals', value: 'heard: Q?', transform: () => 'heard: Q?'}]},
    {description: 'c', vars: {transcript: ['x', 'y']}},
  ],
};
"""


def program(promptfoo: Promptfoo, hook: str, entry: Mapping[str, Any]) -> Path:
    path = promptfoo.folder / "promptfooconfig.mjs"
    text = PROGRAM.replace("EXTENSIONS", json.dumps(extensions(hook)))
    path.write_text(text.replace("PROVIDER", json.dumps(entry)))
    (promptfoo.folder / "shout.cjs").write_text(SHOUT)
    return path


def test_the_npm_hook_repairs_a_javascript_config_and_its_functions_stay(
    promptfoo: Promptfoo, served: Served
) -> None:
    install(promptfoo.folder)
    entry = {**provider(served.url), "id": PACKAGE}
    run = promptfoo.eval(program(promptfoo, NPM_HOOK, entry), LOBU_TOKEN=CANARY)
    assert run.exit_code == 0, run.log
    outputs = {row["testCase"]["description"]: row["response"]["output"] for row in run.rows}
    assert outputs == {"a": "heard: Q!", "b": "heard: Q!", "c": "heard: y!"}
    assert len(run.rows) == 3


def test_the_python_hook_leaves_a_javascript_config_as_it_is_and_says_so(
    promptfoo: Promptfoo, served: Served
) -> None:
    run = promptfoo.eval(program(promptfoo, PYTHON_HOOK, provider(served.url)), LOBU_TOKEN=CANARY)
    assert [row["success"] for row in run.rows[:2]] == [True, True], run.log
    assert len(run.rows) == 4
    assert "vars.transcript is not kept from being split in 'c'" in run.log


def test_a_filter_of_a_yaml_config_survives_the_python_hook(
    promptfoo: Promptfoo, served: Served
) -> None:
    (promptfoo.folder / "shout.cjs").write_text(SHOUT)
    config = config_of(
        PYTHON_HOOK,
        provider(served.url),
        {"description": "a", "vars": {"query": "q"}, **JUDGED},
        talk("b", "x", "y"),
        prompts=["{{ query | shout }}"],
        nunjucksFilters={"shout": "./shout.cjs"},
    )
    run = promptfoo.eval(config, LOBU_TOKEN=CANARY)
    assert run.rows[0]["response"]["output"] == "heard: Q", run.log
    assert "(the template filter 'shout')" in run.log


# --- preflight


@pytest.mark.parametrize(
    ("config", "reason", "fix"),
    [
        ({"gateway": "http://127.0.0.1:9"}, "[gateway] Cannot reach", "Start the gateway"),
        ({"tokenEnv": "NOT_SET"}, "'NOT_SET' is not set", 'export NOT_SET="$(lobu token --raw)"'),
        ({"agent": ""}, "config.agent is missing", "LOBU_AGENT"),
    ],
)  # fmt: skip
def test_what_cannot_work_ends_promptfoo_before_any_row_with_the_reason(
    promptfoo: Promptfoo,
    served: Served,
    hooked: tuple[str, str],
    config: dict[str, Any],
    reason: str,
    fix: str,
) -> None:
    hook, provider_id = hooked
    entry = provider(served.url)
    entry = {**entry, "id": provider_id, "config": {**entry["config"], **config}}
    test = {"vars": {"query": "x"}}
    with started(promptfoo, config_of(hook, entry, test)) as process:
        log, _ = process.communicate(timeout=100)
    assert process.returncode == 1
    assert re.search(r"^lobu-provider: The run was stopped before its first test\.$", log, re.M)
    assert reason in log
    assert fix in log
    assert CANARY not in log
    assert not (promptfoo.folder / "results.json").exists()
    assert not served.gateway.got_message.is_set()


class HeldGateway(ScriptedGateway):
    """Answers nothing before it is told to."""

    def __init__(self) -> None:
        super().__init__(parse_script({"version": 1, "replies": []}))
        self.asked, self.go_on = threading.Event(), threading.Event()

    async def handle(self, *args: Any, **kwargs: Any) -> Any:
        """Answer late."""
        self.asked.set()
        await anyio.to_thread.run_sync(self.go_on.wait, 60)
        return await super().handle(*args, **kwargs)


def test_ctrl_c_before_the_first_test_pauses_promptfoo_without_a_word_of_ours(
    promptfoo: Promptfoo, hooked: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, provider_id = hooked
    gateway = HeldGateway()
    with running(gateway) as url:
        entry = {**provider(url), "id": provider_id}
        test = {"description": "a", "vars": {"query": "x"}, **JUDGED}
        with started(promptfoo, config_of(hook, entry, test)) as process:
            assert gateway.asked.wait(60)
            os.killpg(process.pid, signal.SIGINT)
            gateway.go_on.set()
            log, _ = process.communicate(timeout=100)
    assert "Evaluation paused" in log
    for unwanted in ("lobu-provider:", "Traceback", "KeyboardInterrupt", "Error"):
        assert unwanted not in log
    monkeypatch.setenv("LOBU_LEDGER_DIR", str(promptfoo.folder / ".ledgers"))
    noted = {session.thread for run in ledger.runs() for session in run.sessions}
    there = {session_id.rpartition("_")[2] for session_id in gateway.sessions}
    assert there <= noted  # it is there only where a slow machine left no time to delete it


# --- sweep

NAMING_HOOK = """
import importlib.util, os

spec = importlib.util.spec_from_file_location("real_hook", {hook!r})
real = importlib.util.module_from_spec(spec)
spec.loader.exec_module(real)

def call_api(prompt, options, context):
    with open("worker.pid", "w") as file:
        file.write(str(os.getpid()))
    return real.call_api(prompt, options, context)
"""


@pytest.fixture
def slow(promptfoo: Promptfoo, served: Served) -> Path:
    """A config whose one call lasts longer than the test."""
    hook = promptfoo.folder / "lobu_hook.py"
    hook.write_text(textwrap.dedent(NAMING_HOOK).format(hook=str(HOOK)))
    entry = {**provider(served.url), "id": "file://lobu_hook.py"}
    test = {"description": "slow", "vars": {"query": "slow please"}, **JUDGED}
    return promptfoo.write(config_of(PYTHON_HOOK, entry, test))


def kill_worker(process: subprocess.Popen[str], folder: Path) -> None:
    os.kill(int((folder / "worker.pid").read_text()), signal.SIGKILL)


def terminate(process: subprocess.Popen[str], folder: Path) -> None:
    os.kill(process.pid, signal.SIGTERM)


def interrupt(process: subprocess.Popen[str], folder: Path) -> None:
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize("end", [kill_worker, terminate, interrupt])
def test_no_session_is_left_when_a_worker_is_killed_or_the_run_ended(
    promptfoo: Promptfoo,
    served: Served,
    slow: Path,
    end: Callable[[subprocess.Popen[str], Path], None],
) -> None:
    with started(promptfoo, slow) as process:
        assert served.gateway.got_message.wait(60)
        end(process, promptfoo.folder)
        log, _ = process.communicate(timeout=100)
    assert not served.gateway.sessions, log
    assert list((promptfoo.folder / ".ledgers").iterdir()) == []


def test_what_a_killed_promptfoo_left_is_swept_by_the_next_run(
    promptfoo: Promptfoo, served: Served, slow: Path
) -> None:
    with started(promptfoo, slow) as process:
        assert served.gateway.got_message.wait(60)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    assert len(served.gateway.sessions) == 1
    (noted,) = (promptfoo.folder / ".ledgers").iterdir()
    before = noted.stat().st_mtime - ledger.QUIET_S - 1
    os.utime(noted, (before, before))
    test = {"description": "quick", "vars": {"query": "x"}, **JUDGED}
    config = config_of(PYTHON_HOOK, {**provider(served.url), "id": "file://lobu_hook.py"}, test)
    run = promptfoo.eval(config, LOBU_TOKEN=CANARY)
    assert "1 session of earlier runs that were killed was deleted." in run.log
    assert not served.gateway.sessions
    assert CANARY not in run.log


def test_the_path_command_prints_what_the_config_names(
    promptfoo: Promptfoo, served: Served
) -> None:
    command = [sys.executable, "-m", "lobu_provider", "path", "extension"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    assert Path(printed) == Path(PYTHON_HOOK)
    config = config_of("{{env.LOBU_EXTENSION}}", provider(served.url), talk("t", *TURNS))
    run = promptfoo.eval(config, LOBU_TOKEN=CANARY, LOBU_EXTENSION=printed)
    assert (run.exit_code, len(run.rows)) == (0, 1), run.log
