"""The scripted gateway on a socket. Needs the ``gateway`` extra: starlette and uvicorn."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lobu_provider.errors import config_error
from lobu_provider.scripted_gateway.gateway import ScriptedGateway
from lobu_provider.scripted_gateway.replies import Stream
from lobu_provider.scripted_gateway.streams import ConnectionBroken

METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE"]
STOP_S: Final = 5.0
"""How long stopping may take before it is called a failure."""


def create_app(gateway: ScriptedGateway) -> Starlette:
    """Return an ASGI application that passes every request to ``gateway``."""

    async def answer(request: HttpRequest) -> Response:
        path = request.scope["raw_path"].decode("ascii")
        query = request.scope["query_string"].decode("ascii")
        target = f"{path}?{query}" if query else path
        body = await request.body()
        try:
            reply = await gateway.handle(request.method, target, request.headers, body)
        except ConnectionBroken:
            return _BrokenResponse()
        if isinstance(reply, Stream):
            return _EventResponse(reply)
        return Response(reply.body, reply.status, dict(reply.headers))

    return Starlette(routes=[Route("/{path:path}", answer, methods=METHODS)])


def serve(
    gateway: ScriptedGateway,
    host: str = "127.0.0.1",
    port: int = 8787,
    *,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; open streams do not delay the end.

    ``on_ready`` is called with the gateway's URL once it accepts connections; port 0 takes a
    free one.

    Raises:
        ConfigError: nothing can listen on ``host`` and ``port``.
    """
    with _listen(host, port) as listener:
        server = _Server(gateway, _url(listener), on_ready)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            # uvicorn has stopped in order and then raises the signal again.
            return


@contextmanager
def running(gateway: ScriptedGateway, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve in a thread and yield the URL, e.g. ``http://127.0.0.1:41234``; stop at the end.

    Raises:
        ConfigError: nothing can listen on ``host`` and ``port``.
        RuntimeError: the server did not start or stop in time.
    """
    ready = threading.Event()
    with _listen(host, port) as listener:
        url = _url(listener)
        server = _Server(gateway, url, lambda _: ready.set())
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="scripted-gateway", daemon=True
        )
        thread.start()
        try:
            if not ready.wait(STOP_S):
                raise RuntimeError(f"the scripted gateway did not start on {url}")
            yield url
        finally:
            server.should_exit = True
            thread.join(STOP_S)
        if thread.is_alive():
            raise RuntimeError(f"the scripted gateway on {url} did not stop")


class _Server(uvicorn.Server):
    """Tells when it is ready, and ends the event streams before it waits for requests."""

    def __init__(
        self, gateway: ScriptedGateway, url: str, on_ready: Callable[[str], None] | None
    ) -> None:
        # log_config=None: uvicorn's own would reconfigure logging for the whole process.
        # "critical": a connection that the script breaks is no error.
        super().__init__(
            uvicorn.Config(
                create_app(gateway),
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._gateway = gateway
        self._url = url
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.close_streams()
        await super().shutdown(sockets)


class _EventResponse(Response):
    """Streams events until they end, break off, or the client goes away."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._send_until_end, send, group.cancel_scope)
                while (await receive())["type"] != "http.disconnect":
                    continue
                group.cancel_scope.cancel()
        finally:
            self._stream.events.close()

    async def _send_until_end(self, send: Send, scope: anyio.CancelScope) -> None:
        headers = [(k.encode(), v.encode()) for k, v in self._stream.headers.items()]
        start = {"type": "http.response.start", "status": self._stream.status, "headers": headers}
        await send(start)
        try:
            async for chunk in self._stream.events:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except ConnectionBroken:
            # Returning without an end of the body makes the server drop the connection.
            scope.cancel()
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        scope.cancel()


class _BrokenResponse(Response):
    """Promises a body and sends none, so that the server drops the connection.

    Sending nothing at all would not do: the server would answer 500 by itself.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"1")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), reuse_port=False)
    except OSError as error:
        raise config_error(
            f"Cannot listen on {host}:{port}: {error.strerror or error}; choose another port"
        ) from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{host}:{port}"
