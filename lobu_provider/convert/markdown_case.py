"""Hubzoid's Markdown case taken apart: frontmatter and the sections of its body."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lobu_provider.convert.fields import show_value
from lobu_provider.structured_file import UnreadableFileError, parse_yaml

_PROMPT: Final = ("prompt", "input", "ask")
_CRITERIA: Final = ("criteria", "rubric", "expect", "expected")
_HEADING: Final = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE: Final = re.compile(r"[ ]{0,3}(```+|~~~+)")
_TURN: Final = re.compile(r"turn[ \t]+([0-9]{1,4})\b.*")
_KEY: Final = re.compile(r"([a-z_]+)[ \t]*:")


@dataclass(frozen=True)
class MarkdownCase:
    """The parts of one case file."""

    keys: Mapping[Any, Any]
    turns: tuple[str, ...]
    is_conversation: bool
    criteria: str | None
    lead: str
    """What stands before the first section, which nothing reads; empty where there is none."""


def take_apart(
    path: Path, text: str, problems: list[str], known_keys: Collection[str] = ()
) -> MarkdownCase:
    """Return the parts of a case.

    Args:
        path: for messages.
        text: the file's.
        problems: faults are appended.
        known_keys: of the frontmatter; where one begins the body, the frontmatter is not closed in.
    """
    head, body = _frontmatter(text.replace("\r\n", "\n"), problems, known_keys)
    keys: Any = {}
    if head is not None:
        try:
            keys = parse_yaml(path, head, strict=True) or {}
        except UnreadableFileError as error:
            if not error.is_broken:
                raise
            problems.append(f"frontmatter: {str(error).removeprefix(f'{path} ')}")
    if not isinstance(keys, Mapping):
        problems.append(f"frontmatter: expected keys, got {show_value(keys)}")
        keys = {}
    turns, is_conversation, criteria = _body(body, problems)
    return MarkdownCase(keys, tuple(turns), is_conversation, criteria, _lead(body))


def _frontmatter(
    text: str, problems: list[str], known_keys: Collection[str]
) -> tuple[str | None, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        first = next((line for line in lines if line.strip()), "")
        key = _KEY.match(first)
        if first.strip() == "---" or (key is not None and key[1] in known_keys):
            problems.append("frontmatter: --- must be the file's first line, or no key is read")
        return None, text
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        problems.append("frontmatter: the closing --- is missing")
        return None, ""
    # The blank line keeps the numbers of lines in messages.
    return "\n" + "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])


def _body(body: str, problems: list[str]) -> tuple[list[str], bool, str | None]:
    sections: dict[str, str] = {}
    for title, text in _sections(body):
        if title in sections:
            problems.append(f"body: two sections for the {title}")
        sections[title] = text.strip()
    criteria = sections.pop("criteria", None)
    if criteria == "":
        problems.append("body: the criteria have no text")
    turns = {int(title.split()[1]): text for title, text in sections.items() if title != "prompt"}
    if not sections and criteria is None and not _headings(body) and body.strip():
        return [body.strip()], False, None
    if "prompt" in sections and turns:
        problems.append("body: a case cannot have both ## Prompt and ## Turn sections")
    if not sections:
        problems.append("body: no prompt; add a '## Prompt' section (or plain body text)")
    if sections.get("prompt") == "":
        problems.append("body: the prompt has no text")
    problems += [
        f"body: turn {number} has no text" for number in sorted(turns) if not turns[number]
    ]
    if turns:
        return [turns[number] for number in sorted(turns)], True, criteria
    return [sections.get("prompt", "")], False, criteria


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Yield each known section: ``prompt``, ``criteria`` or ``turn N``, and its text."""
    title: str | None = None
    lines: list[str] = []
    for line, heading in _lines(body):
        found = None if heading is None else _known(heading)
        if found is None:
            lines.append(line)
            continue
        if title is not None:
            yield title, "\n".join(lines)
        title, lines = found, []
    if title is not None:
        yield title, "\n".join(lines)


def _lead(body: str) -> str:
    """Return the text before the first known section of a body that has one."""
    lead: list[str] = []
    for line, heading in _lines(body):
        if heading is not None and _known(heading) is not None:
            return "\n".join(lead).strip()
        lead.append(line)
    return ""


def _headings(body: str) -> list[str]:
    return [heading for _, heading in _lines(body) if heading is not None]


def _lines(body: str) -> Iterator[tuple[str, str | None]]:
    """Yield each line with its heading, if it is one; none is inside a fenced block."""
    fence = ""
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence):
                fence = ""
            yield line, None
            continue
        if mark is not None:
            fence = mark[1]
        heading = _HEADING.match(line)
        yield line, heading[1] if heading is not None else None


def _known(heading: str) -> str | None:
    name = heading.strip().lower()
    if name in _PROMPT:
        return "prompt"
    if name in _CRITERIA:
        return "criteria"
    turn = _TURN.fullmatch(name)
    return f"turn {int(turn[1])}" if turn is not None else None
