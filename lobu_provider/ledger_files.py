"""Where the ledgers lie, and how a record gets into one whole."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

FOLDER_VARIABLE: Final = "LOBU_LEDGER_DIR"
"""Names another folder; ``off`` writes nothing down."""

MAX_BYTES: Final = 20_000_000
"""Read of one file; a run of 10,000 conversations takes a third of it."""


def folder(*, create: bool) -> Path | None:
    """Return the folder of this user's ledgers; ``None`` when there is none that is safe to use.

    Args:
        create: make it when it is missing.
    """
    given = os.environ.get(FOLDER_VARIABLE, "").strip()
    if given.lower() == "off":
        return None
    places = iter([Path(given)]) if given else _places()
    return next((path for path in places if _is_usable(path, create=create)), None)


def _places() -> Iterator[Path]:
    home = os.path.expanduser("~")
    cache: str | None
    if os.name == "nt":
        cache = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        cache = os.path.join(home, "Library", "Caches")
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    if cache and os.path.isabs(cache):  # "~" stays what it is when there is no home
        yield Path(cache) / "lobu-provider" / "sessions"
    yield _temporary_folder()


def _temporary_folder() -> Path:
    import tempfile  # seldom needed: there mostly is a home

    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"lobu-provider-{user}" / "sessions"


def _is_usable(path: Path, *, create: bool) -> bool:
    try:
        if create:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    # Somebody else's folder, or an open one: what it says could be forged.
    return found.st_uid == os.getuid() and not found.st_mode & 0o077


def append(path: Path, record: Mapping[str, Any], *, create: bool = True) -> bool:
    """Write one record; returns whether that was possible.

    With ``create`` false a file that is not there stays so.

    Where another process keeps the lock the record is written without it: one write is whole by
    itself, and only a file that is removed at that very moment takes it along.
    """
    # A line end before it too: the writer before may have died in the middle of a line.
    line = f"\n{json.dumps(record)}\n".encode("ascii")
    for _ in range(3):  # the file may be removed between opening and locking it
        try:
            making = os.O_CREAT if create else 0
            file = os.open(path, os.O_WRONLY | os.O_APPEND | making | _NO_LINKS, 0o600)
        except OSError:
            return False
        try:
            locked_it = _lock(file, exclusive=False)
            if os.fstat(file).st_nlink == 0:
                continue
            written = os.write(file, line) == len(line)
            if locked_it or os.fstat(file).st_nlink > 0:
                return written
        except OSError:
            return False
        finally:
            os.close(file)
    return False


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Keep everybody from appending to a file; yields whether there is one.

    Raises:
        BlockingIOError: another process keeps the lock.
    """
    try:
        file = os.open(path, os.O_RDWR | _NO_LINKS)
    except OSError:
        yield False
        return
    try:
        if not _lock(file, exclusive=True):
            raise BlockingIOError(errno.EWOULDBLOCK, "in use by another process", str(path))
        yield True
    finally:
        os.close(file)


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file in order, without those that cannot be read."""
    try:
        with open(path, "rb", opener=_open_no_link) as file:
            text = file.read(MAX_BYTES)
    except OSError:
        return []
    found = (_record(line) for line in text.splitlines())
    return [record for record in found if record is not None]


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | _NO_LINKS)


_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


_LOCK_TRIES: Final = 50
_LOCK_PAUSE_S: Final = 0.002
"""A lock is held for one write or one removal. The tries block the event loop: a tenth of a second
at most, also where a process was stopped with the lock in its hand."""


def _lock(file: int, *, exclusive: bool) -> bool:
    """Lock an open file until it is closed, where the system and the file system can.

    Returns:
        ``False`` when others keep the lock.
    """
    try:
        import fcntl
    except ImportError:
        return True
    how = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(file, how)
            return True
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
        except OSError:
            # A network folder without locks: a record can then be lost while a file is removed.
            return True
    return False
