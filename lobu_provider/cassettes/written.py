"""A tape as the lines of a cassette.

One JSON object a line: what the conversation is known by, then each request, its reply, and what
the streams brought until the next request; at last ``recorded``, which alone holds what differs
from one recording to the next: when, ids, and the times of all lines. docs/cassettes.md tells it
in full.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.cassettes.exact_text import body_line, frame_line, json_of
from lobu_provider.cassettes.masking import Masker
from lobu_provider.cassettes.masking_streams import mask_cut_texts, mask_values
from lobu_provider.cassettes.placeholders import Names, without_times
from lobu_provider.cassettes.tape import Tape, TapedPart, TapedReply, TapedRequest

VERSION: Final = 1

_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


@dataclass
class _Line:
    content: dict[str, Any]
    times: list[Any]
    is_reply: bool = False
    """A plain reply, which may hold the session's id and tokens."""
    ids: list[Any] = field(default_factory=list)


def written(
    tape: Tape,
    about: Mapping[str, Any],
    masker: Masker,
    *,
    recorded_at: str,
    by: str,
    mark: Mapping[str, str] | None = None,
) -> str:
    """Return the text of a cassette.

    Args:
        tape: of a call that has ended.
        about: for the first line, as :meth:`CassetteKey.told` gives it, and more.
        masker: hides what must not be in a file.
        recorded_at: in ISO 8601.
        by: the version of this package.
        mark: what else the last line tells.
    """
    tape.finish()
    lines = list(_lines(tape))
    for line in lines:
        for part in ("body", "data"):
            if part in line.content:
                line.content[part] = masker.at_paths(line.content[part])
        line.content = without_times(line.content, line.times)
    names = Names(_dumped(line.content) for line in lines)
    for line in lines:
        _learn(line, names)
    for line in lines:
        line.content = _without_ids(line, names)
    contents = mask_cut_texts([line.content for line in lines], masker)
    for line, content in zip(lines, contents, strict=True):
        line.content = _masked(content, masker, is_reply=line.is_reply)
    recorded = {
        "at": recorded_at,
        "by": by,
        **(mark or {}),
        "ids": masker.ids(names.ids),
        "times": [line.times for line in lines],
    }
    first = {"cassette": VERSION, **masker.json(dict(about))}
    every = [first, *(line.content for line in lines), {"recorded": recorded}]
    return "".join(f"{_dumped(one)}\n" for one in every)


def _lines(tape: Tape) -> list[_Line]:
    lines = []
    parts = deque(tape.parts)
    streams = [r.number for r in tape.requests if r.reply is not None and r.reply.is_stream]
    for request in tape.requests:
        lines.append(_request(request))
        lines.append(_reply(request, streams))
        while parts and parts[0].after <= request.number:
            lines.append(_part(parts.popleft(), streams))
    return lines


def _request(request: TapedRequest) -> _Line:
    read = None if request.content is None else json_of(request.content)
    body: dict[str, Any] = {}
    if read is not None:
        body = {"body": read[0]}
    elif request.content is not None:
        body = {"text": request.content}
    return _Line({"request": f"{request.method} {request.path}", **body}, [request.sent_ms])


def _reply(request: TapedRequest, streams: list[int]) -> _Line:
    reply = request.reply
    if reply is None:
        if request.failed is not None:
            return _Line({"failed": request.failed}, [request.failed_ms])
        return _Line({"unanswered": True}, [])
    head = {"reply": reply.status, "headers": dict(reply.headers)}
    if reply.is_stream:
        return _Line({**head, **_stream(request.number, streams)}, [reply.head_ms])
    end: dict[str, Any] = {}
    if reply.broke is not None:
        end = {"broke": reply.broke}
    elif reply.ended_ms is None:
        end = {"left": True}
    return _Line({**head, **body_line(bytes(reply.body)), **end}, _times(reply), is_reply=True)


def _times(reply: TapedReply) -> list[Any]:
    return [reply.head_ms] if reply.ended_ms is None else [reply.head_ms, reply.ended_ms]


def _part(part: TapedPart, streams: list[int]) -> _Line:
    content: dict[str, Any]
    if part.is_end:
        content = {"end": True} if part.broke is None else {"broke": part.broke}
    elif part.data:
        content = frame_line(part.data)
    else:
        content = {"alive": True}
    stream = _stream(part.request, streams)
    return _Line({**content, **(stream if stream["stream"] > 1 else {})}, [part.at_ms])


def _stream(request: int, streams: list[int]) -> dict[str, int]:
    return {"stream": streams.index(request) + 1}


def _learn(line: _Line, names: Names) -> None:
    content = line.content
    if "id" in content:
        names.name(content["id"], "event")
    for part in ("body", "data"):
        names.learn(content.get(part), session=line.is_reply)


def _without_ids(line: _Line, names: Names) -> dict[str, Any]:
    content: dict[str, Any] = names.without_ids(line.content, session=line.is_reply)
    if "id" in content:
        content["id"] = names.name(line.content["id"], "event")
    return content


def _masked(line: Mapping[str, Any], masker: Masker, *, is_reply: bool) -> dict[str, Any]:
    content = dict(line)
    for part in ("body", "data"):
        if part in content:
            content[part] = (masker.reply if is_reply else masker.json)(content[part])
    if "text" in content:
        content["text"] = masker.raw(mask_values(content, masker))
    for part in ("request", "event"):
        if part in content:
            content[part] = masker.words(content[part])
    for part in ("failed", "broke", "headers"):
        if part in content:
            content[part] = {key: masker.words(str(v)) for key, v in content[part].items()}
    return content


def _dumped(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # Bytes that are no UTF-8, or half of a character: only escapes can tell of them.
    return json.dumps(value) if _SURROGATE.search(text) else text
