"""How a record gets into a ledger whole, and comes out of it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lobu_provider.plain_file import NO_LINK, open_plain

MAX_BYTES: Final = 20_000_000
"""Read of one file; a run of 10,000 conversations takes a third of it."""


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
            file = open_plain(path, os.O_WRONLY | os.O_APPEND | making | NO_LINK)
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


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Keep everybody from appending to a file; yields whether there is one.

    Raises:
        BlockingIOError: another process keeps the lock.
    """
    try:
        file = open_plain(path, os.O_RDWR | NO_LINK)
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
        with open(path, "rb", opener=_open) as file:
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


def _open(path: str, flags: int) -> int:
    return open_plain(path, flags | NO_LINK)


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
