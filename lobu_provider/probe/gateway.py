"""Whether a gateway answers, takes the token, and has the agent: a session is made and deleted.

No message is sent, so no worker starts and no model is asked.
"""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import anyio

from lobu_provider.config.environment import is_usual_name
from lobu_provider.config.settings import Settings
from lobu_provider.config.token import find_token, named_sources
from lobu_provider.connect import open_client
from lobu_provider.errors import Failure, LobuError
from lobu_provider.gateway_client import GatewayClient
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.probe.finding import Finding, TimeBudget
from lobu_provider.session_life import leaves_none
from lobu_provider.session_notes import notes_for_check

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


def distinct(targets: Iterable[Target]) -> list[Target]:
    """Return the targets, those as one that differ in nothing that the gateway sees."""
    seen: dict[Any, Target] = {}
    for target in targets:
        s = target.settings
        headers = tuple(sorted(s.headers.items()))
        config = (s.config.provider, s.config.model)
        key = (s.gateway, s.agent_id, s.org, headers, config, target.token)
        same = seen.get(key)
        where = f"{same.where}, {target.where}" if same is not None else target.where
        seen[key] = replace(same or target, where=where)
    return list(seen.values())


async def probe(
    target: Target,
    found: list[Finding],
    limits: RequestLimits,
    *,
    asks_health: bool = True,
) -> None:
    """Ask a gateway for its health, then make a session and delete it.

    The session is in the ledger while it may be there, so that the next run with the hook deletes
    one that this process could not.

    Args:
        target: which gateway, agent and account.
        found: gets ``gateway``, ``token`` and ``agent`` as they are known, so that what was found
            is there also when this is cancelled.
        limits: of the single requests.
        asks_health: leave it out to be quicker; a gateway that cannot be reached is then told as
            ``agent``.
    """
    try:
        async with open_client(target.settings, target.token, limits=limits) as client:
            if not asks_health or await _is_reachable(client, target, found):
                await _try_session(client, target, found)
    except LobuError as error:
        is_agent = target.settings.is_scripted and error.failure.code == "not_found"
        found.append(_failed("agent" if is_agent else "gateway", target, error.failure))


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
        found.append(await _with_old_port(client, target, finding) if silent else finding)
        return False
    found.append(_ok("gateway", target, f"{where} answers"))
    return True


async def _with_old_port(asked: GatewayClient, target: Target, finding: Finding) -> Finding:
    """Look at the port that older gateways used, when nothing is at today's."""
    parts = urlsplit(target.settings.gateway)
    if parts.port != _DEFAULT_PORT:
        return finding
    old = parts._replace(netloc=f"{parts.netloc.rpartition(':')[0]}:{_OLD_PORT}").geturl()
    try:
        # Without the token: whatever listens there was not named by anyone.
        settings = replace(target.settings, gateway=old, org=None, headers={})
        async with open_client(settings, None, limits=asked.limits) as client:
            await client.health()
    except LobuError:
        return replace(finding, detail=f"{finding.detail} Nor does one answer at {old}.")
    return replace(
        finding,
        detail=f"{finding.detail} But one answers at {old}, the port of older gateways.",
        fix=f"export LOBU_GATEWAY={old.removesuffix('/lobu')}",
    )


async def _try_session(client: GatewayClient, target: Target, found: list[Finding]) -> None:
    settings, thread = target.settings, f"lobu-check-{uuid4()}"
    notes = None if settings.is_scripted else notes_for_check(settings, thread)
    if notes is not None:
        notes.creating()
    try:
        session = await client.create_session(
            settings.agent_id,
            thread=thread,
            dry_run=settings.config.dry_run,
            provider=settings.config.provider,
            model=settings.config.model,
        )
    except LobuError as error:
        if notes is not None and leaves_none(error):
            notes.gone()
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
    if notes is not None:
        notes.gone()
    found.append(_ok("agent", target, f"{made} and deleted"))


def _token_ok(target: Target) -> Finding:
    return _ok("token", target, "accepted" if target.token is not None else "none needed")


def _ok(check: str, target: Target, detail: str) -> Finding:
    return Finding(check, "ok", detail, where=target.where)


def _failed(check: str, target: Target, failure: Failure) -> Finding:
    # The failure's own message ends with what to do about it.
    finding = fault(check, target, f"[{failure.code}] {failure.message}")
    fix = _FIXES.get(failure.code, finding.fix)
    if failure.code == "not_found" and target.settings.is_scripted:
        fix = "Set 'agent' / LOBU_AGENT to one that the script knows."
    if failure.code == "auth":
        fix = token_fix(target.settings)
    return replace(finding, fix=fix, is_gateway=failure.code != "config", code=failure.code)


def fault(check: str, target: Target, detail: str) -> Finding:
    """Return what is told of a gateway that does not answer."""
    fix = "Start the gateway, or correct 'gateway' / LOBU_GATEWAY."
    return Finding(check, "fail", detail, fix, is_gateway=True, where=target.where)


_FIXES: Final = {
    "not_found": "Check the agent (LOBU_AGENT), the organisation (LOBU_ORG) and the gateway's "
    "address (LOBU_GATEWAY).",
    "config": "Correct the provider's config.",
}


def resolves_in_time(targets: Sequence[Target], limit_s: float) -> list[bool]:
    """Return for each target whether its host's name is looked up in time, whatever comes out.

    A look-up cannot be cancelled, and one in the event loop's threads would hold up the end of
    the program; a daemon thread does not.
    """
    budget = TimeBudget(limit_s)
    threads = [_start_look_up(target.settings) for target in targets]
    for thread in threads:
        if thread is not None:
            thread.join(budget.at_most(limit_s))
    return [thread is None or not thread.is_alive() for thread in threads]


def _start_look_up(settings: Settings) -> threading.Thread | None:
    host = urlsplit(settings.gateway).hostname
    proxied = bool(host) and urllib.request.getproxies() and not _bypasses_proxy(str(host))
    if settings.is_scripted or host is None or proxied:
        return None
    thread = threading.Thread(target=partial(_look_up, host), daemon=True)
    thread.start()
    return thread


def _bypasses_proxy(host: str) -> bool:
    return bool(urllib.request.proxy_bypass(host))


def _look_up(host: str) -> None:
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return  # the client will say so in its own words
