"""What is known of a call while it runs: what the response is built from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lobu_provider.errors import Failure, failure
from lobu_provider.promptfoo.size_limits import failure_of_output
from lobu_provider.turn import Turn


@dataclass(frozen=True)
class FailedAttempt:
    """What is told of an attempt that was repeated."""

    number: int
    thread: str | None
    code: str
    turns_completed: int
    tool_names: Sequence[str]


@dataclass
class CallRecord:
    """What is known of a call, filled in as it goes, so that a failure anywhere loses nothing."""

    agent_id: str | None = None
    thread: str | None = None
    call_number: int = 1
    """Which call in its thread it is, as far as promptfoo tells."""
    gateway_session_id: str | None = None
    turns: Sequence[Turn] = ()
    failure: Failure | None = None
    """Why the call failed; a turn's own failure is taken from the turn."""
    latency_s: float | None = None
    """From the create request to the end of the last turn."""
    warnings: list[str] = field(default_factory=list)
    retrieval_tools: Sequence[str] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    message_count: int = 0
    """How many messages were to be sent: a row without a turn for each is no success."""
    secrets: list[str | None] = field(default_factory=list)
    """Kept out of everything, the agent's own words included."""
    private: list[str] = field(default_factory=list)
    """Kept out of our own texts only, e.g. header values that are plain words."""
    max_metadata_bytes: int = 256 * 1024
    ended_early: str | None = None
    """Why the conversation was ended on purpose before all was said, as a sentence; no failure."""
    cassette: Mapping[str, Any] | None = None
    """For ``metadata.cassette``: which file, and whether it was written or played."""
    attempts: list[FailedAttempt] = field(default_factory=list)
    """Earlier attempts at the case, of which nothing else is here."""

    @property
    def first_failure(self) -> Failure | None:
        """The failure that the row shows: the first turn's that has one, else the call's."""
        in_turn = next((t.failure for t in self.turns if t.failure is not None), None)
        if in_turn is not None or self.failure is not None:
            return in_turn or self.failure
        if self.ended_early is not None:
            return self._failure_of_output
        completed = sum(turn.completed for turn in self.turns)
        if self.message_count and completed == self.message_count:
            return self._failure_of_output
        return failure(
            "internal",
            f"Only {completed} of {self.message_count} turns were completed, and no reason is "
            "known. Please report this.",
            phase="turn",
        )

    @property
    def _failure_of_output(self) -> Failure | None:
        found = failure_of_output(self.turns[-1].output) if self.turns else None
        return None if found is None else found.in_turn(len(self.turns))

    def set_attempt_aside(self, failed: Failure) -> None:
        """Begin anew: what the last attempt left becomes an entry of ``attempts``."""
        names = [call.name for turn in self.turns for call in turn.tool_calls]
        completed = sum(turn.completed and turn.failure is None for turn in self.turns)
        number = len(self.attempts) + 1
        self.attempts.append(FailedAttempt(number, self.thread, failed.code, completed, names))
        self.warnings.append(
            f"Attempt {number} failed after {completed} completed turns and {len(names)} tool "
            "calls, and the case was repeated on a fresh thread (config.retries). What it did "
            f"stays done; metadata.attempts lists it. It failed with {failed}"
        )
        self.thread = self.gateway_session_id = self.failure = self.latency_s = None
        self.ended_early = None
        self.turns = ()
