"""The config block of a Lobu provider in promptfooconfig.yaml: every key, its type, its meaning.

The JSON schema and the table in the README are generated from this model.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Milliseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonEmpty = Annotated[str, Field(min_length=1)]


class HeaderFromEnv(BaseModel):
    """A header whose value is read from an environment variable, so that YAML never holds it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    env: NonEmpty = Field(description="Name of the environment variable.")


class ProviderConfig(BaseModel):
    """What may stand under ``config:``, in promptfoo's camelCase.

    ``null`` and blank strings count as not given; that is settled before this model is built.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        strict=True,
        frozen=True,
        defer_build=True,
        title="Lobu provider config",
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
    timeout_ms: Milliseconds = Field(
        120_000,
        description="Time limit of one call in milliseconds, over session, all turns and clean-up.",
    )
    thread: str | None = Field(
        None,
        description="Use this thread instead of a fresh one per call. The agent remembers what "
        "was said in it before, and the session is not deleted.",
    )
    keep_session: bool = Field(
        False, description="Leave the session at the gateway when the call ends."
    )
    dry_run: bool = Field(
        True,
        description="Sent to the gateway as Lobu's own provider does. It protects nothing: tools "
        "run for real and memory is saved.",
    )
    render_turns: bool = Field(
        False,
        description="Fill {{name}} in transcript turns from the test's vars. promptfoo does not "
        "render inside lists.",
    )
    string_transcript: Literal["error", "prompt"] = Field(
        "error",
        description="What a plain-string vars.transcript means: 'error' (promptfoo split a list), "
        "or 'prompt' (ignore it and send the prompt).",
    )
    retrieval_tools: list[NonEmpty] = Field(
        default_factory=list,
        description="More tool names whose result_summary.snippets count as retrieved context, "
        "beside search_memory and lobu_search_memory.",
    )


PROMPTFOO_KEYS: Final = frozenset(
    {
        "basePath",
        "functions",
        "inputs",
        "linkedTargetId",
        "maxRetries",
        "pythonExecutable",
        "sessionParser",
        "sessionSource",
        "stateful",
        "timeout",
        "tools",
        "workers",
    }
)
"""Keys that promptfoo itself reads from or adds to a provider's config; ours to ignore."""

BESIDE_CONFIG: Final = frozenset({"delay", "env", "id", "label", "prompts", "transform"})
"""Keys that promptfoo reads beside ``config``; inside it nobody would."""


def known_keys() -> list[str]:
    """Return every key of ours, as written in YAML."""
    return [field.alias or name for name, field in ProviderConfig.model_fields.items()]


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the config block (draft 2020-12).

    promptfoo's own keys are allowed, everything else unknown is not; ``null`` and blank strings
    mean not given.
    """
    schema = ProviderConfig.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["description"] = "The config block of a Lobu provider in promptfooconfig.yaml."
    properties: dict[str, Any] = schema["properties"]
    for name, rules in properties.items():
        properties[name] = _or_not_given(rules)
    for key in sorted(PROMPTFOO_KEYS):
        properties[key] = {"description": "Read by promptfoo, not by this provider."}
    return schema


_BLANK: Final = {"type": "string", "pattern": r"^\s*$"}


def _or_not_given(rules: dict[str, Any]) -> dict[str, Any]:
    about: dict[str, Any] = {key: rules[key] for key in ("description", "default") if key in rules}
    one = {key: value for key, value in rules.items() if key not in (*about, "title")}
    choices = list(rules.get("anyOf", [one]))
    for nothing in ({"type": "null"}, _BLANK):
        if nothing not in choices and not (nothing is _BLANK and {"type": "string"} in choices):
            choices.append(nothing)
    return {**about, "anyOf": choices}
