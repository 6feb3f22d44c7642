"""The config keys that say which agent is talked to, where, and as whom."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

NonEmpty = Annotated[str, Field(min_length=1)]


class HeaderFromEnv(BaseModel):
    """A header whose value is read from an environment variable, so that YAML never holds it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    env: NonEmpty = Field(description="Name of the environment variable.")


class ConnectionKeys(BaseModel):
    """The first half of the config block; every key is described where it stands."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", strict=True, frozen=True, defer_build=True
    )

    agent: str | None = Field(
        None, description="Id of the agent at the gateway. Falls back to LOBU_AGENT. Required."
    )
    gateway: str | None = Field(
        None,
        description="Address of the gateway, or script:demo / script:FILE.json for the embedded "
        "one. Falls back to LOBU_GATEWAY, then http://localhost:8787.",
    )
    token: str | None = Field(
        None,
        description="Bearer token. Works, but promptfoo stores it in its database: prefer "
        "LOBU_TOKEN or one of the three keys below.",
    )
    token_env: str | None = Field(
        None, description="Name of the environment variable that holds the token."
    )
    token_file: str | None = Field(
        None,
        description="File that holds the token; relative to the config file's folder.",
    )
    token_command: str | list[str] | None = Field(
        None,
        description="Command that prints the token, e.g. 'lobu token --raw'. Run without a shell, "
        "at most 10 s, once in five minutes per process.",
    )
    org: str | None = Field(
        None,
        description="Organisation slug, sent as x-lobu-org for a token that belongs to several. "
        "Falls back to LOBU_ORG.",
    )
    headers: dict[str, str | HeaderFromEnv] | None = Field(
        None,
        description="Extra request headers, e.g. for an auth proxy in front of the gateway. A "
        "value is a string or {env: NAME}. Values are treated as secrets.",
    )
    ca_file: str | None = Field(
        None,
        description="PEM file with the certificates of a private authority that signed the "
        "gateway's; relative to the config file's folder. Trusted beside the usual ones.",
    )
    provider: str | None = Field(
        None,
        description="Sent as given. Every gateway version we know accepts only 'claude' and "
        "answers 400 to anything else; it does not select a model provider.",
    )
    model: str | None = Field(
        None,
        description="Model for the session, as PROVIDER/MODEL. Older gateways ignore it, newer "
        "ones ignore a name without '/'; none reports which model ran.",
    )
