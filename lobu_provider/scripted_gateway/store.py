"""The session records of a gateway, and what it tells of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lobu_provider.scripted_gateway.script import Flavour
from lobu_provider.scripted_gateway.sessions import Session

TOKEN_LIFE_MS: Final = 24 * 3600 * 1000
DEFAULT_USER: Final = "user_script"
ORGANIZATION: Final = "org_script"
PUBLIC_URL: Final = "http://gateway.invalid:8787/lobu"
"""The origin in ``sseUrl`` and ``messagesUrl``: not the one a client talks to, as in reality."""


class SessionStore:
    """Live sessions by conversation id."""

    def __init__(
        self, flavour: Flavour, clock: Callable[[], float], now_ms: Callable[[], int]
    ) -> None:
        self.sessions: dict[str, Session] = {}
        self._flavour = flavour
        self._clock = clock
        self._now_ms = now_ms

    def open(self, agent: str, body: Mapping[str, Any]) -> Session:
        """Make the session that a create body asks for, or take up the one there is.

        ``forceNew`` starts its record and its backlog anew, not the conversation.
        """
        user = body.get("userId", DEFAULT_USER)
        thread = body.get("thread")
        conversation_id = f"{agent}_{user}_{ORGANIZATION}" + (f"_{thread}" if thread else "")
        now_ms = self._now_ms()
        session = self.sessions.get(conversation_id)
        if session is None:
            session = Session(conversation_id, agent, user, now_ms, self._flavour, self._clock)
            self.sessions[conversation_id] = session
        elif body.get("forceNew") is True:
            session.forget()
            session.created_ms = now_ms
        session.active_ms = now_ms
        return session

    def created(self, session: Session, token: str) -> dict[str, Any]:
        """Return the body that answers "create session"."""
        base = f"{PUBLIC_URL}/api/v1/agents/{session.conversation_id}"
        return {
            "success": True,
            "agentId": session.conversation_id,
            "token": token,
            "expiresAt": self._now_ms() + TOKEN_LIFE_MS,
            "sseUrl": f"{base}/events",
            "messagesUrl": f"{base}/messages",
        }

    def status(self, session: Session) -> dict[str, Any]:
        """Return the body that answers "session status"."""
        agent = {
            "agentId": session.conversation_id,
            "userId": session.user,
            "status": "created",
            "createdAt": session.created_ms,
            "lastActivity": session.active_ms,
            "hasActiveConnection": bool(session.streams),
        }
        return {"success": True, "agent": agent}

    def delete(self, session: Session) -> dict[str, Any]:
        """End the session and return the body that says so."""
        session.delete()
        del self.sessions[session.conversation_id]
        message = "Agent session deleted" if self._flavour == "n" else "Agent deleted"
        return {"success": True, "message": message, "agentId": session.conversation_id}
