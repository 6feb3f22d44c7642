"""Messages that a gateway takes for something else than text, or cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lobu_provider.json_safe import utf16_length

MAX_MESSAGE: Final = 32_000
"""Characters of a message that newer gateways read, in JavaScript's counting."""


def message_warnings(messages: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each message that is not read as it is written; all are sent.

    Args:
        messages: of one conversation, in order.
    """
    for number, message in enumerate(messages, start=1):
        start = message.strip()
        if start.lower() == "/cancel":
            yield (
                f"Turn {number}: newer gateways take the message '/cancel' for a command that "
                "cancels a running turn, and do not answer it."
            )
        if start.startswith("!"):
            yield (
                f"Turn {number}: the message begins with '!', and gateways of versions 14 to 19 "
                "run such a message as a shell command. Put a word in front if it is meant as text."
            )
        length = utf16_length(message)
        if length > MAX_MESSAGE:
            yield (
                f"Turn {number}: the message has {length:,} characters, and newer gateways read "
                f"the first {MAX_MESSAGE:,} without a word about the rest."
            )
