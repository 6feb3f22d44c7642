"""One frozen, checked answer to: which gateway, which agent, which credentials, which limits.

Values come from promptfoo's ``config`` block, then from ``options["env"]`` (the config file's own
``env:`` block), then from the process environment. An empty variable is unset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from lobu_provider.config.environment import Environment, quoted_name
from lobu_provider.config.faults import (
    first_fault,
    refuse_template,
    refuse_templates,
    shown,
    unknown_key,
)
from lobu_provider.config.gateway_url import DEFAULT_GATEWAY, is_script, normalise_gateway
from lobu_provider.config.model import (
    PROMPTFOO_KEYS,
    HeaderFromEnv,
    ProviderConfig,
    known_keys,
)
from lobu_provider.errors import config_error

_SECRET_NAME: Final = re.compile(
    r"auth|code|cookie|credential|key|pass|phrase|pin|secret|session|signature|token",
    re.IGNORECASE,
)
_PLAIN_WORD: Final = re.compile(r"[A-Za-z]{1,20}([ ._/-][A-Za-z]{1,20})*")
"""A header such as ``X-Env: production`` is no secret: masking it would change answers."""


@dataclass(frozen=True)
class Settings:
    """A checked configuration. Times are in seconds; credentials are not read yet."""

    agent_id: str
    gateway: str
    """Base URL ending in ``/lobu``, or ``script:NAME``."""
    config: ProviderConfig
    """The block as written, for the keys that need no further treatment."""
    timeout_s: float
    org: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Environment = field(default_factory=lambda: Environment({}), repr=False)
    base_dir: Path = Path()
    """Folder that relative paths start from: the config file's."""
    warnings: tuple[str, ...] = ()

    @property
    def secrets(self) -> list[str]:
        """Values that must appear nowhere, not even in an agent's answer."""
        given = self.config.headers or {}
        headers = [
            value
            for name, value in self.headers.items()
            if isinstance(given.get(name), HeaderFromEnv)
            or _SECRET_NAME.search(name)
            or not _PLAIN_WORD.fullmatch(value)
        ]
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
    return Settings(
        agent_id=_plain(agent_id, "config.agent" if config.agent else "LOBU_AGENT"),
        gateway=gateway.strip()
        if is_script(gateway.strip())
        else normalise_gateway(gateway, source=source),
        config=config,
        timeout_s=config.timeout_ms / 1000,
        org=_org(config, env),
        headers=_headers(config.headers or {}, env),
        env=env,
        base_dir=Path(str(block.get("basePath") or ".")),
        warnings=tuple(_warnings(config)),
    )


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
    for key in given:
        if key not in known_keys():
            raise unknown_key(key)
    try:
        refuse_templates(given)
        return ProviderConfig.model_validate(given)
    except RecursionError:
        raise config_error("config: nested too deep to be meant.") from None
    except ValidationError as exc:
        raise first_fault(exc) from None  # pydantic's own text repeats secret values


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
    return _header_value("org", org.strip())


_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_OUR_HEADERS: Final = frozenset(
    {"accept", "connection", "content-length", "content-type", "transfer-encoding"}
)
"""With another content type a gateway ignores the body and answers for its default agent."""


def _headers(given: Mapping[str, str | HeaderFromEnv], env: Environment) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in given.items():
        if name.strip().lower() == "authorization":
            raise config_error(
                "config.headers.Authorization: the Lobu token is sent in this header. "
                "Give the token by LOBU_TOKEN, tokenEnv, tokenFile or tokenCommand."
            )
        if not _HEADER_NAME.fullmatch(name):
            raise config_error(f"config.headers: {shown(name)} is not a header name.")
        if name.lower() in _OUR_HEADERS:
            raise config_error(f"config.headers.{name}: the provider sets this header itself.")
        headers[name] = _header_value(f"headers.{name}", _resolve(name, value, env))
    return headers


def _resolve(name: str, value: str | HeaderFromEnv, env: Environment) -> str:
    if isinstance(value, str):
        return value.strip()
    found = env.get(value.env)
    if found is None:
        raise config_error(
            f"config.headers.{name}: the environment variable {quoted_name(value.env)} is not set."
        )
    return found


def _header_value(key: str, value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise config_error(
            f"config.{key}: a header can hold only printable ASCII characters on one line; "
            "the value (not shown) holds others."
        )
    return value


def _warnings(config: ProviderConfig) -> list[str]:
    found = []
    if config.model is not None and "/" not in config.model:
        found.append(
            f"config.model {config.model!r} has no '/': newer gateways ignore it. "
            "Write it as PROVIDER/MODEL."
        )
    if config.token is not None:
        found.append(
            "config.token: promptfoo stores the config, token included, in its database. "
            "Prefer LOBU_TOKEN, tokenEnv, tokenFile or tokenCommand."
        )
    return found
