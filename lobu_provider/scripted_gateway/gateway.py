"""A Lobu gateway that answers from a script; knows nothing of sockets or HTTP clients."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import anyio

from lobu_provider.scripted_gateway import replies
from lobu_provider.scripted_gateway.access import Access
from lobu_provider.scripted_gateway.matching import Miss
from lobu_provider.scripted_gateway.replies import Reply, Stream, json_reply, refused
from lobu_provider.scripted_gateway.requests import Request, read_request
from lobu_provider.scripted_gateway.script import Fault, Script
from lobu_provider.scripted_gateway.sessions import Session
from lobu_provider.scripted_gateway.store import PUBLIC_URL, SessionStore
from lobu_provider.scripted_gateway.streams import ConnectionBroken, EventStream
from lobu_provider.scripted_gateway.turns import Turns

MAX_STREAMS: Final = 5
DEFAULT_AGENT: Final = "owletto-default"
DECISIONS: Final = ("1h", "24h", "always", "deny")


class ScriptedGateway:
    """Sessions and routes over one :class:`Script`.

    Args:
        script: what to answer.
        clock: seconds from any origin, never going back; for tests of long waits.

    Attributes:
        requests: every request that arrived, in order.
    """

    def __init__(self, script: Script, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.script = script
        self.requests: list[Request] = []
        self._clock = clock
        self._epoch_ms = int(time.time() * 1000) - int(clock() * 1000)
        self._access = Access(script.token, script.orgs)
        self._store = SessionStore(script.flavour, clock, self._now_ms)
        self._turns = Turns(script, clock, self._now_ms)
        self._faulted: Counter[str] = Counter()

    @property
    def sessions(self) -> dict[str, Session]:
        """Return the live sessions by conversation id."""
        return self._store.sessions

    @property
    def misses(self) -> list[Miss]:
        """Return the messages that no entry answered, oldest first."""
        return self._turns.misses

    @property
    def open_streams(self) -> int:
        """Return how many event streams are open."""
        return sum(len(session.streams) for session in self.sessions.values())

    async def handle(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Reply | Stream:
        """Answer one request. ``path`` is percent-encoded and may have a query.

        Whoever gets a :class:`Stream` must close it.

        Raises:
            ConnectionBroken: the script breaks the connection instead of answering.
        """
        request = read_request(method, path, headers, body)
        self.requests.append(request)
        route = request.route
        if route is None:
            return self._outside(request)
        if request.method == "POST" and not route:
            return await self._create(request)
        if request.method == "POST" and route == ["approve"] and self.script.flavour != "n":
            return self._approve(request)
        if len(route) == 1 and route[0] and request.method in ("GET", "DELETE"):
            return await self._session_route(request, route[0])
        if len(route) == 2 and route[0]:
            if request.method == "GET" and route[1] == "events":
                return await self._events(request, route[0])
            if request.method == "POST" and route[1] == "messages":
                return await self._message(request, route[0])
        if request.method == "GET" and route[-1:] != [""]:
            return replies.SERVER_INFO
        return replies.NO_ROUTE

    def close_streams(self) -> None:
        """End every open stream, as a gateway that shuts down."""
        for session in self.sessions.values():
            for stream in list(session.streams):
                stream.close()

    def _outside(self, request: Request) -> Reply:
        """Answer what is not under the API's base path."""
        path = request.path.partition("?")[0]
        if path == "/lobu/health" and request.method == "GET":
            return json_reply(
                200,
                {
                    "status": "ok",
                    "mode": "script",
                    "version": "2.3.0",
                    "timestamp": self._now_ms(),
                    "publicGatewayUrl": PUBLIC_URL,
                },
            )
        if path.startswith("/api/"):
            return replies.wrong_org(path)
        return replies.NO_ROUTE

    async def _fault(self, name: str, fault: Fault | None) -> Reply | None:
        """Return the answer that the script puts in place of the normal one, if any."""
        if fault is None or (fault.times is not None and self._faulted[name] >= fault.times):
            return None
        self._faulted[name] += 1
        await anyio.sleep(fault.delay_ms / 1000)
        if fault.reset:
            raise ConnectionBroken
        return replies.fault_reply(fault)

    async def _create(self, request: Request) -> Reply:
        refusal = self._access.refusal(request) or await self._fault("create", self.script.create)
        if refusal is not None:
            return refusal
        if request.malformed:
            return replies.SERVER_ERROR
        body, flavour = request.fields, self.script.flavour
        invalid = replies.create_fault(body, flavour)
        if invalid is not None:
            return invalid
        if "agentId" not in body and flavour == "n":
            return refused(400, "No agent specified")
        agent = body.get("agentId", DEFAULT_AGENT)
        known = self.script.agents is None or agent in self.script.agents
        if not known and "agentId" not in body:
            return refused(404, f"Default agent {DEFAULT_AGENT} not provisioned")
        if not known or not self._access.allows(request, agent):
            return replies.FORBIDDEN
        session = self._store.open(agent, body)
        return json_reply(201, self._store.created(session, self._access.issue(agent)))

    async def _message(self, request: Request, conversation_id: str) -> Reply:
        flavour = self.script.flavour
        refusal = self._access.refusal(request)
        if refusal is not None:
            return refusal
        if request.malformed:
            return refused(400, "Invalid JSON body") if flavour == "n" else replies.SERVER_ERROR
        invalid = replies.message_fault(request.fields, flavour)
        if invalid is not None:
            return invalid
        session = self.sessions.get(conversation_id)
        if session is None or not self._access.allows(request, session.agent):
            return replies.FORBIDDEN
        if not (request.fields.get("content") or request.fields.get("message")):
            missing = "content or files required" if flavour == "n" else "content is required"
            return refused(400, missing)
        return await self._turns.accept(session, request.fields, self._fault)

    async def _events(self, request: Request, conversation_id: str) -> Reply | Stream:
        refusal = self._access.refusal(request) or await self._fault("events", self.script.events)
        if refusal is not None:
            return refusal
        session = self.sessions.get(conversation_id)
        if session is None:
            return replies.NOT_FOUND
        if not self._access.allows(request, session.agent):
            return replies.FORBIDDEN
        if len(session.streams) >= MAX_STREAMS:
            return replies.TOO_MANY_STREAMS
        script = self.script
        stream = EventStream(
            session,
            framing=script.framing,
            chunk_bytes=script.chunk_bytes,
            ping_ms=script.ping_ms,
            opened_ms=self._now_ms(),
            connected_late=script.connected_late,
            after_id=request.last_event_id if script.flavour == "n" else None,
        )
        return Stream(stream)

    async def _session_route(self, request: Request, conversation_id: str) -> Reply:
        """Answer "status" and "delete"."""
        deleting = request.method == "DELETE"
        refusal = self._access.refusal(request)
        if refusal is None and deleting:
            refusal = await self._fault("delete", self.script.delete)
        if refusal is not None:
            return refusal
        session = self.sessions.get(conversation_id)
        if session is None:
            return replies.FORBIDDEN if deleting else replies.NOT_FOUND
        if not self._access.allows(request, session.agent):
            return replies.FORBIDDEN
        told = self._store.delete(session) if deleting else self._store.status(session)
        return json_reply(200, told)

    def _approve(self, request: Request) -> Reply:
        """Answer a decision about a tool: nothing comes of it on the stream, as in reality."""
        refusal = self._access.refusal(request)
        if refusal is not None:
            return refusal
        if request.fields.get("decision") not in DECISIONS:
            choices = ", ".join(DECISIONS)
            return json_reply(400, {"error": f"Invalid decision. Must be one of: {choices}"})
        request_id = str(request.fields.get("requestId"))
        if request_id not in self._turns.approvals:
            return json_reply(400, {"error": "Request not found or expired"})
        if self._access.is_session_token(request):
            return json_reply(403, {"error": "Approval identity mismatch"})
        self._turns.approvals.discard(request_id)
        return json_reply(200, {"success": True})

    def _now_ms(self) -> int:
        return self._epoch_ms + int(self._clock() * 1000)
