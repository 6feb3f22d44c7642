"""LobuProvider: from promptfoo's call to promptfoo's response, the one path behind every door."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx

from lobu_provider.abort import Abort
from lobu_provider.config.settings import Settings, load_settings
from lobu_provider.config.token import find_token, forget_command_tokens, may_block
from lobu_provider.connect import open_client
from lobu_provider.errors import Failure, LobuError, error_for, failure
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.promptfoo.call_plan import CallPlan, plan_call
from lobu_provider.promptfoo.response import CallRecord, build_response
from lobu_provider.promptfoo.run_info import is_known_at_once, run_info
from lobu_provider.session_life import open_conversation

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool

_DELETE_SHARE: Final = 0.1
"""Part of the time limit that the deletion may take at most; 3 s of the default 120."""

_HOST_MARGIN_S: Final = 5.0
"""How long before promptfoo's own limit a call ends: its answer must still travel."""


class LobuProvider:
    """A promptfoo provider for one agent.

    Args:
        options: promptfoo's ``{id, config, env}``; nothing is checked before the first call.
        host_limit_s: promptfoo's own limit on a call in seconds, ``None`` where it has none. The
            call ends before it, whatever ``timeoutMs`` says.
        transport: replaces the network, for scripting and tests.
        pool: connections shared with other providers of this event loop.
    """

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        *,
        host_limit_s: float | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        pool: AiohttpPool | None = None,
    ) -> None:
        self._options = options or {}
        self._host_limit_s = host_limit_s
        self._transport = transport
        self._pool = pool

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
        try:
            await self._answer(prompt, context, abort or Abort(), record)
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
        return build_response(record)

    async def _answer(
        self,
        prompt: str,
        context: Mapping[str, Any] | None,
        abort: Abort,
        record: CallRecord,
    ) -> None:
        started_s = anyio.current_time()
        settings = load_settings(self._options)
        record.agent_id = settings.agent_id
        record.retrieval_tools = settings.config.retrieval_tools
        record.secrets += settings.secrets
        record.private += settings.headers.values()
        record.warnings += settings.warnings
        plan = plan_call(settings, prompt, context)
        record.warnings += plan.warnings
        record.message_count = len(plan.messages)
        deadline = started_s + self._timeout_s(settings, record)
        loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:
            with abort.listening(lambda: loop.call_soon_threadsafe(scope.cancel)):
                with anyio.CancelScope(deadline=deadline) as preparing:
                    token = await self._prepare(settings, context, record)
                if preparing.cancelled_caught:
                    raise error_for(_slow_preparation())
                await self._converse(settings, token, plan, deadline, record)
        if scope.cancelled_caught:
            record.failure = failure(
                "cancelled", "The run was interrupted before this call ended.", phase="create"
            )

    async def _prepare(
        self, settings: Settings, context: Mapping[str, Any] | None, record: CallRecord
    ) -> str | None:
        """Find what is outside of this process: which run this is, and the token.

        In threads that are left alone when the time is up or the call is aborted.
        """
        run_sync = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
        at_once = is_known_at_once()
        record.run = run_info(context) if at_once else await run_sync(run_info, context)
        blocks = may_block(settings)
        token = await run_sync(find_token, settings) if blocks else find_token(settings)
        record.secrets.append(token)
        return token

    async def _converse(
        self,
        settings: Settings,
        token: str | None,
        plan: CallPlan,
        deadline: float,
        record: CallRecord,
    ) -> None:
        record.thread = plan.session.thread
        started_s = anyio.current_time()
        left_s = deadline - started_s
        delete_s = max(0.01, min(RequestLimits.delete_s, left_s * _DELETE_SHARE))
        client = open_client(
            settings,
            token,
            transport=self._transport,
            pool=self._pool,
            limits=RequestLimits(delete_s=delete_s),
            lasting=plan.session.keep or plan.session.resume,
        )
        async with (
            client,
            open_conversation(
                client,
                plan.session,
                timeout_s=left_s - delete_s,
                warnings=record.warnings,
            ) as conversation,
        ):
            record.secrets.append(conversation.session.token)
            record.gateway_session_id = conversation.session.id
            record.turns = conversation.turns
            try:
                for message in plan.messages:
                    turn = await conversation.say(message)
                    if turn.failure is not None:
                        break
            finally:
                record.latency_s = anyio.current_time() - started_s

    def _timeout_s(self, settings: Settings, record: CallRecord) -> float:
        limit_s = self._host_limit_s
        if limit_s is None:
            return settings.timeout_s
        # A tenth where the limit itself is short.
        usable_s = limit_s - min(_HOST_MARGIN_S, limit_s * 0.1)
        if settings.timeout_s <= usable_s:
            return settings.timeout_s
        record.warnings.append(
            f"timeoutMs is cut from {settings.timeout_s * 1000:g} to {usable_s * 1000:g}: "
            f"promptfoo itself gives a call {limit_s:g} s (config.timeout or REQUEST_TIMEOUT_MS)."
        )
        return usable_s


def _slow_preparation() -> Failure:
    return failure(
        "timeout",
        "The time limit of the call ran out before the session was created: config.tokenCommand "
        "or git is slow. Raise timeoutMs, or give the token by LOBU_TOKEN.",
        phase="config",
    )
