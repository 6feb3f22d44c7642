"""Which cassettes the last run used, so that the others can be found and removed.

Kept in the user's cache like the ledger of sessions, one file a run and folder; not in the folder,
which is committed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lobu_provider.ledger_files import append, read
from lobu_provider.ledger_folder import folder

_KEPT_RUNS: Final = 3
_OLD_S: Final = 30 * 86_400.0


def note_use(cassettes: Path, run: str, path: Path) -> None:
    """Note that a run has played or written a cassette. What cannot be noted is not.

    Args:
        cassettes: the folder, that of a set included.
        run: promptfoo's ``evaluationId``.
        path: of the cassette.
    """
    where = folder(create=True)
    if where is None:
        return
    file = where / f"{_prefix(cassettes)}{_digest(run)}.uses"
    if not file.exists():
        _forget(_files(where, cassettes)[: -(_KEPT_RUNS - 1)])
        _forget(path for path in where.glob("cassettes-*.uses") if _is_old(path))
    append(file, {"file": path.name})


def used_by_last_run(cassettes: Path) -> frozenset[str] | None:
    """Return the names of the files that the last run used; ``None`` where no run is known."""
    where = folder(create=False)
    files = [] if where is None else _files(where, cassettes)
    if not files:
        return None
    return frozenset(str(record.get("file")) for record in read(files[-1]))


def _files(where: Path, cassettes: Path) -> list[Path]:
    """Return the notes on a folder, the oldest first."""
    found = []
    for path in where.glob(f"{_prefix(cassettes)}*.uses"):
        with contextlib.suppress(OSError):  # another process has just removed it
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found)]


def _is_old(path: Path) -> bool:
    """Whether notes are of a folder that nobody used for long, such as a temporary one."""
    try:
        return time.time() - path.stat().st_mtime > _OLD_S
    except OSError:  # another process has just removed it
        return False


def _forget(files: Iterable[Path]) -> None:
    for path in files:
        with contextlib.suppress(OSError):
            path.unlink()


def _prefix(cassettes: Path) -> str:
    return f"cassettes-{_digest(os.path.realpath(cassettes))}-"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
