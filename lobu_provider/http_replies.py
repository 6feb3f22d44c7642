"""Read the gateway's plain HTTP replies: the JSON it should be, or the failure that it is.

Error bodies come in five shapes, and a proxy adds HTML. 403 stands for an unknown agent, somebody
else's agent, and a session that was deleted or has expired: the gateway does not tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from lobu_provider.errors import Failure, Phase, error_for, failure
from lobu_provider.json_safe import parse_json
from lobu_provider.redaction import Redactor, named_in
from lobu_provider.said_failure import said_failure

MAX_QUOTED: Final = 300
"""Characters of an unreadable body that a message quotes."""

MAX_SEARCHED: Final = 100_000
"""Characters of a body in which it is looked for what it tells to be secret."""


@dataclass(frozen=True)
class HttpReply:
    """One finished HTTP exchange with the gateway, without its headers: those hold secrets."""

    method: str
    url: str
    status: int
    body: str
    location: str | None = None
    """Target of a redirect."""
    retry_after_s: float | None = None
    """How long the gateway asks to wait, from ``Retry-After``."""
    tries: int = 1
    """How often the request was sent."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What a message must not repeat: a careless server shows the request's own headers."""

    @property
    def shown_body(self) -> str:
        """The start of the body on one line, for a message."""
        return self._shown(self.body)

    @property
    def shown_error(self) -> str:
        """What an error body says, for a message."""
        return self._shown(error_text(self.body))

    def _shown(self, text: str) -> str:
        """Without secrets, also those that only the rest of the body tells to be secret."""
        redactor = Redactor((*self.secrets, *named_in(self.body[:MAX_SEARCHED])))
        return quote_body(redactor.shortened(text.strip(), MAX_QUOTED * 10))

    @property
    def shown_location(self) -> str:
        """Host and path of a redirect; the rest may hold a login's one-time code."""
        try:
            target = urlsplit(self.location or "")
            host = target.hostname
        except ValueError:
            return "(not a URL)"
        origin = f"{target.scheme}://{host}" if host else ""
        return Redactor(self.secrets).text(origin + target.path) or "(nowhere)"

    @property
    def told(self) -> Mapping[str, Any] | None:
        """The body as a JSON object, whatever it says; ``None`` if it is none."""
        try:
            value = parse_json(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def json_object(self, phase: Phase) -> Mapping[str, Any]:
        """Return the body as a JSON object.

        Raises:
            InfrastructureError: HTML or anything else that is not a JSON object, or one that tells
                a failure.
        """
        value = self.told
        if value is None:
            raise error_for(
                failure(
                    "gateway",
                    f"{self.method} {self.url} answered {self.status} with something that is not "
                    f"a JSON object: {self.shown_body}. "
                    "Is this address a Lobu gateway? A login page or another server may answer "
                    "here.",
                    phase=phase,
                )
            )
        if said_failure(value) is not None:
            raise error_for(
                failure(
                    "gateway",
                    f"{self.method} {self.url} answered {self.status} and yet no success: "
                    f"{self.shown_error}",
                    phase=phase,
                )
            )
        return value


def quote_body(body: str) -> str:
    """Return the start of a body on one line, for a message."""
    text = re.sub(r"\s+", " ", body).strip()
    if not text:
        return "(empty body)"
    return text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "..."


def error_text(body: str) -> str:
    """Return what an error body says, from whichever of its shapes; in full."""
    try:
        value = parse_json(body)
    except ValueError:
        return body
    if not isinstance(value, dict):
        return body
    error = value.get("error")
    candidates = [value.get("error_description"), error, value.get("message")]
    if isinstance(error, dict):
        candidates.insert(1, error.get("message"))
    for candidate in candidates:
        if isinstance(candidate, str) and candidate.strip():
            details = value.get("details")
            more = f" ({details})" if isinstance(details, str) and details.strip() else ""
            return candidate + more
    return body


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Read a ``Retry-After`` header, seconds or a date; ``None`` if it says nothing usable.

    Example::

        retry_after_s("120", now)  # 120.0
    """
    text = (value or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if date.tzinfo is None:  # "-0000": no zone is known, and HTTP dates are in GMT
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - now).total_seconds())


def failure_of_reply(reply: HttpReply, phase: Phase, *, agent_id: str) -> Failure:
    """Return what a reply that is not a success means, and what to do about it."""
    said = f"{reply.method} {reply.url} answered {reply.status}: {reply.shown_error}"
    if reply.status == 304:
        return failure(
            "gateway",
            f"{reply.method} {reply.url} answered 304 (not modified), without content. A cache in "
            "between may answer; switch it off for the Agent API.",
            phase=phase,
        )
    if 300 <= reply.status < 400:
        return failure(
            "gateway",
            f"{said}. It redirects to {reply.shown_location}, and redirects are not "
            "followed, since the token would go along. Give the final address as the gateway.",
            phase=phase,
            error_class="config",
            retryable=False,
        )
    by_status = {400: _bad_request, 401: _unauthorised, 403: _forbidden, 404: _missing}
    explain = by_status.get(reply.status)
    if explain is not None:
        return explain(reply, said, phase, agent_id)
    if reply.status == 429:
        return failure(
            "rate_limit",
            f"{said}. Wait, or lower promptfoo's -j.",
            phase=phase,
            retryable=True,
            repeatable=True,
            retry_after_s=reply.retry_after_s,
        )
    if reply.status >= 500:
        return failure(
            "gateway",
            f"{said}. See the gateway's log; it may be restarting.",
            phase=phase,
            repeatable=reply.status in (502, 503, 504),
            retry_after_s=reply.retry_after_s,
        )
    return failure("gateway", f"{said}. Expected a success.", phase=phase, retryable=False)


def _bad_request(reply: HttpReply, said: str, phase: Phase, agent_id: str) -> Failure:
    del agent_id
    advice = "Check the provider's config."
    if phase == "create" and "claude" in reply.body and "provider" in reply.body:
        advice = (
            "The key 'provider' is refused: gateways accept only 'claude' there, and it selects "
            "no model provider. Remove 'provider' from the config; the model is set at the agent."
        )
    return failure("config", f"{said}. {advice}", phase=phase)


def _unauthorised(reply: HttpReply, said: str, phase: Phase, agent_id: str) -> Failure:
    del reply, agent_id
    if phase != "create" and phase != "config":
        return failure(
            "auth",
            f"{said}. The gateway made this session and no longer takes its token: it was "
            "restarted without its sessions, or another instance of it answers.",
            phase=phase,
            error_class="infrastructure",
            retryable=True,
        )
    return failure(
        "auth",
        f"{said}. The token is wrong, revoked or expired; get one with: lobu token --raw",
        phase=phase,
    )


def _forbidden(reply: HttpReply, said: str, phase: Phase, agent_id: str) -> Failure:
    if phase == "create":
        return failure(
            "not_found",
            f"{said}. Either there is no agent {agent_id!r} at this gateway, or it belongs to "
            "an organisation or person that this token does not speak for (config.org / LOBU_ORG "
            "chooses among several). The gateway does not say which.",
            phase=phase,
        )
    return _session_gone(said, phase)


def _missing(reply: HttpReply, said: str, phase: Phase, agent_id: str) -> Failure:
    if "Unknown organization" in reply.body or "No organization membership" in reply.body:
        return failure("not_found", f"{said}. Check config.org / LOBU_ORG.", phase=phase)
    if phase != "create" and "Agent not found" in reply.body:
        return _session_gone(said, phase)
    return failure(
        "not_found",
        f"{said}. Nothing answers there: check the gateway's address; the Agent API lies under "
        "/lobu of the gateway's origin.",
        phase=phase,
    )


def _session_gone(said: str, phase: Phase) -> Failure:
    return failure(
        "not_found",
        f"{said}. The session is gone: deleted by someone else, or expired after 24 hours.",
        phase=phase,
        error_class="infrastructure",
        retryable=True,
    )
