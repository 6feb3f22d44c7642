"""What every source format is read into: cases with checks, and notes on what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

NoteKind = Literal["lost", "differs", "todo"]
"""``lost``: not carried over. ``differs``: carried over, and means something slightly different.
``todo``: carried over, and needs something from you before it runs."""

Sight = Literal["answer", "conversation", "conversation and tools"]
"""What a grading model is shown."""


@dataclass(frozen=True)
class Note:
    """One thing that a user must know about a conversion."""

    kind: NoteKind
    source: str
    """The file, as it was named."""
    field: str
    """Where in the file, e.g. ``turns[1].assert[0].weight``."""
    text: str
    """What happened, why, and what to do."""
    case: str = ""
    """The case's name; empty when it is about the whole file."""


@dataclass(frozen=True)
class TextCheck:
    """A text of the answer is compared."""

    kind: Literal["contains", "icontains", "not-icontains", "equals", "regex"]
    value: str
    weight: float = 1
    turn: int | None = None
    """Counted from 1; ``None`` for the final answer."""
    ignore_case: bool = False
    """Of a regex."""
    engine: Literal["javascript", "python"] = "javascript"
    """Whose regular expressions the source means."""
    strip: bool = False
    """Whether blanks around the answer do not count."""


@dataclass(frozen=True)
class ToolCheck:
    """Tool calls of the whole case are checked by one of our assertions."""

    check: str
    """E.g. ``toolCalled``."""
    config: Mapping[str, Any]


@dataclass(frozen=True)
class RubricCheck:
    """A model grades."""

    text: str
    weight: float = 1
    turn: int | None = None
    threshold: float | None = None
    """The least score, 0 to 1; ``None`` when the model's yes or no decides."""
    sight: Sight = "answer"


Check = TextCheck | ToolCheck | RubricCheck


@dataclass(frozen=True)
class AgentSettings:
    """What the provider of a case must be told; cases with the same share a provider entry."""

    agent: str | None = None
    turn_timeout_s: float | None = None
    case_timeout_s: float | None = None
    context: str | None = None
    """Text sent beside each message."""


@dataclass(frozen=True)
class Case:
    """One conversation and what is checked of it."""

    name: str
    turns: tuple[str, ...]
    checks: tuple[Check, ...]
    settings: AgentSettings
    metadata: Mapping[str, Any] = field(default_factory=dict)
    threshold: float | None = None
    """The least part of the weights that must pass; ``None``: each check must pass."""
    repeat: int = 1
    grader: Mapping[str, Any] | str | None = None
    """promptfoo's name for the model that grades, where the source names one."""


@dataclass(frozen=True)
class Suite:
    """Cases that are judged together."""

    name: str
    source: str
    folder: Path
    """Where its config belongs."""
    cases: tuple[Case, ...]
    notes: tuple[Note, ...] = ()
    pass_rate: float | None = None
    """The least part of the cases that must pass; ``None``: each must."""


class SourceError(Exception):
    """A source file is wrong; ``problems`` holds one line for each fault."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


YES_OR_NO: Final = (
    "the old runner counted a graded check as 0 or 1; here too, by assertScoringFunction, whatever "
    "fraction the grading model gives"
)
