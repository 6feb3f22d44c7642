"""The steps of a scripted reply: what happens in a turn, one small object each.

A step is a JSON object with exactly one of the keys below; some take options beside it::

    {"text": "Hello there.", "delay_ms": 15}     stream text, in pieces
    {"tool": {"name": "lookup_order"}}           a finished tool call
    {"delay_ms": 500}                            let time pass
    {"card": {"type": "question", ...}}          a card for a person to answer
    {"status": "Working"}                        a progress notice
    {"ephemeral": "Sign in: https://..."}        a notice after which nothing more comes
    {"error": "400 Bad request"}                 the turn fails
    {"complete": {"finalText": "..."}}           the turn ends; false: no end at all
    {"event": "work-state", "data": {...}}       any event, under its own name
    {"raw": ": a comment\\n\\n"}                   bytes, written as they are
    {"eof": true}  {"reset": true}               the streams end, cleanly or not
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from lobu_provider.scripted_gateway.cards import CardSpec, ScriptModel


def _deltas(value: Any) -> Any:
    """Accept a list of strings or a number of pieces."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ValueError("expected a list of strings or a number of pieces from 1")


def _object_or_false(value: Any) -> Any:
    """Accept what ``complete`` may hold."""
    if value is False or isinstance(value, dict):
        return value
    raise ValueError("expected an object, or false for no complete event")


class TextStep(ScriptModel):
    """The agent says something: one ``output`` event per delta."""

    text: str
    """What counts as said; ``{{message}}`` and ``{{turn}}`` are replaced."""
    deltas: Annotated[Any, AfterValidator(_deltas)] = None
    """The exact pieces (list of strings), or into how many pieces to cut ``text`` (int).
    Default: one piece per four words, at most six. A list may differ from ``text``: the pieces
    are streamed and ``text`` goes into ``finalText``."""
    delay_ms: int = Field(default=15, ge=0)
    """Time between two deltas, in milliseconds."""


class ToolCallSpec(ScriptModel):
    """One finished tool call, with the names the gateway uses."""

    name: str = Field(min_length=1)
    input: dict[str, Any] | None = Field(default_factory=dict)
    is_error: bool = Field(default=False, alias="isError")
    result_summary: dict[str, Any] | None = None
    """Left out of the event unless given: the gateway summarises few tools."""
    tool_call_id: str | None = Field(default=None, alias="toolCallId")
    """Generated unless given; ``null`` leaves it out of the event."""


class ToolStep(ScriptModel):
    """A tool call ended: one ``tool_use`` event."""

    tool: ToolCallSpec


class DelayStep(ScriptModel):
    """Nothing happens for a while."""

    delay_ms: int = Field(ge=0)


class CardStep(ScriptModel):
    """A card for a person: one event named as its type."""

    card: CardSpec


class StatusStep(ScriptModel):
    """A progress notice, worded as the flavour does."""

    status: str


class EphemeralStep(ScriptModel):
    """A notice, such as a request to sign in; the turn gets no other end."""

    ephemeral: str


class ErrorStep(ScriptModel):
    """The turn fails: ``error``, ``agent-error`` with the same data, then ``complete``."""

    error: str
    code: str | None = None
    """``errorCode``; written by flavour ``n`` only."""
    context: dict[str, Any] | None = None
    """``errorContext``; written by flavour ``n`` only."""
    triple: bool = True
    """``false``: the ``error`` event alone."""
    session_failed: bool = False
    """``true``: as a worker reports it, i.e. the text "❌ Session failed: ..." is streamed first
    and ``complete`` has no ``processedMessageIds``. ``false``: as for a worker that died."""


class CompleteStep(ScriptModel):
    """The turn ends well, or (``false``) never ends."""

    complete: Annotated[Any, AfterValidator(_object_or_false)]
    """Keys to replace or add; ``null`` removes a key."""


class EventStep(ScriptModel):
    """Any event under its own name."""

    event: str = Field(min_length=1)
    data: dict[str, Any] = Field(default_factory=dict)
    """``timestamp`` and ``messageId`` are added unless given; ``null`` leaves them out."""


class RawStep(ScriptModel):
    """Text written to the open streams as it is."""

    raw: str


class EofStep(ScriptModel):
    """The open streams end cleanly."""

    eof: Literal[True]
    forget: bool = False
    """Lose the backlog as well, as a gateway that restarts does."""


class ResetStep(ScriptModel):
    """The open streams break off."""

    reset: Literal[True]
    forget: bool = False
    """Lose the backlog as well, as a gateway that restarts does."""


STEP_KEYS: Final = (
    "text",
    "tool",
    "card",
    "status",
    "ephemeral",
    "error",
    "complete",
    "event",
    "raw",
    "eof",
    "reset",
    "delay_ms",
)
"""A step is known by the first of these keys it has (``delay_ms`` is also an option of text)."""


def _step_tag(value: Any) -> str | None:
    """Return the tag of a JSON object, or of a step that is one already."""
    keys = type(value).model_fields if isinstance(value, ScriptModel) else value
    if not isinstance(keys, dict):
        return None
    return next((f"<{key}>" for key in STEP_KEYS if key in keys), None)


Step = Annotated[
    Annotated[TextStep, Tag("<text>")]
    | Annotated[ToolStep, Tag("<tool>")]
    | Annotated[CardStep, Tag("<card>")]
    | Annotated[StatusStep, Tag("<status>")]
    | Annotated[EphemeralStep, Tag("<ephemeral>")]
    | Annotated[ErrorStep, Tag("<error>")]
    | Annotated[CompleteStep, Tag("<complete>")]
    | Annotated[EventStep, Tag("<event>")]
    | Annotated[RawStep, Tag("<raw>")]
    | Annotated[EofStep, Tag("<eof>")]
    | Annotated[ResetStep, Tag("<reset>")]
    | Annotated[DelayStep, Tag("<delay_ms>")],
    Discriminator(
        _step_tag,
        custom_error_type="step",
        custom_error_message=f"expected an object with one of the keys {', '.join(STEP_KEYS)}",
    ),
]
"""One step. The tags have angle brackets so that error paths can leave them out."""
