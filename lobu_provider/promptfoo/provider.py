"""LobuProvider: from promptfoo's call to promptfoo's response, the one path behind every door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import httpx

from lobu_provider.abort import Abort
from lobu_provider.config.settings import Settings, load_settings
from lobu_provider.config.token import find_token, forget_command_tokens, may_block
from lobu_provider.errors import Failure, LobuError, error_for, failure
from lobu_provider.promptfoo.admission import START_GAPS, gates_of, place
from lobu_provider.promptfoo.attempts import hold_case
from lobu_provider.promptfoo.call_plan import CallPlan, plan_call
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.case import Line, converse
from lobu_provider.promptfoo.replayed_case import interrupted, replay_case
from lobu_provider.promptfoo.response import build_response
from lobu_provider.promptfoo.run_info import is_known_at_once, run_info
from lobu_provider.promptfoo.tapes import Recording, Replay, tape_for
from lobu_provider.promptfoo.time_limit import TimeLimit
from lobu_provider.promptfoo.tracing import CallTracing

A = TypeVar("A")
T = TypeVar("T")

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool


class LobuProvider:
    """A promptfoo provider for one agent.

    Args:
        options: promptfoo's ``{id, config, env}``; nothing is checked before the first call.
        host_limit_s: promptfoo's own limit on a call in seconds, ``None`` where it has none. The
            call ends before it, whatever ``timeoutMs`` says.
        transport: replaces the network, for scripting and tests.
        pool: connections shared with other providers of this event loop.
        spans_in_response: whoever calls makes the spans, from ``SPANS_KEY`` of the response.
    """

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        host_limit_s: float | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        pool: AiohttpPool | None = None,
        spans_in_response: bool = False,
    ) -> None:
        self._options = options or {}
        self._host_limit_s = host_limit_s
        self._transport = transport
        self._pool = pool
        self._spans_in_response = spans_in_response

    def id(self) -> str:
        """Return the id from the options, else ``lobu:AGENT``."""
        given = self._options.get("id")
        if isinstance(given, str) and given:
            return given
        config = self._options.get("config")
        agent = config.get("agent") if isinstance(config, Mapping) else None
        return f"lobu:{agent}" if isinstance(agent, str) and agent else "lobu"

    async def call_api(
        self,
        prompt: str,
        context: Mapping[str, Any] | None = None,
        *,
        abort: Abort | None = None,
    ) -> dict[str, Any]:
        """Hold the conversation that a test asks for.

        Args:
            prompt: the rendered prompt; ignored when ``vars.transcript`` holds turns.
            context: promptfoo's context (``vars``, ``test``, ...), or ``None``.
            abort: stops the call: the session is deleted and what arrived is returned.

        Returns:
            A ProviderResponse: ``output``, ``error`` on failure, ``sessionId``, ``latencyMs`` and
            ``metadata``. Never raises for anything that happens in the call.
        """
        record = CallRecord()
        tracing = CallTracing(in_response=self._spans_in_response)
        try:
            await self._answer(prompt, context, abort or Abort(), record, tracing)
        except LobuError as exc:
            record.failure = exc.failure
        except Exception as exc:  # noqa: BLE001 - promptfoo would replay the call on an exception
            record.failure = failure(
                "internal",
                f"lobu-provider failed: {type(exc).__name__}: {exc}. Please report this.",
                phase="turn" if record.turns else "config",
            )
        failed = record.first_failure
        if failed is not None and failed.code == "auth":
            forget_command_tokens()
        told = await tracing.tell(record)
        return {**build_response(record), **told}

    async def _answer(
        self,
        prompt: str,
        context: Mapping[str, Any] | None,
        abort: Abort,
        record: CallRecord,
        tracing: CallTracing,
    ) -> None:
        started_s = anyio.current_time()
        settings = load_settings(self._options)
        record.agent_id = settings.agent_id
        record.retrieval_tools = settings.retrieval_tools
        record.max_metadata_bytes = settings.max_metadata_bytes
        record.secrets += settings.secrets
        record.private += settings.headers.values()
        record.warnings += settings.warnings
        tracing.plan(settings, context)
        plan = plan_call(settings, prompt, context)
        record.warnings += plan.warnings
        tape = tape_for(settings, plan, context)
        limit = TimeLimit(settings.timeout_s, self._host_limit_s, started_s=started_s)
        if limit.warning is not None:
            record.warnings.append(limit.warning)
        if isinstance(tape, Replay):
            await self._look_around(context, record)
            await replay_case(settings, plan, tape, self._host_limit_s, abort, record)
            return
        with anyio.CancelScope() as scope:
            with abort.cancelling(scope.cancel):
                async with AsyncExitStack() as held:
                    if gates := gates_of(settings, plan.session):
                        with limit.waiting_for_others():
                            await held.enter_async_context(place(gates))
                    with anyio.CancelScope(deadline=limit.deadline) as preparing:
                        token = await self._prepare(settings, context, record)
                    if preparing.cancelled_caught:
                        raise error_for(_slow_preparation())
                    await self._converse(settings, token, plan, limit, tape, record)
        if scope.cancelled_caught:
            record.failure = interrupted()

    async def _prepare(
        self, settings: Settings, context: Mapping[str, Any] | None, record: CallRecord
    ) -> str | None:
        """Find what is outside of this process: which run this is, and the token.

        In threads that are left alone when the time is up or the call is aborted.
        """
        await self._look_around(context, record)
        token = await _in_thread(find_token, settings, blocks=may_block(settings))
        record.secrets.append(token)
        return token

    async def _look_around(self, context: Mapping[str, Any] | None, record: CallRecord) -> None:
        record.run = await _in_thread(run_info, context, blocks=not is_known_at_once())

    async def _converse(
        self,
        settings: Settings,
        token: str | None,
        plan: CallPlan,
        limit: TimeLimit,
        recording: Recording | None,
        record: CallRecord,
    ) -> None:
        tape = None if recording is None else recording.tape
        line = Line(settings, token, transport=self._transport, pool=self._pool, tape=tape)

        async def attempt(plan: CallPlan) -> None:
            if settings.session_start_gap_s:
                with limit.waiting_for_others():
                    await START_GAPS.wait(settings.gateway, settings.session_start_gap_s)
            await converse(line, plan, limit.deadline, record)

        try:
            await hold_case(attempt, plan, limit, record, retries=settings.config.retries)
        except LobuError as exc:
            record.failure = exc.failure
        if recording is not None:
            await anyio.to_thread.run_sync(recording.save, record)


async def _in_thread(ask: Callable[[A], T], about: A, *, blocks: bool) -> T:
    """Ask in a thread where that may take a while; it is left alone when the call is aborted."""
    if not blocks:
        return ask(about)
    return await anyio.to_thread.run_sync(ask, about, abandon_on_cancel=True)


def _slow_preparation() -> Failure:
    return failure(
        "timeout",
        "The time limit of the call ran out before the session was created: config.tokenCommand "
        "or git is slow. Raise timeoutMs, or give the token by LOBU_TOKEN.",
        phase="config",
    )
