"""Which reply answers a message, and why none does (pure)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from lobu_provider.scripted_gateway.script import Match, ReplyEntry

_NEAREST: Final = 3
_SHOWN_CHARS: Final = 120
_COMPARED_CHARS: Final = 2000
"""Of a message; to compare takes the square of its length."""


@dataclass(frozen=True)
class Incoming:
    """What a message is matched by."""

    content: str
    turn: int
    """Counted from 1 in its conversation."""
    agent: str


@dataclass(frozen=True)
class Miss:
    """A message that no entry answers."""

    incoming: Incoming
    explanation: str
    """The message, the nearest entries, and which of their conditions did not hold."""


def find_reply(
    replies: Sequence[ReplyEntry], incoming: Incoming, used: Collection[int] = ()
) -> int | Miss:
    """Return the index of the first entry that matches, or a :class:`Miss`.

    ``used`` holds the indexes of the ``once`` entries that have answered already.
    """
    failed = [_unmet(entry, incoming, index in used) for index, entry in enumerate(replies)]
    for index, reasons in enumerate(failed):
        if not reasons:
            return index
    return Miss(incoming, _explain(replies, incoming, failed))


def _unmet(entry: ReplyEntry, incoming: Incoming, used: bool) -> list[str]:
    """Return a sentence for every condition of ``entry`` that does not hold."""
    reasons = []
    if entry.match is not None and not _matches(entry.match, incoming.content):
        reasons.append(f"the message {_unlike(entry.match)}")
    if entry.turn is not None and entry.turn != incoming.turn:
        reasons.append(f"applies only to turn {entry.turn}; this is turn {incoming.turn}")
    if entry.agent is not None and entry.agent != incoming.agent:
        reasons.append(f"applies only to agent {entry.agent!r}; this is {incoming.agent!r}")
    if entry.once and used:
        reasons.append("answers once, and has done so")
    return reasons


def _matches(match: Match, content: str) -> bool:
    if match.regex is not None:
        flags = re.IGNORECASE if match.ignore_case else 0
        return re.search(match.regex, content, flags) is not None
    wanted = match.contains if match.contains is not None else match.equals or ""
    if match.ignore_case:
        wanted, content = wanted.casefold(), content.casefold()
    return wanted in content if match.contains is not None else wanted.strip() == content.strip()


def _unlike(match: Match) -> str:
    """Say what a message that ``match`` does not hold for lacks."""
    case = "" if match.ignore_case else " (case matters)"
    if match.contains is not None:
        return f'does not contain "{match.contains}"{case}'
    if match.equals is not None:
        return f'is not "{match.equals}"{case}'
    return f'does not match the regex "{match.regex}"{case}'


def _explain(replies: Sequence[ReplyEntry], incoming: Incoming, failed: Sequence[list[str]]) -> str:
    head = (
        f'No script entry matches "{_cut(incoming.content)}" '
        f"(turn {incoming.turn}, agent {incoming.agent!r})."
    )
    if not replies:
        return f"{head} The script has no replies."
    order = sorted(
        range(len(replies)),
        key=lambda i: (len(failed[i]), -_likeness(replies[i].match, incoming.content), i),
    )
    lines = [f"  replies[{i}]: {'; '.join(failed[i])}" for i in order[:_NEAREST]]
    return "\n".join([f"{head} Nearest of {len(replies)}:", *lines])


def _likeness(match: Match | None, content: str) -> float:
    """Return how alike pattern and message are, 0 to 1, by their words."""
    if match is None:
        return 1.0
    wanted = _words(match.equals or match.contains or match.regex or "")
    said = _words(content)
    shared = len(set(wanted) & set(said)) / max(len(set(wanted)), 1)
    letters = difflib.SequenceMatcher(None, " ".join(wanted), " ".join(said)).ratio()
    return max(shared, letters)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text[:_COMPARED_CHARS].casefold())


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."
