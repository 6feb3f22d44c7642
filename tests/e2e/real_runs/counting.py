"""What the tests read out of rows, statistics and JUnit files."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

LETTERS = {
    "passed": "p",
    "failed": "f",
    "graderFailures": "g",
    "infrastructureErrors": "i",
    "configErrors": "c",
    "notRun": "n",
}


def tries_of(stats: dict[str, Any]) -> dict[tuple[str, str], str]:
    """What `stats` counted, as in ``BEFORE``."""
    return {
        (test["test"], test["provider"]): "".join(
            sorted(letter * test[name] for name, letter in LETTERS.items())
        )
        for test in stats["tests"]
    }


def session_of(row: dict[str, Any]) -> str:
    return str(row["response"]["metadata"].get("sessionId", "(no session)"))


def numbers(element: ElementTree.Element) -> tuple[int, ...]:
    return tuple(int(element.attrib[name]) for name in ("tests", "failures", "errors"))


def junit(name: str) -> ElementTree.Element:
    """A JUnit file that we wrote."""
    return ElementTree.parse(name).getroot()  # noqa: S314
