"""Messages: which entry answers, under which ids, and the turn that follows."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from lobu_provider.scripted_gateway.flavours import Wording, new_id
from lobu_provider.scripted_gateway.frames import Event
from lobu_provider.scripted_gateway.matching import Incoming, Miss, find_reply
from lobu_provider.scripted_gateway.replies import Reply, json_reply
from lobu_provider.scripted_gateway.script import Fault, ReplyEntry, Script
from lobu_provider.scripted_gateway.sessions import Session
from lobu_provider.scripted_gateway.steps import ErrorStep
from lobu_provider.scripted_gateway.timeline import build_timeline

DISPATCH_S: Final = 2.0
"""How long a message sits in the first queue. Sent again within this time it is the same job,
later it gets a new job number; it is answered once in either case."""

Faults = Callable[[str, Fault | None], Awaitable[Reply | None]]


class _Accepted(NamedTuple):
    at: float
    body: dict[str, Any]


class Turns:
    """What a gateway remembers of messages, also beyond the life of a session."""

    def __init__(
        self, script: Script, clock: Callable[[], float], now_ms: Callable[[], int]
    ) -> None:
        self.misses: list[Miss] = []
        self.approvals: set[str] = set()
        """The ``requestId`` of every approval that has been asked for."""
        self._script = script
        self._clock = clock
        self._now_ms = now_ms
        self._counts: Counter[str] = Counter()
        self._used: set[int] = set()
        self._accepted: dict[tuple[str, str], _Accepted] = {}
        self._jobs = 0

    async def accept(self, session: Session, fields: Mapping[str, Any], faults: Faults) -> Reply:
        """Queue the message's turn and return the POST's answer."""
        sent_id = fields.get("messageId") or new_id()
        earlier = self._accepted.get((session.conversation_id, sent_id))
        if earlier is not None:
            return self._again(earlier)
        content = fields.get("content") or fields["message"]
        turn = self._counts[session.conversation_id] + 1
        incoming = Incoming(content, turn, session.agent)
        found = find_reply(self._script.replies, incoming, self._used)
        if isinstance(found, Miss):
            self.misses.append(found)
            entry = _miss_entry(found)
        else:
            entry = self._script.replies[found]
            self._used.add(found)
        if entry.http is None:
            return self._start(session, incoming, entry, sent_id)
        if entry.http.accepted:
            self._start(session, incoming, entry, sent_id)
        fault = await faults(f"reply {found}", entry.http)
        return fault if fault is not None else self._start(session, incoming, entry, sent_id)

    def _again(self, earlier: _Accepted) -> Reply:
        """Answer a message id that was used before: queued, and nothing comes of it."""
        if self._clock() - earlier.at < DISPATCH_S:
            return json_reply(200, earlier.body)
        return json_reply(200, {**earlier.body, "jobId": self._next_job()})

    def _start(
        self, session: Session, incoming: Incoming, entry: ReplyEntry, sent_id: str
    ) -> Reply:
        """Put the turn's frames into the session."""
        known = self._accepted.get((session.conversation_id, sent_id))
        if known is not None:
            return json_reply(200, known.body)
        self._counts[session.conversation_id] = incoming.turn
        answered_id = entry.message_id or sent_id
        turn_id = entry.complete_as or answered_id
        start = session.next_start()
        frames = build_timeline(
            entry.steps,
            Wording(self._script.flavour, turn_id, tuple(dict.fromkeys((turn_id, answered_id)))),
            start_ms=self._now_ms() + int((start - self._clock()) * 1000),
            values={"message": incoming.content, "turn": str(incoming.turn)},
            status_ms=self._script.status_ms,
        )
        self.approvals.update(
            str(timed.frame.data["requestId"])
            for timed in frames
            if isinstance(timed.frame, Event)
            and timed.frame.name == "tool-approval"
            and "requestId" in timed.frame.data
        )
        session.schedule(frames, start)
        session.active_ms = self._now_ms()
        return self._queued(session, sent_id, answered_id)

    def _queued(self, session: Session, sent_id: str, answered_id: str) -> Reply:
        body = {
            "success": True,
            "messageId": answered_id,
            "jobId": self._next_job(),
            "queued": True,
        }
        traced = self._script.traceparent
        if traced or (traced is None and self._script.flavour == "n"):
            body["traceparent"] = f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
        self._accepted[session.conversation_id, sent_id] = _Accepted(self._clock(), body)
        return json_reply(200, body)

    def _next_job(self) -> str:
        self._jobs += 1
        return str(self._jobs)


def _miss_entry(miss: Miss) -> ReplyEntry:
    """Return the turn of a message that no entry answers: it fails and says why."""
    return ReplyEntry(steps=[ErrorStep(error=miss.explanation)])
