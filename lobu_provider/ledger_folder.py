"""The folder where the ledgers lie, and whether it can be used."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lobu_provider.plain_file import open_plain

FOLDER_VARIABLE: Final = "LOBU_LEDGER_DIR"
"""Names another folder; ``off`` writes nothing down."""


def folder(*, create: bool) -> Path | None:
    """Return the folder of this user's ledgers; ``None`` when there is none that is safe to use.

    Args:
        create: make it when it is missing.
    """
    return next((path for path in _places() if _fault_of(path, create=create) is None), None)


def folder_fault() -> str | None:
    """Return why nothing can be written down, in a sentence that says what to do.

    ``None`` when it can, and when that was switched off. The folder is made if it is missing.
    """
    usable = folder(create=True)
    path = usable or next(_places(), None)
    if path is None:
        return None
    fault = _fault_of(path, create=True) if usable is None else _fault_of_writing(path)
    if fault is None:
        return None
    return (
        "The sessions of this run are not written down, so the next run cannot delete what this "
        f"one leaves when it is killed: the folder {str(path)!r} {fault}. Set {FOLDER_VARIABLE} to "
        "a folder of your own with mode 0700, or to 'off'."
    )


def _places() -> Iterator[Path]:
    """Yield the folders to try, the best first; none where the ledger is switched off."""
    given = os.environ.get(FOLDER_VARIABLE, "").strip()
    if not given:
        yield from _usual_places()
    elif given.lower() != "off":
        yield Path(given)


def _usual_places() -> Iterator[Path]:
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


def _fault_of(path: Path, *, create: bool) -> str | None:
    """Return why a folder cannot be used, as the end of a sentence."""
    try:
        if create:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # told below, in words
                path.mkdir(mode=0o700)
        found = path.lstat()
    except OSError as exc:
        return f"cannot be made or read: {exc.strerror}"
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "is no folder"
    if not hasattr(os, "getuid"):
        return None
    # Where others can write, what it says could be forged. That they can look into it, as into any
    # folder made under the usual umask, tells them names of runs: the files are the user's alone.
    if found.st_uid != os.getuid():
        return "belongs to another user"
    if found.st_mode & 0o022:
        return f"can be written to by others (mode {stat.S_IMODE(found.st_mode):04o})"
    return None


def _fault_of_writing(path: Path) -> str | None:
    """Return why nothing can be written into a folder, e.g. as the disk is full."""
    file = path / f"try-{os.getpid()}.tmp"
    try:
        with open(file, "wb", opener=open_plain) as opened:
            opened.write(b" " * 4096)  # a block: a file without content fits on a full disk
    except OSError as exc:
        return f"cannot be written to: {exc.strerror}"
    finally:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
    return None
