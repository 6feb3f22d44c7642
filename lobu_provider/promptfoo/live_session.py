"""Which conversation a call goes on in, as promptfoo tells of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lobu_provider.promptfoo.session_ids import read_session_id
from lobu_provider.session_life import may_be_fresh_thread


def live_thread(context: Mapping[str, Any]) -> str | None:
    """Return the thread that the conversation is in already.

    promptfoo's multi-turn strategies hand back the ``sessionId`` that we returned. The same name in
    the test's own variables is something else: a leftover of an exported row that is run again, or
    the author's own, which differs from the test's where it holds a template.
    """
    variables = _mapping(context.get("vars"))
    session = _text(variables.get("sessionId"))
    own = _mapping(_mapping(context.get("test")).get("vars")).get("sessionId")
    if session is not None and session != _text(own):
        thread = _text(read_session_id(session)[0])
        if thread is not None and (not _is_template(own) or may_be_fresh_thread(thread)):
            return thread
    return earlier_thread(variables.get("_conversation"), context.get("repeatIndex"))


def call_number(variables: Mapping[str, Any], thread: str) -> int:
    """Return which call in the thread this is, from 1, as far as promptfoo tells."""
    before, calls = read_session_id(_text(variables.get("sessionId")) or "")
    return calls + 1 if before == thread else 1


def earlier_thread(conversation: Any, repeat_index: Any) -> str | None:
    """Return the thread of the conversation's last call that had one.

    Repeats share promptfoo's list of calls, and a call that failed early has no thread.
    """
    calls = conversation if isinstance(conversation, list) else []
    for call in reversed(calls):
        metadata = _mapping(_mapping(call).get("metadata"))
        repeat = _mapping(metadata.get("run")).get("repeatIndex", repeat_index)
        thread = _text(metadata.get("thread"))
        if thread is None:  # promptfoo's simulated user leaves no more than this
            thread = _text(read_session_id(_text(metadata.get("sessionId")) or "")[0])
        if repeat == repeat_index and thread is not None:
            return thread
    return None


def said_before(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the messages of the conversation's earlier calls, of this repeat."""
    conversation = _mapping(context.get("vars")).get("_conversation")
    repeat_index = context.get("repeatIndex")
    said: list[str] = []
    for call in conversation if isinstance(conversation, list) else []:
        metadata = _mapping(_mapping(call).get("metadata"))
        if _mapping(metadata.get("run")).get("repeatIndex", repeat_index) != repeat_index:
            continue
        turns = metadata.get("turns")
        for turn in turns if isinstance(turns, list) else []:
            user = _mapping(turn).get("user")
            said += [user] if isinstance(user, str) else []
    return tuple(said)


def _is_template(value: Any) -> bool:
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
