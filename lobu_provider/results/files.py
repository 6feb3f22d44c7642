"""Read promptfoo's results files row by row, in bounded memory.

Three shapes: the JSON document of ``-o results.json`` and ``promptfoo export``, the JSON Lines of
``-o results.jsonl`` (rows only), and our own baseline. A document of up to
20 MB is parsed at once; a larger one is streamed by ijson.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from lobu_provider.results.documents import (
    at,
    cut_off,
    is_small,
    loads,
    not_results,
    opened,
    parsed,
)
from lobu_provider.results.faults import ResultsError, UnfinishedResultsError
from lobu_provider.results.outcomes import number
from lobu_provider.results.streaming import streamed_facts, streamed_rows

BASELINE_FORMAT: Final = "lobu-provider baseline"

_FACTS: Final = (
    "evalId",
    "runtimeOptions",
    "results.stats",
    "metadata.promptfooVersion",
    "metadata.evaluationCreatedAt",
)

Shape = Literal["document", "lines", "baseline"]


@dataclass(frozen=True)
class FileFacts:
    """What a file tells beside its rows; ``None`` where it does not say."""

    path: Path
    shape: Shape
    eval_id: str | None = None
    promptfoo: str | None = None
    repeat: int | None = None
    filter_range: str | None = None
    """``--filter-range``: a shard."""
    counted: int | None = None
    """Rows by promptfoo's own count."""
    ended: bool | None = None
    """Whether promptfoo came to the end of the run; only then it notes how long it took."""
    started: str | None = None
    """When the run began, as promptfoo writes it: ISO 8601 in UTC."""
    tests: int | None = None
    """Length of the config's list of tests, where the config holds the list itself."""

    def config_tests(self) -> list[Any] | None:
        """Read the config's tests before expansion; ``None`` where they stand elsewhere, or the
        file is too large to look."""
        if self.tests is None or self.shape != "document" or not is_small(self.path):
            return None
        found = at(parsed(self.path), "config.tests")
        return found if isinstance(found, list) else None


def shape_of(path: Path) -> Shape:
    """Return what kind of file it is.

    Raises:
        UnfinishedResultsError: there is no file, or nothing in it.
        ResultsError: it cannot be read.
    """
    with opened(path) as file:
        head = file.read(4096).lstrip()
    if not head and path.suffix == ".jsonl":
        return "lines"
    if not head:
        raise UnfinishedResultsError(f"{path} is empty: the run that should have written it failed")
    if path.suffix == ".jsonl":
        return "lines"
    return "baseline" if BASELINE_FORMAT.encode() in head[:100] else "document"


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield promptfoo's rows one by one, in the file's order.

    Numbers may be ``Decimal``.

    Raises:
        UnfinishedResultsError: the file is missing, empty or cut off.
        ResultsError: it is not of promptfoo, or too large to be read without ijson.
    """
    shape = shape_of(path)
    if shape == "baseline":
        raise ResultsError(f"{path} is a baseline, which `compare` reads; give promptfoo's results")
    if shape == "lines":
        yield from _lines(path)
    elif is_small(path):
        yield from _rows_of_document(path, parsed(path))
    else:
        yield from streamed_rows(path)


def facts_of(path: Path) -> FileFacts:
    """Return what the file tells beside its rows.

    Raises:
        ResultsError: as for :func:`rows_of`.
    """
    shape = shape_of(path)
    if shape != "document":
        return FileFacts(path, shape)
    if is_small(path):
        document = parsed(path)
        found = {name: at(document, name) for name in _FACTS}
        tests = at(document, "config.tests")
        count = len(tests) if isinstance(tests, list) else None
        texts = isinstance(tests, list) and any(isinstance(test, str) for test in tests)
    else:
        found, count, texts = streamed_facts(path, _FACTS)
    options, stats = _mapping(found.get("runtimeOptions")), _mapping(found.get("results.stats"))
    counts = [_whole(stats.get(name)) for name in ("successes", "failures", "errors")]
    known = [count for count in counts if count is not None]
    return FileFacts(
        path=path,
        shape=shape,
        eval_id=_text(found.get("evalId")),
        promptfoo=_text(found.get("metadata.promptfooVersion")),
        repeat=_whole(options.get("repeat")),
        filter_range=_text(options.get("filterRange")),
        counted=sum(known) if len(known) == len(counts) else None,
        ended=_whole(stats.get("durationMs")) is not None,
        started=_text(found.get("metadata.evaluationCreatedAt")),
        tests=None if texts else count,
    )


def _rows_of_document(path: Path, document: Any) -> Iterator[dict[str, Any]]:
    rows = at(document, "results.results")
    if not isinstance(rows, list):
        raise not_results(path)
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ResultsError(f"{path}: results.results[{place}] is not an object")
        yield row


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with opened(path) as file:
        for place, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = loads(line)
            except (ValueError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    raise cut_off(path) from None
                raise ResultsError(f"{path}, line {place} is not JSON: {error}") from None
            if not isinstance(row, dict) or "success" not in row:
                raise ResultsError(f"{path}, line {place} is not a row of promptfoo's")
            yield row


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)
