"""Compare all cassettes of two folders: each with the one that has its hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lobu_provider.cassettes.reading import CassetteFault, read_cassette
from lobu_provider.cassettes.shelf import Shelf, digest_in
from lobu_provider.drift.comparison import Difference, differences
from lobu_provider.drift.told_turns import told_by

Status = Literal["same", "drifted", "missing", "new", "unreadable"]


@dataclass(frozen=True)
class CaseDrift:
    """What became of one conversation."""

    name: str
    """The test's description, or the file's name."""
    file: str
    """Below the folder."""
    status: Status
    differences: tuple[Difference, ...] = ()
    reason: str = ""
    """Of an unreadable one."""

    @property
    def is_drift(self) -> bool:
        """Whether somebody has to look: a conversation that is only new was compared to nothing."""
        return self.status not in ("same", "new")

    def told(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "name": self.name,
            "file": self.file,
            "status": self.status,
            "differences": [
                {"turn": d.turn, "field": d.field, "old": d.old, "new": d.new}
                for d in self.differences
            ],
            **({"reason": self.reason} if self.reason else {}),
        }


def drift_of_folders(
    old: Path, new: Path, *, with_text: bool = False, sets: frozenset[str] | None = None
) -> list[CaseDrift]:
    """Return what became of each conversation of either folder, in the order of file names.

    Args:
        old: what is compared with.
        new: what is compared.
        with_text: compare the answers too.
        sets: the folders below that count, ``.`` for the folder itself; all by default.
    """
    before, after = _by_key(old, sets), _by_key(new, sets)
    return [
        _case(before.get(key), after.get(key), old, new, with_text=with_text)
        for key in dict.fromkeys([*before, *after])
    ]


def _by_key(folder: Path, sets: frozenset[str] | None) -> Mapping[tuple[str, str], Path]:
    """The same hash in another folder below, a set, is another gateway's."""
    keyed = {
        (path.parent.relative_to(folder).as_posix(), digest_in(path) or ""): path
        for path in Shelf(folder).files()
    }
    return {key: path for key, path in keyed.items() if sets is None or key[0] in sets}


def _case(
    before: Path | None, after: Path | None, old: Path, new: Path, *, with_text: bool
) -> CaseDrift:
    path, folder = (before, old) if before is not None else (after, new)
    assert path is not None  # noqa: S101 - the key is of one of the two
    file = path.relative_to(folder).as_posix()
    read = []
    for one in (before, after):
        try:
            read.append(None if one is None else read_cassette(one))
        except CassetteFault as exc:
            where = "old" if one == before else "new"
            return CaseDrift(file, file, "unreadable", reason=f"{where}: {exc}")
    first, second = read
    about = first or second
    name = str(about.about.get("description") or file) if about is not None else file
    if first is None or second is None:
        return CaseDrift(name, file, "new" if first is None else "missing")
    found = tuple(differences(told_by(first), told_by(second), with_text=with_text))
    return CaseDrift(name, file, "drifted" if found else "same", found)


def drifted(cases: list[CaseDrift]) -> Iterator[CaseDrift]:
    """Yield those that somebody has to look at."""
    return (case for case in cases if case.is_drift)
