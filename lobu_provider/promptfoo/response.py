"""Build promptfoo's ProviderResponse. Pure; every call ends here, whatever happened to it.

``output`` is always a string. ``error`` is present only on failure, as ``"[code] text"``. Never
here: ``prompt`` (it would replace the variables that promptfoo shows), ``tokenUsage`` and ``cost``
(no gateway reports them, and what is unknown is absent, not zero), ``metadata.http``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.errors import Failure, failure
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.metadata import describe_turns, milliseconds
from lobu_provider.redaction import Redactor
from lobu_provider.turn import Turn

MAX_MESSAGE: Final = 4000
"""Characters of an error or warning; a gateway's own text can be any length."""


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
    message_count: int = 0
    """How many messages were to be sent: a row without a turn for each is no success."""
    secrets: list[str | None] = field(default_factory=list)
    """Kept out of everything, the agent's own words included."""
    private: list[str] = field(default_factory=list)
    """Kept out of our own texts only, e.g. header values that are plain words."""

    @property
    def first_failure(self) -> Failure | None:
        """The failure that the row shows: the first turn's that has one, else the call's."""
        in_turn = next((t.failure for t in self.turns if t.failure is not None), None)
        if in_turn is not None or self.failure is not None:
            return in_turn or self.failure
        completed = sum(turn.completed for turn in self.turns)
        if self.message_count and completed == self.message_count:
            return None
        return failure(
            "internal",
            f"Only {completed} of {self.message_count} turns were completed, and no reason is "
            "known. Please report this.",
            phase="turn",
        )


def build_response(record: CallRecord) -> dict[str, Any]:
    """Return the response dict: JSON-safe, and without any secret of the call.

    Secrets are looked for in all that came from outside. Names that we gave are left alone: a
    header such as ``User-Agent: promptfoo`` must not break the ``sessionId`` to go on with.
    """
    redactor, own_words = Redactor(record.secrets), Redactor([*record.secrets, *record.private])
    failed = record.first_failure
    last_output = record.turns[-1].output if record.turns else ""
    told = {
        **_present(gatewaySessionId=record.gateway_session_id),
        **describe_turns(record.turns, record.retrieval_tools),
    }
    # Made JSON-safe first, which bounds the depth of what a gateway may nest.
    safe_told = json_safe(told)
    masked = redactor.json(safe_told)
    warnings = [*record.warnings, *_turn_warnings(record.turns)]
    if masked != safe_told:
        warnings.append(
            "A secret of this call stood in what the gateway sent, and was replaced by ***."
        )
    metadata = {
        **_present(agent=record.agent_id, thread=record.thread, sessionId=record.thread),
        **masked,
        "warnings": [_message(own_words, warning) for warning in warnings],
        "run": record.run,
    }
    response: dict[str, Any] = {"output": redactor.values(last_output)}
    if failed is not None:
        response["error"] = f"[{failed.code}] {_message(own_words, failed.message)}"
        metadata["error"] = describe_failure(failed)
        # Switches off promptfoo's own retry, which would replay the transcript on any error whose
        # text holds "429" or "rate limit", and would hide the text.
        metadata["rateLimitKind"] = "quota"
    response.update(
        _present(sessionId=record.thread, latencyMs=milliseconds(record.latency_s)),
        metadata=metadata,
    )
    safe: dict[str, Any] = json_safe(response)
    return safe


def _message(redactor: Redactor, text: str) -> str:
    """One of our texts: without secrets before it is cut, so that no half of one is left."""
    text = redactor.text(text[: MAX_MESSAGE * 10])
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."


def _turn_warnings(turns: Sequence[Turn]) -> list[str]:
    """Each warning once, with the turns it is about."""
    numbers: dict[str, list[str]] = {}
    for number, turn in enumerate(turns, start=1):
        for warning in turn.warnings:
            numbers.setdefault(warning, []).append(str(number))
    return [f"Turn {', '.join(where)}: {warning}" for warning, where in numbers.items()]


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
