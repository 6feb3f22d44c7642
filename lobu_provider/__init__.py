"""Evaluate a Lobu agent with promptfoo, from Python.

The public names, loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lobu_provider.abort import Abort
    from lobu_provider.config.gateway_url import normalise_gateway
    from lobu_provider.conversation import Conversation
    from lobu_provider.errors import (
        AgentError,
        ConfigError,
        Failure,
        InfrastructureError,
        LobuError,
    )
    from lobu_provider.events import Event
    from lobu_provider.gateway_client import GatewayClient, SentMessage, Session
    from lobu_provider.http_exchange import RequestLimits
    from lobu_provider.promptfoo.provider import LobuProvider
    from lobu_provider.session_life import SessionPlan, open_conversation
    from lobu_provider.turn import ToolCall, Turn, fold_turn

_HOMES: Final = {
    "Abort": "abort",
    "AgentError": "errors",
    "ConfigError": "errors",
    "Conversation": "conversation",
    "Event": "events",
    "Failure": "errors",
    "GatewayClient": "gateway_client",
    "InfrastructureError": "errors",
    "LobuError": "errors",
    "LobuProvider": "promptfoo.provider",
    "RequestLimits": "gateway_http",
    "SentMessage": "gateway_client",
    "Session": "gateway_client",
    "SessionPlan": "session_life",
    "ToolCall": "turn",
    "Turn": "turn",
    "fold_turn": "turn",
    "normalise_gateway": "config.gateway_url",
    "open_conversation": "session_life",
}

__all__ = [
    "Abort",
    "AgentError",
    "ConfigError",
    "Conversation",
    "Event",
    "Failure",
    "GatewayClient",
    "InfrastructureError",
    "LobuError",
    "LobuProvider",
    "RequestLimits",
    "SentMessage",
    "Session",
    "SessionPlan",
    "ToolCall",
    "Turn",
    "__version__",
    "fold_turn",
    "normalise_gateway",
    "open_conversation",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("lobu-provider")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
