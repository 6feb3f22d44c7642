"""How gateway versions word their events and replies.

``u11``: stock 11.0 and 11.1. ``complete`` has no ``finalText``; cards have no id of the turn.
``f11``: a patched 11. ``finalText``, ``awaitingHumanDecision``; a tool approval carries the
    turn's id, a question does not.
``n``: 20.1 and later. ``id:`` lines, ``errorCode``, ``processedMessageIds`` on errors,
    ``turnMessageId`` on cards, ``suggestions``, a status that is a string, ``closed`` on delete,
    no approve route.

Keys are in the order in which a gateway writes them: tool calls and cards pass through a
database column that sorts keys by length, then by bytes.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from lobu_provider.scripted_gateway.frames import Event
from lobu_provider.scripted_gateway.script import Flavour

CARD_ID_KEYS = {"question": ("questionId", "q_"), "tool-approval": ("requestId", "ta_")}


def new_id() -> str:
    """Return a random id such as messages have."""
    return str(uuid.uuid4())


def stored_order(value: Any) -> Any:
    """Return ``value`` with the keys of every object sorted by length, then by bytes."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return {key: stored_order(value[key]) for key in keys}
    if isinstance(value, list):
        return [stored_order(item) for item in value]
    return value


@dataclass(frozen=True)
class Wording:
    """Builds the events of one turn in one flavour; times are epoch milliseconds."""

    flavour: Flavour
    message_id: str
    processed: tuple[str, ...]
    """The message ids that this turn answers."""

    def output(self, content: str, at: int) -> Event:
        """Return a delta of the answer."""
        return Event("output", {"type": "delta", "content": content, **self._stamp(at)})

    def tool_use(self, body: dict[str, Any], at: int) -> Event:
        """Return the end of a tool call."""
        return Event("tool_use", {**stored_order(body), **self._stamp(at)})

    def status(self, state: str, elapsed_s: int, at: int) -> Event:
        """Return a progress notice."""
        status: Any = {"state": state, "elapsedSeconds": elapsed_s}
        if self.flavour == "n":
            status = state
        data = {"type": "status", "status": status, "messageId": self.message_id, "timestamp": at}
        return Event("status", data)

    def ephemeral(self, content: str, at: int) -> Event:
        """Return a notice that stands in for the turn's end."""
        data: dict[str, Any] = {"type": "ephemeral", "content": content}
        if self.flavour == "n":
            data["processedMessageIds"] = list(self.processed)
        return Event("ephemeral", {**data, "messageId": self.message_id, "timestamp": at})

    def card(self, body: dict[str, Any], at: int) -> Event:
        """Return a card; ids that ``body`` leaves out are generated."""
        kind = body["type"]
        data = dict(body)
        if kind in CARD_ID_KEYS:
            key, prefix = CARD_ID_KEYS[kind]
            data.setdefault(key, prefix + new_id())
        if kind == "tool-approval":
            self._fill_approval(data)
        own: dict[str, Any] = {k: data.pop(k) for k in ("timestamp", "messageId") if k in data}
        data = stored_order(data)
        tail: dict[str, Any] = {"timestamp": at, "messageId": self._card_id(kind)}
        if self.flavour == "n":
            tail["turnMessageId"] = data.pop("turnMessageId", self.message_id)
        return Event(kind, {**data, **tail, **own})

    def failure(
        self, text: str, code: str | None, context: dict[str, Any] | None, at: int
    ) -> dict[str, Any]:
        """Return the data that ``error`` and ``agent-error`` share."""
        data: dict[str, Any] = {"type": "error", "error": text}
        if self.flavour == "n":
            if code is not None:
                data["errorCode"] = code
            if context is not None:
                data["errorContext"] = context
            data["processedMessageIds"] = list(self.processed)
        return {**data, "messageId": self.message_id, "timestamp": at}

    def failed_complete(self, with_ids: bool, at: int) -> Event:
        """Return the ``complete`` that follows an error: it has no text."""
        data: dict[str, Any] = {"type": "complete", "messageId": self.message_id}
        if with_ids:
            data["processedMessageIds"] = list(self.processed)
        return Event("complete", {**data, "timestamp": at})

    def complete(
        self, final_text: str, waits_for_person: bool, changes: dict[str, Any], at: int
    ) -> Event:
        """Return the end of a good turn; ``changes`` replace keys, ``None`` removes them."""
        data: dict[str, Any] = {
            "type": "complete",
            "messageId": self.message_id,
            "processedMessageIds": list(self.processed),
        }
        if self.flavour == "f11":
            data["awaitingHumanDecision"] = waits_for_person
        if self.flavour != "u11":
            data["finalText"] = final_text
        if self.flavour == "n":
            data["suggestions"] = []
        data["timestamp"] = at
        return Event("complete", without_none({**data, **changes}))

    def custom(self, name: str, body: dict[str, Any], at: int) -> Event:
        """Return any other event; ids and time are added unless given."""
        return Event(name, without_none({**body, **self._stamp(at), **body}))

    def _stamp(self, at: int) -> dict[str, Any]:
        return {"timestamp": at, "messageId": self.message_id}

    def _card_id(self, kind: str) -> str:
        if self.flavour == "f11" and kind == "tool-approval":
            return self.message_id
        return new_id()

    def _fill_approval(self, data: dict[str, Any]) -> None:
        """Add what every approval card of a tool of an MCP server has."""
        if "mcpId" in data:
            data.setdefault("args", {})
            data.setdefault("grantPattern", f"/mcp/{data['mcpId']}/tools/{data['toolName']}")
            data.setdefault("durationOptions", ["1h", "24h", "always"])
        if self.flavour == "f11":
            data.setdefault("originMessageId", self.message_id)
            data.setdefault("processedMessageIds", list(self.processed))


def without_none(data: dict[str, Any]) -> dict[str, Any]:
    """Return ``data`` without the keys whose value is ``None``."""
    return {key: value for key, value in data.items() if value is not None}
