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
    the author's own, which differs from the test's where it holds a template or names a file.
    """
    variables = mapping_of(context.get("vars"))
    session = text_of(variables.get("sessionId"))
    own = mapping_of(mapping_of(context.get("test")).get("vars")).get("sessionId")
    if session is not None and session != text_of(own):
        thread = text_of(read_session_id(session)[0])
        if thread is not None and (text_of(own) is None or may_be_fresh_thread(thread)):
            return thread
    return earlier_thread(variables.get("_conversation"), context.get("repeatIndex"))


def call_number(variables: Mapping[str, Any], thread: str) -> int:
    """Return which call in the thread this is, from 1, as far as promptfoo tells."""
    before, calls = read_session_id(text_of(variables.get("sessionId")) or "")
    return calls + 1 if before == thread else 1


def earlier_thread(conversation: Any, repeat_index: Any) -> str | None:
    """Return the thread of the conversation's last call that had one; one that failed has none."""
    for metadata in reversed(_calls_of_repeat(conversation, repeat_index)):
        thread = text_of(metadata.get("thread"))
        if thread is None:  # promptfoo's simulated user leaves no more than this
            thread = text_of(read_session_id(text_of(metadata.get("sessionId")) or "")[0])
        if thread is not None:
            return thread
    return None


def said_before(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the messages of the conversation's earlier calls, of this repeat."""
    conversation = mapping_of(context.get("vars")).get("_conversation")
    said: list[str] = []
    for metadata in _calls_of_repeat(conversation, context.get("repeatIndex")):
        turns = metadata.get("turns")
        for turn in turns if isinstance(turns, list) else []:
            user = mapping_of(turn).get("user")
            said += [user] if isinstance(user, str) else []
    return tuple(said)


def _calls_of_repeat(conversation: Any, repeat_index: Any) -> list[Mapping[str, Any]]:
    """The metadata of the conversation's calls: repeats share promptfoo's list of them."""
    calls = conversation if isinstance(conversation, list) else []
    told = [mapping_of(mapping_of(call).get("metadata")) for call in calls]
    return [
        metadata
        for metadata in told
        if mapping_of(metadata.get("run")).get("repeatIndex", repeat_index) == repeat_index
    ]


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def text_of(value: Any) -> str | None:
    """Return a text that is more than white space as it is, and ``None`` for anything else."""
    return value if isinstance(value, str) and value.strip() else None
