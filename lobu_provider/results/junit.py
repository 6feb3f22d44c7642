"""JUnit XML with the real reasons: a suite for each provider, a case for each row."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from lobu_provider.results.outcomes import is_told_by
from lobu_provider.results.rows import Row
from lobu_provider.results.runs import Column, Run, Test, column_names, group_tests
from lobu_provider.results.texts import shown

_KIND: Final = {"failed": "failure"}


def junit_lines(run: Run, gaps: Sequence[str] = ()) -> Iterator[str]:
    """Yield the document line by line.

    A row that failed is a ``failure``; one that was not judged an ``error`` whose type says why.

    Args:
        run: what was read.
        gaps: why the run is not whole; they become errors in a suite ``run``.
    """
    tests = group_tests(run.rows)
    names = column_names(test.column for test in tests)
    by_column: dict[Column, list[Test]] = defaultdict(list)
    for test in tests:
        by_column[test.column].append(test)
    outcomes = Counter(row.outcome for row in run.rows)
    bad, all_rows = outcomes["failed"], len(run.rows)
    errors = all_rows - outcomes["passed"] - bad + len(gaps)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<testsuites name="promptfoo" tests="{all_rows + len(gaps)}" failures="{bad}" '
        f'errors="{errors}">'
    )
    if gaps:
        yield f'  <testsuite name="run" tests="{len(gaps)}" failures="0" errors="{len(gaps)}">'
        for gap in gaps:
            yield '    <testcase classname="run" name="the run is whole">'
            yield f'      <error message={_attribute(gap)} type="incomplete"/>'
            yield "    </testcase>"
        yield "  </testsuite>"
    for column, members in by_column.items():
        yield from _suite(names[column], members)
    yield "</testsuites>"


def _suite(name: str, tests: Sequence[Test]) -> Iterator[str]:
    rows = [row for test in tests for row in test.rows]
    outcomes = Counter(row.outcome for row in rows)
    errors = len(rows) - outcomes["passed"] - outcomes["failed"]
    seconds = sum(row.latency_ms or 0 for row in rows) / 1000
    yield (
        f'  <testsuite name={_attribute(name)} tests="{len(rows)}" '
        f'failures="{outcomes["failed"]}" errors="{errors}" time="{seconds:.3f}">'
    )
    for test in tests:
        for number, row in enumerate(test.rows, start=1):
            many = len(test.rows) > 1
            shown_name = f"{test.name} (repeat {number} of {len(test.rows)})" if many else test.name
            yield from _case(name, shown_name, row)
    yield "  </testsuite>"


def _case(suite: str, name: str, row: Row) -> Iterator[str]:
    begin = f"    <testcase classname={_attribute(suite)} name={_attribute(name)}"
    if row.latency_ms is not None:
        begin += f' time="{row.latency_ms / 1000:.3f}"'
    if row.outcome == "passed":
        yield begin + "/>"
        return
    tag = _KIND.get(row.outcome, "error")
    kind = row.code or ("assertion" if row.outcome == "failed" else row.outcome)
    yield begin + ">"
    yield f"      <{tag} message={_attribute(row.reason)} type={_attribute(kind)}>"
    yield _text("\n".join(details_of(row))) + f"</{tag}>"
    yield "    </testcase>"


def details_of(row: Row) -> list[str]:
    """Return what helps to find out why a row did not pass, line by line."""
    is_told = is_told_by(row.reason, (check.reason for check in row.failed_checks))
    lines = [] if is_told else [row.reason]
    lines += [
        f"{'check broke' if check.broken else 'failed'}: {check.kind}: {check.reason}"
        for check in row.failed_checks
    ]
    if row.turn is not None:
        lines.append(f"turn: {row.turn}")
    if row.turns is not None:
        lines.append(f"tools seen: {tools_seen(row)}")
    for label, value in (("trace", row.trace_id), ("session", row.session_id)):
        if value is not None:
            lines.append(f"{label}: {value}")
    return lines


def tools_seen(row: Row) -> str:
    """Return the tools of each turn in one line of at most 500 characters."""
    turns = [
        f"turn {number}: {', '.join(c.name + (' (error)' if c.failed else '') for c in calls)}"
        for number, calls in enumerate(row.turns or (), start=1)
        if calls
    ]
    return shown("; ".join(turns) or "none", 500)


_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _legal(text: str) -> str:
    return _NOT_XML.sub("?", text)


def _text(text: str) -> str:
    return escape(_legal(text))


def _attribute(text: str) -> str:
    return quoteattr(_legal(" ".join(text.split())))
