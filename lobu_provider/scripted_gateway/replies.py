"""What a request is answered with, and the bodies that the gateway uses (pure)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.scripted_gateway.script import Fault, Flavour
from lobu_provider.scripted_gateway.streams import EventStream

STREAM_HEADERS: Final = {"content-type": "text/event-stream", "cache-control": "no-cache"}


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Stream:
    """A 200 whose body is an event stream."""

    events: EventStream
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: dict(STREAM_HEADERS))


def json_reply(status: int, body: Any) -> Reply:
    """Return ``body`` as JSON."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Reply(status, text.encode(), {"content-type": "application/json"})


def text_reply(status: int, text: str) -> Reply:
    """Return plain text."""
    return Reply(status, text.encode(), {"content-type": "text/plain; charset=UTF-8"})


def refused(status: int, error: Any) -> Reply:
    """Return the shape of the route handlers' errors."""
    return json_reply(status, {"success": False, "error": error})


FORBIDDEN: Final = refused(403, "Forbidden")
UNAUTHORIZED: Final = refused(401, "Unauthorized")
NOT_FOUND: Final = refused(404, "Agent not found")
TOO_MANY_STREAMS: Final = refused(429, "Maximum 5 connections")
NO_ROUTE: Final = text_reply(404, "404 Not Found")
SERVER_ERROR: Final = json_reply(500, {"error": "Internal server error"})
BAD_PAT: Final = json_reply(
    401,
    {"error": "invalid_token", "error_description": "PAT is invalid, expired, or revoked"},
)
SERVER_INFO: Final = json_reply(
    200,
    {
        "status": "ok",
        "mcp_endpoint": "http://127.0.0.1:8787/mcp",
        "health": "/health",
        "openapi": "/openapi.json",
    },
)


def fault_reply(fault: Fault) -> Reply:
    """Return the answer that a script asks for."""
    if isinstance(fault.body, str):
        kind = "text/html" if fault.body.lstrip().startswith("<") else "text/plain"
        reply = Reply(fault.status, fault.body.encode(), {"content-type": f"{kind}; charset=UTF-8"})
    elif fault.body is None:
        reply = Reply(fault.status, b"", {})
    else:
        reply = json_reply(fault.status, fault.body)
    given = {name.lower(): value for name, value in fault.headers.items()}
    return Reply(reply.status, reply.body, {**reply.headers, **given})


def wrong_org(path: str) -> Reply:
    """Return the main app's answer to an API path outside ``/lobu``: it reads a name from it."""
    parts = path.split("/")
    org = parts[2] if len(parts) > 2 else ""
    return json_reply(
        404,
        {"error": "invalid_request", "error_description": f"Organization '{org}' not found"},
    )


def create_fault(body: Mapping[str, Any], flavour: Flavour) -> Reply | None:
    """Return the answer to a create body that breaks the schema, ``None`` for a good one."""
    issues = []
    for key in ("agentId", "userId", "thread"):
        issue = _string_issue(body, key, may_be_empty=key == "thread")
        if issue is not None:
            issues.append(issue)
    if body.get("provider", "claude") != "claude":
        issues.append(_WRONG_PROVIDER)
    return _schema_error(issues, flavour) if issues else None


def message_fault(body: Mapping[str, Any], flavour: Flavour) -> Reply | None:
    """Return the answer to a message body that breaks the schema, ``None`` for a good one."""
    checked = (_string_issue(body, key, may_be_empty=True) for key in _MESSAGE_STRINGS)
    issues = [issue for issue in checked if issue is not None]
    if not issues:
        return None
    if flavour == "n" and issues[0]["path"][0] == "content":
        return refused(400, "content must be a string")
    return _schema_error(issues, flavour)


_MESSAGE_STRINGS: Final = ("content", "message", "messageId")

_WRONG_PROVIDER: Final[dict[str, Any]] = {
    "code": "invalid_value",
    "values": ["claude"],
    "path": ["provider"],
    "message": 'Invalid input: expected "claude"',
}


def _string_issue(
    body: Mapping[str, Any], key: str, *, may_be_empty: bool
) -> dict[str, Any] | None:
    if key not in body:
        return None
    value = body[key]
    if not isinstance(value, str):
        message = f"Invalid input: expected string, received {_json_type(value)}"
        return {"expected": "string", "code": "invalid_type", "path": [key], "message": message}
    if value or may_be_empty:
        return None
    return {
        "origin": "string",
        "code": "too_small",
        "minimum": 1,
        "inclusive": True,
        "path": [key],
        "message": "Too small: expected string to have >=1 characters",
    }


def _schema_error(issues: list[dict[str, Any]], flavour: Flavour) -> Reply:
    """Return a 400: an object with JSON inside a string (11.x), or one flat string (20.x)."""
    if flavour == "n":
        first = issues[0]
        text = first["message"].replace("Invalid input: expected", "Expected").replace('"', "'")
        return refused(400, f"/{first['path'][0]} {text}")
    return refused(400, {"name": "ZodError", "message": json.dumps(issues, indent=2)})


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "unknown")
