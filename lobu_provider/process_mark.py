"""Tell a process again later: whether it still runs, and not another that got its number."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

_PROC: Final = Path("/proc")
_PS_LIMIT_S: Final = 2.0


@dataclass(frozen=True)
class ProcessMark:
    """A process of one machine, at one time."""

    machine: str
    """Host, boot and process namespace; in another one the same number means nothing."""
    pid: int
    started: str
    """When it started, in the system's own words; blank where that cannot be told."""

    @staticmethod
    def read(value: Any) -> ProcessMark | None:
        """Return the mark that :meth:`written` gave; ``None`` for anything else."""
        if not isinstance(value, Mapping):
            return None
        machine, pid, started = (value.get(key) for key in ("machine", "pid", "started"))
        if not (isinstance(machine, str) and isinstance(pid, int) and isinstance(started, str)):
            return None
        return ProcessMark(machine, pid, started)

    def written(self) -> dict[str, Any]:
        """Return the mark as a JSON value."""
        return {"machine": self.machine, "pid": self.pid, "started": self.started}

    def is_gone(self) -> bool:
        """Return whether the process has certainly ended; ``False`` also when nobody can tell."""
        if self.machine != this_machine():
            return False
        started = _started(self.pid)
        if not self.started:  # then the number is all there is: gone while no process has it
            return started == ""
        return started is not None and started != self.started


@lru_cache(maxsize=1)
def host_mark() -> ProcessMark:
    """Return the mark of the process that started this one, or of this one if that has ended.

    Read once: when the parent ends, this process gets another, which may never end.
    """
    started = _started(_PARENT) if _is_parent(_PARENT) else None
    return ProcessMark(this_machine(), _PARENT, started) if started else own_mark()


@lru_cache(maxsize=1)
def own_mark() -> ProcessMark:
    """Return the mark of this process."""
    return ProcessMark(this_machine(), os.getpid(), _started(os.getpid()) or "")


_PARENT: Final = os.getppid()
"""Read while this is loaded, which is early: a parent that is another later has adopted us."""


def _is_parent(pid: int) -> bool:
    """Return whether a process has started this one, and not adopted it when its parent ended."""
    if pid <= 1 or pid != os.getppid():
        return False
    if not hasattr(os, "getsid") or os.getsid(0) == os.getpid():  # as our npm package starts us
        return True
    try:
        return os.getsid(pid) == os.getsid(0)  # a child is born into its parent's session
    except OSError:  # it has just ended
        return False


@lru_cache(maxsize=1)
def this_machine() -> str:
    """Return what tells this machine, since it was started, from others."""
    parts = [socket.gethostname(), _line(_PROC / "sys/kernel/random/boot_id")]
    try:
        parts.append(os.readlink(_PROC / "self/ns/pid"))
    except OSError:
        parts.append("")  # no such thing on this system
    return "|".join(parts)


def _line(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """When a process started; blank when it has ended, ``None`` when that cannot be told."""
    if (_PROC / "self/stat").exists():
        return _started_by_proc(pid)
    return ps(pid, "lstart", _PS_LIMIT_S)


def _started_by_proc(pid: int) -> str | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text("ascii", "replace")
    except (FileNotFoundError, ProcessLookupError):  # the latter: it ended while this was read
        return ""
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    state, started = fields[0], fields[19]
    return "" if state in ("Z", "X") else started


def ps(pid: int, field: str, limit_s: float) -> str | None:
    """Return what the ``ps`` command says of a process, where there is no ``/proc``.

    Args:
        pid: which process.
        field: of ``ps -o``, e.g. ``lstart``.
        limit_s: for the command.

    Returns:
        Blank when the process has ended, ``None`` when that cannot be told.
    """
    if os.name != "posix":
        return None
    import subprocess  # not needed on Linux

    try:
        done = subprocess.run(  # noqa: S603 - a number, and a field that we name
            ["/bin/ps", "-ww", "-o", f"{field}=", "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip()
