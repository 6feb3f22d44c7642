"""Raw recordings of a gateway, ``NAME.json`` with ``NAME.sse`` beside it, as cassettes.

Whatever program made them opened its streams in an order of its own. The cassette is what our
client would have met: one stream, open before the first message, with each turn after its message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from lobu_provider.cassettes.exact_text import frame_line
from lobu_provider.cassettes.key import CassetteKey
from lobu_provider.cassettes.masking import Masker
from lobu_provider.cassettes.player import kind_of
from lobu_provider.cassettes.shelf import Shelf
from lobu_provider.cassettes.tape import Tape, TapedPart, TapedReply, TapedRequest, split_frames
from lobu_provider.cassettes.written import written

_STREAM_HEAD: Final = {"content-type": "text/event-stream"}


class RawFault(Exception):  # noqa: N818 - told by whoever imports
    """A recording cannot be made a cassette; the text says why."""


@dataclass(frozen=True)
class _Message:
    """A message and its reply."""

    exchange: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(_get(self.exchange, "body", "messageId"))

    @property
    def content(self) -> str:
        return str(_get(self.exchange, "request", "body", "content"))


class Imported(NamedTuple):
    """A cassette that was written."""

    path: Path
    replaces: bool
    """Whether there was one of the same conversation."""


def imported(path: Path, folder: Path) -> Imported:
    """Write the cassette of a recording.

    Args:
        path: of ``NAME.json``.
        folder: of the cassettes; made if it is missing.

    Raises:
        RawFault: it holds no conversation, or the folder cannot be written to.
    """
    recording = _read(path)
    exchanges = [one for one in _list(recording, "http") if isinstance(one, dict)]
    create = next((one for one in exchanges if _is(one, "create") and _made(one)), None)
    stream = next((one for one in reversed(_list(recording, "sse")) if _get(one, "file")), None)
    if create is None or stream is None:
        raise RawFault("it holds no session that was created and listened to")
    frames = _frames(path.with_name(str(stream["file"])), stream)
    ended = [name for name in map(_ended, (frame for _, frame in frames)) if name is not None]
    sent = {m.id: m for m in reversed([_Message(o) for o in exchanges if _is(o, "message")])}
    messages = [sent[name] for name in dict.fromkeys(ended) if name in sent]
    if not messages:
        raise RawFault("none of its messages has an end of its turn")
    delete = next((one for one in exchanges if _is(one, "delete") and _made(one)), None)
    is_ended = stream.get("closed_by") == "server"
    tape = _tape(create, frames, messages, delete, ended_by_gateway=is_ended)
    key = _key(create, frames, messages)
    name = str(recording.get("description") or path.stem)
    text = written(
        tape,
        {"description": name, "key": key.digest, **key.told()},
        Masker(tape.tokens),
        recorded_at=str(recording.get("captured_at") or "unknown"),
        by=f"imported from {path.name}",
    )
    shelf = Shelf(folder)
    try:
        shelf.prepare()
        place = shelf.place_for(key, name)
        replaces = place.exists()
        shelf.save(place, text)
    except OSError as exc:
        raise RawFault(f"{folder} cannot be written to: {exc.strerror or exc}") from None
    return Imported(place, replaces)


def _tape(
    create: Mapping[str, Any],
    frames: Sequence[tuple[float, bytes]],
    messages: Sequence[_Message],
    delete: Mapping[str, Any] | None,
    *,
    ended_by_gateway: bool,
) -> Tape:
    tape = Tape()
    agent = _agent(create, frames)
    body = {"agentId": agent, **(_get(create, "request", "body") or {})}
    created = _add(tape, create, "POST", "/api/v1/agents", body, 0.0)
    now_ms = created.reply.ended_ms if created.reply is not None else None
    session = str(_get(create, "body", "agentId"))
    path = f"/api/v1/agents/{session}"
    now_ms = now_ms or 0.0
    opened = TapedRequest(2, "GET", f"{path}/events", None, now_ms)
    opened.reply = TapedReply(200, _STREAM_HEAD, is_stream=True, head_ms=now_ms)
    tape.requests.append(opened)
    waiting, said = list(messages), 0
    for at_ms, frame in frames:
        if waiting and said == 0 and not _is_of_the_connection(frame):
            now_ms = _say(tape, waiting.pop(0), path, now_ms)
            said = 1
        now_ms = max(now_ms, at_ms)
        tape.parts.append(TapedPart(len(tape.requests), 2, now_ms, frame))
        if _ended(frame) is not None:
            said = 0
    if delete is not None:
        _add(tape, delete, "DELETE", path, None, now_ms)
        now_ms = tape.requests[-1].sent_ms
    if ended_by_gateway:
        tape.parts.append(TapedPart(len(tape.requests), 2, now_ms, is_end=True))
    return tape


def _say(tape: Tape, message: _Message, path: str, now_ms: float) -> float:
    at_ms = max(now_ms, _number(message.exchange.get("at_ms")))
    # Who recorded it let the gateway choose the id; our client chooses its own.
    body = {"content": message.content, "messageId": message.id}
    _add(tape, message.exchange, "POST", f"{path}/messages", body, at_ms)
    return at_ms


def _add(
    tape: Tape,
    exchange: Mapping[str, Any],
    method: str,
    path: str,
    body: Mapping[str, Any] | None,
    at_ms: float,
) -> TapedRequest:
    content = None if body is None else json.dumps(body)
    request = TapedRequest(len(tape.requests) + 1, method, path, content, at_ms)
    ended_ms = at_ms + _number(exchange.get("ms"))
    kind = {"content-type": str(exchange.get("content_type") or "application/json")}
    request.reply = TapedReply(
        int(_number(exchange.get("status"))), kind, is_stream=False, head_ms=ended_ms
    )
    told = json.dumps(exchange.get("body"), ensure_ascii=False, separators=(",", ":"))
    request.reply.body += told.encode("utf-8", "surrogatepass")
    request.reply.ended_ms = ended_ms
    tape.requests.append(request)
    return request


def _key(
    create: Mapping[str, Any], frames: Sequence[tuple[float, bytes]], messages: Sequence[_Message]
) -> CassetteKey:
    body = _get(create, "request", "body") or {}
    return CassetteKey(
        agent=_agent(create, frames),
        turns=tuple(message.content for message in messages),
        model=body.get("model"),
        provider=body.get("provider"),
        # An existing thread is one that the config has to name.
        thread=body.get("thread") if body.get("forceNew") is False else None,
        dry_run=None if body.get("dryRun", False) else False,
    )


def _agent(create: Mapping[str, Any], frames: Sequence[tuple[float, bytes]]) -> str:
    """Return the agent's id: the one that was asked for, else the one that answered."""
    asked = _get(create, "request", "body", "agentId")
    told = (_data(frame).get("agentId") for _, frame in frames)
    return str(asked or next((name for name in told if name), "unknown"))


def _frames(path: Path, stream: Mapping[str, Any]) -> list[tuple[float, bytes]]:
    """Return each frame with its time: that of the chunk that completed it, where it is known."""
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise RawFault(f"{path.name} cannot be read: {exc.strerror or exc}") from None
    told = _list(stream, "chunks_ms_after_open")
    chunks = [chunk for chunk in told if isinstance(chunk, list) and len(chunk) == 2]
    ends = list(accumulate(int(size) for _, size in chunks))
    opened_ms, frames, position = _number(stream.get("opened_at_ms")), [], 0
    for frame in split_frames(data):
        position += len(frame)
        at = next((i for i, end in enumerate(ends) if end >= position), len(ends) - 1)
        frames.append((opened_ms + (_number(chunks[at][0]) if chunks else 0.0), frame))
    return frames


def _is_of_the_connection(frame: bytes) -> bool:
    return frame_line(frame).get("event") in ("connected", "ping")


def _ended(frame: bytes) -> str | None:
    line = frame_line(frame)
    return str(_data(frame).get("messageId")) if line.get("event") == "complete" else None


def _data(frame: bytes) -> Mapping[str, Any]:
    data = frame_line(frame).get("data")
    return data if isinstance(data, dict) else {}


def _is(exchange: Mapping[str, Any], kind: str) -> bool:
    method, path = _get(exchange, "request", "method"), _get(exchange, "request", "path")
    return kind_of(str(method), unquote(str(path))) == kind


def _made(exchange: Mapping[str, Any]) -> bool:
    return 200 <= _number(exchange.get("status")) < 300


def _read(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise RawFault(f"it cannot be read as JSON: {exc}") from None
    if not isinstance(value, dict) or not isinstance(value.get("http"), list):
        raise RawFault("it is no recording: expected an object with 'http' and 'sse'")
    return value


def _get(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
