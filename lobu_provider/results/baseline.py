"""A baseline: the rows of a run, trimmed to what a comparison needs, fit to be committed.

Holds no variables, answers, ids of sessions or traces, and no secrets; equal runs give equal
files apart from latencies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from lobu_provider.results.documents import opened, parsed
from lobu_provider.results.faults import ResultsError
from lobu_provider.results.files import BASELINE_FORMAT, shape_of
from lobu_provider.results.identity import Distinction, Identity
from lobu_provider.results.outcomes import Outcome, items, mapping
from lobu_provider.results.rows import Call, Row
from lobu_provider.results.runs import Run, columns_of, read_run

VERSION: Final = 2
_WITHOUT_METADATA: Final = 1
"""A version that does not tell apart tests that differ in metadata or place alone."""


def baseline_lines(run: Run) -> Iterator[str]:
    """Yield the baseline of a run, a JSON document of one line a row."""
    columns = columns_of(run.rows)
    rows = sorted(
        run.rows,
        key=lambda row: (row.identity, columns[row.file, row.prompt_idx], row.file, row.test_idx),
    )
    head = {"format": BASELINE_FORMAT, "version": VERSION}
    yield f'{json.dumps(head)[:-1]}, "rows": ['
    for number, row in enumerate(rows, start=1):
        yield json.dumps(_told(row), ensure_ascii=False) + ("," if number < len(rows) else "")
    yield "]}"


def _told(row: Row) -> dict[str, Any]:
    told = {
        "test": row.identity.digest,
        "checks": row.identity.checks,
        "metadata": row.identity.metadata,
        "place": row.identity.place,
        "name": row.identity.name,
        "provider": row.provider,
        "prompt": row.prompt,
        "promptIdx": row.prompt_idx,
        "testIdx": row.test_idx,
        "file": row.file,
        "outcome": row.outcome,
        "reason": row.reason,
        "code": row.code,
        "score": row.score,
        "latencyMs": row.latency_ms,
        "tokens": row.tokens,
        "turns": row.turns,
    }
    return {key: value for key, value in told.items() if value is not None and value != ""}


def is_other_file(path: Path) -> bool:
    """Whether a file holds something that is no baseline, and would be lost.

    Raises:
        ResultsError: the file cannot be read.
    """
    if not path.is_file():
        return False
    with opened(path) as file:
        head = file.read(100)
    return bool(head.strip()) and BASELINE_FORMAT.encode() not in head


def read_run_or_baseline(paths: Sequence[Path]) -> Run:
    """Read results files as one run, or one baseline.

    Raises:
        ResultsError: a file cannot be read.
    """
    if len(paths) == 1 and shape_of(paths[0]) == "baseline":
        return Run(tuple(_rows(paths[0])), ())
    return read_run(paths)


def _rows(path: Path) -> Iterator[Row]:
    document = mapping(parsed(path))
    version = document.get("version")
    if version not in (VERSION, _WITHOUT_METADATA):
        raise ResultsError(
            f"{path}: version {version!r} of the baseline's format is unknown; "
            f"expected {VERSION}. Bless the run again with this lobu-provider"
        )
    for number, told in enumerate(items(document.get("rows"))):
        try:
            yield _row(told, "" if version == VERSION else None)
        except (KeyError, TypeError, ValueError) as error:
            raise ResultsError(f"{path}: rows[{number}] is damaged ({error!r})") from None


def _row(told: Mapping[str, Any], no_metadata: str | None) -> Row:
    outcome = told["outcome"]
    if outcome not in get_args(Outcome):
        raise ValueError(f"outcome {outcome!r}")
    turns = told.get("turns")
    return Row(
        identity=Identity(
            told["test"],
            told["name"],
            told["checks"],
            told.get("metadata", no_metadata),
            told.get("place", ""),
        ),
        provider=told["provider"],
        prompt=told.get("prompt", ""),
        file=int(told["file"]),
        test_idx=int(told["testIdx"]),
        prompt_idx=int(told["promptIdx"]),
        outcome=outcome,
        reason=told.get("reason", ""),
        code=told.get("code"),
        turn=None,
        score=told.get("score"),
        latency_ms=told.get("latencyMs"),
        tokens=told.get("tokens"),
        turns=None if turns is None else tuple(tuple(Call(*c) for c in turn) for turn in turns),
        failed_checks=(),
        rubrics=(),
        checks=0,
        trace_id=None,
        session_id=None,
        labels=(),
        distinction=Distinction(),
    )
