"""The config block of a Lobu provider in promptfooconfig.yaml: every key, its type, its meaning.

The JSON schema and the table in the README are generated from this model.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from lobu_provider.config.cassette_keys import CassetteKeys
from lobu_provider.config.connection_keys import ConnectionKeys, HeaderFromEnv, NonEmpty

Milliseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]

DEFAULT_ENDPOINT: Final = "http://127.0.0.1:4318/v1/traces"
"""promptfoo's receiver of spans, where its config names no other port."""

NonBlank = Annotated[str, Field(pattern=r"\S")]


class ProviderConfig(CassetteKeys, ConnectionKeys):
    """What may stand under ``config:``, in promptfoo's camelCase.

    ``null`` and blank strings count as not given; that is settled before this model is built.
    """

    model_config = ConfigDict(title="Lobu provider config")

    timeout_ms: Milliseconds = Field(
        120_000,
        description="Time limit of one call in milliseconds, over session, all turns and clean-up.",
    )
    turn_timeout_ms: Milliseconds | None = Field(
        None,
        description="Time limit of one turn in milliseconds. None by default: the turns share "
        "timeoutMs.",
    )
    idle_timeout_ms: Milliseconds = Field(
        120_000,
        description="How long a turn may go without any event of its own, in milliseconds. The "
        "gateway's pings do not count.",
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
        "or 'prompt' (ignore it and send the prompt). One that the prompt's template names is sent "
        "with it, and a warning.",
    )
    retrieval_tools: list[NonEmpty] = Field(
        default_factory=list,
        description="More tools whose result_summary.snippets count as retrieved context, beside "
        "search_memory and lobu_search_memory. Names, not patterns.",
    )
    retries: Annotated[int, Field(ge=0, le=5)] = Field(
        0,
        description="How often a case is repeated on a fresh thread when gateway, network or "
        "worker failed; never after an answer, a time limit or a fault of yours. What the failed "
        "try did stays done.",
    )
    answers: dict[str, NonBlank] = Field(
        default_factory=dict,
        description="Answers to the agent's question cards, as PATTERN: OPTION. A pattern is a "
        "regular expression, searched in the first 500 characters of the question without regard "
        "to case; one that could search for ever is refused. The first that fits is answered "
        "with, as the next message, at most ten times in a row.",
    )
    stop_on_tool: NonBlank | list[NonBlank] | None = Field(
        None,
        description="Name or names of tools, not patterns, after whose call the conversation ends. "
        "The running turn may go on at the gateway.",
    )
    max_tool_calls: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="One tool call more than this ends the conversation with the error 'limit'. "
        "The running turn may go on at the gateway.",
    )
    ephemeral_context: str | None = Field(
        None,
        description="Text sent beside each message. Newer gateways then leave out their own "
        "digest of the workspace, which makes answers depend on its state; any short text will "
        "do. 2,048 characters count.",
    )
    failure_texts: bool = Field(
        True,
        description="Whether a known failure sentence of the gateway in place of an answer makes "
        "an error.",
    )
    allow_empty: bool = Field(
        False,
        description="Take a turn that ends without any text for an answer. By default it is an "
        "error, unless a card asks for a person, or a tool was called and the gateway confirmed "
        "the empty text (version 11 never does). A newer gateway's end without a confirmed text "
        "stays an error: so it ends a session that timed out.",
    )
    max_concurrent_sessions: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="How many calls of one process talk to the gateway at once; others wait, and "
        "their time limit waits with them. For the npm package: the Python file makes one call "
        "at a time in each process.",
    )
    session_start_gap_ms: Annotated[float, Field(ge=0, le=60_000)] | None = Field(
        None,
        description="Least time between the starts of two sessions of one process in "
        "milliseconds; 250 with maxConcurrentSessions, else 0.",
    )
    max_metadata_kb: Annotated[int, Field(ge=1)] = Field(
        256,
        description="Most kilobytes of metadata in a row: promptfoo's database grows by five "
        "times that. Long texts are cut beyond it, with a mark, and metadata.truncated says "
        "which; the entry of a tool call is never dropped.",
    )
    # False: what some readers of YAML make of an "off" without quotes.
    tracing: Literal["auto", "required", "best-effort", "off", False] = Field(
        "auto",
        description="Spans for promptfoo's trajectory:* and trace-* assertions. auto: made when "
        "promptfoo's tracing is on; where they do not arrive, a test with such an assertion is an "
        "error, and others get a warning. required: no row is green without them. best-effort: "
        "never more than a warning. off: none, and such an assertion is an error.",
    )
    otlp_endpoint: str = Field(
        DEFAULT_ENDPOINT,
        description="Where the spans are posted as OTLP/JSON; by default promptfoo's own "
        "receiver. Not used by the npm package while promptfoo's tracing is on: it gives them to "
        "promptfoo in process.",
    )
    otlp_backend: str | None = Field(
        None,
        description="A second address that the same spans are posted to as OTLP/JSON, e.g. that "
        "of an observability service. A failure there is never more than a warning.",
    )
    otlp_backend_headers: dict[str, HeaderFromEnv] = Field(
        default_factory=dict,
        description="Request headers for otlpBackend, as NAME: {env: VARIABLE}. Their values are "
        "treated as secrets.",
    )
    trace_arguments: Literal["full", "redacted", "none"] = Field(
        "full",
        description="What spans tell of a tool call's arguments: all, their keys with the values "
        "hidden, or nothing. Secrets of the call are always hidden.",
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
