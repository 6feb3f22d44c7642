"""What the turns of a conversation look like in promptfoo's ``metadata``.

People assert on these keys; the README documents each. What the gateway did not tell is absent.
Never here: ``http``, on which promptfoo would abort a whole run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from lobu_provider.assertions.names import same_name
from lobu_provider.json_safe import json_safe, safe_text
from lobu_provider.json_starts import start_of
from lobu_provider.promptfoo.json_cuts import json_bytes
from lobu_provider.promptfoo.structures import Taken
from lobu_provider.redaction import CUT, Redactor, named_by_keys
from lobu_provider.secret_names import hidden_in_json
from lobu_provider.turn import ToolCall, Turn

RETRIEVAL_TOOLS: Final = frozenset({"search_memory", "lobu_search_memory"})
"""The tools whose results carry snippets, in every gateway version."""

_WIRE_KEYS: Final = frozenset({"messageId", "timestamp", "processedMessageIds", "type"})
"""Keys of a tool event that say nothing about the call."""

_MAX_RAW: Final = 100_000
"""Characters that are kept of an event that is no JSON."""

_MESSAGES: Final = json.JSONEncoder(ensure_ascii=False)
"""One for all: ``json.dumps`` would make a new one for each call."""


def describe_turns(turns: Sequence[Turn], retrieval_tools: Iterable[str] = ()) -> dict[str, Any]:
    """Return the metadata that the turns give, all of it in the order in which it happened.

    Before it is shown, :func:`hide_named` is to look at it.

    Args:
        turns: the turns of one conversation, a failed last one included.
        retrieval_tools: names beside :data:`RETRIEVAL_TOOLS` whose snippets count as context.
    """
    names = RETRIEVAL_TOOLS.union(retrieval_tools)
    snippets = list(_snippets(turns, names))
    trace_ids = [turn.trace_id for turn in turns if turn.trace_id is not None]
    return {
        **({"traceId": trace_ids[-1]} if trace_ids else {}),
        **({"possiblyTruncated": True} if any(t.possibly_truncated for t in turns) else {}),
        "toolCalls": [
            _tool_call(call, number)
            for number, turn in enumerate(turns, start=1)
            for call in turn.tool_calls
        ],
        **({"retrievedContext": "\n\n".join(snippets)} if snippets else {}),
        "retrievedSnippets": snippets,
        "turns": [_turn(turn, number) for number, turn in enumerate(turns, start=1)],
        "interactions": [
            {**event.data, "type": event.name, "turn": number}
            for number, turn in enumerate(turns, start=1)
            for event in turn.interactions
        ],
        "messages": _MESSAGES.encode(_messages(turns)),
    }


def _tool_call(call: ToolCall, turn: int) -> dict[str, Any]:
    told = {key: value for key, value in call.data.items() if key not in _WIRE_KEYS}
    return {**told, "name": call.name, "turn": turn}


def _turn(turn: Turn, number: int) -> dict[str, Any]:
    first_text_s = turn.first_text_latency_s
    optional = {
        "messageId": turn.message_id,
        "latencyMs": milliseconds(turn.latency_s),
        "firstTextMs": milliseconds(first_text_s),
        "traceId": turn.trace_id,
        "streamedText": turn.streamed_text if _was_replaced(turn) else None,
        "reconnects": turn.reconnects or None,
        "cutShort": turn.cut_short,
        "timesSent": turn.times_sent if turn.times_sent > 1 else None,
        "mergedWith": list(turn.merged_with) or None,
        "awaitingHumanDecision": turn.awaiting_human_decision or None,
        "suggestions": list(turn.suggestions) or None,
        "otherEvents": [{"event": one.name, "data": one.data} for one in turn.other_events] or None,
        "error": turn.failure.code if turn.failure is not None else None,
    }
    return {
        "turn": number,
        "user": turn.user_text,
        "output": turn.output,
        "toolCallIds": [call.tool_call_id for call in turn.tool_calls if call.tool_call_id],
        **{key: value for key, value in optional.items() if value is not None},
    }


def _was_replaced(turn: Turn) -> bool:
    return turn.streamed_text.strip() != turn.output.strip()


def hide_named(metadata: Mapping[str, Any], max_bytes: int) -> Taken:
    """Hide in ``otherEvents`` what their names tell to be secret; return what was cut for that.

    Args:
        metadata: of :func:`describe_turns`, without what has too many values; changed in place.
        max_bytes: that the row may have. Of a turn's events no more characters are kept, as each
            is searched for each secret.
    """
    cut = 0
    for turn in metadata["turns"]:
        events = [one for one in turn.get("otherEvents", ()) if isinstance(one, dict)]
        if not events:  # there are none, or a note
            continue
        told = json_safe([event["data"] for event in events])
        known = Redactor(named_by_keys(told))
        kept: list[dict[str, Any]] = start_of(told, max_bytes, known, CUT)
        size = json_bytes(told)
        cut += size - json_bytes(kept) if size > max_bytes else 0
        turn["otherEvents"] = [
            {**event, "data": data}
            for event, data in zip(events, _without_named(kept, known), strict=False)
        ]
    return Taken(frozenset({"turns[].otherEvents"} if cut else ()), cut)


def _without_named(told: list[dict[str, Any]], known: Redactor) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = known.json(hidden_in_json(told))
    for data in shown:
        if isinstance(raw := data.get("raw"), str):  # no JSON, but it may be meant as such
            data["raw"] = known.shortened(raw, _MAX_RAW)
    return shown


def _messages(turns: Iterable[Turn]) -> list[dict[str, str]]:
    """The conversation as role/content pairs, for the Messages tab of ``promptfoo view``."""
    return [
        {"role": role, "content": safe_text(content)}
        for turn in turns
        for role, content in (("user", turn.user_text), ("assistant", turn.output))
    ]


def _snippets(turns: Iterable[Turn], names: frozenset[str]) -> Iterator[str]:
    """Yield the text of each snippet once, and no two of the same id and text.

    Tools of other servers may count their hits from 1 in each search.
    """
    seen: set[Any] = set()
    counts = cache(partial(is_retrieval, names=names))
    for call in (call for turn in turns for call in turn.tool_calls):
        if not counts(call.name):
            continue
        for snippet in _list(_mapping(call.data.get("result_summary")).get("snippets")):
            text, key = _mapping(snippet).get("text"), _snippet_key(_mapping(snippet))
            if isinstance(text, str) and text.strip() and key not in seen:
                seen.add(key)
                yield text


def _snippet_key(snippet: Mapping[str, Any]) -> str:
    return json.dumps(json_safe([snippet.get("id"), snippet.get("text")]))


def is_retrieval(tool_name: str, names: Iterable[str]) -> bool:
    """Return whether a tool is one of ``names``, however gateway and config write it."""
    return any(same_name(name, tool_name) for name in names)


def milliseconds(seconds: float | None) -> int | None:
    """Return whole milliseconds."""
    return None if seconds is None else round(seconds * 1000)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
