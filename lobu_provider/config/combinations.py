"""Keys that do not go together: refused where only a mistake can be meant, else warned of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lobu_provider.config.model import ProviderConfig
from lobu_provider.errors import config_error
from lobu_provider.json_safe import utf16_length

MAX_CONTEXT: Final = 2048
"""Characters of ``ephemeralContext`` that a gateway uses, in JavaScript's counting."""


def refuse_combinations(config: ProviderConfig) -> None:
    """Raise for keys of which one takes the sense from the other, or has none without it.

    Raises:
        ConfigError: names both keys, and why they cannot stand together.
    """
    if config.otlp_backend_headers and config.otlp_backend is None:
        raise config_error(
            "config.otlpBackendHeaders does nothing without otlpBackend, the address that they "
            "are sent to. Add it, or remove them."
        )
    if not config.retries:
        return
    if config.thread is not None:
        raise config_error(
            "config.retries and config.thread: a repeat needs a fresh thread, and this one is "
            "pinned. Remove one of them."
        )
    if config.keep_session:
        raise config_error(
            "config.retries and config.keepSession: a repeat deletes the session of the failed "
            "try, which keepSession forbids. Remove one of them."
        )


def warnings_of(config: ProviderConfig, gateway: str) -> Iterator[str]:
    """Yield what works otherwise than it looks.

    Args:
        config: the checked block.
        gateway: the address that is used.
    """
    if config.model is not None and "/" not in config.model:
        yield (
            f"config.model {config.model!r} has no '/': newer gateways ignore it. "
            "Write it as PROVIDER/MODEL."
        )
    if config.token is not None:
        yield (
            "config.token: promptfoo stores the config, token included, in its database. "
            "Prefer LOBU_TOKEN, tokenEnv, tokenFile or tokenCommand."
        )
    yield from _idle_limits(config)
    context = config.ephemeral_context
    if context is not None and utf16_length(context) > MAX_CONTEXT:
        yield (
            f"config.ephemeralContext has {utf16_length(context):,} characters; a gateway uses "
            f"the first {MAX_CONTEXT:,}."
        )
    if config.otlp_backend is not None and config.tracing in ("off", False):
        yield "config.otlpBackend gets no spans: config.tracing is 'off'."
    if config.ca_file is not None and gateway.startswith("http://"):
        yield f"config.caFile is not used: the gateway {gateway} is not reached by https."


def _idle_limits(config: ProviderConfig) -> Iterator[str]:
    """A limit that another one always comes before; of a default nobody needs to be told."""
    given = config.model_fields_set
    limits = {
        "timeoutMs": config.timeout_ms,
        "turnTimeoutMs": config.turn_timeout_ms,
        "idleTimeoutMs": config.idle_timeout_ms if "idle_timeout_ms" in given else None,
    }
    for outer, inner in (
        ("timeoutMs", "turnTimeoutMs"),
        ("timeoutMs", "idleTimeoutMs"),
        ("turnTimeoutMs", "idleTimeoutMs"),
    ):
        outer_ms, inner_ms = limits[outer], limits[inner]
        if outer_ms is not None and inner_ms is not None and inner_ms > outer_ms:
            yield (
                f"config.{inner} ({inner_ms:g}) is longer than {outer} ({outer_ms:g}), "
                "which comes first: it has no effect."
            )
