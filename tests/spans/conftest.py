"""A receiver of spans on a socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Receiver:
    """Takes OTLP as promptfoo's receiver does; what it answers can be changed."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        self.answer: Any = {"partialSuccess": {}}
        self.service = "promptfoo-otlp-receiver"
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, {"service": receiver.service})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                kind = self.headers["content-type"]
                if kind != "application/json":
                    self._answer(415, {"error": "Unsupported content type"})
                    return
                receiver.bodies.append(json.loads(body))
                receiver.headers.append({k.lower(): v for k, v in self.headers.items()})
                self._answer(receiver.status, receiver.answer)

            def _answer(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    @property
    def spans(self) -> list[dict[str, Any]]:
        """The spans of all requests."""
        return [
            span
            for body in self.bodies
            for resource in body["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as made:
        yield made


@contextmanager
def listening() -> Iterator[Receiver]:
    """Serve a receiver in a thread."""
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()
