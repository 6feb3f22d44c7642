"""docs/faults.md names the tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
DOCUMENT = (TESTS.parent / "docs" / "faults.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`(test_\w+)`", DOCUMENT))


def names_in(folder: Path) -> set[str]:
    return {
        name
        for path in folder.rglob("test_*.py")
        for name in re.findall(
            r"^(?:async )?def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }


def test_every_named_test_exists() -> None:
    assert NAMED - names_in(TESTS) == set()


def test_every_test_of_a_fault_is_named() -> None:
    assert names_in(TESTS / "faults") - NAMED == set()


def test_there_are_sixty_faults_and_more_and_each_has_its_test() -> None:
    rows = [line for line in DOCUMENT.splitlines() if line.startswith("| ")]
    faults = [row for row in rows if not row.startswith(("| what", "| ---"))]
    assert len(faults) >= 60
    assert [row for row in faults if "`test_" not in row or row.count(" | ") != 5] == []
