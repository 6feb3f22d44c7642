"""Build promptfoo's ProviderResponse. Pure; every call ends here, whatever happened to it.

``output`` is always a string. ``error`` is present only on failure, as ``"[code] text"``. Never
here: ``prompt`` (it would replace the variables that promptfoo shows), ``tokenUsage`` and ``cost``
(no gateway reports them, and what is unknown is absent, not zero), ``metadata.http``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lobu_provider.errors import Failure
from lobu_provider.json_safe import MAX_DEPTH, json_safe, safe_text
from lobu_provider.promptfoo.call_record import CallRecord, FailedAttempt
from lobu_provider.promptfoo.json_cuts import json_bytes, json_text, utf8_length
from lobu_provider.promptfoo.metadata import describe_turns, hide_named, milliseconds
from lobu_provider.promptfoo.session_ids import session_id_of
from lobu_provider.promptfoo.size_limits import limit_metadata, limit_output, over_long_output
from lobu_provider.promptfoo.structures import take_out_structures
from lobu_provider.redaction import Redactor
from lobu_provider.turn import Turn

MAX_MESSAGE: Final = 4000
"""Characters of an error or warning; a gateway's own text can be any length."""


def build_response(record: CallRecord) -> dict[str, Any]:
    """Return the response dict: JSON-safe, and without any secret of the call.

    Secrets are looked for in all that came from outside. Names that we gave are left alone: a
    header such as ``User-Agent: promptfoo`` must not break the ``sessionId`` to go on with.
    """
    redactor = own_words = Redactor(record.secrets)
    if record.private:
        own_words = Redactor([*record.secrets, *record.private])
    failed = record.first_failure
    warnings = [
        *record.warnings,
        *([record.ended_early] if record.ended_early is not None else ()),
        *turn_warnings(record.turns),
    ]
    # Each part is made JSON-safe once, what a gateway may nest before all else: that bounds it.
    described = _told(record)
    taken = take_out_structures(described, record.max_metadata_bytes)
    cut = hide_named(described, record.max_metadata_bytes)
    told = json_safe(described, depth=MAX_DEPTH - 1)  # of the whole row
    text = json_text(told)
    if redactor.may_occur_in(text):
        masked = redactor.json(told)
        if masked != told:
            warnings.append(
                "A secret of this call stood in what the gateway sent, and was replaced by ***."
            )
            told, text = masked, json_text(masked)
    output = safe_text(redactor.values(record.turns[-1].output if record.turns else ""))
    too_long = over_long_output(output)
    if too_long is not None:
        warnings.append(f"output was cut to the first {too_long['limitCharacters']:,} characters.")
    ours: dict[str, Any] = {
        "warnings": [safe_text(own_words.shortened(warning, MAX_MESSAGE)) for warning in warnings],
        "run": json_safe(record.run),
    }
    if record.cassette is not None:
        ours["cassette"] = json_safe(record.cassette)
    if record.attempts:
        ours["attempts"] = [_attempt(attempt, redactor) for attempt in record.attempts]
    if too_long is not None:
        ours["truncated"] = {"output": too_long}
    if failed is not None:
        ours["error"] = describe_failure(failed)
        # Switches off promptfoo's own retry, which would replay the transcript on any error whose
        # text holds "429" or "rate limit", and would hide the text.
        ours["rateLimitKind"] = "quota"
    names = json_safe(
        _present(agent=record.agent_id, thread=record.thread, sessionId=record.thread)
    )
    metadata = limit_metadata(
        {**names, **told, **ours},
        record.max_metadata_bytes,
        size=taken.size
        + cut.size
        + utf8_length(text)
        + json_bytes({**names, **ours})
        - 1,  # "}{" is ","
        taken_out=taken.labels | cut.labels,
    )
    response: dict[str, Any] = {"output": limit_output(output)}
    if failed is not None:
        response["error"] = safe_text(
            f"[{failed.code}] {own_words.shortened(failed.message, MAX_MESSAGE)}"
        )
    if "thread" in names:
        response["sessionId"] = session_id_of(names["thread"], record.call_number)
    response.update(_present(latencyMs=milliseconds(record.latency_s)), metadata=metadata)
    return response


def _told(record: CallRecord) -> dict[str, Any]:
    """What the gateway told; secrets may be in it."""
    return {
        **_present(gatewaySessionId=record.gateway_session_id),
        **describe_turns(record.turns, record.retrieval_tools),
    }


def _attempt(attempt: FailedAttempt, redactor: Redactor) -> dict[str, Any]:
    return {
        "attempt": attempt.number,
        **_present(thread=attempt.thread),
        "error": attempt.code,
        "turnsCompleted": attempt.turns_completed,
        "toolCalls": redactor.json(json_safe(attempt.tool_names)),
    }


def turn_warnings(turns: Sequence[Turn]) -> list[str]:
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
