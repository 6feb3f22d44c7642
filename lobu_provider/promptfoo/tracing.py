"""What becomes of a call as spans: whether there are any, who delivers them, and what it means when
they do not arrive.

promptfoo judges ``trajectory:*`` and ``trace-*`` by spans alone, and without any span each
``not-trajectory:*`` passes. So a test that has one of these is an error where its spans are lost.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

import anyio

from lobu_provider.config.settings import Settings
from lobu_provider.errors import ConfigError, Failure, config_error, failure
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.span_handover import handover
from lobu_provider.promptfoo.trace_assertions import looks_at_arguments, trace_assertions
from lobu_provider.redaction import Redactor
from lobu_provider.spans.conversation_spans import CUT, Showing, TracedCall, spans_of
from lobu_provider.spans.model import Span, TraceParent, parse_traceparent
from lobu_provider.spans.otlp import (
    BACKEND_ADVICE,
    BACKEND_LIMIT_S,
    LIMIT_S,
    NEEDED_LIMIT_S,
    deliver,
    encode,
)

SPANS_KEY: Final = "lobuSpans"
"""The key of a response under which a caller that makes the spans itself finds what to make."""

_SWITCH: Final = (
    "Switch promptfoo's tracing on at the top of its config: "
    "'tracing: {enabled: true, otlp: {http: {enabled: true, port: 4318}}}'."
)


class CallTracing:
    """The spans of one call.

    Args:
        in_response: the caller makes them; nothing is posted.
    """

    def __init__(self, *, in_response: bool = False) -> None:
        self._in_response = in_response
        self._parent: TraceParent | None = None
        self._mode: Literal["auto", "required", "best-effort", "off"] = "off"
        self._arguments: Literal["full", "redacted", "none"] = "full"
        self._endpoint = ""
        self._backend: str | None = None
        self._backend_headers: Mapping[str, str] = {}
        self._asserted: list[str] = []
        self._warning: str | None = None
        self._zero_ns = 0

    def plan(self, settings: Settings, context: Mapping[str, Any] | None) -> None:
        """Decide, before anything is sent.

        Raises:
            ConfigError: the test needs spans, and the configuration or promptfoo does not let us
                make them.
        """
        # Now: the clock of a replay goes on to times that have not come yet.
        self._zero_ns = time.time_ns() - round(anyio.current_time() * 1e9)
        self._mode = settings.tracing
        self._arguments = settings.config.trace_arguments
        self._endpoint = settings.otlp_endpoint
        self._backend = settings.otlp_backend
        self._backend_headers = settings.otlp_backend_headers
        self._asserted = trace_assertions(context)
        if self._asserted:
            self._refuse_hidden()
        given = context.get("traceparent") if isinstance(context, Mapping) else None
        if self._mode == "off":
            return
        if given is None:
            if self._mode == "required":
                raise config_error(
                    f"config.tracing is 'required', and promptfoo passed no traceparent. {_SWITCH}"
                )
            return
        self._parent = parse_traceparent(given) if isinstance(given, str) else None
        if self._parent is None:
            told = "promptfoo passed a traceparent that is none, so no spans were made."
            if self._needed:
                raise config_error(told)
            self._warning = told

    def _refuse_hidden(self) -> None:
        if self._mode == "off":
            raise _cannot_be_judged(
                self._asserted[0],
                "config.tracing is 'off', so there are no spans. Remove it, or assert on "
                "metadata.toolCalls.",
            )
        if self._by_arguments and self._arguments != "full":
            raise _cannot_be_judged(
                self._by_arguments[0],
                f"config.traceArguments is {self._arguments!r}, so the spans do not tell the "
                "arguments. Remove it, or assert on metadata.toolCalls.",
            )

    @property
    def _by_arguments(self) -> list[str]:
        """The assertions that compare arguments."""
        return [kind for kind in self._asserted if looks_at_arguments(kind)]

    @property
    def _needed(self) -> bool:
        """Whether a row without its spans must not be green."""
        return self._mode == "required" or (self._mode == "auto" and bool(self._asserted))

    async def tell(self, record: CallRecord) -> dict[str, Any]:
        """Deliver the spans. Never raises.

        Args:
            record: of the call that has ended; gets a failure or a warning if they are lost.

        Returns:
            What to add to the response.
        """
        if self._warning is not None:
            record.warnings.append(self._warning)
        if self._parent is None or record.thread is None:  # no conversation was begun
            return {}
        try:
            return await self._tell(record, self._parent)
        except Exception as exc:  # noqa: BLE001 - the row must come, whatever the spans hold
            what = f"lobu-provider failed to make spans: {type(exc).__name__}: {exc}."
            self._lost(record, failure("internal", f"{what} Please report this.", phase="turn"))
            return {}

    async def _tell(self, record: CallRecord, parent: TraceParent) -> dict[str, Any]:
        showing = Showing(self._arguments, Redactor(record.secrets))
        spans = spans_of(_traced(record), parent, zero_ns=self._zero_ns, showing=showing)
        if self._mode != "best-effort":
            self._refuse_cut(record, spans)
        async with anyio.create_task_group() as tasks:
            if self._backend is not None:
                body = encode(spans, parent.trace_id)
                tasks.start_soon(self._tell_backend, record, body, self._backend)
            if self._in_response:
                needed = self._needed and record.first_failure is None
                why = self._why_it_matters() if needed else None
                return {SPANS_KEY: handover(parent, spans, why_needed=why)}
            await self._deliver(record, encode(spans, parent.trace_id))
        return {}

    async def _tell_backend(self, record: CallRecord, body: bytes, backend: str) -> None:
        lost = await deliver(
            body,
            backend,
            to_promptfoo=False,
            limit_s=BACKEND_LIMIT_S,
            headers=self._backend_headers,
            advice=BACKEND_ADVICE,
        )
        if lost is not None:
            record.warnings.append(lost.message)

    async def _deliver(self, record: CallRecord, body: bytes) -> None:
        lost = await deliver(
            body,
            self._endpoint,
            # With 'required' the user vouches for whoever takes them.
            to_promptfoo=self._mode == "auto" and bool(self._asserted),
            limit_s=NEEDED_LIMIT_S if self._needed else LIMIT_S,
        )
        if lost is not None:
            self._lost(record, lost)

    def _refuse_cut(self, record: CallRecord, spans: list[Span]) -> None:
        cut = [span.name for span in spans if CUT in span.attributes]
        kinds = self._by_arguments
        if cut and kinds and record.first_failure is None:
            record.failure = failure(
                "limit",
                f"The arguments of {cut[0]!r} are too long for a span and were cut, so {kinds[0]} "
                "cannot be judged. Assert on metadata.toolCalls.",
                phase="turn",
                error_class="infrastructure",
            )

    def _lost(self, record: CallRecord, lost: Failure) -> None:
        if self._needed and record.first_failure is None:
            record.failure = replace(lost, message=f"{lost.message} {self._why_it_matters()}")
        else:
            record.warnings.append(lost.message)

    def _why_it_matters(self) -> str:
        if self._mode == "required":
            return "This row is an error because config.tracing is 'required'."
        return (
            f"The test asserts {self._asserted[0]}, which cannot be judged without them: "
            "not-trajectory:* would pass whatever the agent did."
        )


def _cannot_be_judged(assertion: str, why: str) -> ConfigError:
    return config_error(f"The test asserts {assertion}, which promptfoo judges by spans, and {why}")


def _traced(record: CallRecord) -> TracedCall:
    last = record.turns[-1] if record.turns else None
    ended_s = anyio.current_time()
    if last is not None and last.sent_s is not None and last.latency_s is not None:
        ended_s = last.sent_s + last.latency_s
    return TracedCall(
        agent_id=record.agent_id,
        thread=record.thread,
        turns=record.turns,
        ended_s=ended_s,
        latency_s=record.latency_s,
        failure=record.first_failure,
    )
