"""Send a request to the gateway, or open its event stream: errors, repeats, limits and the log."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Final

import anyio

from lobu_provider.errors import Failure, LobuError, Phase, error_for, failure
from lobu_provider.events import Frame
from lobu_provider.gateway_http import read
from lobu_provider.http_exchange import Http, Reply, RequestLimits
from lobu_provider.http_faults import chunks, mapped_errors
from lobu_provider.http_replies import HttpReply, failure_of_reply
from lobu_provider.redaction import Redactor, tokens_in
from lobu_provider.repeating import MAX_RETRY_AFTER_S, repeated
from lobu_provider.sse import iter_frames
from lobu_provider.wire_log import WireLog

REFUSAL_S: Final = 2.0
"""How long the body is read of what should have been an event stream."""


class GatewayRequests:
    """The requests of one client.

    Args:
        http: sends them.
        base_url: ends in ``/lobu``.
        limits: of each request.
        secrets: what no message may hold.
        log: gets every request, reply and event frame.

    Attributes:
        session_tokens: what create replies held of that kind, so far; no message may hold it.
    """

    def __init__(
        self,
        http: Http,
        base_url: str,
        limits: RequestLimits,
        secrets: list[str],
        log: WireLog | None,
    ) -> None:
        self.http = http
        self.session_tokens: list[str] = []
        self._secrets = secrets
        self._base_url = base_url
        self._limits = limits
        self._wire_log = log

    @property
    def redactor(self) -> Redactor:
        """Of all secrets that are known by now."""
        return Redactor(self._all_secrets)

    @property
    def _all_secrets(self) -> tuple[str, ...]:
        return (*self._secrets, *self.session_tokens)

    async def send(
        self,
        method: str,
        path: str,
        phase: Phase,
        agent_id: str,
        *,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        limit_s: float | None = None,
        also_fine: tuple[int, ...] = (),
        may_repeat: Callable[[Failure], bool] = lambda _: True,
        max_wait_s: float = MAX_RETRY_AFTER_S,
        settle: Callable[[HttpReply, Failure], Awaitable[Failure]] | None = None,
    ) -> HttpReply:
        """Send a request and read its reply, again where that is safe.

        Args:
            method: in capitals.
            path: after ``/lobu``, percent-encoded.
            phase: where the call is, for the failure.
            agent_id: for the failure.
            headers: of this request.
            body: sent as JSON.
            limit_s: over all tries; each has its own limit beside it.
            also_fine: statuses that are a success here.
            may_repeat: whether a failure that would allow it is to be followed by another try.
            max_wait_s: the longest ``Retry-After`` that is waited for.
            settle: is given each reply that is no success, before another try, and returns what
                the failure is then.

        Raises:
            LobuError: the gateway was not reached, or its reply is no success.
        """
        url = self._base_url + path
        content = None
        if body is not None:
            # ASCII, unlike httpx's own: a lone surrogate can be sent only as an escape.
            content = json.dumps(body)
            headers = {**headers, "Content-Type": "application/json"}

        async def send() -> HttpReply:
            self._log("request", method=method, url=url, body=content)
            with mapped_errors(method, url, phase), anyio.fail_after(self._limits.request_s):
                response = await self.http.send(method, url, content=content, headers=headers)
                try:
                    reply = await read(response, self._all_secrets)
                finally:
                    await response.aclose()
            if phase == "create":  # before anything can repeat it
                self.session_tokens += tokens_in(reply.body)
                reply = replace(reply, secrets=self._all_secrets)
            self._log("reply", method=method, url=url, status=reply.status, body=reply.body)
            if 200 <= reply.status < 300 or reply.status in also_fine:
                return reply
            refused = failure_of_reply(reply, phase, agent_id=agent_id)
            raise error_for(refused if settle is None else await settle(reply, refused))

        async def send_safely() -> HttpReply:
            reply, tries = await repeated(
                send, may_repeat=may_repeat, max_wait_s=max_wait_s, repeats=self._limits.repeats
            )
            return reply if tries == 1 else replace(reply, tries=tries)

        with self._without_secrets():
            if limit_s is None:
                return await send_safely()
            with mapped_errors(method, url, phase), anyio.fail_after(limit_s):
                return await send_safely()

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        agent_id: str,
        *,
        headers: Mapping[str, str],
        on_bytes: Callable[[], None] | None,
    ) -> AsyncIterator[AsyncIterator[Frame]]:
        """Open an event stream; yields its frames as they arrive.

        Args:
            path: after ``/lobu``, percent-encoded.
            agent_id: for the failure.
            headers: of this request.
            on_bytes: called at each chunk, before it is parsed.

        Raises:
            LobuError: it cannot be opened; while it is read ``stream_lost``.
        """
        url = self._base_url + path
        with self._without_secrets():
            self._log("request", method="GET", url=url)
            with mapped_errors("GET", url, "connect"):
                # The gateway may hold back even the headers until there is an event to send.
                silence_s = self._limits.silence_s
                response = await self.http.send("GET", url, headers=headers, silence_s=silence_s)
            self._log("reply", method="GET", url=url, status=response.status)
            try:
                await self._check_stream(response, agent_id)
                frames = iter_frames(chunks(response, on_bytes))
                if self._wire_log is not None:
                    frames = self._logged(url, frames)
                async with aclosing(frames):
                    yield frames
            finally:
                with anyio.move_on_after(1, shield=True):
                    await response.aclose()

    async def _check_stream(self, response: Reply, agent_id: str) -> None:
        kind = response.headers.get("content-type", "")
        if response.status == 200 and "text/event-stream" in kind.lower():
            return
        with mapped_errors("GET", response.url, "connect"):
            # Before anyone sends a message without a stream; the head tells enough.
            reply = await read(response, self._all_secrets, limit_s=REFUSAL_S)
        if response.status != 200:
            raise error_for(failure_of_reply(reply, "connect", agent_id=agent_id))
        raise error_for(
            failure(
                "gateway",
                f"GET {reply.url} answered with {kind or 'no content type'} instead of an event "
                "stream. Is this address a Lobu gateway?",
                phase="connect",
            )
        )

    async def _logged(
        self, url: str, frames: AsyncGenerator[Frame, None]
    ) -> AsyncGenerator[Frame, None]:
        try:
            async with aclosing(frames):
                async for frame in frames:
                    self._log("frame", url=url, event=frame.event, data=frame.data, id=frame.id)
                    yield frame
        finally:
            self._log("ended", url=url)

    @contextmanager
    def _without_secrets(self) -> Iterator[None]:
        """Keep secrets out of failures: replies repeat them, and libraries repeat replies."""
        try:
            yield
        except LobuError as exc:
            message = self.redactor.text(exc.failure.message)
            raise error_for(replace(exc.failure, message=message)) from exc.__cause__

    def _log(self, what: str, **details: Any) -> None:
        if self._wire_log is not None:
            self._wire_log.write(what, self._all_secrets, **details)
