"""Who may do what: the script's token, and the tokens of sessions."""

from __future__ import annotations

import secrets

from lobu_provider.scripted_gateway import replies
from lobu_provider.scripted_gateway.replies import Reply
from lobu_provider.scripted_gateway.requests import Request


class Access:
    """Checks bearer tokens.

    ``token`` is the only one accepted beside the tokens of sessions; ``None`` accepts any.
    A session's token is bound to its agent and is good for every session of that agent.
    ``orgs`` are the slugs accepted in ``x-lobu-org``; ``None`` accepts any.
    """

    def __init__(self, token: str | None, orgs: list[str] | None = None) -> None:
        self._token = token
        self._orgs = orgs
        self._agents: dict[str, str] = {}

    def issue(self, agent: str) -> str:
        """Return a new session token, three hexadecimal parts like the real one."""
        token = ":".join(secrets.token_hex(size) for size in (16, 16, 48))
        self._agents[token] = agent
        return token

    def refusal(self, request: Request) -> Reply | None:
        """Return the 401 for a bad token or the 404 for a bad organization, or ``None``."""
        token = request.bearer
        if token is None:
            return replies.UNAUTHORIZED
        if token in self._agents:
            return None
        if self._token in (None, token):
            return self._unknown_org(request.headers.get("x-lobu-org", "").strip())
        is_pat = token.lower().startswith("owl_pat_")
        return replies.BAD_PAT if is_pat else replies.UNAUTHORIZED

    def _unknown_org(self, slug: str) -> Reply | None:
        if not slug or self._orgs is None or slug in self._orgs:
            return None
        return replies.json_reply(404, {"error": f'Unknown organization "{slug}"'})

    def allows(self, request: Request, agent: str) -> bool:
        """Whether an accepted token may act on ``agent``."""
        return self._agents.get(request.bearer or "", agent) == agent

    def is_session_token(self, request: Request) -> bool:
        """Whether the request comes with a session's token."""
        return request.bearer in self._agents
