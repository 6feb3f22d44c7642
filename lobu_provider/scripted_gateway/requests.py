"""One request as the gateway sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, unquote

API: Final = "/lobu/api/v1/agents"


@dataclass(frozen=True)
class Request:
    """A request that reached the gateway; kept so that tests can look at it."""

    method: str
    path: str
    """Percent-encoded as it came, with its query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """Decoded JSON; the text if it is not JSON; ``None`` if there is none."""
    malformed: bool = False
    """Whether the body claims to be JSON and is not."""

    @property
    def route(self) -> list[str] | None:
        """Return the decoded segments after the base path; ``None`` outside of it."""
        path = self.path.partition("?")[0]
        if path != API and not path.startswith(f"{API}/"):
            return None
        return [unquote(part) for part in path[len(API) :].split("/")[1:]]

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the JSON object sent; empty unless declared as JSON, as the gateway does it."""
        declared = self.headers.get("content-type", "").startswith("application/json")
        return self.body if declared and isinstance(self.body, dict) else {}

    @property
    def bearer(self) -> str | None:
        """Return the bearer token, or ``None``."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() or None if kind.lower() == "bearer" else None

    @property
    def last_event_id(self) -> int | None:
        """Return where to resume: ``Last-Event-ID`` or ``?since=``; ``None`` if not a number."""
        since = parse_qs(self.path.partition("?")[2]).get("since", [""])[0]
        text = self.headers.get("last-event-id") or since
        return int(text) if text.isascii() and text.isdigit() else None


def read_request(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Request:
    """Return the request; ``path`` is percent-encoded and may have a query."""
    lowered = {name.lower(): value for name, value in headers.items()}
    parsed: Any = None
    malformed = False
    if body:
        try:
            parsed = json.loads(body)
        except ValueError:
            parsed = body.decode(errors="replace")
            malformed = lowered.get("content-type", "").startswith("application/json")
    return Request(method.upper(), path, lowered, parsed, malformed)
