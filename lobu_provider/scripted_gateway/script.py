"""The script format, version 1: what a scripted gateway answers to which message."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from lobu_provider.errors import ConfigError, config_error
from lobu_provider.scripted_gateway.cards import CardSpec, ScriptModel, SuggestedMessage
from lobu_provider.scripted_gateway.frames import Framing
from lobu_provider.scripted_gateway.steps import Step, ToolCallSpec

Flavour = Literal["u11", "f11", "n"]
"""Which gateway versions' wording: stock 11, the patched 11 that many run, 20.1 and later."""

PACKAGED: Final = "demo"
_SHOWN_ERRORS: Final = 5


class Fault(ScriptModel):
    """An HTTP answer other than the normal one."""

    status: int = Field(default=500, ge=200, le=599)
    body: Any = None
    """An object or list is sent as JSON, a string as text (HTML if it starts with ``<``)."""
    headers: dict[str, str] = Field(default_factory=dict)
    delay_ms: int = Field(default=0, ge=0)
    """Milliseconds before the answer."""
    reset: bool = False
    """Break the connection instead of answering."""
    times: int | None = Field(default=None, ge=1)
    """Only for the first so many requests; default: for all."""


class MessageFault(Fault):
    """An HTTP answer to a message other than the normal one."""

    accepted: bool = False
    """``true``: the message is queued and its steps run although the caller sees a fault."""


class Match(ScriptModel):
    """What the message must look like; exactly one of the three conditions."""

    equals: str | None = None
    """The whole message, spaces at both ends ignored."""
    contains: str | None = None
    regex: str | None = None
    """Python regular expression, searched anywhere in the message."""
    ignore_case: bool = True

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"expected a regular expression: {error}") from error
        return value

    @model_validator(mode="after")
    def _one_condition(self) -> Match:
        if sum(x is not None for x in (self.equals, self.contains, self.regex)) != 1:
            raise ValueError("expected exactly one of equals, contains, regex")
        return self


def _string_means_contains(value: Any) -> Any:
    return {"contains": value} if isinstance(value, str) else value


class ReplyEntry(ScriptModel):
    """When a message matches every condition given, these steps are its turn."""

    match: Annotated[Match | None, BeforeValidator(_string_means_contains)] = None
    """A string means ``{"contains": ...}``; left out, every message matches."""
    turn: int | None = Field(default=None, ge=1)
    """Which message of the conversation, from 1. Deleting the session does not restart it."""
    agent: str | None = None
    """The session's agent id."""
    once: bool = False
    """Answers one message only; later ones go to the next entry that matches."""
    steps: list[Step] = Field(default_factory=list)
    http: MessageFault | None = None
    """Answer the POST with this instead of queueing the message."""
    message_id: str | None = None
    """The id of the turn, in the POST's answer and in every event, instead of the caller's."""
    complete_as: str | None = None
    """As when messages are merged: every event carries this id, the POST's answer the caller's,
    and ``complete`` lists both in ``processedMessageIds``."""


class Script(ScriptModel):
    """A whole script; see the fields for defaults."""

    version: Literal[1]
    flavour: Flavour = "f11"
    agents: list[str] | None = None
    """Agent ids that exist; left out, every id does."""
    token: str | None = None
    """The only accepted bearer token beside session tokens; left out, any is accepted."""
    orgs: list[str] | None = None
    """The slugs accepted in ``x-lobu-org``; left out, any is. Session tokens ignore the header."""
    traceparent: bool | None = None
    """Whether a message's answer has a ``traceparent``; default: flavour ``n`` only."""
    create: Fault | None = None
    """Answer "create session" with this."""
    events: Fault | None = None
    """Answer "open the event stream" with this."""
    delete: Fault | None = None
    """Answer "delete session" with this; the session is not deleted."""
    framing: Framing = "lf"
    """How lines end on the event stream."""
    chunk_bytes: int | None = Field(default=None, ge=1)
    """Cut what is written to a stream into chunks of this many bytes, also inside characters."""
    connected_late: bool = False
    """Write the backlog before ``connected``, as a busy 11.x gateway may do."""
    ping_ms: int = Field(default=30_000, ge=0)
    """Milliseconds between ``ping`` events of one stream; 0: none."""
    status_ms: int = Field(default=20_000, ge=0)
    """Milliseconds between ``status`` events of a running turn; 0: none."""
    replies: list[ReplyEntry]
    """Tried in order; the first that matches answers."""


def load_script(ref: str, base_dir: Path | None = None) -> Script:
    """Return the script named ``ref``: ``demo`` or the path of a JSON file.

    A relative path is looked up in ``base_dir``, then in the working directory.

    Raises:
        ConfigError: there is no such file, it is not JSON, or a field is wrong.
    """
    if ref == PACKAGED:
        source = "demo.json"
        text = (Path(__file__).parent / "scripts" / source).read_text("utf-8")
    else:
        path = _find(ref, base_dir)
        source = str(path)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise config_error(f"Script {source} cannot be read: {error}") from error
    try:
        data = json.loads(text)
    except ValueError as error:
        raise config_error(f"Script {source} is not JSON: {error}") from error
    return parse_script(data, source)


def parse_script(data: Any, source: str = "<script>") -> Script:
    """Check ``data``, the decoded JSON of a script; ``source`` names it in errors.

    Raises:
        ConfigError: a field is missing, unknown or has a wrong value.
    """
    try:
        return Script.model_validate(data)
    except ValidationError as error:
        raise _explained(error, source) from error


def _find(ref: str, base_dir: Path | None) -> Path:
    try:
        given = Path(ref).expanduser()
    except RuntimeError as exc:  # "~name" of nobody
        raise config_error(f"Script {ref!r} not found: {exc} Write the whole path.") from None
    tried = [base_dir / given, Path.cwd() / given] if base_dir else [Path.cwd() / given]
    try:
        found = next((path for path in tried if path.is_file()), None)
    except (OSError, ValueError) as exc:  # a name that no file can have
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise config_error(f"Script {ref[:80]!r} cannot be read: {reason}.") from None
    if found is None:
        folders = dict.fromkeys([str(base_dir.absolute())] if base_dir else [])
        folders[str(Path.cwd())] = None
        where = "" if given.is_absolute() else f" in {' or '.join(folders)}"
        near = get_close_matches(ref.lower(), [PACKAGED], n=1)
        hint = f"Did you mean script:{PACKAGED}?" if near else f"Give a JSON file, or {PACKAGED}."
        raise config_error(f"Script {ref!r} not found{where}. {hint}")
    return found


def _explained(error: ValidationError, source: str) -> ConfigError:
    lines = []
    for item in error.errors(include_url=False, include_context=False)[:_SHOWN_ERRORS]:
        loc = item["loc"]
        if item["type"] == "extra_forbidden":
            lines.append(f"  {_json_path(loc[:-1])}: {_unknown_key(str(loc[-1]), loc[:-1])}")
            continue
        if item["type"] == "missing":
            lines.append(f"  {_json_path(loc)}: it is needed, and not given")
            continue
        expected = item["msg"].removeprefix("Value error, ")
        got = f", got {_shown(item['input'])}"
        lines.append(f"  {_json_path(loc)}: {expected}{got}")
    hidden = error.error_count() - len(lines)
    if hidden > 0:
        lines.append(f"  and {hidden} more")
    return config_error(f"Script {source} is not valid:\n" + "\n".join(lines))


def _unknown_key(key: str, owner: tuple[int | str, ...]) -> str:
    """Say that ``key`` is none of the object at ``owner``, and which ones are."""
    names = [part for part in owner if isinstance(part, str)]
    fields = MODELS[names[-1] if names else ""].model_fields
    known = [field.alias or name for name, field in fields.items()]
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(key.lower(), by_lower, n=1)
    hint = f"Did you mean {by_lower[near[0]]!r}? " if near else ""
    return f"{key!r} is not a key here. {hint}Known keys: {', '.join(known)}."


def _tagged(kinds: Any) -> dict[str, type[ScriptModel]]:
    """Return each step's or card's model by its tag, as tags stand in pydantic's error paths."""
    union, _ = get_args(kinds)
    return {tag.tag: model for model, tag in map(get_args, get_args(union))}


MODELS: Final[dict[str, type[ScriptModel]]] = {
    "": Script,
    "replies": ReplyEntry,
    "match": Match,
    "http": MessageFault,
    "create": Fault,
    "events": Fault,
    "delete": Fault,
    "tool": ToolCallSpec,
    "prompts": SuggestedMessage,
    **_tagged(Step),
    **_tagged(CardSpec),
}
"""The model of an object by the last name on its path."""


def _json_path(loc: tuple[int | str, ...]) -> str:
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not part.startswith("<"):
            path += f".{part}" if path else part
    return path or "the document"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 80 else text[:77] + "..."
