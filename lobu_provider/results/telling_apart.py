"""Tell apart the tests of one run that are written alike, by their folders and their place.

promptfoo counts ``testIdx`` through all repeats and all texts of a list: each text of a test has as
many numbers as there are repeats. What has more of them is several tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from lobu_provider.results.completeness import range_of
from lobu_provider.results.files import FileFacts
from lobu_provider.results.identity import Identity, digest
from lobu_provider.results.rows import Row
from lobu_provider.results.texts import times

_Places = dict[int, Row]
"""Of tests that are written alike the first row of each ``testIdx``, in order."""
_Key = tuple[str, str]
"""The digests of two tests that are written alike."""


def told_apart(
    rows: Sequence[Row], files: Sequence[FileFacts]
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Return the rows with an identity for each test, and where it may be of several all the same.

    Args:
        rows: as they were read.
        files: what they were read from.

    Raises:
        ResultsError: a file tells a range of tests that promptfoo does not take.
    """
    found: dict[tuple[_Key, int, int], Identity] = {}
    doubts = list[str]()
    for key, by_file in _alike(rows).items():
        doubts += (
            text for file, places in by_file.items() if (text := _doubt(places, files[file]))
        )
        for file, place, identity in _identities(by_file, files):
            if identity != by_file[file][place].identity:
                found[key, file, place] = identity
    if found:
        rows = [replace(row, identity=found.get(_full_key(row), row.identity)) for row in rows]
    return tuple(rows), tuple(doubts)


def _full_key(row: Row) -> tuple[_Key, int, int]:
    return (row.identity.digest, row.identity.checks), row.file, row.test_idx


def _alike(rows: Sequence[Row]) -> dict[_Key, dict[int, _Places]]:
    """Return the tests with more than one row for a provider, by number of the file."""
    first = dict[str, Row]()
    several = set[str]()
    for row in rows:
        other = first.setdefault(row.identity.digest, row)
        if (other.file, other.test_idx) != (row.file, row.test_idx):
            several.add(row.identity.digest)
    found: dict[_Key, dict[int, _Places]] = defaultdict(lambda: defaultdict(dict))
    of_several = (row for row in rows if row.identity.digest in several)
    for row in sorted(of_several, key=lambda one: (one.file, one.test_idx)):
        found[row.identity.digest, row.identity.checks][row.file].setdefault(row.test_idx, row)
    return found


def _identities(
    by_file: Mapping[int, _Places], files: Sequence[FileFacts]
) -> Iterator[tuple[int, int, Identity]]:
    """Yield the number of the file, the ``testIdx`` and the identity of each.

    Files of one range of tests are of the same tests; those of another hold further ones.
    """
    ranges: dict[tuple[int, int], list[int]] = defaultdict(list)
    for file in by_file:
        found = range_of(files[file])
        ranges[(found.start, found.end or 0) if found else (0, 0)].append(file)
    before: dict[Identity, int] = defaultdict(int)
    for _, members in sorted(ranges.items()):
        most: dict[Identity, int] = defaultdict(int)
        for file in members:
            for identity, tests in _tests(by_file[file], files[file]).items():
                most[identity] = max(most[identity], len(tests))
                for number, places in enumerate(tests, start=before[identity]):
                    one = _numbered(identity, number)
                    yield from ((file, place, one) for place in places)
        for identity, count in most.items():
            before[identity] += count


def _numbered(identity: Identity, number: int) -> Identity:
    """Return the identity of a copy; the first needs no number."""
    return identity._replace(place=f"{identity.place}#{number + 1}") if number else identity


def _repeats(row: Row, facts: FileFacts) -> int | None:
    """Return how often promptfoo ran the test; ``None`` where the file does not tell."""
    if facts.shape != "document":
        return None
    return row.distinction.repeats or facts.repeat or 1


def _tests(places: _Places, facts: FileFacts) -> dict[Identity, list[list[int]]]:
    """Return the ``testIdx`` of the tests of each identity, in their order."""
    first = next(iter(places.values()))
    counts = {_repeats(row, facts) for row in places.values()}
    if len(counts) == 1 and len(places) <= (counts.pop() or 0):
        return {first.identity: [list(places)]}  # a hook may have changed a repeat's metadata
    tails = _tails({row.distinction.paths for row in places.values()})
    same: dict[tuple[Identity, str, int | None], list[int]] = defaultdict(list)
    for place, row in places.items():
        identity = row.identity._replace(place=tails[row.distinction.paths])
        same[identity, row.distinction.words, _repeats(row, facts)].append(place)
    found: dict[Identity, list[list[int]]] = defaultdict(list)
    for (identity, _, repeats), members in same.items():
        size = repeats or len(members)
        found[identity] += (members[n : n + size] for n in range(0, len(members), size))
    return {identity: sorted(parts) for identity, parts in found.items()}


def _tails(found: set[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Return of each list of paths a digest of what is not common to all, which is the same on
    each machine; empty where all is common."""
    if len({len(paths) for paths in found}) > 1:
        return {paths: digest(list(paths)) for paths in found}
    columns = [_tails_of_one(set(column)) for column in zip(*found, strict=True)]
    told = {
        paths: [tails[path] for path, tails in zip(paths, columns, strict=True)] for paths in found
    }
    return {paths: digest(tails) if any(tails) else "" for paths, tails in told.items()}


def _tails_of_one(paths: set[str]) -> dict[str, str]:
    if len(paths) == 1:
        return dict.fromkeys(paths, "")
    split = {path: path.split("/") for path in paths}
    levels = zip(*(parts[:-1] for parts in split.values()), strict=False)
    common = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    return {path: "/".join(parts[common:]) for path, parts in split.items()}


def _doubt(places: _Places, facts: FileFacts) -> str:
    """Return what is not known of tests without variables: of a list of texts the repeats of one
    do not follow each other."""
    first = next(iter(places.values()))
    is_plain = not first.distinction.is_stripped or _repeats(first, facts) in (None, 1)
    if is_plain or all(len(parts) == 1 for parts in _tests(places, facts).values()):
        return ""
    return (
        f"{facts.path}: which of {times(len(places), 'row')} named {first.identity.name!r} are "
        "repeats of one test is not known, because promptfoo left out their variables "
        "(PROMPTFOO_STRIP_TEST_VARS): give each test a description of its own, or keep the "
        "variables"
    )
