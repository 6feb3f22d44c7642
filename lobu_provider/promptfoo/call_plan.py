"""What one call of promptfoo asks for: which messages, in which thread, and what to say about it.

One rule for the life of a session: a call deletes its session at the end, except when the
conversation goes on: with a pinned ``thread``, with ``keepSession: true``, or in a test whose
metadata has a ``conversationId``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lobu_provider.blank import is_blank
from lobu_provider.config.settings import Settings
from lobu_provider.errors import config_error
from lobu_provider.promptfoo.chat_prompt import read_chat_prompt
from lobu_provider.promptfoo.live_session import (
    call_number,
    earlier_thread,
    live_thread,
    mapping_of,
    said_before,
    text_of,
)
from lobu_provider.promptfoo.message_checks import message_warnings
from lobu_provider.promptfoo.trace_assertions import flat_assertions
from lobu_provider.promptfoo.transcript import as_list, read_transcript
from lobu_provider.session_life import SessionPlan, fresh_thread


@dataclass(frozen=True)
class CallPlan:
    """The messages to say, in order, and the session to say them in."""

    messages: tuple[str, ...]
    session: SessionPlan
    warnings: tuple[str, ...] = ()
    evaluation_id: str | None = None
    """Of promptfoo's run, where there is one."""
    said_before: tuple[str, ...] = ()
    """What earlier calls said in the same thread, as far as promptfoo tells of it."""
    call_number: int = 1
    """Which call in its thread this is, as far as promptfoo tells of it."""
    is_judged: bool = False
    """Whether the test has assertions."""


def plan_call(settings: Settings, prompt: str, context: Mapping[str, Any] | None) -> CallPlan:
    """Read promptfoo's prompt and context.

    Args:
        settings: the provider's configuration.
        prompt: the rendered prompt.
        context: promptfoo's context, or ``None`` as some red-team strategies pass.

    Raises:
        ConfigError: nothing to say, or variables in a shape that cannot be meant.
    """
    if not isinstance(prompt, str):
        raise config_error(f"The prompt is a {type(prompt).__name__}; expected text.")
    context = mapping_of(context)
    variables = mapping_of(context.get("vars"))
    test = mapping_of(context.get("test"))
    live = live_thread(context)
    messages, warnings = _messages(
        settings, prompt, variables, live=live is not None, template=_may_name_transcript(context)
    )
    if live is None and variables.get("_conversation"):
        warnings.append(
            "None of the conversation's earlier calls had a thread to go on in, so this one began "
            "a fresh one."
        )
    has_id = bool(mapping_of(test.get("metadata")).get("conversationId"))
    if not has_id and live is not None and _is_shared(context):
        warnings.append(_SHARED_THREAD)
    warnings += message_warnings(messages)
    config = settings.config
    pinned = live or config.thread
    thread = pinned or fresh_thread()
    return CallPlan(
        messages=tuple(messages),
        session=SessionPlan(
            agent_id=settings.agent_id,
            thread=thread,
            resume=pinned is not None,
            keep=config.thread is not None
            or config.keep_session
            # Any value that is not empty counts, as for promptfoo: also a number.
            or has_id,
            dry_run=config.dry_run,
            provider=config.provider,
            model=config.model,
        ),
        warnings=tuple(warnings),
        evaluation_id=text_of(context.get("evaluationId")),
        said_before=said_before(context) if live is not None else (),
        call_number=call_number(variables, thread),
        is_judged=any(True for _ in flat_assertions(test.get("assert"))),
    )


_SHARED_THREAD: Final = (
    "The prompt template names _conversation and this test has no metadata.conversationId, so it "
    "shares one conversation with all tests that have none. Give each conversation, also one of a "
    "single test, its own conversationId."
)


def _is_shared(context: Mapping[str, Any]) -> bool:
    """Whether promptfoo, and not the test's author, told of an earlier call with a thread."""
    calls = mapping_of(context.get("vars")).get("_conversation")
    test = mapping_of(context.get("test"))
    own = "_conversation" in mapping_of(test.get("vars"))
    return bool(test) and not own and earlier_thread(calls, context.get("repeatIndex")) is not None


_NAMED: Final = re.compile(r"\btranscript\b")
_NAMED_IN_TEMPLATE: Final = re.compile(r"\{[{%][^{}]{0,1000}\btranscript\b")


def _may_name_transcript(context: Mapping[str, Any]) -> bool:
    """Whether the prompt may be made from ``vars.transcript``, by itself or by another variable."""
    template = mapping_of(context.get("prompt")).get("raw")
    if not isinstance(template, str):
        return True
    written = mapping_of(mapping_of(context.get("test")).get("vars"))
    # A prompt function is told by its source.
    return _NAMED.search(template) is not None or any(
        isinstance(text, str) and _NAMED_IN_TEMPLATE.search(text) for text in written.values()
    )


def _messages(
    settings: Settings, prompt: str, variables: Mapping[str, Any], *, live: bool, template: bool
) -> tuple[list[str], list[str]]:
    config = settings.config
    transcript = read_transcript(
        variables.get("transcript"),
        prompt,
        string_means_prompt=config.string_transcript == "prompt",
        is_in_template=template,
        variables=variables if config.render_turns else None,
    )
    if transcript is not None:
        warnings = list(transcript.warnings)
        # One that repeats a turn names the row in promptfoo's web view; nobody waits for it.
        if not is_blank(prompt) and prompt.strip() not in (t.strip() for t in transcript.turns):
            warnings.append("The prompt was not sent: vars.transcript takes its place.")
        return transcript.turns, warnings
    warnings = _ignored_transcript(
        variables.get("transcript"), meant=config.string_transcript == "prompt"
    )
    chat = read_chat_prompt(prompt)
    if chat is not None:
        warnings += _chat_warnings(chat.history_length, chat.has_system, live=live)
        return chat.new_messages, warnings
    if is_blank(prompt):
        raise config_error(
            "The prompt is blank and vars.transcript holds no turns, so there is nothing to send. "
            "A variable that the prompt names may be missing from the test's vars "
            "(promptfoo renders it as an empty string without a warning)."
        )
    return [prompt], warnings


_SPLIT_OR_MEANT: Final = (
    "vars.transcript is a single string that the prompt holds, so the prompt was sent. If it was "
    "a list, promptfoo has split it into one test per entry: set disableVarExpansion: true in the "
    "test's options. If it is meant as it is, set stringTranscript: prompt in the config."
)


def _ignored_transcript(value: Any, *, meant: bool) -> list[str]:
    if isinstance(value, str) and value.strip() and not meant:
        turns = as_list(value)  # as JSON, of a file:// list
        if turns is None:
            return [_SPLIT_OR_MEANT]
        if not turns:
            return ["vars.transcript is an empty list, so the prompt was sent."]
        value = turns
    if isinstance(value, list) and value:
        return ["vars.transcript holds nothing but blanks, so the prompt was sent."]
    if value is None or isinstance(value, (str, list)):
        return []
    kind = "mapping" if isinstance(value, Mapping) else type(value).__name__
    told = f"vars.transcript is a {kind} and not a list, so the prompt was sent."
    return [f"{told} (An unquoted date arrives as an empty mapping.)"]


def _chat_warnings(history_length: int, has_system: bool, *, live: bool) -> list[str]:
    warnings = []
    if has_system:
        warnings.append(
            "The system message of the chat prompt was not sent: a Lobu agent has its own "
            "instructions, and the Agent API takes user messages only."
        )
    if history_length and not live:
        warnings.append(
            f"The chat prompt holds {history_length} earlier messages, but there is no session to "
            "go on in, so the agent does not know them. For a written conversation use "
            "vars.transcript."
        )
    return warnings
