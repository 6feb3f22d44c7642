"""GatewayClient: the Lobu Agent API over HTTP, one method for each request.

The API lives under ``{gateway}/api/v1/agents``. The create call is made with the user's token and
answers with a session token for everything after it. What the create call names ``agentId`` is the
session's id, not the agent's; ``sseUrl`` and ``messagesUrl`` may point at an origin that this
machine cannot reach and are never followed, and neither are redirects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import anyio
import httpx

from lobu_provider.errors import Failure, LobuError, error_for, failure
from lobu_provider.events import Frame
from lobu_provider.gateway_http import open_http
from lobu_provider.gateway_requests import GatewayRequests
from lobu_provider.http_exchange import Http, RequestLimits
from lobu_provider.http_replies import HttpReply
from lobu_provider.redaction import Redactor
from lobu_provider.wire_log import WireLog

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool


MAX_SEND_WAIT_S: Final = 2.0
"""The longest ``Retry-After`` that a message waits for: its turn may run already."""

REPLY_GRACE_S: Final = 2.0
"""How long the reply to a message is waited for once the events show that it is queued. Only the
ids of the job and the trace are lost without it."""


@dataclass(frozen=True)
class Session:
    """A conversation at the gateway."""

    id: str
    """What the create call returns as ``agentId``; part of the URLs of all later calls."""
    agent_id: str
    thread: str
    token: str = field(repr=False)
    """Good for 24 hours, for this agent's sessions."""


@dataclass(frozen=True)
class SentMessage:
    """The gateway's receipt: the message is queued. Nothing is known about the turn yet."""

    message_id: str
    """The id that the turn's events carry; the one that we sent, unless the gateway changed it."""
    job_id: str | None
    trace_id: str | None
    """Of the gateway's own trace; ``None`` when its tracing is off."""
    tries: int = 1
    """How often it was sent; a gateway of version 11 may have run it as often."""


class GatewayClient:
    """A client for one gateway and one account. An async context manager.

    Example::

        async with GatewayClient("http://localhost:8787/lobu", token) as client:
            session = await client.create_session("support-agent", thread="t-1")

    Args:
        base_url: ends in ``/lobu``; see :func:`lobu_provider.normalise_gateway`.
        token: the user's bearer token; ``None`` for a gateway that needs none.
        org: organisation slug, sent as ``x-lobu-org`` with the user's token.
        headers: sent with every request.
        transport: replaces the network, e.g. an ``httpx.MockTransport``.
        limits: time limits of single requests.
        pool: connections shared with other clients of this event loop.
        ca_file: certificates in PEM form that may vouch for the gateway, beside the usual ones.
        http: sends the requests; transport, pool and ca_file are then not used.
        wire_log: gets every request, reply and event frame.

    All methods raise :class:`lobu_provider.LobuError` for what the gateway or the network does,
    with a message that never holds a token.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None,
        *,
        org: str | None = None,
        headers: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        limits: RequestLimits | None = None,
        pool: AiohttpPool | None = None,
        ca_file: Path | None = None,
        http: Http | None = None,
        wire_log: WireLog | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.limits = limits or RequestLimits()
        self._token = token
        self._org = org
        http = http or open_http(
            self.base_url,
            headers or {},
            self.limits,
            transport=transport,
            pool=pool,
            ca_file=ca_file,
        )
        secrets = [value for value in (token, *(headers or {}).values()) if value]
        self._requests = GatewayRequests(http, self.base_url, self.limits, secrets, wire_log)

    @property
    def session_tokens(self) -> Sequence[str]:
        """The tokens in the create replies so far, also of one that made no session."""
        return self._requests.session_tokens

    @property
    def redactor(self) -> Redactor:
        """Keeps what is secret by now out of a text."""
        return self._requests.redactor

    async def __aenter__(self) -> GatewayClient:
        await self._requests.http.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._requests.http.__aexit__(exc_type, exc, traceback)

    async def create_session(
        self,
        agent_id: str,
        *,
        thread: str,
        force_new: bool = True,
        dry_run: bool | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> Session:
        """Create the session of a thread, or resume it with ``force_new=False``.

        Only a thread that was never used gives an agent without memory of earlier turns:
        ``force_new`` replaces the session's record and not what the agent remembers.

        Args:
            agent_id: the registered agent.
            thread: any text; becomes part of the session's id.
            force_new: replace an existing session of this thread.
            dry_run: sent if given. No gateway version acts on it.
            provider: sent if given; anything but ``"claude"`` is refused with 400.
            model: sent if given; see the README on when gateways honour it.

        Raises:
            LobuError: there is no session to use. One that the gateway may have made all the same
                is told by ``failure.is_unclear``; where a reply of any status names it and
                ``force_new`` was asked for, it is deleted, as ``failure.is_undone`` tells.
        """
        optional = {"dryRun": dry_run, "provider": provider, "model": model}
        body = {
            "agentId": agent_id,
            "thread": thread,
            "forceNew": force_new,
            **{key: value for key, value in optional.items() if value is not None},
        }

        async def settle(reply: HttpReply, refused: Failure) -> Failure:
            # Nobody but the user deletes a thread that was to be resumed.
            return await self._undone(reply, refused, agent_id, thread) if force_new else refused

        reply = await self._requests.send(
            "POST",
            "/api/v1/agents",
            "create",
            agent_id,
            body=body,
            headers=self._user_headers(),
            settle=settle,
        )
        try:
            session = _session_told(reply.json_object("create"), agent_id, thread)
            if session is not None:
                return session
        except LobuError as exc:
            refused = exc.failure
        else:
            refused = failure(
                "gateway",
                f"POST {reply.url} answered {reply.status} without agentId or token; "
                "is this address a Lobu gateway?",
                phase="create",
            )
        raise error_for(await settle(reply, refused))

    async def _undone(
        self, reply: HttpReply, refused: Failure, agent_id: str, thread: str
    ) -> Failure:
        """Delete the session that a create reply names and calls no success.

        One that may be left is told by the failure, and no other try hides it.
        """
        told = reply.told or {}
        session = _session_told(told, agent_id, thread)
        if session is not None:
            try:
                await self.delete_session(session)
            except LobuError:
                return replace(refused, is_unclear=True, repeatable=False)
            return replace(refused, is_undone=True)
        # A refusal may repeat the agent's own name.
        named = told.get("agentId") not in (None, "", agent_id)
        if reply.status == 201 or named or (reply.status < 300 and "agentId" in told):
            return replace(refused, is_unclear=True, repeatable=False)
        return refused

    async def send_message(
        self,
        session: Session,
        content: str,
        *,
        message_id: str,
        ephemeral_context: str | None = None,
        when_heard: Callable[[Callable[[], None]], None] | None = None,
    ) -> SentMessage:
        """Queue a user message.

        Sent again, under the same id, only when the gateway cannot have answered: the connection
        failed or broke, 502, 503 and 504. Newer gateways queue one id once; version 11 may run it
        as often as it was sent.

        Args:
            session: an open session; a deleted one answers 403.
            content: the text.
            message_id: a fresh id; a used one gets no second answer, ever.
            ephemeral_context: told to the agent with this message; newer gateways otherwise tell
                it of their own accord what is going on in the workspace.
            when_heard: told what to call when an event of this message has come: then it is
                queued, whatever becomes of the reply, which is waited for 2 s more.
        """
        more = {} if ephemeral_context is None else {"ephemeralContext": ephemeral_context}
        tries, is_queued = 1, False

        def heard() -> None:
            nonlocal is_queued
            is_queued = True
            wait.deadline = anyio.current_time() + REPLY_GRACE_S

        def may_repeat(failed: Failure) -> bool:
            nonlocal tries
            may = failed.code != "rate_limit" and not is_queued
            tries += may
            return may

        reply = None
        with anyio.CancelScope() as wait:
            if when_heard is not None:
                when_heard(heard)
            try:
                reply = await self._requests.send(
                    "POST",
                    f"{_path(session)}/messages",
                    "send",
                    session.agent_id,
                    body={"content": content, "messageId": message_id, **more},
                    headers=_bearer(session.token),
                    may_repeat=may_repeat,
                    max_wait_s=MAX_SEND_WAIT_S,
                )
            except LobuError as exc:
                is_lost = exc.failure.repeatable or exc.failure.code == "timeout"
                if not (is_lost and is_queued):
                    raise
        if reply is None:
            return SentMessage(message_id=message_id, job_id=None, trace_id=None, tries=tries)
        answer = reply.json_object("send")
        echoed, job_id = answer.get("messageId"), answer.get("jobId")
        return SentMessage(
            message_id=echoed if isinstance(echoed, str) and echoed else message_id,
            job_id=str(job_id) if job_id is not None else None,
            trace_id=_trace_id(answer.get("traceparent")),
            tries=reply.tries,
        )

    @asynccontextmanager
    async def stream_events(
        self,
        session: Session,
        *,
        on_bytes: Callable[[], None] | None = None,
        last_id: str | None = None,
    ) -> AsyncIterator[AsyncIterator[Frame]]:
        """Open the session's event stream; yields the frames as they arrive.

        Args:
            session: an open session; a deleted one answers 404.
            on_bytes: called at each chunk, before it is parsed.
            last_id: the last ``id:`` that was seen; a gateway that knows ids (20.x) then leaves
                out what came before.
        """
        path = f"{_path(session)}/events"
        headers = {
            **_bearer(session.token),
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",  # a proxy that compresses may hold events back
            "Cache-Control": "no-store",
        }
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
            path += f"?since={quote(last_id, safe='')}"
        stream = self._requests.stream(path, session.agent_id, headers=headers, on_bytes=on_bytes)
        async with stream as frames:
            yield frames

    async def delete_session(self, session: Session) -> None:
        """Delete a session; one that is gone already counts as deleted.

        A turn that still runs goes on at the gateway, and what the agent remembers stays.
        """
        reply = await self._requests.send(
            "DELETE",
            _path(session),
            "delete",
            session.agent_id,
            headers=_bearer(session.token),
            limit_s=self.limits.delete_s,
            also_fine=(403, 404),
        )
        if 200 <= reply.status < 300 and reply.body.lstrip().startswith("{"):
            reply.json_object("delete")  # raises if it says that it was no success

    async def health(self) -> Mapping[str, Any]:
        """Return the gateway's health document; its ``version`` is not reliable."""
        reply = await self._requests.send(
            "GET", "/health", "connect", "", headers=self._user_headers()
        )
        return reply.json_object("connect")

    def _user_headers(self) -> dict[str, str]:
        headers = _bearer(self._token) if self._token is not None else {}
        return {**headers, "x-lobu-org": self._org} if self._org else headers


def _session_told(told: Mapping[str, Any], agent_id: str, thread: str) -> Session | None:
    session_id, token = told.get("agentId"), told.get("token")
    if isinstance(session_id, str) and session_id and isinstance(token, str) and token:
        return Session(id=session_id, agent_id=agent_id, thread=thread, token=token)
    return None


def _path(session: Session) -> str:
    # The id holds the thread and the user's id, so it may hold anything.
    return f"/api/v1/agents/{quote(session.id, safe='', errors='replace')}"


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _trace_id(traceparent: Any) -> str | None:
    """The second field of a W3C traceparent; it comes in the body, not in a header."""
    parts = traceparent.split("-") if isinstance(traceparent, str) else []
    return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else None
