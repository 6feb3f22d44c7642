"""Drift as a table for people and as a JUnit file for CI systems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as Xml

from lobu_provider.drift.comparison import Difference
from lobu_provider.drift.folders import CaseDrift
from lobu_provider.json_safe import safe_text

_WIDEST: Final = 60
"""The characters of a cell."""
_EXCERPT: Final = 24
"""Of them, what an argument's value has when the name is long."""

AFTER_MISSING: Final = (
    "where its message was changed or its test removed, record the suite "
    "(lobu-provider record), then clear up (lobu-provider cassettes prune)."
)
"""The next step for a conversation that was not recorded again."""


def table(cases: Sequence[CaseDrift]) -> str:
    """Return what drifted as a table, the next step for what is missing, and a line that counts."""
    rows = [("CASE", "TURN", "FIELD", "OLD", "NEW")]
    for case in cases:
        name = _one_line(case.name, _WIDEST)
        if case.status in ("missing", "new", "unreadable"):
            said = {"missing": "was not recorded again", "new": "is new"}
            told = said.get(case.status) or _one_line(case.reason, _WIDEST)
            rows.append((name, "", case.status, told, ""))
        for one in case.differences:
            turn = "" if one.turn is None else str(one.turn)
            field = f"{one.field} of {one.of}" if one.keys else one.field
            field = _one_line(field, _WIDEST)
            rows += [(name, turn, field, old, new) for old, new in _sides(one)]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in rows
    ]
    missing = [f"missing: {AFTER_MISSING}"] if any(c.status == "missing" for c in cases) else []
    return "\n".join([*(lines if len(rows) > 1 else []), *missing, summary(cases)])


def _sides(one: Difference) -> Iterator[tuple[str, str]]:
    """Yield what the columns OLD and NEW say: of arguments a row for each that differs."""
    for key, old, new in one.keys:
        name = _one_line(key, _WIDEST - _EXCERPT - 2)
        before, after = _excerpts(old, new, _WIDEST - len(name) - 2)
        yield f"{name}: {before}", f"{name}: {after}"
    if not one.keys:
        yield _excerpts(one.old, one.new, _WIDEST)


def _excerpts(old: str, new: str, limit: int) -> tuple[str, str]:
    """Return both in one line and short, each with the place where they begin to differ."""
    old, new = ("\\n".join(text.splitlines()) for text in (old, new))
    if max(len(old), len(new)) <= limit:
        return old, new
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    start = max(0, (min(len(old), len(new)) if same is None else same) - limit // 3)
    before = "..." if start else ""
    first, second = (_cut(f"{before}{text[start:]}", limit) for text in (old, new))
    return first, second


def summary(cases: Sequence[CaseDrift]) -> str:
    """Return how many there are of each kind, in one line."""
    kinds = ("same", "drifted", "missing", "new", "unreadable")
    counts = {kind: sum(case.status == kind for case in cases) for kind in kinds}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{len(cases)} conversations: {told or 'none'}"


def junit(cases: Sequence[CaseDrift]) -> str:
    """Return a JUnit file: each conversation a test case, its drift the reason of a failure."""
    failures = [case for case in cases if case.status in ("drifted", "missing")]
    errors = [case for case in cases if case.status == "unreadable"]
    suite = Xml.Element(
        "testsuite",
        name="drift",
        tests=str(len(cases)),
        failures=str(len(failures)),
        errors=str(len(errors)),
    )
    for case in cases:
        element = Xml.SubElement(suite, "testcase", classname="drift", name=_xml(case.name))
        element.set("file", _xml(case.file))
        if case.status == "missing":
            Xml.SubElement(
                element, "failure", message=f"It was not recorded again: {AFTER_MISSING}"
            )
        elif case.status == "unreadable":
            Xml.SubElement(element, "error", message=_xml(case.reason))
        elif case.differences:
            reasons = [
                f"turn {d.turn}: {d.field}: {d.old} -> {d.new}"
                if d.turn is not None
                else f"{d.field}: {d.old} -> {d.new}"
                for d in case.differences
            ]
            failed = Xml.SubElement(element, "failure", message=_xml(reasons[0]))
            failed.text = _xml("\n".join(reasons))
    Xml.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(suite, encoding="unicode")}\n'


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    return _NOT_XML.sub("?", safe_text(text))


def _one_line(text: str, limit: int) -> str:
    return _cut(" ".join(text.split()), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
