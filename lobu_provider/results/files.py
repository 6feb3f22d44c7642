"""Read promptfoo's results files row by row, in bounded memory.

Three shapes: the JSON document of ``-o results.json`` and ``promptfoo export``, the JSON Lines of
``-o results.jsonl`` (rows only), and our own baseline. A document of up to
:data:`READ_AT_ONCE` bytes is parsed at once; a larger one is streamed by ijson.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final, Literal

from lobu_provider.results.faults import ResultsError, UnfinishedResultsError

READ_AT_ONCE: Final = 20_000_000
"""Bytes. Parsed, a document takes five times that."""

BASELINE_FORMAT: Final = "lobu-provider baseline"

_ROWS: Final = "results.results.item"
_FACTS: Final = ("evalId", "runtimeOptions", "results.stats", "metadata.promptfooVersion")

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
    tests: int | None = None
    """Length of the config's list of tests, where the config holds the list itself."""

    def config_tests(self) -> list[Any] | None:
        """Read the config's tests before expansion; ``None`` where they stand elsewhere, or the
        file is too large to look."""
        if self.tests is None or self.shape != "document" or not _is_small(self.path):
            return None
        found = _at(_parsed(self.path), "config.tests")
        return found if isinstance(found, list) else None


def shape_of(path: Path) -> Shape:
    """Return what kind of file it is.

    Raises:
        UnfinishedResultsError: there is no file, or nothing in it.
        ResultsError: it cannot be read.
    """
    with _opened(path) as file:
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
    elif _is_small(path):
        yield from _rows_of_document(path, _parsed(path))
    else:
        yield from _streamed_rows(path)


def facts_of(path: Path) -> FileFacts:
    """Return what the file tells beside its rows.

    Raises:
        ResultsError: as for :func:`rows_of`.
    """
    shape = shape_of(path)
    if shape != "document":
        return FileFacts(path, shape)
    if _is_small(path):
        document = _parsed(path)
        found = {name: _at(document, name) for name in _FACTS}
        tests = _at(document, "config.tests")
        count = len(tests) if isinstance(tests, list) else None
        texts = isinstance(tests, list) and any(isinstance(test, str) for test in tests)
    else:
        found, count, texts = _streamed_facts(path)
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
        tests=None if texts else count,
    )


def read_json(path: Path) -> Any:
    """Return a whole JSON file.

    Raises:
        ResultsError: it cannot be read.
    """
    return _parsed(path)


def plain(value: Any) -> Any:
    """Return a copy of a JSON value with numbers as ``int`` and ``float``."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise UnfinishedResultsError(
            f"{path} is missing. A paused run (Ctrl-C) writes no JSON and ends with exit code 0: "
            "end it with `promptfoo eval --resume ID`, or run it again with `-o results.json`"
        ) from None
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror}") from None


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= READ_AT_ONCE


def _parsed(path: Path) -> Any:
    with _opened(path) as file:
        raw = file.read()
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and _is_at_the_end(error):
            raise _cut_off(path) from None
        raise ResultsError(f"{path} is not JSON: {error}. Expected: {_EXPECTED}") from None


def _is_at_the_end(error: json.JSONDecodeError) -> bool:
    """Whether it is only that the text stops too early."""
    left = error.doc[error.pos :].rstrip()
    in_word = any(word.startswith(left) for word in ("true", "false", "null"))
    return (
        in_word or "Unterminated string" in error.msg or ("escape" in error.msg and len(left) < 6)
    )


_EXPECTED: Final = "what `promptfoo eval -o results.json` writes"


def _cut_off(path: Path) -> UnfinishedResultsError:
    return UnfinishedResultsError(
        f"{path} is cut off: promptfoo was killed while it wrote the file"
    )


def _rows_of_document(path: Path, document: Any) -> Iterator[dict[str, Any]]:
    rows = _at(document, "results.results")
    if not isinstance(rows, list):
        raise _not_results(path)
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ResultsError(f"{path}: results.results[{number}] is not an object")
        yield row


def _not_results(path: Path) -> ResultsError:
    return ResultsError(f"{path} has no list results.results. Expected: {_EXPECTED}")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    raise _cut_off(path) from None
                raise ResultsError(f"{path}, line {number} is not JSON: {error}") from None
            if not isinstance(row, dict) or "success" not in row:
                raise ResultsError(f"{path}, line {number} is not a row of promptfoo's")
            yield row


def _ijson(path: Path) -> Any:
    try:
        import ijson
    except ImportError:
        size = path.stat().st_size // 1_000_000
        raise ResultsError(
            f"{path} has {size:,} MB; files over {READ_AT_ONCE // 1_000_000} MB are streamed by "
            "ijson: pip install 'lobu-provider[results]'"
        ) from None
    return ijson


def _streamed_rows(path: Path) -> Iterator[dict[str, Any]]:
    ijson, seen = _ijson(path), 0
    with _opened(path) as file:
        try:
            for seen, row in enumerate(ijson.items(file, _ROWS, buf_size=1 << 20), start=1):
                if not isinstance(row, dict):
                    raise ResultsError(f"{path}: results.results[{seen - 1}] is not an object")
                yield row
        except ijson.JSONError as error:
            raise _streaming_fault(path, error) from None
    if not seen and not _streamed_facts(path)[0]:
        raise _not_results(path)


def _streaming_fault(path: Path, error: Exception) -> ResultsError:
    if "premature EOF" in str(error):
        return _cut_off(path)
    return ResultsError(f"{path} is not JSON: {str(error).splitlines()[0]}. Expected: {_EXPECTED}")


def _streamed_facts(path: Path) -> tuple[dict[str, Any], int | None, bool]:
    """Return the facts by name, the number of the config's tests, and whether any is a link."""
    ijson = _ijson(path)
    found: dict[str, Any] = {}
    count, texts, builder, building = None, False, None, ""
    with _opened(path) as file:
        try:
            for prefix, event, value in ijson.parse(file, buf_size=1 << 20):
                if builder is not None:
                    builder.event(event, value)
                    if prefix == building and event == "end_map":
                        found[building], builder = builder.value, None
                elif prefix.startswith("results.results."):
                    continue
                elif prefix in _FACTS and event == "start_map":
                    builder, building = ijson.ObjectBuilder(), prefix
                    builder.event(event, value)
                elif prefix in _FACTS:
                    found[prefix] = value
                elif prefix == "config.tests" and event == "start_array":
                    count = 0
                elif prefix == "config.tests.item" and event in ("end_map", "string"):
                    count, texts = (count or 0) + 1, texts or event == "string"
        except ijson.JSONError as error:
            raise _streaming_fault(path, error) from None
    return found, count, texts


def _at(value: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return int(value) if is_number else None
