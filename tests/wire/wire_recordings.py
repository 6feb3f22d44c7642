"""The recordings of a running gateway, and a socket that plays them back in their order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tests.wire.wire_answers import AfterMessage, Answers, Cut, deleted, html, json_reply, stream
from tests.wire.wire_gateway import SESSION_TOKEN, Answer

FOLDER: Final = Path(__file__).parent.parent / "fixtures" / "recordings"

STREAMS: Final = sorted(path.stem for path in FOLDER.glob("*.sse"))
"""Every recorded event stream, by name."""

_CRASH_ID: Final = "eb39e814-e0c6-4f2e-9030-3902a8ee1155"


def stream_bytes(name: str) -> bytes:
    """The body of an events reply, byte for byte."""
    return (FOLDER / f"{name}.sse").read_bytes()


def reference(name: str) -> dict[str, Any]:
    """What another client returned for the same conversation."""
    text = (FOLDER / f"reference-{name}.json").read_text("utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


def response_head() -> bytes:
    """Status line and headers of a recorded events reply."""
    lines = (FOLDER / "response-headers-sse.txt").read_text("ascii").splitlines()
    return "\r\n".join([*lines, "", ""]).encode()


@dataclass(frozen=True)
class Message:
    """A recorded message and what the gateway answered to it."""

    content: str
    reply: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.reply["messageId"])


@dataclass(frozen=True)
class Recording:
    """One recorded stream with the requests around it."""

    name: str

    @cached_property
    def frames(self) -> list[bytes]:
        return [part + b"\n\n" for part in stream_bytes(self.name).split(b"\n\n") if part]

    @cached_property
    def exchanges(self) -> list[dict[str, Any]]:
        path = FOLDER / f"{self.name}.json"
        if not path.exists():
            path = FOLDER / f"{self.name.rpartition('.')[0]}.json"
        found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["http"]
        return found

    @cached_property
    def messages(self) -> list[Message]:
        """The messages that this stream answers, in order."""
        if self.name == "worker-spawn-crash":  # its requests were not recorded
            return [Message("hello", {"success": True, "messageId": _CRASH_ID, "queued": True})]
        sent = [
            Message(exchange["request"]["body"]["content"], exchange["body"])
            for exchange in self.exchanges
            if exchange["request"]["path"].endswith("/messages")
        ]
        first_of_each = {message.id: message for message in reversed(sent)}
        ended = [message_id for message_id in map(_ended_message, self.frames) if message_id]
        return [first_of_each[message_id] for message_id in ended]

    @cached_property
    def created(self) -> dict[str, Any]:
        """The reply to the create request, with a token that can be looked for."""
        body = {"agentId": "owletto-default_u_org"}
        if self.name != "worker-spawn-crash":
            body = self.exchanges[0]["body"]
        return {**body, "token": SESSION_TOKEN}

    @cached_property
    def create_request(self) -> dict[str, Any]:
        body: dict[str, Any] = self.exchanges[0]["request"]["body"]
        return body

    def turns(self) -> list[bytes]:
        """The stream in parts: what precedes the first turn, then one part for each turn.

        What follows the last ``complete`` belongs to the last part.
        """
        parts = [self.frames[0], b""]
        for frame in self.frames[1:]:
            parts[-1] += frame
            if _ended_message(frame):
                parts.append(b"")
        rest = parts.pop()
        parts[-1] += rest
        return parts

    def answers(self, *, cut: Cut = lambda data: (data,), replayed: int = 0) -> Answers:
        """Play the recording: each turn's events come after its message was answered.

        Args:
            cut: how the stream's parts are cut into chunks.
            replayed: this many turns are told at once, as of a conversation before this one.
        """
        before, *turns = self.turns()
        parts: list[bytes | AfterMessage] = [before, *turns[:replayed]]
        for number, turn in enumerate(turns[replayed:], start=1):
            parts += [AfterMessage(number), turn]
        replies: list[Answer] = [json_reply(200, x.reply) for x in self.messages[replayed:]]
        return {
            "create": json_reply(201, self.created),
            "events": stream(*parts, cut=cut, head=response_head()),
            "message": replies,
            "delete": deleted,
            "other": html(404),
        }


def _ended_message(frame: bytes) -> str | None:
    name, _, data = frame.partition(b"\ndata: ")
    return str(json.loads(data)["messageId"]) if name == b"event: complete" else None
