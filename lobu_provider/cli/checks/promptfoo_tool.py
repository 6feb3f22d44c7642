"""Whether a fitting promptfoo and Node are there, and how many calls run at a time."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lobu_provider.cli.checks.config_file import ConfigFile
from lobu_provider.cli.checks.config_providers import ProviderEntry
from lobu_provider.cli.checks.shell import Answer, run
from lobu_provider.probe.finding import Finding, TimeBudget

OLDEST: Final = (0, 121, 13)
"""Before it a second run of the same config returns cached, stale answers of a Python provider."""

NODES: Final = "^20.20.0 || >=22.22.0"
"""What promptfoo 0.121 runs on; the installed one's own range is taken when it can be read."""

MANY_WORKERS: Final = 15
"""A gateway with default settings has workers for so many conversations."""

_NEW_NODES: Final = ">=22.22.0"
"""What the newest promptfoo runs on."""

_LIMIT_S: Final = 8.0
"""For a program to tell its version: promptfoo takes seconds to start."""

_NO_VERSION: Final = "does not tell its version"

FOR_ANY_NODE: Final = "0.121.20"
"""The newest promptfoo that we test with and that runs on Node 20."""


def check_promptfoo(folders: Sequence[Path], budget: TimeBudget) -> Iterator[Finding]:
    """Yield a finding for promptfoo and one for Node.

    Args:
        folders: where ``node_modules`` may be, upwards from each; then PATH.
        budget: bounds the programs that are run.
    """
    program = find_promptfoo(folders)
    manifest = _manifest(program) if program is not None else {}
    node = shutil.which("node")
    node_answer = run([node, "--version"], budget.at_most(_LIMIT_S)) if node else Answer(None)
    node_version = _version(node_answer.text or "")
    fix = fitting_promptfoo(node_version)
    if program is None:
        yield Finding("promptfoo", "warn", "not in node_modules/.bin and not on PATH", fix)
    else:
        yield _promptfoo(program, manifest, budget, fix)
    yield _node(node, node_answer, manifest, installed=program is not None)


def fitting_promptfoo(node: tuple[int, ...] | None) -> str:
    """Return what to run to have a promptfoo that this version of Node runs."""
    if node is None or not in_range(node, NODES):
        return f"Install Node {_NEW_NODES} from https://nodejs.org, then: npx promptfoo@latest"
    version = "latest" if in_range(node, _NEW_NODES) else FOR_ANY_NODE
    return f"npx promptfoo@{version}  (to keep it: npm install --save-dev promptfoo@{version})"


def find_promptfoo(folders: Sequence[Path]) -> Path | None:
    """Return promptfoo's program: of the nearest ``node_modules``, else of PATH."""
    for folder in folders:
        for place in (folder, *folder.parents):
            found = shutil.which("promptfoo", path=str(place / "node_modules" / ".bin"))
            if found:
                return Path(found)
    found = shutil.which("promptfoo")
    return Path(found) if found else None


def _manifest(program: Path) -> Mapping[str, Any]:
    """Return promptfoo's ``package.json``: quicker than starting it, which takes seconds."""
    places = [*program.resolve().parents, program.parent.parent / "promptfoo"]
    for place in places:  # the latter: on Windows .bin holds scripts, not links
        try:
            data = json.loads((place / "package.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(data, dict) and data.get("name") == "promptfoo":
            return data
    return {}


def _promptfoo(program: Path, manifest: Mapping[str, Any], budget: TimeBudget, fix: str) -> Finding:
    known = manifest.get("version")
    answer = (
        Answer(str(known)) if known else run([str(program), "--version"], budget.at_most(_LIMIT_S))
    )
    version = _version(answer.text or "")
    if version is None:
        return Finding("promptfoo", "warn", f"{program} {answer.fault(_NO_VERSION)}", fix)
    told = ".".join(map(str, version))
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return Finding(
            "promptfoo",
            "fail",
            f"{program} is {told}; before {oldest} a second run returns cached, stale answers",
            fix,
        )
    return Finding("promptfoo", "ok", f"{program} is {told}")


def _node(
    program: str | None,
    answer: Answer,
    manifest: Mapping[str, Any],
    *,
    installed: bool,
) -> Finding:
    wanted = str((manifest.get("engines") or {}).get("node") or NODES)
    fix = f"Install Node {wanted} from https://nodejs.org"
    if program is None:
        return Finding("node", "fail" if installed else "warn", "no node on PATH", fix)
    version = _version(answer.text or "")
    if version is None:
        return Finding("node", "warn", f"{program} {answer.fault(_NO_VERSION)}", fix)
    told = ".".join(map(str, version))
    if not in_range(version, wanted):
        status: Final = "fail" if installed else "warn"
        if in_range(version, NODES):  # then an older promptfoo runs on it
            fix = f"{fitting_promptfoo(version)}, or: {fix}"
        return Finding("node", status, f"{program} is {told}; promptfoo needs {wanted}", fix)
    return Finding("node", "ok", f"{program} is {told}")


def in_range(version: tuple[int, ...], wanted: str) -> bool:
    """Return whether a version is in a range of ``^A.B.C`` and ``>=A.B.C``, joined by ``||``.

    A range in another notation is not judged: it counts as met.
    """
    for part in wanted.split("||"):
        found = re.fullmatch(r"\s*(\^|>=)\s*v?(\d+(?:\.\d+){0,2})\s*", part)
        if found is None:
            return True
        floor = tuple(map(int, found[2].split(".")))
        if version >= floor and (found[1] == ">=" or version[0] == floor[0]):
            return True
    return False


def _version(text: str) -> tuple[int, ...] | None:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else None


def check_workers(config: ConfigFile, entries: Sequence[ProviderEntry]) -> Iterator[Finding]:
    """Yield how many calls promptfoo runs at a time, where the config decides it."""
    for entry in entries:
        if entry.kind != "python":
            continue
        count, source = _workers(config, entry)
        if count > MANY_WORKERS:
            yield Finding(
                "workers",
                "warn",
                f"{count} calls at a time ({source}); a gateway with default settings has "
                f"workers for {MANY_WORKERS} conversations",
                "Lower it, e.g. promptfoo eval -j 4",
                where=entry.where,
            )
        elif count > 1:
            said = f"{count} calls at a time ({source})"
            yield Finding("workers", "ok", said, where=entry.where)
        else:
            yield Finding(
                "workers",
                "ok",
                f"one call at a time ({source})",
                "To be faster: promptfoo eval -j 4",
                where=entry.where,
            )


def _workers(config: ConfigFile, entry: ProviderEntry) -> tuple[int, str]:
    """promptfoo's own order; ``-j`` on its command line comes third and cannot be seen here."""
    command_line = config.data.get("commandLineOptions")
    evaluate = config.data.get("evaluateOptions")
    places = (
        ("config.workers", entry.options["config"].get("workers")),
        ("PROMPTFOO_PYTHON_WORKERS", os.environ.get("PROMPTFOO_PYTHON_WORKERS")),
        ("commandLineOptions.maxConcurrency", _get(command_line, "maxConcurrency")),
        ("evaluateOptions.maxConcurrency", _get(evaluate, "maxConcurrency")),
    )
    for source, value in places:
        try:
            count = int(str(value))
        except ValueError:
            continue
        if count > 0:
            return count, source
    return 1, "promptfoo's default for Python"


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None
