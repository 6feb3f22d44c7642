"""Spans over the wire: OTLP as JSON over HTTP, which promptfoo's own receiver takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

import anyio
import httpx

from lobu_provider.errors import Failure, failure
from lobu_provider.json_safe import parse_json
from lobu_provider.spans.model import Span, Value

LIMIT_S: Final = 0.3
"""Of a whole delivery: a conversation must not wait for whoever listens there."""

NEEDED_LIMIT_S: Final = 3.0
"""Of one that a verdict depends on. promptfoo's receiver shares a thread with all the rest of it,
and takes 0.6 s where it grades eight tests at once on two cores."""

BACKEND_LIMIT_S: Final = 2.0
"""Of a delivery to a second receiver, which may be far away; the row waits so long at most."""

_KINDS: Final = {"internal": 1, "client": 3}
_MAX_REPLY: Final = 64 * 1024

RECEIVER: Final = "promptfoo-otlp-receiver"
"""How promptfoo's receiver calls itself, in answer to a GET."""

BACKEND_ADVICE: Final = (
    "Look at otlpBackend and otlpBackendHeaders; the verdict does not depend on it."
)

_ADVICE: Final = (
    "promptfoo receives spans only with 'tracing: {enabled: true, otlp: {http: {enabled: true, "
    "port: 4318}}}' in its config, and not while another program has that port. For another port "
    "set otlpEndpoint."
)


def encode(spans: Sequence[Span], trace_id: str) -> bytes:
    """Return the body of an OTLP request: ids in hexadecimal, times as decimal strings."""
    body = {
        "resourceSpans": [
            {
                "resource": {"attributes": [_attribute("service.name", "lobu-provider")]},
                "scopeSpans": [
                    {
                        "scope": {"name": "lobu-provider"},
                        "spans": [_span(span, trace_id) for span in spans],
                    }
                ],
            }
        ]
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _span(span: Span, trace_id: str) -> dict[str, Any]:
    return {
        "traceId": trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": [_attribute(key, value) for key, value in span.attributes.items()],
        "status": {} if span.error is None else {"code": 2, "message": span.error},
    }


def _attribute(key: str, value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"key": key, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    return {"key": key, "value": {"stringValue": value}}


async def deliver(
    body: bytes,
    endpoint: str,
    *,
    to_promptfoo: bool,
    limit_s: float = LIMIT_S,
    headers: Mapping[str, str] | None = None,
    advice: str = _ADVICE,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Failure | None:
    """Post a body; return why it did not arrive, or ``None``. Raises nothing.

    Args:
        body: from :func:`encode`.
        endpoint: the address that takes it.
        to_promptfoo: only promptfoo's own receiver will do. Another one on its port takes spans
            just as gladly, and promptfoo never sees them.
        limit_s: of everything.
        headers: to send beside the content type, for a receiver that asks who posts.
        advice: what to look at when it did not arrive.
        transport: replaces the network, for tests.
    """
    with anyio.move_on_after(limit_s):
        try:
            url = httpx.URL(endpoint)
            async with httpx.AsyncClient(
                verify=url.scheme == "https",  # its certificates take 23 ms to read
                trust_env=not _is_loopback(url.host),
                timeout=None,  # noqa: S113 - the limit around it is of the whole
                headers=headers,
                transport=transport,
            ) as client:
                return await _exchange(client, body, endpoint, advice, to_promptfoo=to_promptfoo)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, ImportError) as exc:
            return _fault(endpoint, f"it was not reached ({type(exc).__name__}: {exc}). {advice}")
    return failure(
        "timeout",
        _text(endpoint, f"there was no answer within {limit_s * 1000:g} ms. {advice}"),
        phase="turn",
        retryable=False,
    )


async def _exchange(
    client: httpx.AsyncClient, body: bytes, endpoint: str, advice: str, *, to_promptfoo: bool
) -> Failure | None:
    if to_promptfoo:
        about = await client.get(endpoint)
        if _json_object(about).get("service") != RECEIVER:
            return _fault(
                endpoint,
                "what answers there is not promptfoo's receiver, so promptfoo would not see them. "
                f"{advice} If promptfoo reads its spans from there (tracing.provider), set "
                "'tracing: required'.",
            )
    reply = await client.post(endpoint, content=body, headers={"content-type": "application/json"})
    if not reply.is_success:
        return _fault(endpoint, f"the answer was HTTP {reply.status_code}. {advice}")
    partial = _json_object(reply).get("partialSuccess")
    rejected = partial.get("rejectedSpans") if isinstance(partial, dict) else None
    if rejected not in (None, 0, "0", ""):
        return _fault(endpoint, f"{rejected} of them were rejected.")
    return None


def _json_object(reply: httpx.Response) -> dict[str, Any]:
    if len(reply.content) > _MAX_REPLY:
        return {}
    try:
        value = parse_json(reply.text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _fault(endpoint: str, why: str) -> Failure:
    return failure("config", _text(endpoint, why), phase="turn")


def _text(endpoint: str, why: str) -> str:
    shown = endpoint.partition("?")[0]  # a query may hold a key
    return f"The spans of this conversation were not delivered to {shown}: {why}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
