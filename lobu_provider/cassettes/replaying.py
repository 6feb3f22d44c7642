"""ReplayingHttp: answers from a cassette, in the recorded order and at the recorded distances."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from urllib.parse import unquote

import httpx

from lobu_provider.cassettes.exact_text import body_bytes, bytes_of_text, frame_bytes
from lobu_provider.cassettes.network_faults import raised
from lobu_provider.cassettes.player import Player
from lobu_provider.cassettes.reading import Happening, Recorded
from lobu_provider.cassettes.skipping_loop import note_progress
from lobu_provider.http_exchange import Reply


class ReplayingHttp:
    """An :class:`Http` without a network.

    Args:
        player: of the whole call; an attempt after this one goes on with it.
    """

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
        recorded = await player.take(method, path, content)
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
    # A header may hold bytes that are not ASCII.
    told = [(bytes_of_text(name), bytes_of_text(value)) for name, value in headers.items()]
    return Reply(method, url, status, httpx.Headers(told), body, _nothing)


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
        self._left = deque(recorded.stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            await _for_ever()
        first = self._left.popleft()
        await self._player.until(first.at_ms, first.after)
        note_progress()
        data = self._told(first)
        while self._left and _came_with(self._left[0], first):
            data += self._told(self._left.popleft())
        return data

    def _told(self, happening: Happening) -> bytes:
        line = self._player.line(happening.line)
        if "end" in line:
            raise StopAsyncIteration
        if "broke" in line:
            raise raised(line["broke"])
        return b"" if "alive" in line else frame_bytes(line)


def _came_with(happening: Happening, first: Happening) -> bool:
    """Return whether it is a frame of the same chunk: no request was sent between them."""
    together = (happening.at_ms, happening.after) == (first.at_ms, first.after)
    return together and not happening.line.keys() & {"end", "broke"}


def _path(url: str) -> str:
    return unquote(url.partition("://")[2].partition("/")[2].join(("/", "")))
