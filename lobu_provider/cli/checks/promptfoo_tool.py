"""Whether a fitting promptfoo and Node are there, and how many calls run at a time."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lobu_provider.cli.checks.config_file import ConfigFile, ProviderEntry
from lobu_provider.cli.checks.finding import Finding, TimeBudget
from lobu_provider.cli.checks.shell import run

OLDEST: Final = (0, 121, 13)
"""Before it a second run of the same config returns cached, stale answers of a Python provider."""

NODES: Final = "^20.20.0 || >=22.22.0"
"""What promptfoo 0.121 runs on; the installed one's own range is taken when it can be read."""

MANY_WORKERS: Final = 15
"""A gateway with default settings has workers for so many conversations."""

_INSTALL: Final = "npm install --save-dev promptfoo@latest"


def check_promptfoo(folders: Sequence[Path], budget: TimeBudget) -> Iterator[Finding]:
    """Yield a finding for promptfoo and one for Node.

    Args:
        folders: where ``node_modules`` may be, upwards from each; then PATH.
        budget: bounds the programs that are run.
    """
    program = _find(folders)
    manifest = _manifest(program) if program is not None else {}
    if program is None:
        yield Finding(
            "promptfoo",
            "warn",
            "not in node_modules/.bin and not on PATH",
            f"{_INSTALL}  (npx promptfoo works too, and takes whatever is newest)",
        )
    else:
        yield _promptfoo(program, manifest, budget)
    yield _node(manifest, installed=program is not None, budget=budget)


def _find(folders: Sequence[Path]) -> Path | None:
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


def _promptfoo(program: Path, manifest: Mapping[str, Any], budget: TimeBudget) -> Finding:
    text = str(manifest.get("version") or "")
    if not text:
        text = run([str(program), "--version"], budget.at_most(8)) or ""
    version = _version(text)
    if version is None:
        return Finding("promptfoo", "warn", f"{program} does not tell its version", _INSTALL)
    told = ".".join(map(str, version))
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return Finding(
            "promptfoo",
            "fail",
            f"{program} is {told}; before {oldest} a second run returns cached, stale answers",
            _INSTALL,
        )
    return Finding("promptfoo", "ok", f"{program} is {told}")


def _node(manifest: Mapping[str, Any], *, installed: bool, budget: TimeBudget) -> Finding:
    wanted = str((manifest.get("engines") or {}).get("node") or NODES)
    program = shutil.which("node")
    fix = f"Install Node {wanted} from https://nodejs.org"
    if program is None:
        return Finding("node", "fail" if installed else "warn", "no node on PATH", fix)
    version = _version(run([program, "--version"], budget.at_most(5)) or "")
    if version is None:
        return Finding("node", "warn", f"{program} does not tell its version", fix)
    told = ".".join(map(str, version))
    if not in_range(version, wanted):
        status: Final = "fail" if installed else "warn"
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
                f"{entry.where}: {count} calls at a time ({source}); a gateway with default "
                f"settings has workers for {MANY_WORKERS} conversations",
                "Lower it, e.g. promptfoo eval -j 4",
            )
        elif count > 1:
            yield Finding("workers", "ok", f"{entry.where}: {count} calls at a time ({source})")
        else:
            yield Finding(
                "workers",
                "ok",
                f"{entry.where}: one call at a time ({source})",
                "To be faster: promptfoo eval -j 4",
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
