"""Read a prompt that is a JSON chat: how promptfoo passes conversations to a provider.

``promptfoo:simulated-user``, red-team strategies and prompt templates over ``_conversation`` hand
over ``[{"role": ..., "content": ...}, ...]`` as text. The agent keeps its own memory of a thread,
so only what is new is sent, never the history again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from lobu_provider.blank import is_blank
from lobu_provider.errors import config_error
from lobu_provider.json_safe import parse_json


class ChatPrompt(NamedTuple):
    """The user messages after the last assistant message, and what precedes them."""

    new_messages: list[str]
    history_length: int
    """Messages up to and including the last assistant message, system messages not counted."""
    has_system: bool


def read_chat_prompt(prompt: str) -> ChatPrompt | None:
    """Return the chat that a prompt holds; ``None`` for a plain prompt.

    Raises:
        ConfigError: a chat without a new user message, or a message that is not text.
    """
    chat = _as_chat(prompt)
    if chat is None:
        return None
    messages = [message for message in chat if message["role"] not in ("system", "developer")]
    ends = [index for index, message in enumerate(messages) if message["role"] != "user"]
    start = ends[-1] + 1 if ends else 0
    new_messages = [_text(message["content"]) for message in messages[start:]]
    new_messages = [text for text in new_messages if not is_blank(text)]
    if not new_messages:
        raise config_error(
            "The prompt is a JSON chat without a user message at its end, so there is nothing "
            "to send. Expected the last item to be {role: user, content: TEXT}."
        )
    return ChatPrompt(new_messages, history_length=start, has_system=len(messages) < len(chat))


def _as_chat(prompt: str) -> list[Mapping[str, Any]] | None:
    if not prompt.lstrip().startswith("["):
        return None
    try:
        value = parse_json(prompt)
    except ValueError:
        return None
    if not isinstance(value, list) or not value:
        return None
    return value if all(_is_message(item) for item in value) else None


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("role"), str) and "content" in item


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(_is_text_part(part) for part in content):
        return "\n".join(part["text"] for part in content)
    raise config_error(
        "The prompt is a JSON chat with a message whose content is not text; the Agent API takes "
        "text only."
    )


def _is_text_part(part: Any) -> bool:
    return (
        isinstance(part, Mapping)
        and part.get("type") in ("text", "input_text")
        and isinstance(part.get("text"), str)
    )
