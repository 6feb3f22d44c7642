"""Player: which recorded request each live one is, and when what came of it is due.

It knows no waits of its own: the loop's clock decides how long a recorded second is.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from lobu_provider.cassettes.placeholders import with_ids
from lobu_provider.cassettes.reading import Cassette, Recorded
from lobu_provider.errors import LobuError, Phase, error_for, failure
from lobu_provider.redaction import MASK

Kind = Literal["create", "events", "message", "delete", "other"]

_PHASES: Final[dict[Kind, Phase]] = {
    "create": "create",
    "events": "connect",
    "message": "send",
    "delete": "delete",
    "other": "connect",
}

OWN_TIME_S: Final = 1.0
"""A client that is ahead of the recorded one by more does something else, e.g. by another limit."""

_MINE: Final = re.compile(r"<{2,4}(?:thread|message)-\d+>>")
"""Placeholders of what the client makes anew for each call."""


_QUERY: Final = re.compile(r"\?since=[^/]*$")


def kind_of(method: str, path: str) -> Kind:
    """Return what a request is for."""
    plain = _QUERY.sub("", path)  # a thread's name may hold a question mark
    if plain.endswith("/api/v1/agents"):
        return "create" if method == "POST" else "other"
    if "/api/v1/agents/" not in plain:
        return "other"
    if method == "DELETE":
        return "delete"
    if method == "GET" and plain.endswith("/events"):
        return "events"
    return "message" if method == "POST" and plain.endswith("/messages") else "other"


class Player:
    """A cassette that plays, over all attempts of a call.

    Args:
        cassette: the recording.
        name: of its file, for errors.
        fix: the sentence that says how to record it again.
    """

    def __init__(self, cassette: Cassette, name: str, fix: str) -> None:
        self._cassette = cassette
        self._name = name
        self._fix = fix
        self._next: dict[Kind, int] = {}
        self._live: dict[str, str] = {}
        """Ids that the running client has made, by placeholder."""
        self._sent_s: dict[int, float] = {}
        self._sent: list[asyncio.Event] = [asyncio.Event() for _ in cassette.requests]
        self._by_kind: dict[Kind, list[int]] = {}
        for index, request in enumerate(cassette.requests):
            kind = kind_of(request.method, request.path)
            self._by_kind.setdefault(kind, []).append(index)

    async def take(self, method: str, path: str, content: str | None) -> Recorded | None:
        """Return the recorded request that this one is, at the moment at which it is sent.

        Returns:
            ``None`` for a deletion that was not recorded: there is no session to delete.

        Raises:
            ConfigError: none of this kind is left, or it says something else.
        """
        kind = kind_of(method, path)
        number = self._next.get(kind, 0)
        self._next[kind] = number + 1
        known = self._by_kind.get(kind, [])
        if number >= len(known):
            if kind == "delete":
                return None
            raise self._differs(
                kind, f"{method} {path} is sent {number + 1} times, and was {len(known)} times"
            )
        index = known[number]
        recorded = self._cassette.requests[index]
        difference = self._difference(recorded.line.get("body"), _parsed(content), "")
        if difference is not None:
            turn = f" (message {number + 1})" if kind == "message" else ""
            raise self._differs(kind, f"the {kind} request{turn} differs: {difference}")
        if kind != "delete":  # which has little time, and nothing that it could overtake
            await self._come_to_send(index)
        self._sent_s[index] = asyncio.get_running_loop().time()
        self._sent[index].set()
        return recorded

    async def _come_to_send(self, index: int) -> None:
        """Wait for what a live client needed of its own time, in which more could come."""
        if index == 0 or index - 1 not in self._sent_s:
            return
        requests, now_s = self._cassette.requests, asyncio.get_running_loop().time()
        gap_s = (requests[index].sent_ms - requests[index - 1].sent_ms) / 1000
        left_s = self._sent_s[index - 1] + gap_s - now_s
        if 0 < left_s < OWN_TIME_S:
            await asyncio.sleep(left_s)

    def line(self, line: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a line with ids in the place of its placeholders."""
        filled: Mapping[str, Any] = with_ids(dict(line), self._value_of)
        return filled

    async def until(self, at_ms: float, after: int) -> None:
        """Wait as long after a request as it was when it was recorded."""
        await self._sent[after].wait()
        elapsed_ms = at_ms - self._cassette.requests[after].sent_ms
        loop = asyncio.get_running_loop()
        left_s = self._sent_s[after] + elapsed_ms / 1000 - loop.time()
        if left_s > 0:
            await asyncio.sleep(left_s)

    async def until_after(self, recorded: Recorded, at_ms: float) -> None:
        """Wait as long after a request as its own reply took."""
        await self.until(at_ms, recorded.index)

    def _value_of(self, name: str) -> str | None:
        if name in self._live:
            return self._live[name]
        known = self._cassette.ids.get(name)
        if known is None:
            return None
        filled: str = with_ids(known, self._value_of)
        return filled

    def _difference(self, recorded: Any, live: Any, path: str) -> str | None:
        if isinstance(recorded, str) and isinstance(live, str):
            if _MINE.fullmatch(recorded):
                self._live[recorded] = live
                return None
            if _fits(with_ids(recorded, self._value_of), live):
                return None
        elif isinstance(recorded, Mapping) and isinstance(live, Mapping):
            for key in (*recorded, *(key for key in live if key not in recorded)):
                found = self._difference(
                    recorded.get(key), live.get(key), f"{path}.{key}".strip(".")
                )
                if found is not None:
                    return found
            return None
        elif recorded in (live, MASK):
            return None
        return f"{path or 'the body'} is {_shown(live)} and was {_shown(recorded)}"

    def _differs(self, kind: Kind, what: str) -> LobuError:
        return error_for(
            failure(
                "cassette",
                f"The conversation is not the one in {self._name}: {what}. {self._fix}",
                phase=_PHASES[kind],
            )
        )


def _parsed(content: str | None) -> Any:
    return None if content is None else json.loads(content)


def _fits(recorded: str, live: str) -> bool:
    """Return whether a recorded text is the live one; what was masked may have been anything."""
    if MASK not in recorded:
        return recorded == live
    pattern = ".*".join(re.escape(part) for part in recorded.split(MASK))
    return re.fullmatch(pattern, live, re.DOTALL) is not None


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
