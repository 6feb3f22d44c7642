"""Drift as a table for people and as a JUnit file for CI systems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from lobu_provider.drift.folders import CaseDrift
from lobu_provider.json_safe import safe_text

_WIDEST = 60


def table(cases: Sequence[CaseDrift]) -> str:
    """Return what drifted as a table, and a line that counts."""
    rows = [("CASE", "TURN", "FIELD", "OLD", "NEW")]
    for case in cases:
        if case.status in ("missing", "new", "unreadable"):
            said = {"missing": "was not recorded again", "new": "is new"}
            rows.append((case.name, "", case.status, said.get(case.status, case.reason), ""))
        for one in case.differences:
            turn = "" if one.turn is None else str(one.turn)
            rows.append((case.name, turn, one.field, one.old, one.new))
    shown = [[_shortened(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in shown) for i in range(4)]
    lines = [
        "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]).rstrip()
        for row in shown
    ]
    return "\n".join([*(lines if len(rows) > 1 else []), summary(cases)])


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
            Xml.SubElement(element, "failure", message="It was not recorded again.")
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


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 3]}..."
