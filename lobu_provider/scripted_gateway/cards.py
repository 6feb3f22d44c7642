"""The cards of a scripted reply: for each type the keys that gateways send.

Ids and times are made unless given. A card of a newer gateway with other keys is written as an
``event`` step of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
)


class ScriptModel(BaseModel):
    """Base of the script's models: frozen, strict types, no unknown keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True, populate_by_name=False
    )


class _Card(ScriptModel):
    """What every card may have."""

    message_id: str | None = Field(default=None, alias="messageId")
    turn_message_id: str | None = Field(default=None, alias="turnMessageId")
    """The turn's id; written by flavour ``n`` only, which adds it unless given."""
    timestamp: int | None = None
    """Epoch milliseconds."""

    def body(self) -> dict[str, Any]:
        """Return what the script gave, under the wire's names."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class QuestionCard(_Card):
    """The agent asks; its options are what a person may choose."""

    type: Literal["question"]
    question: str
    options: list[str] | None = None
    question_id: str | None = Field(default=None, alias="questionId")


class ApprovalCard(_Card):
    """A tool call waits for a person. With ``mcpId`` as version 11 asks for it."""

    type: Literal["tool-approval"]
    tool_name: str = Field(alias="toolName", min_length=1)
    mcp_id: str | None = Field(default=None, alias="mcpId", min_length=1)
    """The tool's server. Given, the next three are added unless given too."""
    args: dict[str, Any] | None = None
    grant_pattern: str | None = Field(default=None, alias="grantPattern")
    duration_options: list[str] | None = Field(default=None, alias="durationOptions")
    request_id: str | None = Field(default=None, alias="requestId")
    origin_message_id: str | None = Field(default=None, alias="originMessageId")
    """The turn's id; added by flavour ``f11``, as is the next."""
    processed_message_ids: list[str] | None = Field(default=None, alias="processedMessageIds")
    run_id: int | str | None = Field(default=None, alias="runId")
    """This and the following: of a request that newer gateways keep."""
    action: str | None = None
    resource_kind: str | None = Field(default=None, alias="resourceKind")
    proposal: Any = None
    current: Any = None
    fields_: Any = Field(default=None, alias="fields")
    attribution: Any = None


class LinkCard(_Card):
    """A page that a person has to open, e.g. to connect an account."""

    type: Literal["link-button"]
    url: str
    label: str | None = None
    link_type: str | None = Field(default=None, alias="linkType")


class SuggestedMessage(ScriptModel):
    """One of the messages that a person may send next."""

    title: str
    message: str


class SuggestionCard(_Card):
    """What a person may say next."""

    type: Literal["suggestion"]
    prompts: list[SuggestedMessage]


CARD_TYPES: Final = ("question", "tool-approval", "link-button", "suggestion")


def _card_tag(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"<{kind}>" if kind in CARD_TYPES else None


CardSpec = Annotated[
    Annotated[QuestionCard, Tag("<question>")]
    | Annotated[ApprovalCard, Tag("<tool-approval>")]
    | Annotated[LinkCard, Tag("<link-button>")]
    | Annotated[SuggestionCard, Tag("<suggestion>")],
    Discriminator(
        _card_tag,
        custom_error_type="card",
        custom_error_message=f"expected an object with a 'type' of {', '.join(CARD_TYPES)}",
    ),
]
"""A card. The tags have angle brackets, as those of steps."""


def is_card(data: Mapping[str, Any]) -> bool:
    """Return whether a script may have ``data`` for a card."""
    try:
        TypeAdapter(CardSpec).validate_python(dict(data))
    except ValidationError:
        return False
    return True
