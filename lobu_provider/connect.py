"""Choose what answers: a gateway on the network, the embedded one with a script, or a cassette.

The only file that knows both the client and its stand-ins.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from lobu_provider.cassettes.player import Player
from lobu_provider.cassettes.recording import RecordingHttp
from lobu_provider.cassettes.replaying import ReplayingHttp
from lobu_provider.cassettes.tape import Tape
from lobu_provider.config.gateway_url import SCRIPT_SCHEME
from lobu_provider.config.settings import Settings
from lobu_provider.errors import config_error, error_for, failure
from lobu_provider.gateway_client import GatewayClient
from lobu_provider.gateway_http import open_http
from lobu_provider.http_exchange import Http, RequestLimits
from lobu_provider.wire_log import WireLog

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool
    from lobu_provider.scripted_gateway.gateway import ScriptedGateway

_SCRIPT_URL: Final = "http://scripted.invalid/lobu"
"""Base URL for the embedded gateway; nothing is ever looked up under it."""

_NO_TOKEN: Final = "no-token-needed"  # noqa: S105 - the embedded gateway takes any


def open_client(
    settings: Settings,
    token: str | None,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    limits: RequestLimits | None = None,
    pool: AiohttpPool | None = None,
    lasting: bool = False,
    tape: Tape | Player | None = None,
) -> GatewayClient:
    """Return a client for the gateway of ``settings``, to be used as an async context manager.

    Args:
        settings: whose gateway, organisation and headers to use.
        token: from :func:`lobu_provider.config.token.find_token`.
        transport: replaces the network and the embedded gateway.
        limits: time limits of single requests.
        pool: connections shared with other clients of this event loop.
        lasting: the conversation goes on in later calls. The embedded gateway then is one for the
            whole process; otherwise each client has its own, so that no call sees another's past.
        tape: records what comes from there, or answers in its place.

    Raises:
        ConfigError: the script cannot be read or does not know the agent, the wire log not be
            written, or the environment's proxy settings not be used.
    """
    base_url = settings.gateway
    if settings.is_scripted:
        base_url, token = _SCRIPT_URL, token or _NO_TOKEN
    limits = limits or RequestLimits()
    if isinstance(tape, Player):
        http: Http = ReplayingHttp(tape)
    else:
        if settings.is_scripted:
            transport = transport or _scripted_transport(settings, lasting=lasting)
        http = open_http(
            base_url,
            settings.headers,
            limits,
            transport=transport,
            pool=pool,
            ca_file=settings.ca_file,
        )
        http = http if tape is None else RecordingHttp(http, base_url, tape)
    return GatewayClient(
        base_url,
        token,
        org=settings.org,
        headers=settings.headers,
        limits=limits,
        http=http,
        wire_log=_wire_log(settings),
    )


def _wire_log(settings: Settings) -> WireLog | None:
    path = settings.env.get("LOBU_WIRE_LOG")
    if path is None:
        return None
    try:
        return WireLog(Path(path).expanduser())
    except RuntimeError as exc:  # there is no such user, or no home
        raise config_error(
            f"LOBU_WIRE_LOG: {path!r} cannot be used: {exc} Name a plain file in a folder that "
            "exists, or unset the variable."
        ) from exc


_lasting_gateways: dict[str, ScriptedGateway] = {}


def _scripted_transport(settings: Settings, *, lasting: bool) -> httpx.AsyncBaseTransport:
    # Imported when used: a run against a real gateway does not pay for it.
    from lobu_provider.scripted_gateway.gateway import ScriptedGateway
    from lobu_provider.scripted_gateway.script import load_script
    from lobu_provider.scripted_gateway.transport import ScriptedTransport

    name = settings.gateway.removeprefix(SCRIPT_SCHEME)
    gateway = ScriptedGateway(load_script(name, settings.base_dir))
    known = gateway.script.agents
    if known is not None and settings.agent_id not in known:  # it would answer 403, as a real one
        named = ", ".join(map(repr, known)) or "none"
        raise error_for(
            failure(
                "not_found",
                f"The script {name} does not know the agent {settings.agent_id!r} (its agents: "
                f"{named}). Name one of them, or add it to 'agents' of the script.",
                phase="create",
            )
        )
    if lasting:
        gateway = _lasting_gateways.setdefault(gateway.script.model_dump_json(), gateway)
    return ScriptedTransport(gateway)
