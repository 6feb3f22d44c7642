"""The suite run by the real promptfoo: as it should be, with planted faults, and paused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lobu_provider.scripted_gateway.gateway import ScriptedGateway
from lobu_provider.scripted_gateway.replies import Reply, Stream
from lobu_provider.scripted_gateway.script import Script, parse_script
from lobu_provider.scripted_gateway.server import running
from tests.cli.conftest import run_in_process
from tests.e2e.conftest import CANARY, ROOT, Promptfoo, provider, started
from tests.e2e.real_runs.suite import CONFIG, DOORS, script, suite


@dataclass(frozen=True)
class RealRuns:
    """What one promptfoo wrote through one door: names of files below the folder."""

    promptfoo: Promptfoo
    door: str
    config: str = f"before/{CONFIG}"
    before: str = "before/results.json"
    after: tuple[str, str] = ("after-0/results.json", "after-1/results.json")
    """Two shards."""
    unwritten: str = "paused/results.json"
    """What the paused run should have written."""
    paused: str = "paused/exported.json"
    """The paused run as exported."""

    @property
    def folder(self) -> Path:
        """Where all runs lie; nothing is written there by a test."""
        return self.promptfoo.folder

    def rows(self, *names: str) -> list[dict[str, Any]]:
        """promptfoo's rows of some files."""
        files = [json.loads((self.folder / name).read_text("utf-8")) for name in names]
        return [row for file in files for row in file["results"]["results"]]


def run_all(promptfoo: Promptfoo, door: str) -> None:
    """Run the suite, run it again with the faults in two shards, and pause a third run.

    Each in a folder of its own, two at a time.
    """
    if door == "package":
        link = promptfoo.folder / "node_modules" / "@lobu" / "promptfoo-provider"
        link.parent.mkdir(parents=True)
        link.symlink_to(ROOT / "node_shim")
    good = project(promptfoo, "before", door)
    words = ("shard", str(good.folder / CONFIG), "--of", "2")
    ranges = run_in_process(*words).stdout.splitlines()
    shards = [project(promptfoo, f"after-{n}", door, good=False) for n in range(2)]
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(_evaluate, good),
            pool.submit(_pause, project(promptfoo, "paused", door), DOORS[door]),
            *(pool.submit(_evaluate, *one) for one in zip(shards, ranges, strict=True)),
        ]
        for one in waiting:
            one.result()


def project(promptfoo: Promptfoo, name: str, door: str, *, good: bool = True) -> Promptfoo:
    """Return a folder with the suite and its two agents, ``good`` or with the faults."""
    part = Promptfoo(promptfoo.command, promptfoo.folder / name)
    part.folder.mkdir()
    part.environment.update(LOBU_PYTHON=sys.executable)
    part.write(suite(DOORS[door]))
    for label, is_good in (("steady", True), ("model", good)):
        (part.folder / f"{label}.json").write_text(json.dumps(script(good=is_good)))
    return part


def _evaluate(part: Promptfoo, options: str = "") -> None:
    more = ("--repeat", "2", *options.split())
    part.eval(part.folder / CONFIG, *more, LOBU_TOKEN=CANARY)


class _CountingGateway(ScriptedGateway):
    """Lets another thread wait for its messages, one by one."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.messages = threading.Semaphore(0)

    async def handle(self, *args: Any, **kwargs: Any) -> Reply | Stream:
        reply = await super().handle(*args, **kwargs)
        if self.requests[-1].path.endswith("/messages"):
            self.messages.release()
        return reply


def _pause(part: Promptfoo, door: str) -> None:
    """Interrupt a run in the second of three tests, and export it."""
    replies = [
        {"match": "slow", "steps": [{"text": "so far"}, {"delay_ms": 60_000}]},
        {"steps": [{"text": "heard: {{message}}"}]},
    ]
    gateway = _CountingGateway(parse_script({"version": 1, "replies": replies}))
    names = {"greets": "hello", "is slow": "slow please", "never begins": "hello?"}
    with running(gateway) as url:
        config = {
            "prompts": ["{{query}}"],
            "providers": [{**provider(url), "id": door, "label": "steady"}],
            "tests": [{"description": name, "vars": {"query": q}} for name, q in names.items()],
            "evaluateOptions": {"maxConcurrency": 1},
        }
        with started(part, config) as process:
            for _ in range(2):
                assert gateway.messages.acquire(timeout=60)
            os.killpg(process.pid, signal.SIGINT)
            log, _ = process.communicate(timeout=60)
    assert process.returncode == 0, log
    done = subprocess.run(
        [part.command, "export", "eval", "latest", "-o", "exported.json"],
        cwd=part.folder,
        env=part.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
