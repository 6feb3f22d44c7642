"""Whether the gateway answers, takes the token, and has the agent: a session is made and deleted.

No message is sent, so no worker starts and no model is asked.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import anyio

from lobu_provider import event_loop
from lobu_provider.abort import Abort
from lobu_provider.cli.checks.finding import Finding, TimeBudget
from lobu_provider.cli.common import ExitCode
from lobu_provider.cli.interrupts import interruptible
from lobu_provider.config.environment import is_usual_name
from lobu_provider.config.settings import Settings
from lobu_provider.config.token import find_token, named_sources
from lobu_provider.connect import open_client
from lobu_provider.errors import Failure, LobuError
from lobu_provider.gateway_client import GatewayClient
from lobu_provider.http_exchange import RequestLimits

LIMITS: Final = RequestLimits(connect_s=4, request_s=6, delete_s=2)
_DNS_LIMIT_S: Final = 4.0
_OLD_PORT: Final = 8080
_DEFAULT_PORT: Final = 8787


@dataclass(frozen=True)
class Target:
    """One configuration to try."""

    where: str
    """Where it is written, e.g. ``providers[0]``."""
    settings: Settings
    token: str | None


def resolve(where: str, settings: Settings, budget: TimeBudget) -> Target:
    """Find the token of a configuration.

    Raises:
        ConfigError: there is none, or it cannot be one.
    """
    token = find_token(settings, limit_s=budget.at_most(8))
    return Target(where, settings, token)


def token_fix(settings: Settings) -> str:
    """Return what to do about a token that is missing, wrong or refused."""
    config = settings.config
    named = named_sources(config)
    if len(named) > 1:
        return f"Remove all but one of: {', '.join(named)}"
    if config.token_env is not None and is_usual_name(config.token_env):
        return _EXPORT.format(name=config.token_env)
    fix = _EXPORT.format(name="LOBU_TOKEN")
    return f"{fix}  (and remove '{named[0]}', which is taken first)" if named else fix


_EXPORT: Final = 'export {name}="$(lobu token --raw)"'


def check_gateway(target: Target, budget: TimeBudget) -> Sequence[Finding]:
    """Return the findings ``gateway``, ``token`` and ``agent``; those not reached are warnings."""
    found: list[Finding] = []
    if budget.is_spent or not _resolves(target.settings, budget):
        what = "no time was left" if budget.is_spent else "its name is not resolved in time"
        found.append(_fault("gateway", target, f"{target.settings.gateway}: {what}"))
    else:
        with interruptible() as (abort, signal_code):
            event_loop.run(_check(target, found, budget.at_most(20), abort))
        if signal_code() == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        if signal_code():
            raise SystemExit(signal_code())
    missing = [c for c in ("gateway", "token", "agent") if c not in {f.check for f in found}]
    found += [Finding(check, "warn", "not checked", where=target.where) for check in missing]
    return found


async def _check(target: Target, found: list[Finding], limit_s: float, abort: Abort) -> None:
    loop = asyncio.get_running_loop()
    with anyio.CancelScope(deadline=anyio.current_time() + limit_s) as scope:
        with abort.listening(lambda: loop.call_soon_threadsafe(scope.cancel)):
            await _check_all(target, found)
    if scope.cancelled_caught:
        found.append(_fault("gateway", target, f"{target.settings.gateway}: no answer in time"))


async def _check_all(target: Target, found: list[Finding]) -> None:
    try:
        async with open_client(target.settings, target.token, limits=LIMITS) as client:
            if await _is_reachable(client, target, found):
                await _try_session(client, target, found)
    except LobuError as error:
        found.append(_failed("gateway", target, error.failure))


async def _is_reachable(client: GatewayClient, target: Target, found: list[Finding]) -> bool:
    where = target.settings.gateway
    if target.settings.is_scripted:
        found.append(_ok("gateway", target, f"{where} is the embedded gateway"))
        return True
    try:
        await client.health()
    except LobuError as error:
        if error.failure.code == "auth":  # then something answers that wants a token
            found.append(_ok("gateway", target, f"{where} answers"))
            return True
        if error.failure.code == "not_found":  # a proxy may let only the Agent API through
            said = f"{where} answers, but not to GET /health"
            found.append(Finding("gateway", "warn", said, where=target.where))
            return True
        finding = _failed("gateway", target, error.failure)
        silent = error.failure.code in ("gateway", "timeout")
        found.append(await _with_old_port(target, finding) if silent else finding)
        return False
    found.append(_ok("gateway", target, f"{where} answers"))
    return True


async def _with_old_port(target: Target, finding: Finding) -> Finding:
    """Look at the port that older gateways used, when nothing is at today's."""
    parts = urlsplit(target.settings.gateway)
    if parts.port != _DEFAULT_PORT:
        return finding
    old = parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{_OLD_PORT}").geturl()
    try:
        # Without the token: whatever listens there was not named by anyone.
        settings = replace(target.settings, gateway=old, org=None, headers={})
        async with open_client(settings, None, limits=LIMITS) as client:
            await client.health()
    except LobuError:
        return replace(finding, detail=f"{finding.detail} Nor does one answer at {old}.")
    return replace(
        finding,
        detail=f"{finding.detail} But one answers at {old}, the port of older gateways.",
        fix=f"export LOBU_GATEWAY={old.removesuffix('/lobu')}",
    )


async def _try_session(client: GatewayClient, target: Target, found: list[Finding]) -> None:
    settings = target.settings
    try:
        session = await client.create_session(
            settings.agent_id,
            thread=f"lobu-doctor-{uuid4()}",
            dry_run=settings.config.dry_run,
            provider=settings.config.provider,
            model=settings.config.model,
        )
    except LobuError as error:
        refused = error.failure.code == "auth"
        if not refused and error.failure.code in ("not_found", "config"):
            found.append(_token_ok(target))
        found.append(_failed("token" if refused else "agent", target, error.failure))
        return
    found.append(_token_ok(target))
    made = f"a session of {settings.agent_id!r} was made"
    try:
        with anyio.CancelScope(shield=True):  # the client bounds it
            await client.delete_session(session)
    except LobuError as error:
        found.append(
            Finding(
                "agent",
                "warn",
                f"{made}, but not deleted: {error.failure.message}",
                "The gateway drops it after 24 hours.",
                where=target.where,
            )
        )
        return
    found.append(_ok("agent", target, f"{made} and deleted"))


def _token_ok(target: Target) -> Finding:
    return _ok("token", target, "accepted" if target.token is not None else "none needed")


def _ok(check: str, target: Target, detail: str) -> Finding:
    return Finding(check, "ok", detail, where=target.where)


def _failed(check: str, target: Target, failure: Failure) -> Finding:
    # The failure's own message ends with what to do about it.
    finding = _fault(check, target, f"[{failure.code}] {failure.message}")
    fix = _FIXES.get(failure.code, finding.fix)
    if failure.code == "auth":
        fix = token_fix(target.settings)
    return replace(finding, fix=fix, is_gateway=failure.code != "config")


def _fault(check: str, target: Target, detail: str) -> Finding:
    fix = "Start the gateway, or correct 'gateway' / LOBU_GATEWAY."
    return Finding(check, "fail", detail, fix, is_gateway=True, where=target.where)


_FIXES: Final = {
    "not_found": "Check the agent (LOBU_AGENT), the organisation (LOBU_ORG) and the gateway's "
    "address (LOBU_GATEWAY).",
    "config": "Correct the provider's config.",
}


def _resolves(settings: Settings, budget: TimeBudget) -> bool:
    """Return whether the host's name is looked up in time; what comes out does not matter.

    A look-up cannot be cancelled, and one in the event loop's threads would hold up the end of
    the program; a daemon thread does not.
    """
    host = urlsplit(settings.gateway).hostname
    proxied = bool(host) and urllib.request.getproxies() and not _bypasses_proxy(str(host))
    if settings.is_scripted or host is None or proxied:
        return True
    thread = threading.Thread(target=partial(_look_up, host), daemon=True)
    thread.start()
    thread.join(budget.at_most(_DNS_LIMIT_S))
    return not thread.is_alive()


def _bypasses_proxy(host: str) -> bool:
    return bool(urllib.request.proxy_bypass(host))


def _look_up(host: str) -> None:
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return  # the client will say so in its own words
