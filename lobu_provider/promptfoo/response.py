"""Build promptfoo's ProviderResponse. Pure; every call ends here, whatever happened to it.

``output`` is always a string. ``error`` is present only on failure, as ``"[code] text"``. Never
here: ``prompt`` (it would replace the variables that promptfoo shows), ``tokenUsage`` and ``cost``
(no gateway reports them, and what is unknown is absent, not zero), ``metadata.http``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lobu_provider.errors import Failure
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.metadata import describe_turns, milliseconds
from lobu_provider.redaction import Redactor
from lobu_provider.turn import Turn


@dataclass
class CallRecord:
    """What is known of a call, filled in as it goes, so that a failure anywhere loses nothing."""

    agent_id: str | None = None
    thread: str | None = None
    gateway_session_id: str | None = None
    turns: Sequence[Turn] = ()
    failure: Failure | None = None
    """Why the call failed; a turn's own failure is taken from the turn."""
    latency_s: float | None = None
    """From the create request to the end of the last turn."""
    warnings: list[str] = field(default_factory=list)
    retrieval_tools: Sequence[str] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    secrets: list[str | None] = field(default_factory=list)


def build_response(record: CallRecord) -> dict[str, Any]:
    """Return the response dict: JSON-safe, and without any secret of the call.

    Secrets are looked for in all that came from outside. Names that we gave are left alone: a
    header such as ``User-Agent: promptfoo`` must not break the ``sessionId`` to go on with.
    """
    redactor = Redactor(record.secrets)
    failure = next((t.failure for t in record.turns if t.failure is not None), record.failure)
    last_output = record.turns[-1].output if record.turns else ""
    told = {
        **_present(gatewaySessionId=record.gateway_session_id),
        **describe_turns(record.turns, record.retrieval_tools),
    }
    metadata = {
        **_present(agent=record.agent_id, thread=record.thread, sessionId=record.thread),
        # Made JSON-safe first, which bounds the depth of what a gateway may nest.
        **{key: redactor.json(json_safe(value)) for key, value in told.items()},
        "warnings": [redactor.text(warning) for warning in record.warnings],
        "run": record.run,
    }
    response: dict[str, Any] = {"output": redactor.values(last_output)}
    if failure is not None:
        response["error"] = f"[{failure.code}] {redactor.text(failure.message)}"
        metadata["error"] = describe_failure(failure)
        # Switches off promptfoo's own retry, which would replay the transcript on any error whose
        # text holds "429" or "rate limit", and would hide the text.
        metadata["rateLimitKind"] = "quota"
    response.update(
        _present(sessionId=record.thread, latencyMs=milliseconds(record.latency_s)),
        metadata=metadata,
    )
    safe: dict[str, Any] = json_safe(response)
    return safe


def describe_failure(failure: Failure) -> dict[str, Any]:
    """Return ``metadata.error``: ``code``, ``class``, ``phase``, ``retryable`` and ``turn``.

    ``turn`` counts from 1 and is absent for a failure before the first turn.
    """
    return {
        "code": failure.code,
        "class": failure.error_class,
        "phase": failure.phase,
        "retryable": failure.retryable,
        **_present(turn=failure.turn),
    }


def _present(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
