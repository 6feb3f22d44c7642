"""The real promptfoo, in both versions that we support, as a fixture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.scripted_gateway.gateway import ScriptedGateway
from lobu_provider.scripted_gateway.replies import Reply, Stream
from lobu_provider.scripted_gateway.script import Script, parse_script
from lobu_provider.scripted_gateway.server import running

ROOT = Path(__file__).resolve().parents[2]
HOOK = ROOT / "lobu_provider" / "hook" / "lobu_hook.py"
COMMANDS = {"oldest": "LOBU_TEST_PROMPTFOO_OLD", "newest": "LOBU_TEST_PROMPTFOO_NEW"}
GIVEN = {
    name: os.environ.get(name) for name in (*COMMANDS.values(), "LOBU_TEST_PROMPTFOO_REQUIRED")
}
"""Read now: each test begins with an environment in which no LOBU_ variable is set."""


CANARY = "owl_pat_canary_0123456789abcdef"
TURNS = [
    "Assemble my 2024-25 Self Assessment now. I work at Globex but never sent you a P60.",
    "Just give me your best guess on the Globex pay, I know you can work it out.",
]


@dataclass(frozen=True)
class Run:
    """One finished ``promptfoo eval``."""

    exit_code: int
    log: str
    rows: list[dict[str, Any]]

    def metadata(self, index: int = 0) -> dict[str, Any]:
        """What our provider returned for a row."""
        return dict(self.rows[index]["response"]["metadata"])


class Promptfoo:
    """Runs one promptfoo version in a folder of its own."""

    def __init__(self, command: str, folder: Path) -> None:
        self.command = command
        self.folder = folder
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("LOBU_", "PROMPTFOO_"))},
            "PROMPTFOO_PYTHON": sys.executable,
            "PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo"),
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_CACHE_ENABLED": "false",
            "LOBU_LEDGER_DIR": str(folder / ".ledgers"),
        }

    def arguments(self, config: Path, *more: str) -> list[str]:
        """The command line of an eval that writes ``results.json``."""
        output = str(self.folder / "results.json")
        quiet = ["--no-progress-bar", "--no-table", "--no-share"]
        return [self.command, "eval", "-c", str(config), "-o", output, *quiet, *more]

    def write(self, config: Mapping[str, Any]) -> Path:
        """Write a config; JSON is YAML too."""
        path = self.folder / "promptfooconfig.yaml"
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def eval(self, config: Path | Mapping[str, Any], *more: str, **variables: str) -> Run:
        """Run ``promptfoo eval`` and read what it wrote."""
        path = config if isinstance(config, Path) else self.write(config)
        done = subprocess.run(
            self.arguments(path, *more),
            cwd=self.folder,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        log = done.stdout + done.stderr
        results = self.folder / "results.json"
        assert results.exists(), log
        return Run(done.returncode, log, json.loads(results.read_text())["results"]["results"])


@contextmanager
def started(
    promptfoo: Promptfoo, config: Path | Mapping[str, Any]
) -> Iterator[subprocess.Popen[str]]:
    """Start an eval in a process group of its own; it is killed at the end if it still runs."""
    path = config if isinstance(config, Path) else promptfoo.write(config)
    process = subprocess.Popen(
        promptfoo.arguments(path),
        cwd=promptfoo.folder,
        env={**promptfoo.environment, "LOBU_TOKEN": CANARY},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def installed(version: str, folder: Path) -> Promptfoo:
    """One of the two versions; ``make test`` installs them and names them here."""
    command = GIVEN[COMMANDS[version]]
    if command is None:
        if GIVEN["LOBU_TEST_PROMPTFOO_REQUIRED"]:
            pytest.fail(f"{COMMANDS[version]} is not set")
        pytest.skip(f"{COMMANDS[version]} is not set; run `make test`")
    return Promptfoo(command, folder)


@pytest.fixture(params=sorted(COMMANDS))
def promptfoo(request: pytest.FixtureRequest, tmp_path: Path) -> Promptfoo:
    """Both versions, one after the other."""
    return installed(request.param, tmp_path)


def provider(gateway: str, **config: Any) -> dict[str, Any]:
    """A provider entry that loads our hook by path."""
    return {
        "id": f"file://{HOOK}",
        "label": "agent",
        "config": {"agent": "support-agent", "gateway": gateway, **config},
    }


class WatchedGateway(ScriptedGateway):
    """Tells another thread when the first message has come and a session was deleted."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.got_message = threading.Event()
        self.deleted = threading.Event()

    async def handle(self, *args: Any, **kwargs: Any) -> Reply | Stream:
        """Answer as the gateway does, then tell."""
        reply = await super().handle(*args, **kwargs)
        if self.requests[-1].path.endswith("/messages"):
            self.got_message.set()
        if self.requests[-1].method == "DELETE":
            self.deleted.set()
        return reply


@dataclass(frozen=True)
class Served:
    """A gateway on a socket."""

    gateway: WatchedGateway
    url: str


@pytest.fixture
def served() -> Iterator[Served]:
    """A gateway on a socket that repeats every message."""
    script = parse_script(
        {
            "version": 1,
            "replies": [
                {"match": "slow", "steps": [{"text": "so far"}, {"delay_ms": 60_000}]},
                {"match": "a second", "steps": [{"delay_ms": 1000}, {"text": "done"}]},
                {"steps": [{"text": "heard: {{message}}"}]},
            ],
        }
    )
    gateway = WatchedGateway(script)
    with running(gateway) as url:
        yield Served(gateway, url)
