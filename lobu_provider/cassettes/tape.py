"""Tape: what goes over the wire in one call, as it happens, in memory."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.cassettes.exact_text import text_of_bytes
from lobu_provider.redaction import tokens_in

MAX_BYTES: Final = 64_000_000
"""Of one call's replies. The client reads no turn of more than 40 million characters."""

SIGN_MS: Final = 200.0
"""Pieces of one frame that come closer together are one sign of life."""

_FRAME_END: Final = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")


@dataclass
class TapedReply:
    """A reply whose head has arrived. Times are milliseconds since the first request."""

    status: int
    headers: Mapping[str, str]
    is_stream: bool
    head_ms: float
    body: bytearray = field(default_factory=bytearray)
    """Of a plain reply; a stream's is in the parts."""
    ended_ms: float | None = None
    """``None`` while nobody has read it to its end."""
    broke: dict[str, Any] | None = None


@dataclass
class TapedRequest:
    """A request and what came of it."""

    number: int
    """Counted from 1, in the order of sending."""
    method: str
    path: str
    """Below the gateway's address, decoded."""
    content: str | None
    sent_ms: float
    reply: TapedReply | None = None
    failed: dict[str, Any] | None = None
    """Why no reply came; ``None`` also where it was waited for no longer."""
    failed_ms: float = 0.0


@dataclass
class TapedPart:
    """Something that a stream brought: bytes, a sign of life, or its end."""

    after: int
    """The last request that was sent before it."""
    request: int
    """The one that opened the stream."""
    at_ms: float
    data: bytes = b""
    """One frame, or what came of one before the stream ended; empty where a part of one came."""
    is_end: bool = False
    broke: dict[str, Any] | None = None


class Tape:
    """Everything of one call, over all its attempts and connections."""

    def __init__(self) -> None:
        self.requests: list[TapedRequest] = []
        self.parts: list[TapedPart] = []
        self._begin_s: float | None = None
        self._unfinished: dict[int, _Unfinished] = {}
        self._bytes = 0

    @property
    def tokens(self) -> list[str]:
        """Every session token that was given out, also to who never got to use it."""
        replies = [one.reply for one in self.requests if one.reply is not None]
        return [token for reply in replies for token in tokens_in(text_of_bytes(bytes(reply.body)))]

    @property
    def is_too_big(self) -> bool:
        """Whether more came than a cassette may hold; what came then is not on the tape."""
        return self._bytes > MAX_BYTES

    def begin(self, method: str, path: str, content: str | None) -> TapedRequest:
        """Note a request that is about to be sent."""
        request = TapedRequest(len(self.requests) + 1, method, path, content, self.now_ms())
        self.requests.append(request)
        return request

    def now_ms(self) -> float:
        """Return the time on the tape's clock, which begins with the first request."""
        now_s = asyncio.get_running_loop().time()
        if self._begin_s is None:
            self._begin_s = now_s
        return round((now_s - self._begin_s) * 1000, 3)

    def add_to_body(self, reply: TapedReply, chunk: bytes) -> None:
        """Note a piece of a plain reply."""
        self._bytes += len(chunk)
        if not self.is_too_big:
            reply.body += chunk

    def add_to_stream(self, request: int, chunk: bytes) -> None:
        """Note a chunk of a stream: as whole frames, however it was cut."""
        self._bytes += len(chunk)
        if self.is_too_big:
            return
        unfinished = self._unfinished.setdefault(request, _Unfinished())
        at_ms = self.now_ms()
        frames = unfinished.add(chunk, at_ms, len(self.requests))
        if not frames and not self._is_new_sign_of_life(request, at_ms):
            return
        for frame in frames or [b""]:
            self.parts.append(TapedPart(len(self.requests), request, at_ms, frame))

    def _is_new_sign_of_life(self, request: int, at_ms: float) -> bool:
        last = self.parts[-1] if self.parts else None
        return last is None or last.request != request or at_ms - last.at_ms > SIGN_MS

    def end_stream(self, request: int, broke: dict[str, Any] | None) -> None:
        """Note that a stream ended in order, or what broke it."""
        self._flush(request)
        part = TapedPart(len(self.requests), request, self.now_ms(), is_end=True, broke=broke)
        self.parts.append(part)

    def finish(self) -> None:
        """Take in what came of frames that nobody waits for any more."""
        for request in list(self._unfinished):
            self._flush(request)

    def _flush(self, request: int) -> None:
        rest = self._unfinished.pop(request, None)
        if rest is not None and rest.data:
            part = TapedPart(rest.after, request, rest.at_ms, bytes(rest.data))
            self.parts.append(part)
            self.parts.sort(key=lambda one: one.at_ms)  # stable: only this one moves


def split_frames(data: bytes) -> list[bytes]:
    """Cut a whole stream into its frames; what follows the last is one too."""
    rest = _Unfinished()
    frames = rest.add(data, 0.0, 0)
    return [*frames, bytes(rest.data)] if rest.data else frames


class _Unfinished:
    """The beginning of a frame whose end has not come."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.at_ms = 0.0
        self.after = 0

    def add(self, chunk: bytes, at_ms: float, after: int) -> list[bytes]:
        """Take in a chunk and return the frames that it completes."""
        looked_at = max(0, len(self.data) - 3)
        self.data += chunk
        self.at_ms, self.after = at_ms, after
        frames, begin = [], 0
        for end in _FRAME_END.finditer(self.data, looked_at):
            frames.append(bytes(self.data[begin : end.end()]))
            begin = end.end()
        del self.data[:begin]
        return frames
