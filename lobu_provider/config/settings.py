"""One frozen, checked answer to: which gateway, which agent, which credentials, which limits.

Values come from promptfoo's ``config`` block, then from ``options["env"]`` (the config file's own
``env:`` block), then from the process environment. An empty variable is unset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from lobu_provider.config.answers import Answer, read_answers
from lobu_provider.config.ca_file import find_ca_file
from lobu_provider.config.cassette_rules import CassetteRules, read_cassette_rules
from lobu_provider.config.combinations import refuse_combinations, warnings_of
from lobu_provider.config.environment import Environment
from lobu_provider.config.faults import (
    left_template,
    refuse_template,
    shown,
    unknown_keys,
    wrong_values,
)
from lobu_provider.config.gateway_url import DEFAULT_GATEWAY, is_script, normalise_gateway
from lobu_provider.config.headers import header_value, read_headers, secret_values
from lobu_provider.config.model import PROMPTFOO_KEYS, ProviderConfig, known_keys
from lobu_provider.config.otlp_endpoint import otlp_endpoint
from lobu_provider.config.tool_names import read_tool_names
from lobu_provider.errors import config_error


@dataclass(frozen=True)
class Settings:
    """A checked configuration. Times are in seconds; credentials are not read yet."""

    agent_id: str
    gateway: str
    """Base URL ending in ``/lobu``, or ``script:NAME``."""
    config: ProviderConfig = field(repr=False)
    """The block as written, for the keys that need no further treatment."""
    timeout_s: float
    """Of one call, over session, all turns and clean-up."""
    turn_timeout_s: float | None
    idle_timeout_s: float
    """How long a turn may go without any event of its own; pings are none."""
    answers: tuple[Answer, ...]
    """In the order in which they are tried."""
    stop_on_tool: tuple[str, ...]
    retrieval_tools: tuple[str, ...]
    """Beside those that each gateway has."""
    session_start_gap_s: float
    """Least time between the starts of two sessions at the gateway."""
    ca_file: Path | None
    """An existing file of certificates."""
    max_metadata_bytes: int
    """Of ``metadata`` as JSON in UTF-8."""
    tracing: Literal["auto", "required", "best-effort", "off"]
    """Whether a call becomes spans, and what it means when these do not arrive."""
    otlp_endpoint: str
    otlp_backend: str | None
    """A second address for the same spans."""
    otlp_backend_headers: Mapping[str, str] = field(repr=False)
    cassettes: CassetteRules | None
    """``None`` where they are off."""
    org: str | None
    headers: Mapping[str, str] = field(repr=False)
    env: Environment = field(repr=False)
    base_dir: Path
    """Folder that relative paths start from: the config file's."""
    warnings: tuple[str, ...]

    @property
    def secrets(self) -> list[str]:
        """Values that must appear nowhere, not even in an agent's answer."""
        headers = secret_values(self.config.headers or {}, self.headers)
        headers += self.otlp_backend_headers.values()
        return [*headers, self.config.token] if self.config.token else headers

    @property
    def is_scripted(self) -> bool:
        """Whether the embedded gateway answers: no network, no token."""
        return is_script(self.gateway)


def load_settings(options: Mapping[str, Any] | None) -> Settings:
    """Check promptfoo's provider options ``{id, config, env}`` and resolve them.

    Raises:
        ConfigError: a key is unknown, has the wrong type or value, or a required one is missing.
            The message names key, value (never a secret's) and what to write instead.
    """
    options = _mapping(options, "options")
    block = _mapping(options.get("config"), "config")
    env = Environment(_mapping(options.get("env"), "env"))
    config = parse_config(block)
    agent_id = config.agent or env.get("LOBU_AGENT")
    if agent_id is None:
        raise config_error(
            "config.agent is missing: name the agent in the provider's config (agent: my-agent) "
            "or set the environment variable LOBU_AGENT."
        )
    gateway = config.gateway or env.get("LOBU_GATEWAY") or DEFAULT_GATEWAY
    source = "config.gateway" if config.gateway else "LOBU_GATEWAY"
    gateway = (
        gateway.strip() if is_script(gateway.strip()) else normalise_gateway(gateway, source=source)
    )
    refuse_combinations(config)
    base_dir = Path(str(block.get("basePath") or "."))
    turn_ms, idle_ms, gap_ms = config.turn_timeout_ms, config.idle_timeout_ms, _gap_ms(config)
    backend = config.otlp_backend
    return Settings(
        agent_id=_plain(agent_id, "config.agent" if config.agent else "LOBU_AGENT"),
        gateway=gateway,
        config=config,
        timeout_s=config.timeout_ms / 1000,
        turn_timeout_s=None if turn_ms is None else turn_ms / 1000,
        idle_timeout_s=idle_ms / 1000,
        answers=read_answers(config.answers),
        stop_on_tool=read_tool_names(config.stop_on_tool, "stopOnTool"),
        retrieval_tools=read_tool_names(config.retrieval_tools, "retrievalTools"),
        session_start_gap_s=gap_ms / 1000,
        ca_file=None if config.ca_file is None else find_ca_file(base_dir, config.ca_file),
        max_metadata_bytes=config.max_metadata_kb * 1024,
        tracing=config.tracing or "off",
        otlp_endpoint=otlp_endpoint(config.otlp_endpoint),
        otlp_backend=backend and otlp_endpoint(backend, "otlpBackend"),
        otlp_backend_headers=read_headers(
            config.otlp_backend_headers, env, key="otlpBackendHeaders"
        ),
        cassettes=read_cassette_rules(config, env, base_dir),
        org=_org(config, env),
        headers=read_headers(config.headers or {}, env),
        env=env,
        base_dir=base_dir,
        warnings=tuple(warnings_of(config, gateway)),
    )


_DEFAULT_GAP_MS: Final = 250.0
"""A gateway that needs to be held back also starts its workers badly all at once."""


def _gap_ms(config: ProviderConfig) -> float:
    if config.session_start_gap_ms is not None:
        return config.session_start_gap_ms
    return 0.0 if config.max_concurrent_sessions is None else _DEFAULT_GAP_MS


def parse_config(block: Mapping[str, Any]) -> ProviderConfig:
    """Build the model from the block as YAML gave it, dropping what counts as not given.

    Raises:
        ConfigError: as for :func:`load_settings`.
    """
    given = {
        key: value
        for key, value in block.items()
        if key not in PROMPTFOO_KEYS and value is not None and not _blank(value)
    }
    unknown = [key for key in given if key not in known_keys()]
    given = {key: value for key, value in given.items() if key not in unknown}
    faults: dict[str, str] = {"": unknown_keys(unknown)} if unknown else {}
    try:
        left = {key: left_template(key, value) for key, value in given.items()}
        faults |= {key: told for key, told in left.items() if told is not None}
        config = ProviderConfig.model_validate(given)
    except RecursionError:
        raise config_error("config: nested too deep to be meant.") from None
    except ValidationError as exc:
        for key, told in wrong_values(exc):
            faults.setdefault(key, told)
    if faults:  # raised here: pydantic's own text repeats secret values
        raise config_error("\n".join(faults.values()))
    return config


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        # The type alone: the value may hold a token.
        raise config_error(
            f"{name}: expected a mapping of keys to values; got a {type(value).__name__}."
        )
    return value


def _blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _plain(value: str, key: str) -> str:
    text = value.strip()
    refuse_template(text, key)
    if any(ord(character) < 32 for character in text):
        raise config_error(f"{key}: expected one line of text; got {shown(value)}.")
    return text


def _org(config: ProviderConfig, env: Environment) -> str | None:
    org = config.org or env.get("LOBU_ORG")
    if org is None:
        return None
    refuse_template(org, "LOBU_ORG")
    return header_value("org", org.strip())
