"""The parts of ``metadata`` that may be cut, and the three ways to make them shorter.

Texts are cut to one length, which takes from the longest; then whole values become notes; then
they go. What is not a part is never touched: the entry of a tool call (name, id, turn,
``isError``), of a turn and of an interaction, the error, the warnings, and ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from lobu_provider.json_safe import parse_json
from lobu_provider.promptfoo.json_cuts import (
    MIN_BYTES,
    cut_text,
    json_bytes,
    json_text,
    level,
    mark,
    text_bytes,
)

ENTRY: Final = {
    "toolCalls": frozenset({"name", "toolCallId", "turn", "isError"}),
    "interactions": frozenset({"type", "turn"}),
}
"""What stays of a tool call and of a card, whatever else goes."""

_TURN_TEXTS: Final = frozenset({"user", "output", "streamedText", "otherEvents", "suggestions"})
_NEVER_DROPPED: Final = frozenset(
    {"messages", "retrievedSnippets", "turns[].user", "turns[].output"}
)
LABELS: Final = (
    "messages",
    "retrievedContext",
    "retrievedSnippets",
    "interactions[]",
    "toolCalls[].input",
    "toolCalls[].result_summary",
    "toolCalls[] other keys",
    *sorted(f"turns[].{key}" for key in _TURN_TEXTS),
)


class Part(NamedTuple):
    """A value that may be cut: ``holder[key]``."""

    holder: dict[str, Any]
    key: str
    label: str


class _Text(NamedTuple):
    """A string inside a part, longer than what nothing is cut to: ``holder[key]``."""

    size: int
    holder: Any
    key: Any
    label: str


def parts_of(metadata: Mapping[str, Any]) -> Iterator[Part]:
    """Yield what may be cut, always in the same order."""
    whole: Any = metadata
    for key in ("messages", "retrievedContext", "retrievedSnippets"):
        if key in whole:
            yield Part(whole, key, key)
    for name, entry in ENTRY.items():
        for item in whole.get(name, ()):
            for key, value in item.items():
                if key not in entry or isinstance(value, (dict, list)):
                    yield Part(item, key, label_of(name, key))
    for turn in whole.get("turns", ()):
        for key in turn:
            if key in _TURN_TEXTS:
                yield Part(turn, key, f"turns[].{key}")


def label_of(name: str, key: str) -> str:
    """Return what a key of an entry is called in ``truncated.cut``."""
    label = f"{name}[].{key}"
    if label in LABELS:
        return label
    return "interactions[]" if name == "interactions" else "toolCalls[] other keys"


def cut_texts(cut: dict[str, Any], parts: Iterable[Part], too_many: int) -> set[str]:
    """Cut the longest strings to one length, the messages' inside their JSON text."""
    messages = _chat(cut.get("messages"))
    texts: list[_Text] = []
    for part in parts:
        if part.label == "messages" and messages is not None:
            texts += _texts(messages, part.label, in_json_text=True)
        else:
            texts += _texts_at(part.holder, part.key, part.label)
    allowed = level([text.size for text in texts], too_many)
    labels = set()
    for text in texts:
        if text.size > allowed:
            inside = text.label == "messages" and messages is not None
            text.holder[text.key] = cut_text(text.holder[text.key], allowed, in_json_text=inside)
            labels.add(text.label)
    if messages is not None:
        cut["messages"] = json.dumps(messages, ensure_ascii=False)
    return labels


def _chat(text: Any) -> list[Any] | None:
    try:
        value = parse_json(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return value if isinstance(value, list) else None


def _texts(value: Any, label: str, *, in_json_text: bool = False) -> Iterator[_Text]:
    keys: Iterable[Any] = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield from _texts_at(value, key, label, in_json_text=in_json_text)


def _texts_at(holder: Any, key: Any, label: str, *, in_json_text: bool = False) -> Iterator[_Text]:
    value = holder[key]
    if isinstance(value, str):
        size = text_bytes(value, in_json_text=in_json_text)
        if size > MIN_BYTES:
            yield _Text(size, holder, key, label)
    else:
        yield from _texts(value, label, in_json_text=in_json_text)


def replace_parts(parts: Iterable[Part], originals: Iterable[Part], too_many: int) -> set[str]:
    """Put notes in the place of whole values, longest first; texts are short enough by now."""
    if too_many <= 0:
        return set()
    found = [
        (json_bytes(part.holder[part.key]), part, original)
        for part, original in zip(parts, originals, strict=True)
        if part.label == "messages" or isinstance(part.holder[part.key], (dict, list))
    ]
    labels = set()
    for size, part, original in sorted(found, key=lambda one: one[0], reverse=True):
        if too_many <= 0 or size <= MIN_BYTES:
            break
        characters = len(json_text(original.holder[original.key]))
        note = note_for(part.label, part.holder[part.key], characters)
        part.holder[part.key] = note
        too_many -= size - json_bytes(note)
        labels.add(part.label)
    return labels


def note_for(label: str, value: Any, characters: int) -> Any:
    """Return a short value of the same type: an assertion finds nothing instead of breaking."""
    if label == "messages":
        return json.dumps([{"role": "system", "content": mark(characters)}])
    return {"cut": mark(characters)} if isinstance(value, dict) else [mark(characters)]


def drop_parts(parts: Iterable[Part], too_many: int) -> set[str]:
    """Remove whole values, longest first, until it is enough or only entries are left."""
    if too_many <= 0:
        return set()
    found = [
        (json_bytes({part.key: part.holder[part.key]}) - 1, part)
        for part in parts
        if part.label not in _NEVER_DROPPED
    ]
    labels = set()
    for saved, part in sorted(found, key=lambda one: one[0], reverse=True):
        if too_many <= 0:
            break
        del part.holder[part.key]
        too_many -= saved
        labels.add(part.label)
    return labels
