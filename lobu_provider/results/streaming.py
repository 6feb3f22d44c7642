"""Large results files by ijson, one row in memory at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from lobu_provider.results.documents import (
    EXPECTED,
    READ_AT_ONCE,
    cut_off,
    not_results,
    opened,
)
from lobu_provider.results.faults import ResultsError

_ROWS: Final = "results.results.item"


def streamed_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield promptfoo's rows.

    Raises:
        ResultsError: the file is no results file, or ijson is not installed.
    """
    ijson, seen = _ijson(path), 0
    with opened(path) as file:
        try:
            for seen, row in enumerate(ijson.items(file, _ROWS, buf_size=1 << 20), start=1):
                if not isinstance(row, dict):
                    raise ResultsError(f"{path}: results.results[{seen - 1}] is not an object")
                yield row
        except ijson.JSONError as error:
            raise _streaming_fault(path, error) from None
    if not seen and not streamed_facts(path, ("evalId",))[0]:
        raise not_results(path)


def streamed_facts(path: Path, names: Collection[str]) -> tuple[dict[str, Any], int | None, bool]:
    """Return what stands under some paths of keys, the number of the config's tests, and whether
    any of those is a link to a file.

    Raises:
        ResultsError: as for :func:`streamed_rows`.
    """
    ijson = _ijson(path)
    found: dict[str, Any] = {}
    count, texts, builder, building = None, False, None, ""
    with opened(path) as file:
        try:
            for prefix, event, value in ijson.parse(file, buf_size=1 << 20):
                if builder is not None:
                    builder.event(event, value)
                    if prefix == building and event == "end_map":
                        found[building], builder = builder.value, None
                elif prefix.startswith("results.results."):
                    continue
                elif prefix in names and event == "start_map":
                    builder, building = ijson.ObjectBuilder(), prefix
                    builder.event(event, value)
                elif prefix in names:
                    found[prefix] = value
                elif prefix == "config.tests" and event == "start_array":
                    count = 0
                elif prefix == "config.tests.item" and event in ("end_map", "string"):
                    count, texts = (count or 0) + 1, texts or event == "string"
        except ijson.JSONError as error:
            raise _streaming_fault(path, error) from None
    return found, count, texts


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


def _streaming_fault(path: Path, error: Exception) -> ResultsError:
    if "premature EOF" in str(error):
        return cut_off(path)
    return ResultsError(f"{path} is not JSON: {str(error).splitlines()[0]}. Expected: {EXPECTED}")
