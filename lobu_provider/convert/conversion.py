"""From paths to finished configs, with a report; nothing is written here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lobu_provider.convert.promptfoo_config import promptfoo_config
from lobu_provider.convert.sources import READERS, Format, find_sources
from lobu_provider.convert.suite import Note, SourceError, Suite
from lobu_provider.convert.yaml_writer import write_yaml
from lobu_provider.structured_file import UnreadableFileError

NAME: Final = "promptfooconfig.yaml"
_SCHEMA: Final = "yaml-language-server: $schema=https://promptfoo.dev/config-schema.json"
KINDS: Final = {
    "lost": "Not carried over",
    "differs": "Carried over, with a difference",
    "todo": "To do before a run",
}
"""The kinds of notes in the order of a report."""


@dataclass(frozen=True)
class Converted:
    """One config file to write."""

    path: Path
    text: str
    config: dict[str, Any]


@dataclass(frozen=True)
class Conversion:
    """What came of some paths."""

    files: list[Converted]
    notes: list[Note]
    """About all files, and about sources that gave none."""
    passed_over: list[tuple[Path, str]]


def convert(
    paths: list[Path],
    *,
    source_format: Format | None = None,
    agent: str | None = None,
    grader: str | None = None,
    output: Path | None = None,
) -> Conversion:
    """Convert the evals of some paths.

    Args:
        paths: files or folders, see :func:`find_sources`.
        source_format: of all files; by default each file's content tells.
        agent: the agent's id in all tests.
        grader: promptfoo's name of the model that grades.
        output: the one file to write; by default ``promptfooconfig.yaml`` beside the evals.

    Raises:
        SourceError: faults in the sources, all of them, or several configs for one ``output``.
        UnreadableFileError: a YAML file cannot be read.
    """
    sources = find_sources(paths, source_format)
    suites: list[Suite] = []
    problems = list(sources.problems)
    for path, kind in sources.files:
        try:
            suites.append(READERS[kind](path, agent))
        except SourceError as error:
            problems += error.problems
        except UnreadableFileError as error:
            if not error.is_broken:
                raise
            problems.append(f"{error}. {error.fix}")
    problems += _double_names(suites)
    if problems:
        raise SourceError(*problems)
    suites = [replace(suite, notes=tuple(_notes(suite, grader))) for suite in suites]
    groups = _groups(suites, output)
    files = [_converted(path, group, grader) for path, group in groups.items()]
    notes = [note for suite in suites for note in suite.notes]
    return Conversion(files, notes, sources.passed_over)


def _notes(suite: Suite, grader: str | None) -> list[Note]:
    """Return all that is to be told about a suite, without what a given grader settles."""
    notes = [*suite.notes, *_environment(suite)]
    return [note for note in notes if not grader or "name one with --grader" not in note.text]


def _environment(suite: Suite) -> list[Note]:
    """Return a note for each case with a text that promptfoo changes whatever is around it."""
    return [
        Note("differs", suite.source, "", _FILLED_IN, case.name)
        for case in suite.cases
        if re.search(r"\{\{-?\s*env\b", repr(case))
    ]


_FILLED_IN: Final = (
    "promptfoo fills in {{env.NAME}} when it loads a config, wherever it stands; here it is a text "
    "that the old runner took as written"
)


def _double_names(suites: Sequence[Suite]) -> list[str]:
    seen: dict[tuple[str, str], str] = {}
    problems = []
    for suite in suites:
        for case in suite.cases:
            key = (str(suite.folder), f"{suite.name}/{case.name}")
            if key in seen:
                problems.append(
                    f"{suite.source}: the name {case.name!r} is also that of {seen[key]}; results "
                    "could not be told apart"
                )
            seen[key] = suite.source
    return problems


def _groups(suites: Sequence[Suite], output: Path | None) -> dict[Path, list[Suite]]:
    """Return which suites go into which file: those of a folder, unless a pass rate parts them."""
    groups: dict[Path, list[Suite]] = {}
    filled = [suite for suite in suites if suite.cases]
    for suite in filled:
        others = [one for one in filled if one is not suite and one.folder == suite.folder]
        alone = suite.pass_rate is not None and bool(others)
        folder = output.parent if output is not None else suite.folder
        name = f"{suite.name}.{NAME}" if alone else output.name if output is not None else NAME
        groups.setdefault(folder / name, []).append(suite)
    if output is not None and len(groups) > 1:
        names = ", ".join(path.name for path in groups)
        raise SourceError(
            f"these evals need a config each, since each has its own pass rate ({names}); leave "
            "--output out"
        )
    return groups


def _converted(path: Path, suites: list[Suite], grader: str | None) -> Converted:
    config = promptfoo_config(suites, grader)
    notes = [note for suite in suites for note in suite.notes]
    head = [_SCHEMA, "Written by `lobu-provider convert`."]
    for kind, title in KINDS.items():
        lines = [f"- {line}" for line in told_once([n for n in notes if n.kind == kind])]
        if lines:
            head += ["", f"{title}:", *lines]
    return Converted(path, write_yaml(config, head), config)


def told_once(notes: Sequence[Note]) -> list[str]:
    """Return a line for each thing to be told, with all the cases that it is about."""
    cases: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        name = note.case or Path(note.source).name
        cases.setdefault((note.field, note.text), []).append(name)
    return [
        f"{', '.join(dict.fromkeys(names))}{f' ({field})' if field else ''}: {text}"
        for (field, text), names in cases.items()
    ]
