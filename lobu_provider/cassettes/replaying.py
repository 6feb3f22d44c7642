"""ReplayingHttp: answers from a cassette, in the recorded order and at the recorded distances.

It knows no waits of its own: the loop's clock decides how long a recorded second is.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Literal
from urllib.parse import unquote

import httpx

from lobu_provider.cassettes.exact_text import body_bytes, frame_bytes
from lobu_provider.cassettes.network_faults import raised
from lobu_provider.cassettes.placeholders import with_ids
from lobu_provider.cassettes.reading import Cassette, Happening, Recorded
from lobu_provider.cassettes.skipping_loop import note_progress
from lobu_provider.errors import LobuError, Phase, error_for, failure
from lobu_provider.http_exchange import Reply
from lobu_provider.redaction import MASK

Kind = Literal["create", "events", "message", "delete", "other"]

_PHASES: Final[dict[Kind, Phase]] = {
    "create": "create",
    "events": "connect",
    "message": "send",
    "delete": "delete",
    "other": "connect",
}

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

    def http(self) -> ReplayingHttp:
        """Return what answers the requests of one attempt."""
        return ReplayingHttp(self)

    def take(self, method: str, path: str, content: str | None) -> Recorded | None:
        """Return the recorded request that this one is.

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
        self._sent_s[index] = asyncio.get_running_loop().time()
        self._sent[index].set()
        return recorded

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


class ReplayingHttp:
    """An :class:`Http` without a network; made by :meth:`Player.http`."""

    def __init__(self, player: Player) -> None:
        self._player = player

    async def __aenter__(self) -> ReplayingHttp:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: str | None = None,
        silence_s: float | None = None,
    ) -> Reply:
        """Answer a request; see :meth:`lobu_provider.http_exchange.Http.send`."""
        player, path = self._player, _path(url)
        recorded = player.take(method, path, content)
        if recorded is None:
            return _reply(method, url, 204, {}, _Bytes(b""))
        line = recorded.reply
        if not recorded.times_ms:  # nobody waited for a reply any more
            await _for_ever()
        await player.until_after(recorded, recorded.times_ms[0])
        if "failed" in line:
            raise raised(line["failed"])
        body: AsyncIterator[bytes] = (
            _RecordedStream(player, recorded) if "stream" in line else _Body(player, recorded)
        )
        return _reply(method, url, int(line["reply"]), line.get("headers", {}), body)


def _reply(
    method: str, url: str, status: int, headers: Mapping[str, str], body: AsyncIterator[bytes]
) -> Reply:
    return Reply(method, url, status, httpx.Headers(dict(headers)), body, _nothing)


async def _for_ever() -> None:
    """Wait until whoever waits for this gives up."""
    await asyncio.get_running_loop().create_future()


async def _nothing() -> None:
    return


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._left = [data] if data else []

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._left:
            return self._left.pop()
        await self._end()
        raise StopAsyncIteration

    async def _end(self) -> None:
        return


class _Body(_Bytes):
    """A plain body: all of it, then the end that it had."""

    def __init__(self, player: Player, recorded: Recorded) -> None:
        super().__init__(body_bytes(player.line(recorded.reply)))
        self._player = player
        self._recorded = recorded

    async def _end(self) -> None:
        if "left" in self._recorded.reply:
            await _for_ever()
        await self._player.until_after(self._recorded, self._recorded.times_ms[1])
        if "broke" in self._recorded.reply:
            raise raised(self._recorded.reply["broke"])


class _RecordedStream:
    """An event stream; where the recording has no end of it, it stays open."""

    def __init__(self, player: Player, recorded: Recorded) -> None:
        self._player = player
        self._left = iter(recorded.stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        happening = next(self._left, None)
        if happening is None:
            await _for_ever()
            raise AssertionError("unreachable")
        await self._player.until(happening.at_ms, happening.after)
        note_progress()
        return self._told(happening)

    def _told(self, happening: Happening) -> bytes:
        line = self._player.line(happening.line)
        if "end" in line:
            raise StopAsyncIteration
        if "broke" in line:
            raise raised(line["broke"])
        return b"" if "alive" in line else frame_bytes(line)


def _path(url: str) -> str:
    return unquote(url.partition("://")[2].partition("/")[2].join(("/", "")))


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
