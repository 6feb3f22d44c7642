"""What a conversation is known by: what the agent was told, and nothing of the gateway."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lobu_provider.json_safe import json_safe

_SLUG_LENGTH: Final = 50


@dataclass(frozen=True)
class CassetteKey:
    """Two calls with equal keys are the same conversation.

    Neither the address nor ids, times and limits are part of it, and no set: each is a folder.
    """

    agent: str
    turns: tuple[str, ...]
    """The messages that are to be said. Answers to questions follow from what the agent says."""
    before: tuple[str, ...] = ()
    """What was said on the session before this call."""
    repeat: int = 0
    """promptfoo's ``repeatIndex``."""
    org: str | None = None
    model: str | None = None
    provider: str | None = None
    dry_run: bool | None = None
    ephemeral_context: str | None = None
    thread: str | None = None
    """A thread that the config names: the agent remembers its past."""

    @property
    def digest(self) -> str:
        """The hash in the file's name: 12 hexadecimal digits."""
        text = json.dumps(json_safe(self.told()), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def told(self) -> dict[str, Any]:
        """Return what stands in the cassette's first line; what is not given is absent."""
        optional = {
            "org": self.org,
            "model": self.model,
            "provider": self.provider,
            "dryRun": self.dry_run,
            "ephemeralContext": self.ephemeral_context,
            "thread": self.thread,
        }
        return {
            "agent": self.agent,
            **{name: value for name, value in optional.items() if value is not None},
            "repeat": self.repeat,
            "before": list(self.before),
            "turns": list(self.turns),
        }

    def file_name(self, title: str) -> str:
        """Return ``SLUG-HASH.jsonl``; only the hash is looked up.

        Args:
            title: what people know the conversation by; nothing secret.
        """
        slug = slug_of(title)
        repeat = f"-r{self.repeat}" if self.repeat else ""
        return f"{slug or 'conversation'}{repeat}-{self.digest}.jsonl"


def slug_of(text: str) -> str:
    """Return the beginning of a text in letters and digits that every file system takes."""
    plain = unicodedata.normalize("NFKD", text[:500]).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:_SLUG_LENGTH].strip("-")


def first_difference(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Say in what two first lines differ: a turn by its number, else a key."""
    for what in ("before", "turns"):
        difference = _differing_turn(_texts(wanted.get(what)), _texts(found.get(what)), what)
        if difference is not None:
            return difference
    for name in (*wanted, *found):
        if name in _NO_PART_OF_THE_KEY or wanted.get(name) == found.get(name):
            continue
        return f"{name} is {_shown(wanted.get(name))} and was {_shown(found.get(name))}"
    return "what was masked in it, as far as can be told"


_NO_PART_OF_THE_KEY: Final = frozenset({"cassette", "description", "key"})


def _differing_turn(wanted: list[str], found: list[str], what: str) -> str | None:
    name = "turn" if what == "turns" else "the earlier message"
    for number, (one, other) in enumerate(zip(wanted, found, strict=False), start=1):
        if one != other:
            return f"{name} {number} is {_shown(one)} and was {_shown(other)}"
    if len(wanted) > len(found):
        number = len(found) + 1
        return f"{name} {number}, {_shown(wanted[number - 1])}, is new"
    if len(found) > len(wanted):
        number = len(wanted) + 1
        return f"{name} {number}, {_shown(found[number - 1])}, is gone"
    return None


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    text = json.dumps(json_safe(value), ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
