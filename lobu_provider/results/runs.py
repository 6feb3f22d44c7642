"""One run out of one or several results files, and its rows grouped into tests."""

from __future__ import annotations

import filecmp
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lobu_provider.results.faults import ResultsError
from lobu_provider.results.files import FileFacts, facts_of, rows_of
from lobu_provider.results.identity import Identity
from lobu_provider.results.row_reading import Pool, indexes_of, read_row
from lobu_provider.results.rows import Row
from lobu_provider.results.telling_apart import told_apart


@dataclass(frozen=True)
class Run:
    """Everything that was read."""

    rows: tuple[Row, ...]
    files: tuple[FileFacts, ...]
    mixed: tuple[str, ...] = ()
    """Which rows may be taken for repeats of one test and be of several, and why."""


class Column(NamedTuple):
    """Who answered: a provider with a prompt."""

    provider: str
    """Numbered where several providers have one name."""
    prompt: str


@dataclass(frozen=True)
class Test:
    """One test with one provider and one prompt, over its repeats."""

    __test__ = False  # no test of pytest's

    identity: Identity
    name: str
    column: Column
    rows: tuple[Row, ...]

    @property
    def digest(self) -> str:
        """Digest of what the test says."""
        return self.identity.digest

    @property
    def checks(self) -> str:
        """Digest of its assertions and options."""
        return self.identity.checks

    @property
    def first(self) -> Row:
        """The row that came first."""
        return self.rows[0]


def read_run(paths: Sequence[Path]) -> Run:
    """Read some files as one run.

    Raises:
        ResultsError: a file cannot be read, or the same run is given twice.
    """
    pool, rows, files = Pool(), list[Row](), list[FileFacts]()
    for number, path in enumerate(paths):
        facts = facts_of(path)
        twice = next((other for other in files if _is_same_run(facts, other)), None)
        if twice is not None:
            name = f" ({facts.eval_id})" if facts.eval_id else ""
            raise ResultsError(
                f"{path} and {twice.path} are of the same run{name}, whose rows would count twice. "
                "Give each run once"
            )
        files.append(facts)
        rows += (read_row(row, number, pool) for row in rows_of(path))
    kept, mixed = told_apart(rows, files)
    return Run(kept, tuple(files), mixed)


def _is_same_run(one: FileFacts, other: FileFacts) -> bool:
    if one.eval_id is not None and other.eval_id is not None:
        return one.eval_id == other.eval_id
    return one.path.samefile(other.path) or filecmp.cmp(one.path, other.path, shallow=False)


def group_tests(rows: Iterable[Row]) -> list[Test]:
    """Return the tests in the order in which they first appear; those of one name are numbered."""
    rows = sorted(rows, key=lambda one: (one.file, one.test_idx, one.prompt_idx))
    columns = columns_of(rows)
    found: dict[tuple[str, Column], dict[Identity, list[Row]]] = defaultdict(
        lambda: defaultdict(list)
    )
    of_one_name: dict[str, list[Identity]] = defaultdict(list)
    for identity in dict.fromkeys(row.identity for row in rows):
        of_one_name[identity.name].append(identity)
    for row in rows:
        column = columns[row.file, row.prompt_idx]
        found[row.identity.digest, column][row.identity].append(row)
    return [
        Test(identity, _numbered(identity, of_one_name), column, tuple(same))
        for (_, column), variants in found.items()
        for identity, same in variants.items()
    ]


def _numbered(identity: Identity, of_one_name: Mapping[str, list[Identity]]) -> str:
    """Return a name that no other test of the run has, whichever provider answered."""
    alike = of_one_name[identity.name]
    number = f" #{alike.index(identity) + 1}" if len(alike) > 1 else ""
    return identity.name + number


def columns_of(rows: Iterable[Row]) -> Mapping[tuple[int, int], Column]:
    """Return who answered, by number of the file and ``promptIdx``."""
    places: dict[tuple[int, str, str], set[int]] = defaultdict(set)
    for row in rows:
        places[row.file, row.provider, row.prompt].add(row.prompt_idx)
    return {
        (file, place): Column(f"{provider} #{number}" if len(used) > 1 else provider, prompt)
        for (file, provider, prompt), used in places.items()
        for number, place in enumerate(sorted(used), start=1)
    }


def column_names(columns: Iterable[Column]) -> dict[Column, str]:
    """Return a name for each column: the provider, with the prompt only where it tells apart."""
    columns = list(dict.fromkeys(columns))
    several = len({column.prompt for column in columns}) > 1
    return {c: f"{c.provider} [{c.prompt}]" if several else c.provider for c in columns}


Place = tuple[int, int, int]
"""Number of the file, ``testIdx`` and ``promptIdx``: which row it is."""


def place_of(row: Row) -> Place:
    """Return which row of the run it is."""
    return row.file, row.test_idx, row.prompt_idx


def whole_rows(run: Run, places: set[Place]) -> dict[Place, dict[str, Any]]:
    """Read the files again for some rows as promptfoo wrote them.

    Raises:
        ResultsError: a file cannot be read any more.
    """
    found: dict[Place, dict[str, Any]] = {}
    for number, facts in enumerate(run.files):
        wanted = {place for place in places if place[0] == number}
        for row in rows_of(facts.path) if wanted else ():
            place = (number, *indexes_of(row))
            if place in wanted:
                found.setdefault(place, row)
                wanted.discard(place)
            if not wanted:
                break
    return found
