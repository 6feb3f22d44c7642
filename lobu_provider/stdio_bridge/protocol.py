r"""The lines that both sides write. Pure.

One line is one JSON object in ASCII, with everything else escaped, so that neither a ``U+2028`` nor
half of a surrogate pair can hurt on the way. The client may write UTF-8.

From the server, ``ready`` first, after an empty line: what started the interpreter may have printed
something without a line end::

    {"type": "ready", "protocol": 1, "version": "0.1.0", "python": "3.11.7", "pid": 4711}
    {"type": "result", "id": 1, "response": {"output": "...", "metadata": {}}}
    {"type": "fault", "id": null, "message": "..."}      the line cannot be read; id where known
    {"type": "alive"}                                     now and then
    {"type": "ending", "running": [1]}                    the process ends, e.g. by a signal

From the client::

    {"type": "call", "id": 1, "options": {"id", "config", "env"}, "prompt": "...", "context": {}}
        with "spans": true when the client makes the spans, from what the response then holds
        under "lobuSpans" (promptfoo/tracing.py)
    {"type": "cancel", "id": 1}                           its result follows all the same

Every ``call`` gets one ``result`` or ``fault`` with its id, in any order. After ``ending`` only
those under ``running`` may still get one; any other without an answer was not begun and never will
be, so another process can be asked.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.json_safe import parse_json

PROTOCOL: Final = 1
"""Goes up when one side would no longer understand the other."""

CallId = int | str

_CALL_ID: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"call"\s*,\s*"id"\s*:\s*(-?\d{1,15}|"[\w-]*")')
"""Finds the id of a call whose line cannot be read as a whole, so that it still gets an answer."""


@dataclass(frozen=True)
class Call:
    """A call of promptfoo's."""

    id: CallId
    prompt: str
    options: Mapping[str, Any] = field(repr=False)
    """May hold a token."""
    context: Mapping[str, Any] | None
    makes_spans: bool = False
    """The client makes the spans."""


@dataclass(frozen=True)
class Cancel:
    """The call with this id is to stop."""

    id: CallId


class UnreadableLineError(Exception):
    """A line that is no message. The text never quotes the line, which may hold a token."""

    def __init__(self, message: str, call_id: CallId | None = None) -> None:
        super().__init__(message)
        self.call_id = call_id


def decode(line: bytes) -> Call | Cancel:
    """Read a line of the client's.

    Raises:
        UnreadableLineError: it is not JSON, or no message of this protocol.
    """
    try:
        message = parse_json(line.decode("utf-8"))
    except ValueError as exc:
        reason = "not UTF-8" if isinstance(exc, UnicodeDecodeError) else str(exc)
        raise UnreadableLineError(f"The line is not JSON: {reason}", _id_in(line)) from None
    if not isinstance(message, dict):
        raise UnreadableLineError(f"Expected an object, got {type(message).__name__}")
    call_id = message.get("id")
    if not isinstance(call_id, (int, str)) or isinstance(call_id, bool):
        raise UnreadableLineError("'id' must be an integer or a string")
    if message.get("type") == "cancel":
        return Cancel(call_id)
    if message.get("type") != "call":
        raise UnreadableLineError("'type' must be 'call' or 'cancel'", call_id)
    prompt, options, context = (message.get(key) for key in ("prompt", "options", "context"))
    if not isinstance(prompt, str):
        raise UnreadableLineError("'prompt' must be a string", call_id)
    if not isinstance(options, dict):
        raise UnreadableLineError("'options' must be an object", call_id)
    if context is not None and not isinstance(context, dict):
        raise UnreadableLineError("'context' must be an object or null", call_id)
    return Call(call_id, prompt, options, context, makes_spans=message.get("spans") is True)


def _id_in(line: bytes) -> CallId | None:
    found = _CALL_ID.match(line)
    call_id = json.loads(found.group(1)) if found is not None else None
    return call_id if isinstance(call_id, (int, str)) else None


def encode_ready(version: str) -> bytes:
    """Return the first line of all, with the end of whatever was printed before it."""
    return b"\n" + _encode(
        type="ready",
        protocol=PROTOCOL,
        version=version,
        python=platform.python_version(),
        pid=os.getpid(),
    )


def encode_alive() -> bytes:
    """Return the line that says only that the process is well."""
    return _encode(type="alive")


def encode_ending(running: Iterable[CallId]) -> bytes:
    """Return the line after which no call is begun; ``running`` are those that were."""
    return _encode(type="ending", running=list(running))


def encode_result(call_id: CallId, response: Mapping[str, Any]) -> bytes:
    """Return the line that answers a call.

    Raises:
        ValueError: the response is not JSON.
        TypeError: likewise.
    """
    return _encode(type="result", id=call_id, response=response)


def encode_fault(call_id: CallId | None, message: str) -> bytes:
    """Return the line that says that a line cannot be read."""
    return _encode(type="fault", id=call_id, message=message)


def _encode(**message: Any) -> bytes:
    text = json.dumps(message, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


class LineSplitter:
    """Cuts chunks of bytes into lines; each byte is looked at once, however long the line."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that ``chunk`` ends, without their line ends and without blank ones."""
        first, *others = chunk.split(b"\n")
        self._parts.append(first)
        if not others:
            return []
        lines = [b"".join(self._parts), *others[:-1]]
        self._parts = [others[-1]]
        return [line for line in lines if line.strip()]
