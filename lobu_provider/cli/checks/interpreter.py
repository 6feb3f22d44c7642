"""Which Python runs this program, and which one promptfoo would run the provider with."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import lobu_provider
from lobu_provider.cli.checks.config_providers import ProviderEntry
from lobu_provider.cli.checks.shell import run
from lobu_provider.probe.finding import Finding, TimeBudget

_CHECK: Final = "interpreter"
_PROBE: Final = (
    "import sys, lobu_provider.promptfoo.provider; "
    "print(sys.prefix); print('.'.join(map(str, sys.version_info[:3])))"
)
_PROBE_LIMIT_S: Final = 8.0


def check_interpreter(entries: Sequence[ProviderEntry], budget: TimeBudget) -> Iterator[Finding]:
    """Yield one finding for this interpreter and one for promptfoo's, where they differ.

    promptfoo takes ``PROMPTFOO_PYTHON``, else ``pythonExecutable`` of the first Python provider,
    else ``python`` from PATH.
    """
    yield Finding(
        _CHECK,
        "ok",
        f"{sys.executable} (Python {platform.python_version()}) has lobu-provider "
        f"{lobu_provider.__version__}",
    )
    named, source = _named_interpreter(entries)
    found = _find(named) if named else shutil.which("python") or shutil.which("python3")
    here = f"export PROMPTFOO_PYTHON={shlex.quote(sys.executable)}"
    # A wrong interpreter is a fault where one was named, or where a config needs one.
    status: Final = "fail" if named or any(e.kind == "python" for e in entries) else "warn"
    if found is None:
        what = f"{source} names {named!r}, which is not there" if named else "no python on PATH"
        yield Finding(_CHECK, status, f"{what}, so promptfoo cannot run the provider", here)
        return
    if os.path.realpath(found) == os.path.realpath(sys.executable) and _same_environment(found):
        return
    hook_folder = Path(lobu_provider.__file__).parent / "hook"
    # From the hook's folder, as promptfoo does: that folder comes first on the import path.
    said = run([found, "-c", _PROBE], budget.at_most(_PROBE_LIMIT_S), cwd=hook_folder)
    whose = f"{source} is {found}" if named else f"promptfoo would take {found} from PATH"
    if said.text is None:
        fault = said.fault("cannot import lobu_provider")
        yield Finding(_CHECK, status, f"{whose}, which {fault}", here)
        return
    prefix, _, version = said.text.partition("\n")
    if Path(prefix) != Path(sys.prefix):
        yield Finding(_CHECK, "ok", f"{whose} (Python {version}), which has lobu_provider too")


def _named_interpreter(entries: Sequence[ProviderEntry]) -> tuple[str | None, str]:
    named = os.environ.get("PROMPTFOO_PYTHON", "").strip()
    if named:
        return named, "PROMPTFOO_PYTHON"
    for entry in entries:
        named = str(entry.options["config"].get("pythonExecutable") or "").strip()
        if named:
            return named, f"pythonExecutable of {entry.where}"
    return None, ""


def _find(named: str) -> str | None:
    found = shutil.which(named)
    # Not resolved: a virtual environment's python is a link, and the link is what counts.
    return os.path.abspath(found) if found else None


def _same_environment(found: str) -> bool:
    return os.path.dirname(os.path.abspath(found)) == os.path.dirname(sys.executable)
