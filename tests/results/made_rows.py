"""Rows and files in promptfoo's shape, made for a test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lobu_provider.results.row_reading import Pool, read_row
from lobu_provider.results.rows import Row

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "results"


def made(test: str = "t", verdict: str = "pass", **more: Any) -> dict[str, Any]:
    """Return a row. ``verdict``: pass, fail, grader, or the class of a provider's error."""
    failed = verdict in ("fail", "grader")
    passed = verdict == "pass"
    component: dict[str, Any] = {
        "pass": passed,
        "score": int(passed),
        "reason": "Assertion passed" if passed else "Expected output to contain x",
        "assertion": {"type": "contains", "value": "x"},
    }
    if verdict == "grader":
        component["metadata"] = {"graderError": True}
    metadata: dict[str, Any] = {"toolCalls": more.pop("calls", []), "turns": more.pop("turns", [])}
    row: dict[str, Any] = {
        "success": passed,
        "failureReason": 0 if passed else 1 if failed else 2,
        "score": int(passed),
        "latencyMs": more.pop("latency", 100),
        "provider": {"id": "p", "label": more.pop("provider", "model")},
        "prompt": {"raw": test, "label": more.pop("prompt", "{{query}}")},
        "promptIdx": 0,
        "testIdx": 0,
        "vars": {"query": test},
        "testCase": {
            "description": test,
            "vars": {"query": test},
            "assert": more.pop("checks", [{"type": "contains", "value": "x"}]),
            "metadata": more.pop("metadata", {}),
            "options": {},
        },
        "response": {"output": "hello", "metadata": metadata},
    }
    if passed or failed:
        row["gradingResult"] = {"pass": passed, "componentResults": [component]}
    if failed:
        row["error"] = component["reason"]
    elif not passed:
        row["error"] = f"[code] {verdict} fault"
        metadata["error"] = {"code": "code", "class": verdict}
    return {**row, **more}


def read(*rows: dict[str, Any], file: int = 0) -> list[Row]:
    """Return rows as a run holds them before its tests are told apart: equal ones are repeats."""
    pool = Pool()
    return [read_row(row, file, pool) for row in placed(rows)]


def placed(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with a ``testIdx`` unless given: equal tests of several columns share one."""
    seen = Counter[tuple[str, str]]()
    places: dict[tuple[str, int], int] = {}
    found = []
    for row in rows:
        test, column = json.dumps(row.get("testCase")), json.dumps(row.get("promptIdx"))
        place = places.setdefault((test, seen[test, column]), len(places))
        seen[test, column] += 1
        found.append({**row, "testIdx": row.get("testIdx") or place})
    return found


def tries(test: str, verdicts: str, **more: Any) -> list[dict[str, Any]]:
    """Return one row for each letter: p(ass), f(ail), g(rader), i(nfrastructure).

    The test is one that names its number of repeats.
    """
    words = {"p": "pass", "f": "fail", "g": "grader", "i": "infrastructure"}
    rows = [made(test, words[letter], **more) for letter in verdicts]
    for row in rows:
        row["testCase"]["options"] = {"repeat": len(rows)}
    return rows


def write(path: Path, rows: Iterable[dict[str, Any]], **more: Any) -> Path:
    """Write a results file of a run that ended."""
    found = placed(rows)
    errors = sum(row["failureReason"] == 2 for row in found)
    passed = sum(row["success"] for row in found)
    stats = {
        "successes": passed,
        "failures": len(found) - passed - errors,
        "errors": errors,
        "durationMs": 5,
    }
    document = {
        "evalId": more.pop("eval_id", f"eval-{path.name}"),
        "results": {"version": 3, "results": found, "stats": {**stats, **more.pop("stats", {})}},
        "config": {"tests": more.pop("tests", "file://tests.yaml")},
        "runtimeOptions": {"repeat": 1, **more.pop("options", {})},
        "metadata": {"promptfooVersion": "0.123.1", "evaluationCreatedAt": more.pop("began", "")},
    }
    assert not more
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
