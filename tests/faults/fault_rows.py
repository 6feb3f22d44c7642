"""Hold a conversation with a faulty gateway, and check that its row is whole, whatever it says."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.wire.wire_answers import (
    CONNECTED,
    AfterMessage,
    answers,
    call,
    complete,
    event,
    output,
    stream,
    tool_use,
)
from tests.wire.wire_gateway import SESSION_TOKEN, TOKEN, WireGateway

INFRA: Final = "infrastructure"

TURN: Final = tool_use("lookup", "call_1") + output("Half an ans")
"""What a turn did before its fault."""

END: Final = output("wer.", timestamp=3) + complete(finalText="Half an answer.")

BARE_END: Final = output("wer.", timestamp=3) + complete()
"""As version 11 ends a turn: without the final text."""

PING: Final = event("ping", timestamp=5)

_TEXTS: Final = ("code", "class", "phase")


class Row:
    """The row of one call, and what its gateway was asked."""

    def __init__(self, response: dict[str, Any], gateway: WireGateway) -> None:
        self.gateway = gateway
        self.response = response
        self.output: str = response["output"]
        self.error: str | None = response.get("error")
        self.metadata: dict[str, Any] = response["metadata"]
        self.warnings: list[str] = self.metadata["warnings"]
        self.turns: list[dict[str, Any]] = self.metadata["turns"]

    @property
    def tools(self) -> list[str]:
        return [call["toolCallId"] for call in self.metadata["toolCalls"]]

    def count(self, kind: Any) -> int:
        return len(self.gateway.of_kind(kind))

    def warns(self, words: str) -> bool:
        return any(words in warning for warning in self.warnings)

    def failed(self, code: str, error_class: str, phase: str, *, retryable: bool) -> Row:
        """Assert that the row is this failure."""
        assert self.error is not None, f"a pass, with {self.output!r}"
        assert self.error.startswith(f"[{code}] "), self.error
        told = {key: self.metadata["error"][key] for key in (*_TEXTS, "retryable")}
        expected = {"code": code, "class": error_class, "phase": phase, "retryable": retryable}
        assert told == expected
        return self

    def passed(self, output: str, *tools: str) -> Row:
        """Assert that the row is a pass, with exactly these tool calls."""
        assert (self.error, self.output) == (None, output)
        assert self.tools == list(tools)
        return self

    def kept(self, output: str = "Half an ans", *tools: str) -> Row:
        """Assert what is kept of the last turn, and of all tool calls."""
        assert (self.output, self.tools) == (output, list(tools or ("call_1",)))
        return self


async def held(
    *messages: str,
    config: dict[str, Any] | None = None,
    kept: bool = False,
    evaluation_id: str | None = None,
    **special: Any,
) -> Row:
    """Hold a conversation with a gateway that does ``special`` things; check that the row is whole.

    Args:
        messages: to say; ``"hello"`` unless given.
        config: of the provider.
        kept: the session is to stay at the gateway.
        evaluation_id: of promptfoo's run.
        special: answers to each kind of request, as for :func:`answers`.
    """
    async with WireGateway(answers(**special)) as gateway:
        run = {"evaluationId": evaluation_id} if evaluation_id is not None else None
        told = {**(config or {}), "more_context": run}
        response = await call(gateway.url, *(messages or ("hello",)), **told)
    return whole(response, gateway, kept=kept)


async def heard(
    *parts: bytes | AfterMessage, messages: tuple[str, ...] = ("hello",), **more: Any
) -> Row:
    """The same, with what the stream brings after ``connected`` and the first message."""
    return await held(*messages, events=stream(CONNECTED, AfterMessage(1), *parts), **more)


def whole(response: dict[str, Any], gateway: WireGateway, *, kept: bool = False) -> Row:
    """Assert everything that holds for each row, and return it."""
    text = json.dumps(response, allow_nan=False, ensure_ascii=False)
    text.encode()  # no lone surrogate
    assert TOKEN not in text
    assert SESSION_TOKEN not in text
    assert isinstance(response["output"], str)
    metadata = response["metadata"]
    for key in ("toolCalls", "turns", "warnings", "interactions", "retrievedSnippets"):
        assert isinstance(metadata[key], list), key
    assert isinstance(json.loads(metadata["messages"]), list)
    assert metadata["agent"] == "support-agent"
    error = response.get("error")
    assert ("error" in metadata) == (error is not None)
    if error is not None:
        assert all(isinstance(metadata["error"][key], str) for key in _TEXTS)
        assert isinstance(metadata["error"]["retryable"], bool)
        assert metadata["rateLimitKind"] == "quota", "else promptfoo replays the call"
    row = Row(response, gateway)
    made = row.count("events") + row.count("message") + row.count("delete") > 0
    assert (row.count("delete") > 0) == (made and not kept) or row.warns("left at the gateway")
    return row
