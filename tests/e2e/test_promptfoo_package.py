"""The npm package under the real promptfoo, in both supported versions."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import CANARY, ROOT, Promptfoo, Run, Served, provider

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

PACKAGE = "package:@lobu/promptfoo-provider:LobuProvider"
TRANSIENT = {
    # What differs between two runs of the same thing: ids and times.
    "thread", "sessionId", "gatewaySessionId", "messageId", "toolCallId", "toolCallIds",
    "questionId", "traceId", "latencyMs", "firstTextMs", "timestamp",
}  # fmt: skip


def install(project: Path, *options: str) -> Path:
    """Do what the README says, without a registry; return where the package is then."""
    command = [sys.executable, "-m", "lobu_provider", "shim-path"]
    folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    npm = shutil.which("npm")
    assert npm is not None, "npm comes with the Node that runs promptfoo"
    quiet = ["--offline", "--no-audit", "--no-fund", "--no-update-notifier"]
    done = subprocess.run(
        [npm, "install", *quiet, *options, folder],
        cwd=project,
        env={**os.environ, "npm_config_cache": str(project / ".npm")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "node_modules" / "@lobu" / "promptfoo-provider"


@pytest.fixture
def project(promptfoo: Promptfoo) -> Promptfoo:
    """promptfoo in a project that has the package, and a Python that has ours."""
    install(promptfoo.folder)
    del promptfoo.environment["PROMPTFOO_PYTHON"]
    promptfoo.environment["LOBU_PYTHON"] = sys.executable
    return promptfoo


class Watched:
    """A Python of which one can tell when its last process has ended: it holds a pipe open."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "python"
        self._pid = folder / "pid"
        pipe = folder / "alive"
        os.mkfifo(pipe)
        self._reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.python.write_text(
            f'#!/bin/sh\necho $$ >"{self._pid}"\nexec 9>"{pipe}"\nexec "{sys.executable}" "$@"\n'
        )
        self.python.chmod(0o755)

    def pid(self) -> int:
        return int(self._pid.read_text())

    def is_gone(self, limit_s: float) -> bool:
        ended, _, _ = select.select([self._reading], [], [], limit_s)
        gone = bool(ended) and os.read(self._reading, 1) == b""
        os.close(self._reading)
        return gone


def entry(gateway: str, **config: Any) -> dict[str, Any]:
    return {**provider(gateway, **config), "id": PACKAGE}


def config_of(entry: Any, *tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"prompts": ["{{query}}"], "providers": [entry], "tests": list(tests), **more}


def lasting(value: Any) -> Any:
    """The same value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in TRANSIENT}
    if isinstance(value, list) and value and isinstance(value[0], str):
        # The receiver of a busy promptfoo is late for spans on which no verdict depends.
        return [text for text in value if not text.startswith("The spans of this conversation")]
    return [lasting(item) for item in value] if isinstance(value, list) else value


def rows_of(run: Run) -> dict[str, Any]:
    return {
        row["testCase"]["description"]: lasting(
            {
                "success": row["success"],
                "output": row["response"]["output"],
                "error": row.get("error"),
                "metadata": row["response"]["metadata"],
                "asserts": [part["pass"] for part in row["gradingResult"]["componentResults"]],
            }
        )
        for row in run.rows
    }


def test_the_example_gives_the_same_rows_as_through_the_hook(project: Promptfoo) -> None:
    example = ROOT / "examples"
    shutil.copy(example / "grader.py", project.folder)
    text = (example / "promptfooconfig.yaml").read_text(encoding="utf-8")
    config = yaml.safe_load(text.replace("file://../", f"file://{ROOT}/"))
    python = {"PROMPTFOO_PYTHON": sys.executable}
    endpoint = config["providers"][0]["config"]["otlpEndpoint"]
    config["providers"] = [provider("script:demo", otlpEndpoint=endpoint)]
    by_hook = project.eval(config, "-j", "8", **python)
    config["providers"] = [entry("script:demo")]
    by_package = project.eval(config, "-j", "8", **python)
    assert (by_hook.exit_code, by_package.exit_code) == (0, 0), by_package.log
    assert len(by_package.rows) == 6
    assert rows_of(by_package) == rows_of(by_hook)


@pytest.mark.parametrize("options", [[], ["--install-links"]], ids=["linked", "copied"])
def test_a_config_written_for_the_published_package_runs_as_it_is(
    promptfoo: Promptfoo, served: Served, options: list[str]
) -> None:
    package = install(promptfoo.folder, *options)
    assert package.is_symlink() is (not options)
    files = {path.name for path in package.iterdir()}
    assert {"index.js", "index.d.ts", "README.md"} <= files
    assert ("test" in files) is (not options)
    config = config_of(
        {"id": PACKAGE, "config": {"agent": "support-agent", "gateway": served.url}},
        {
            "description": "ping",
            "vars": {"query": "Hello, are you there?"},
            "assert": [{"type": "regex", "value": "hello|there", "weight": 0.3}],
        },
        description="Smoke evals",
    )
    run = promptfoo.eval(config, LOBU_TOKEN=CANARY)  # PROMPTFOO_PYTHON finds the interpreter
    assert run.exit_code == 0, run.log
    assert run.rows[0]["response"]["output"] == "heard: Hello, are you there?"
    assert not served.gateway.sessions


def test_a_provider_that_is_only_a_string_takes_everything_from_the_environment(
    project: Promptfoo, served: Served
) -> None:
    run = project.eval(
        config_of(PACKAGE, {"vars": {"query": "hi"}}),
        LOBU_AGENT="support-agent",
        LOBU_GATEWAY=served.url,
        LOBU_TOKEN=CANARY,
    )
    assert run.exit_code == 0, run.log
    assert run.rows[0]["response"]["output"] == "heard: hi"
    assert run.rows[0]["provider"]["id"] == "lobu"


def test_eight_calls_are_at_the_gateway_at_once(project: Promptfoo, served: Served) -> None:
    # A turn takes a second there, so that the sessions of calls that run at once overlap.
    tests = [{"vars": {"query": f"a second {number}"}} for number in range(8)]
    run = project.eval(config_of(entry(served.url), *tests), "-j", "8", LOBU_TOKEN=CANARY)
    assert run.exit_code == 0, run.log
    methods = [request.method for request in served.gateway.requests]
    first_end = methods.index("DELETE")
    created = [r for r in served.gateway.requests[:first_end] if r.method == "POST" and not r.route]
    assert len(created) == 8


def test_a_missing_package_is_an_error_in_every_row_and_says_what_to_run(
    project: Promptfoo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    python = tmp_path_factory.mktemp("bare") / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')  # no site-packages
    python.chmod(0o755)
    run = project.eval(
        config_of(entry("script:demo"), {"vars": {"query": "hi"}}, {"vars": {"query": "ho"}}),
        LOBU_PYTHON=str(python),
    )
    assert run.exit_code == 100
    for row in run.rows:
        assert row["error"].startswith(f"[config] {python} (LOBU_PYTHON) does not have")
        assert f"Run: {python} -m pip install lobu-provider" in row["error"]


def test_the_token_is_in_nothing_that_promptfoo_writes(project: Promptfoo, served: Served) -> None:
    run = project.eval(config_of(entry(served.url), {"vars": {"query": "hi"}}), LOBU_TOKEN=CANARY)
    assert run.exit_code == 0, run.log
    written = [path for path in project.folder.rglob("*") if path.is_file()]
    assert any(path.name == "promptfoo.db" for path in written)
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []


def test_promptfoo_s_own_time_limit_cancels_the_call_and_deletes_the_session(
    project: Promptfoo, served: Served
) -> None:
    # The second test ends after the limit of the first, so that promptfoo is still there for it.
    config = config_of(
        entry(served.url),
        {"vars": {"query": "slow please"}},
        {"vars": {"query": "a second"}},
        evaluateOptions={"timeoutMs": 10_000, "maxConcurrency": 1, "cache": False},
    )
    run = project.eval(config, LOBU_TOKEN=CANARY)
    rows = {row["vars"]["query"]: row for row in run.rows}
    assert "timed out" in rows["slow please"]["error"]
    assert rows["a second"]["response"]["output"] == "done"
    assert not served.gateway.sessions


def test_ctrl_c_pauses_promptfoo_deletes_the_sessions_and_leaves_no_process(
    project: Promptfoo, served: Served
) -> None:
    bridge = Watched(project.folder)
    config = project.write(config_of(entry(served.url), {"vars": {"query": "slow please"}}))
    log_file = project.folder / "log.txt"
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            project.arguments(config),
            cwd=project.folder,
            env={**project.environment, "LOBU_TOKEN": CANARY, "LOBU_PYTHON": str(bridge.python)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        assert served.gateway.got_message.wait(60)
        assert os.getpgid(bridge.pid()) != process.pid
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(60)
    finally:
        process.kill()
    assert "paused" in log_file.read_text()
    assert code == 0
    assert served.gateway.deleted.wait(10)
    assert not served.gateway.sessions
    assert bridge.is_gone(10)


def test_the_results_say_what_the_package_says_of_itself(project: Promptfoo) -> None:
    run = project.eval(config_of(entry("script:demo"), {"vars": {"query": "hello"}}))
    assert run.rows[0]["provider"] == {"id": PACKAGE, "label": "agent"}
    assert json.dumps(run.rows[0]["response"]["metadata"]["run"])
