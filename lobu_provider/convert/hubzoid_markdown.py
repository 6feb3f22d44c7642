"""Hubzoid's eval format: one Markdown file a case, under ``evals/`` of a Hub."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from lobu_provider.assertions.values import did_you_mean
from lobu_provider.convert.fields import Fields, plain, show_value
from lobu_provider.convert.hubzoid_tools import fake_checks, tool_checks
from lobu_provider.convert.lobu_yaml import CHECKS_NOTHING, PIN_A_GRADER
from lobu_provider.convert.markdown_case import take_apart
from lobu_provider.convert.suite import (
    AgentSettings,
    Case,
    Check,
    Note,
    RubricCheck,
    SourceError,
    Suite,
    TextCheck,
)
from lobu_provider.structured_file import read_text

TIMEOUT_S: Final = 120
THRESHOLD: Final = 7

KEYS: Final = (
    "expect_tools", "expect_tool_args", "forbid_tools", "contains", "not_contains", "timeout",
    "threshold", "tags", "schedule", "run_as", "fake_tools", "real_tools", "allow_real_mcp",
    "enabled",
)  # fmt: skip


def read_hubzoid_case(path: Path, agent: str | None = None) -> Suite:
    """Read one case file; a disabled one gives a suite without cases and a note.

    Args:
        path: the file; its name under the folder ``evals`` is the case's.
        agent: the agent's id; the format names none.

    Raises:
        SourceError: something in the file is wrong.
        UnreadableFileError: the file cannot be read.
    """
    problems: list[str] = []
    parts = take_apart(path, read_text(path), problems, KEYS)
    folder, name = _name_of(path)
    fields = Fields(parts.keys, "", problems)
    unknown = fields.unknown(KEYS)
    if unknown:
        hints = "".join(did_you_mean(key, KEYS) for key in unknown[:1])
        keys = ", ".join(unknown)
        problems.append(f"unknown frontmatter key(s): {keys}{hints} (keys: {', '.join(KEYS)})")
    notes = _Notes(str(path), name)
    threshold = fields.number("threshold", THRESHOLD, least=1, most=10)
    checks: list[Check] = [TextCheck("icontains", text) for text in fields.texts("contains")]
    checks += [TextCheck("not-icontains", text) for text in fields.texts("not_contains")]
    checks += tool_checks(fields)
    checks += fake_checks(fields, notes)
    if parts.criteria:
        checks.append(
            RubricCheck(parts.criteria, threshold=threshold / 10, sight="conversation and tools")
        )
        _tell_of_the_judge(notes)
    elif "threshold" in fields:
        notes.add("lost", "threshold", "does nothing without criteria")
    if parts.lead:
        notes.add("lost", "body", f"no section before the first heading: {show_value(parts.lead)}")
    if not checks:
        notes.add("differs", "", CHECKS_NOTHING)
    case = Case(
        name=name,
        turns=parts.turns,
        checks=tuple(checks),
        settings=AgentSettings(
            agent=agent, case_timeout_s=fields.number("timeout", TIMEOUT_S, least=1, most=3600)
        ),
        metadata=_metadata(fields, notes),
    )
    enabled = fields.flag("enabled", True)
    if problems:
        raise SourceError(*[f"{path}: {problem}" for problem in problems])
    if not enabled:
        off = Note("lost", str(path), "enabled", "false: the case is left out, as it was", name)
        return Suite(name, str(path), folder, (), (off,))
    return Suite(name, str(path), folder, (case,), tuple(notes.notes))


class _Notes:
    def __init__(self, source: str, case: str) -> None:
        self.notes: list[Note] = []
        self._source = source
        self._case = case

    def add(self, kind: Any, field: str, text: str) -> None:
        """Add one note about the case."""
        self.notes.append(Note(kind, self._source, field, text, self._case))


def _name_of(path: Path) -> tuple[Path, str]:
    """Return the folder of the suite and the case's name in it."""
    folder = next((p for p in path.absolute().parents if p.name == "evals"), None)
    if folder is None:
        return path.parent, path.stem
    shown = folder if path.is_absolute() else Path(os.path.relpath(folder))
    return shown, path.absolute().relative_to(folder).with_suffix("").as_posix()


def _tell_of_the_judge(notes: _Notes) -> None:
    notes.add(
        "differs",
        "criteria",
        "the judge scored 1 to 10, here a grading model scores 0 to 1 and also says pass or fail, "
        "and both must agree; it is shown the conversation and the tools called, but not AGENTS.md "
        "nor the tools that were not called: say in the criteria what it must know of them",
    )
    notes.add("todo", "criteria", "a case names no judge; " + PIN_A_GRADER)


def _metadata(fields: Fields, notes: _Notes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    tags = fields.texts("tags")
    if tags:
        found["tags"] = tags
    schedule = fields.text("schedule")
    if schedule is not None:
        found["schedule"] = schedule
        notes.add(
            "lost",
            "schedule",
            f"promptfoo has no scheduler: run it from a scheduled workflow, with "
            f"--filter-metadata 'schedule={schedule}'",
        )
    run_as = fields.text("run_as")
    if run_as is not None:
        found["run_as"] = run_as
        notes.add(
            "lost",
            "run_as",
            f"a Lobu session runs as its token's owner: give a provider entry the token of "
            f"{run_as} (tokenEnv) and name its label in the test's 'providers'",
        )
    fakes = fields.raw("fake_tools")
    if fakes is not None:
        found["fake_tools"] = plain(fakes)
    return found
