"""Shelf: a folder of cassettes. Files are found by their hash, and appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lobu_provider.cassettes.key import CassetteKey, first_difference
from lobu_provider.cassettes.reading import read_about

_NAME: Final = re.compile(r".*-([0-9a-f]{12})\.jsonl")


_LOCK_PAUSE_S: Final = 0.005
_LOCK_WAIT_S: Final = 60.0
_LOCK_OLD_S: Final = 20.0
"""Whoever holds a lock writes one file; one that is older was left by a process that was killed."""


@dataclass(frozen=True)
class Near:
    """The cassette that is most like the one that is missing."""

    path: Path
    difference: str


class Shelf:
    """The cassettes of a folder.

    Args:
        folder: made when something is saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, digest: str) -> Path | None:
        """Return the file with this hash; the first by name where there are several."""
        return min(self.folder.glob(f"*-{digest}.jsonl"), default=None)

    def files(self) -> Iterator[Path]:
        """Yield every cassette, by its name, also those of folders below."""
        found = self.folder.rglob("*.jsonl")
        yield from sorted(path for path in found if _NAME.fullmatch(path.name))

    def place_for(self, key: CassetteKey, title: str) -> Path:
        """Return where a cassette is, or would be; ``title`` is in a new name."""
        return self.find(key.digest) or self.folder / key.file_name(title)

    def nearest(self, wanted: Mapping[str, Any]) -> Near | None:
        """Return the cassette that is most like a first line; ``None`` in an empty folder."""
        best: tuple[int, Path, Mapping[str, Any]] | None = None
        for path in sorted(self.folder.glob("*.jsonl")):
            about = read_about(path)
            if about is not None and (best is None or _likeness(wanted, about) > best[0]):
                best = (_likeness(wanted, about), path, about)
        return None if best is None else Near(best[1], first_difference(wanted, best[2]))

    def prepare(self) -> None:
        """Make the folder, and see that it can be written to.

        Raises:
            OSError: it cannot.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder):
            return

    @contextlib.contextmanager
    def alone_with(self, digest: str) -> Iterator[None]:
        """Keep other workers from a hash, while its file is looked at and written.

        Raises:
            OSError: the lock cannot be made, or others do not let go of it.
        """
        lock = self.folder / f".{digest}.lock"
        give_up_s = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                break
            except FileExistsError:
                if time.monotonic() > give_up_s:
                    raise
                if _is_left_over(lock):
                    lock.unlink(missing_ok=True)
                time.sleep(_LOCK_PAUSE_S)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

    def save(self, path: Path, text: str) -> None:
        """Write a file of this folder in one moment: who reads sees the old one or the new one.

        Raises:
            OSError: it cannot be written; the old one is still there.
        """
        descriptor, name = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".tmp")
        try:
            with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise


def digest_in(path: Path) -> str | None:
    """Return the hash in a file's name; ``None`` for a name that is none of a cassette."""
    found = _NAME.fullmatch(path.name)
    return found[1] if found is not None else None


def _is_left_over(lock: Path) -> bool:
    try:
        return time.time() - lock.stat().st_mtime > _LOCK_OLD_S
    except OSError:  # it has just been removed
        return False


def _likeness(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> int:
    """Count what agrees: the agent most, then the turns from the first one on, then the rest."""
    turns = 0
    for one, other in zip(_list(wanted, "turns"), _list(found, "turns"), strict=False):
        if one != other:
            break
        turns += 1
    words = len(_words(wanted) & _words(found))
    same = [name for name in wanted if wanted[name] == found.get(name)]
    return 1000 * ("agent" in same) + 100 * turns + words + len(same)


def _list(about: Mapping[str, Any], name: str) -> list[Any]:
    value = about.get(name)
    return value if isinstance(value, list) else []


def _words(about: Mapping[str, Any]) -> set[str]:
    return set(" ".join(map(str, _list(about, "turns"))).lower().split())
