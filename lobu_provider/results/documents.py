"""A JSON document from a file: opened, parsed, and what is said when that fails."""

from __future__ import annotations

import codecs
import json
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final

from lobu_provider.results.faults import ResultsError, UnfinishedResultsError

READ_AT_ONCE: Final = 20_000_000
"""Bytes. Parsed, a document takes five times that."""

EXPECTED: Final = "what `promptfoo eval -o results.json` writes"


def opened(path: Path) -> IO[bytes]:
    """Open a results file, behind the mark of UTF-8 that some editors write.

    Raises:
        UnfinishedResultsError: it is missing.
        ResultsError: it cannot be read, or only once.
    """
    try:
        if path.exists() and not path.is_file():
            raise ResultsError(f"{path} is not a plain file; results are read more than once")
        file = path.open("rb")
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        return file
    except FileNotFoundError:
        raise UnfinishedResultsError(
            f"{path} is missing. A paused run (Ctrl-C) writes no JSON and ends with exit code 0: "
            "end it with `promptfoo eval --resume ID`, or run it again with `-o results.json`"
        ) from None
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror}") from None


def is_small(path: Path) -> bool:
    """Whether a file is read at once."""
    return path.stat().st_size <= READ_AT_ONCE


def parsed(path: Path) -> Any:
    """Return a whole JSON document.

    Raises:
        UnfinishedResultsError: the file is missing or cut off.
        ResultsError: it is not JSON.
    """
    with opened(path) as file:
        raw = file.read()
    try:
        return loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and _is_at_the_end(error):
            raise cut_off(path) from None
        raise ResultsError(f"{path} is not JSON: {error}. Expected: {EXPECTED}") from None


def loads(text: str | bytes) -> Any:
    """Return a JSON value; ``NaN`` and ``Infinity`` are none, as ijson has it.

    Raises:
        ValueError: it is not JSON.
    """
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _is_at_the_end(error: json.JSONDecodeError) -> bool:
    """Whether it is only that the text stops too early."""
    left = error.doc[error.pos :].rstrip()
    in_word = any(word.startswith(left) for word in ("true", "false", "null"))
    return (
        in_word or "Unterminated string" in error.msg or ("escape" in error.msg and len(left) < 6)
    )


def cut_off(path: Path) -> UnfinishedResultsError:
    """Return the fault of a file that stops too early."""
    return UnfinishedResultsError(
        f"{path} is cut off: promptfoo was killed while it wrote the file"
    )


def not_results(path: Path) -> ResultsError:
    """Return the fault of JSON that is no results file."""
    return ResultsError(f"{path} has no list results.results. Expected: {EXPECTED}")


def at(value: Any, dotted: str) -> Any:
    """Return what stands under a path of keys such as ``results.stats``; ``None`` for nothing."""
    for name in dotted.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def plain(value: Any) -> Any:
    """Return a copy of a JSON value with numbers as ``int`` and ``float``."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value
