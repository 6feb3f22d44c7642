"""Astromesh's eval format: a ``*.eval.yaml`` with cases, and perhaps a JSON Lines file of more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lobu_provider.convert.astromesh_expect import check_of
from lobu_provider.convert.astromesh_judge import grader_of
from lobu_provider.convert.fields import Fields, plain
from lobu_provider.convert.lobu_yaml import PIN_A_GRADER
from lobu_provider.convert.suite import (
    AgentSettings,
    Case,
    Note,
    RubricCheck,
    SourceError,
    Suite,
)
from lobu_provider.structured_file import (
    UnreadableFileError,
    parse_json_lines,
    parse_yaml,
    read_text,
)

PASS_SCORE: Final = 0.7
API_VERSION: Final = "astromesh/v1"
_CASE_KEYS: Final = ("id", "turns", "context", "tools", "expect", "rubric")
_SPEC_KEYS: Final = ("agent", "judge", "tools_default", "thresholds", "cases", "cases_file")
_CONTEXT_CHARS: Final = 2048


def is_astromesh_eval(data: Any) -> bool:
    """Return whether a YAML document is of this format, right or wrong."""
    return isinstance(data, Mapping) and data.get("kind") == "Eval"


def read_astromesh_eval(path: Path, agent: str | None = None) -> Suite:
    """Read one eval with all its cases.

    Args:
        path: the file; ``cases_file`` is looked for beside it.
        agent: takes the place of ``spec.agent``.

    Raises:
        SourceError: something in the file or its cases is wrong.
        UnreadableFileError: a file cannot be read.
    """
    data = parse_yaml(path, read_text(path), strict=True)
    if not isinstance(data, Mapping):
        raise SourceError(f"{path}: expected the keys apiVersion, kind, metadata and spec")
    reader = _Reader(path, data)
    suite = reader.suite(agent)
    if reader.problems:
        raise SourceError(*[f"{path}: {problem}" for problem in reader.problems])
    return suite


class _Reader:
    def __init__(self, path: Path, data: Mapping[Any, Any]) -> None:
        self.problems: list[str] = []
        self._path = path
        self._notes: list[Note] = []
        self._fields = Fields(data, "", self.problems)
        self._pass_score = PASS_SCORE
        self._grader: Mapping[str, Any] | str | None = None
        self._blocks_tools = False

    def suite(self, agent: str | None) -> Suite:
        top = self._fields
        top.refuse_unknown(("apiVersion", "kind", "metadata", "spec"))
        top.choice("apiVersion", API_VERSION, (API_VERSION,))
        top.choice("kind", "Eval", ("Eval",))
        for key in ("apiVersion", "kind", "metadata", "spec"):
            if key not in top:
                top.problem(key, "is missing")
        about = top.mapping("metadata")
        spec = top.mapping("spec")
        spec.refuse_unknown(_SPEC_KEYS)
        name = about.text("name", required=True) or self._path.stem
        for key in about.unknown(("name",)):
            self._note("lost", about.path(key), "promptfoo has no place for it")
        named = spec.text("agent", required=True)
        thresholds = spec.mapping("thresholds")
        thresholds.refuse_unknown(("pass_rate", "max_avg_tokens"))
        pass_rate = thresholds.number("pass_rate", 1, least=0, most=1, required=True)
        if "max_avg_tokens" in thresholds:
            most = thresholds.number("max_avg_tokens", 1, least=0)
            self._note(
                "lost",
                thresholds.path("max_avg_tokens"),
                f"{most:g}: no Lobu gateway reports tokens, so there is nothing to hold against it",
            )
        self._blocks_tools = spec.choice("tools_default", "real", ("real", "block")) == "block"
        self._read_judge(spec)
        entries = [*spec.entries("cases"), *self._cases_of_file(spec)]
        if not entries and not self.problems:
            spec.problem("cases", "no case, here or in cases_file")
        cases = [self._case(entry, agent or named, name) for entry in entries]
        self._check_ids(cases)
        rate = None if pass_rate == 1 else pass_rate
        where = (name, str(self._path), self._path.parent)
        return Suite(*where, tuple(cases), tuple(self._notes), rate)

    def _read_judge(self, spec: Fields) -> None:
        judge = spec.mapping("judge")
        judge.refuse_unknown(("model", "pass_score"))
        self._pass_score = judge.number("pass_score", PASS_SCORE, least=0, most=1)
        if "model" not in judge:
            return
        self._grader, lost = grader_of(judge.mapping("model"))
        for field, text in lost:
            self._note("lost", field, text)

    def _cases_of_file(self, spec: Fields) -> list[Fields]:
        name = spec.text("cases_file")
        if name is None:
            return []
        path = self._path.parent / name
        try:
            lines = parse_json_lines(path, read_text(path))
        except UnreadableFileError as error:
            self.problems.append(f"spec.cases_file: {error}")
            return []
        found = []
        for number, value in lines:
            if isinstance(value, Mapping):
                found.append(Fields(value, f"{name}:{number}", self.problems))
            else:
                self.problems.append(f"{name}:{number}: expected the keys of a case")
        return found

    def _case(self, entry: Fields, agent: str | None, suite: str) -> Case:
        entry.refuse_unknown(_CASE_KEYS)
        identity = entry.text("id", required=True) or ""
        if identity and not re.fullmatch("[a-z0-9_-]{1,64}", identity):
            entry.problem("id", f"expected 1 to 64 of a-z, 0-9, _ and -, got {identity!r}")
        turns = entry.texts("turns", single=False)
        if not turns:
            entry.problem("turns", "expected at least one message")
        checks = [
            check
            for assertion in entry.entries("expect")
            if (check := check_of(assertion)) is not None
        ]
        rubric = entry.text("rubric")
        if rubric is not None:
            sight: Any = "answer" if len(turns) < 2 else "conversation"
            checks.append(RubricCheck(rubric, threshold=self._pass_score, sight=sight))
            self._tell_of_the_judge()
        if not checks and not self.problems:
            entry.problem("expect", "a case needs expect, rubric or both: this one cannot fail")
        self._tell_of_tools(entry, identity)
        return Case(
            name=identity,
            turns=tuple(turns),
            checks=tuple(checks),
            settings=AgentSettings(agent=agent, context=self._context(entry, identity)),
            metadata={"suite": suite, **self._fixtures(entry)},
            grader=self._grader if rubric is not None else None,
        )

    def _context(self, entry: Fields, case: str) -> str | None:
        if "context" not in entry:
            return None
        entry.mapping("context")  # a fault unless it is one
        text = json.dumps(plain(entry.raw("context")), ensure_ascii=False)
        note = "sent as text beside each message (ephemeralContext); older gateways drop it"
        if len(text) > _CONTEXT_CHARS:
            note += f"; of its {len(text)} characters {_CONTEXT_CHARS} count"
        self._note("differs", entry.path("context"), note, case)
        return text

    def _fixtures(self, entry: Fields) -> dict[str, Any]:
        entry.mapping("tools")
        return {"fixtures": plain(entry.raw("tools"))} if "tools" in entry else {}

    def _tell_of_tools(self, entry: Fields, case: str) -> None:
        if "tools" in entry or self._blocks_tools:
            names = ", ".join(entry.mapping("tools").keys()) or "any"
            self._note(
                "lost",
                entry.path("tools") if "tools" in entry else "spec.tools_default",
                f"a gateway takes no fixtures and blocks no tool, so the tools RUN FOR REAL "
                f"({names}): point the agent at test tools before you run this",
                case,
            )

    def _tell_of_the_judge(self) -> None:
        self._note(
            "differs",
            "spec.judge",
            "the judge's score alone decided; here the grading model also says pass or fail, and "
            "both must agree",
        )
        if self._grader is None:
            self._note("todo", "spec.judge", PIN_A_GRADER)

    def _check_ids(self, cases: list[Case]) -> None:
        seen: set[str] = set()
        for case in cases:
            if case.name in seen:
                self.problems.append(f"id: {case.name!r} stands twice; it must be unique")
            seen.add(case.name)

    def _note(self, kind: Any, field: str, text: str, case: str = "") -> None:
        note = Note(kind, str(self._path), field, text, case)
        if note not in self._notes:
            self._notes.append(note)
