"""The remote service that promptfoo asks for the words of a simulated user."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.conftest import Promptfoo

STOP = "###STOP###"
"""Said by a user who has no more to say."""


@contextmanager
def user_who_says(promptfoo: Promptfoo, lines: Sequence[str]) -> Iterator[None]:
    """Have promptfoo's simulated users say the lines, one after the other, and then stop."""
    said_at_last = (*lines, STOP)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            # promptfoo turns the roles round: "assistant" is what the user has said.
            said = sum(m["role"] == "assistant" for m in asked.get("history", []))
            self._answer({"result": said_at_last[min(said, len(lines))], "tokenUsage": {}})

        def do_GET(self) -> None:
            self._answer({})

        def _answer(self, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/task"
    promptfoo.environment["PROMPTFOO_REMOTE_GENERATION_URL"] = url
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
