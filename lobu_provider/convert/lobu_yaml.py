"""Lobu's older eval format: one YAML file a case, in ``agents/NAME/evals/``.

How it scores: each assertion gives 0 or 1, weighted; a rubric file counts as much as all
assertions together; a trial passes at ``scoring.pass_threshold``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lobu_provider.convert.fields import Fields, plain
from lobu_provider.convert.suite import (
    YES_OR_NO,
    AgentSettings,
    Case,
    Note,
    RubricCheck,
    Sight,
    SourceError,
    Suite,
    TextCheck,
)
from lobu_provider.structured_file import UnreadableFileError, parse_yaml, read_text

TRIALS: Final = 3
TIMEOUT_S: Final = 120
PASS_THRESHOLD: Final = 0.8

Graded = TextCheck | RubricCheck

_KEYS: Final = (
    "version", "name", "description", "trials", "timeout", "tags", "rubric", "scoring", "turns",
)  # fmt: skip
_TURN_KEYS: Final = ("content", "assert")
_ASSERTION_KEYS: Final = ("type", "value", "weight", "options")
_OPTION_KEYS: Final = ("case_insensitive",)


def is_lobu_eval(data: Any) -> bool:
    """Return whether a YAML document is of this format, right or wrong."""
    return isinstance(data, Mapping) and isinstance(data.get("turns"), list) and "kind" not in data


def read_lobu_eval(path: Path, agent: str | None = None) -> Suite:
    """Read one eval file.

    Args:
        path: the file; its rubric is looked for beside it.
        agent: the agent's id; by default that of the folder ``agents/NAME/evals``.

    Raises:
        SourceError: something in the file is wrong.
        UnreadableFileError: the file or its rubric cannot be read.
    """
    data = parse_yaml(path, read_text(path), strict=True)
    if not isinstance(data, Mapping):
        raise SourceError(f"{path}: expected the keys of an eval: name, turns")
    reader = _Reader(path, data)
    case = reader.case(agent or _agent_of(path))
    if reader.problems:
        raise SourceError(*[f"{path}: {problem}" for problem in reader.problems])
    return Suite(case.name, str(path), path.parent, (case,), tuple(reader.notes))


def _agent_of(path: Path) -> str | None:
    parts = path.absolute().parts
    return parts[-3] if len(parts) > 3 and parts[-2] == "evals" and parts[-4] == "agents" else None


class _Reader:
    def __init__(self, path: Path, data: Mapping[Any, Any]) -> None:
        self.problems: list[str] = []
        self.notes: list[Note] = []
        self._path = path
        self._fields = Fields(data, "", self.problems)
        self._name = str(data.get("name") or path.stem)

    def case(self, agent: str | None) -> Case:
        fields = self._fields
        self._tell_unknown(fields, _KEYS)
        name = fields.text("name", required=True) or self._name
        turns = fields.entries("turns", required=True)
        contents = [turn.text("content", required=True) or "" for turn in turns]
        checks: list[Graded] = [
            check
            for number, turn in enumerate(turns, 1)
            for check in self._checks(turn, number, len(turns))
        ]
        scoring = fields.mapping("scoring")
        self._tell_unknown(scoring, ("pass_threshold",))
        threshold = scoring.number("pass_threshold", PASS_THRESHOLD, least=0, most=1)
        checks += self._rubric(sum(check.weight for check in checks), len(turns))
        if any(isinstance(check, RubricCheck) for check in checks):
            self._note("differs", "turns", YES_OR_NO)
            self._note("todo", "turns", "the format names no grading model; " + PIN_A_GRADER)
        if not checks:
            self._note("differs", "turns", CHECKS_NOTHING)
        return Case(
            name=name,
            turns=tuple(contents),
            checks=tuple(checks),
            settings=AgentSettings(
                agent=agent, turn_timeout_s=fields.number("timeout", TIMEOUT_S, least=0, above=True)
            ),
            metadata=self._metadata(),
            threshold=threshold if checks else None,
            repeat=int(fields.number("trials", TRIALS, least=1, whole=True)),
        )

    def _metadata(self) -> dict[str, Any]:
        fields = self._fields
        found: dict[str, Any] = {}
        about = fields.text("description")
        if about:
            found["description"] = about
        tags = fields.texts("tags")
        if tags:
            found["tags"] = tags
        version = fields.raw("version")
        if version is not None:
            found["evalVersion"] = plain(version)
        return found

    def _checks(self, turn: Fields, number: int, turns: int) -> list[Graded]:
        self._tell_unknown(turn, _TURN_KEYS)
        at = None if turns == 1 else number
        found = []
        for assertion in turn.entries("assert"):
            check = self._check(assertion, at)
            if check is not None and check.weight == 0:
                self._note("lost", assertion.path("weight"), "0 counts for nothing: left out")
            elif check is not None:
                found.append(check)
        return found

    def _check(self, assertion: Fields, turn: int | None) -> Graded | None:
        self._tell_unknown(assertion, _ASSERTION_KEYS)
        kind = assertion.choice("type", "", ("contains", "regex", "llm-rubric"))
        if "type" not in assertion:
            assertion.problem("type", "is missing")
        value = assertion.text("value", required=True) or ""
        weight = assertion.number("weight", 1, least=0)
        options = assertion.mapping("options")
        self._tell_unknown(options, _OPTION_KEYS)
        ignore_case = options.flag("case_insensitive", kind == "regex")
        if kind == "contains":
            return TextCheck("icontains" if ignore_case else "contains", value, weight, turn)
        if kind == "regex":
            _check_javascript_pattern(assertion, value)
            return TextCheck("regex", value, weight, turn, ignore_case=ignore_case)
        if "case_insensitive" in options:
            self._note("lost", options.path("case_insensitive"), "means nothing for a rubric")
        return RubricCheck(value, weight, turn) if kind else None

    def _rubric(self, weight: float, turns: int) -> list[Graded]:
        name = self._fields.text("rubric")
        if name is None:
            return []
        path = self._path.parent / name
        try:
            text = read_text(path).strip()
        except UnreadableFileError as error:
            self.problems.append(f"rubric: {error}")
            return []
        if not text:
            self.problems.append(f"rubric: {path} is empty")
            return []
        sight: Sight = "answer" if turns == 1 else "conversation"
        if turns > 1:
            self._note(
                "differs",
                "rubric",
                "the format does not say what of a conversation its rubric judges; here the "
                "grading model is shown all turns",
            )
        return [RubricCheck(text, weight or 1, sight=sight)]

    def _tell_unknown(self, fields: Fields, known: tuple[str, ...]) -> None:
        for key in fields.unknown(known):
            known_keys = ", ".join(known)
            told = f"is no key of the format (keys: {known_keys})"
            if key in _OPTION_KEYS and "options" in known:
                told += f"; it stands under options, as in  options: {{{key}: true}}"
            self._note("lost", fields.path(key), told)

    def _note(self, kind: Any, field: str, text: str) -> None:
        note = Note(kind, str(self._path), field, text, self._name)
        if note not in self.notes:
            self.notes.append(note)


PIN_A_GRADER: Final = (
    "name one with --grader, or as defaultTest.options.provider, or promptfoo takes one by the API "
    "keys that are set"
)
CHECKS_NOTHING: Final = "no check: the test passes whatever the agent answers"


def _check_javascript_pattern(assertion: Fields, pattern: str) -> None:
    """Refuse what is surely no pattern; Node itself is not asked."""
    bare = re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "", pattern, flags=re.DOTALL)
    if bare.count("(") != bare.count(")"):
        assertion.problem("value", f"is no regular expression: its ( and ) do not match: {pattern}")
