"""Which sessions a promptfoo run has made and not deleted, written down so that others can do it.

One file for each run (promptfoo's evaluation id), in a folder that only this user can read. It
holds ids only, never a token::

    lobu-provider/sessions/eval-abc-2026-09-01T10-00-00-1f2e3d4c.jsonl

Each record is one line, appended by one write, so that many processes can write at once; a line
that a dying process cut off is skipped. Nothing here raises for what the disk does: a session that
could not be written down is only not swept.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from lobu_provider.ledger_files import append, locked, read
from lobu_provider.ledger_folder import folder
from lobu_provider.process_mark import ProcessMark, host_mark

EXPIRED_S: Final = 25 * 3600.0
"""A gateway drops a session that nobody used for 24 hours."""

QUIET_S: Final = 60.0
"""How long a run must have written nothing, beside its process having ended, to count as dead."""


@dataclass(frozen=True)
class LeftSession:
    """A session that was created and, as far as is known, not deleted."""

    gateway: str
    """Base URL, ending in ``/lobu``."""
    agent_id: str
    thread: str
    session_id: str
    """The gateway's own id; blank when the process ended before it knew."""
    marker: str
    """See :func:`lobu_provider.session_notes.marker_of`."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others: a thread is one session of one agent."""
        return (self.gateway, self.agent_id, self.thread)


@dataclass(frozen=True)
class Run:
    """What one file says."""

    evaluation_id: str
    sessions: list[LeftSession]
    is_dead: bool
    """Whether the promptfoo that wrote it has ended and nothing was written for a while."""


def note_created(
    evaluation_id: str,
    gateway: str,
    session_id: str,
    agent_id: str,
    thread: str,
    *,
    marker: str = "",
    owner: ProcessMark | None = None,
) -> bool:
    """Write down that a session is there, or is about to be.

    Args:
        evaluation_id: promptfoo's ``context["evaluationId"]``.
        gateway: base URL as in ``Settings.gateway``.
        session_id: from the create reply; blank before it. A later note with the id replaces it.
        agent_id: the registered agent.
        thread: the session's thread; one that is pinned or to be kept must not be noted.
        marker: from :func:`lobu_provider.session_notes.marker_of`.
        owner: the process with whose end the run is over; by default promptfoo, which started
            this one.

    Returns:
        Whether it was written.
    """
    record = {
        "did": "create",
        "gateway": gateway,
        "agent": agent_id,
        "thread": thread,
        "session": session_id,
        "marker": marker,
        "host": (owner or host_mark()).written(),
    }
    return _append(evaluation_id, record)


def note_deleted(evaluation_id: str, gateway: str, agent_id: str, thread: str) -> bool:
    """Write down that the session of a thread is gone, or never was; returns as above."""
    record = {"did": "delete", "gateway": gateway, "agent": agent_id, "thread": thread}
    # Where the run's file is gone, a sweep has dealt with the session already.
    return _append(evaluation_id, record, create=False)


def left(evaluation_id: str) -> list[LeftSession]:
    """Return the sessions of a run that were not deleted, oldest first."""
    where = folder(create=False)
    return [] if where is None else _sessions(read(where / _name(evaluation_id)))


def forget(evaluation_id: str) -> bool:
    """Remove a run's file if nothing is left in it.

    Returns:
        Whether there is no such file any more.
    """
    where = folder(create=False)
    return where is None or _remove(where / _name(evaluation_id))


def runs(*, at_least_quiet_s: float = 0.0) -> Iterator[Run]:
    """Yield every run that there is a file of; the files of long expired ones are removed.

    Args:
        at_least_quiet_s: leave out, and do not read, what was written to more recently.
    """
    where = folder(create=False)
    if where is None:
        return
    for path, quiet_s in _unexpired(where):
        if quiet_s < at_least_quiet_s:
            continue
        records = read(path)
        evaluation_id = next((str(r["run"]) for r in records if r.get("run")), "")
        # Mostly one process for thousands of records, and each costs a look at the system.
        hosts = {ProcessMark.read(r.get("host")) for r in records if r.get("did") == "create"}
        ended = quiet_s >= QUIET_S and all(host is not None and host.is_gone() for host in hosts)
        yield Run(evaluation_id, _sessions(records), ended)


def _append(evaluation_id: str, record: dict[str, Any], *, create: bool = True) -> bool:
    where = folder(create=True)
    if where is None:
        return False
    _tidy_up(where)
    noted = {"run": evaluation_id, **record}
    return append(where / _name(evaluation_id), noted, create=create)


@lru_cache(maxsize=8)
def _tidy_up(where: Path) -> None:
    """Remove expired files, once in a process: without the hook nobody else does."""
    for _ in _unexpired(where):
        continue


def _unexpired(where: Path) -> Iterator[tuple[Path, float]]:
    """Yield each file and for how many seconds nothing was written to it."""
    now_s = time.time()
    for path in sorted(where.glob("*.jsonl")):
        try:
            quiet_s = now_s - path.stat().st_mtime
        except OSError:
            continue  # another process has just removed it
        if quiet_s > EXPIRED_S:
            _remove(path, even_if_left=True)
        else:
            yield path, quiet_s


def _remove(path: Path, *, even_if_left: bool = False) -> bool:
    try:
        with locked(path) as is_there:  # nobody appends meanwhile
            if not is_there:
                return True
            if not even_if_left and _sessions(read(path)):
                return False
            if _CAN_REMOVE_OPEN:
                path.unlink()
                return True
        path.unlink(missing_ok=True)
    except OSError:  # also where another process keeps the lock
        return False
    return True


def _name(evaluation_id: str) -> str:
    # The id holds colons, and whoever calls promptfoo may choose it.
    plain = re.sub(r"[^A-Za-z0-9]+", "-", evaluation_id)[:60]
    digest = hashlib.sha256(evaluation_id.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain}-{digest}.jsonl"


def _sessions(records: list[dict[str, Any]]) -> list[LeftSession]:
    there: dict[tuple[str, str, str], LeftSession] = {}
    for record in records:
        texts = {name: record.get(name, "") for name in _TEXTS}
        if not all(isinstance(text, str) for text in texts.values()):
            continue
        session = LeftSession(
            gateway=texts["gateway"],
            agent_id=texts["agent"],
            thread=texts["thread"],
            session_id=texts["session"],
            marker=texts["marker"],
        )
        if record.get("did") == "create":
            there[session.key] = session
        else:
            there.pop(session.key, None)
    return list(there.values())


_CAN_REMOVE_OPEN: Final = os.name != "nt"
"""Whether the system removes a file that is open. Where not, there are no locks either."""

_TEXTS: Final = ("gateway", "agent", "thread", "session", "marker")
