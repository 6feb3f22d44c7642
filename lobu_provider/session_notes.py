"""What a call writes into the ledger about its session, and whether it does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from lobu_provider import ledger
from lobu_provider.config.settings import Settings
from lobu_provider.process_mark import ProcessMark, own_mark


def marker_of(settings: Settings) -> str:
    """Return a short text that is the same for the same account and config, in every process.

    It is made of where the token comes from, not of the token, and tells two providers apart that
    talk to the same agent as different users.
    """
    config = settings.config
    source = [config.token_env, config.token_file, config.token_command, bool(config.token)]
    parts = [settings.gateway, settings.agent_id, settings.org, sorted(settings.headers), source]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class SessionNotes:
    """The notes on one session, from before its creation to its end; see :func:`notes_for`."""

    evaluation_id: str
    gateway: str
    agent_id: str
    thread: str
    marker: str
    owner: ProcessMark | None = None
    """The process with whose end nobody deletes the session any more; by default promptfoo."""

    def creating(self) -> None:
        """Note that the create call is about to be sent: its reply may never be read."""
        self.created("")

    def created(self, session_id: str) -> None:
        """Note that the session is there."""
        ledger.note_created(
            self.evaluation_id,
            self.gateway,
            session_id,
            self.agent_id,
            self.thread,
            marker=self.marker,
            owner=self.owner,
        )

    def gone(self) -> None:
        """Note that it was deleted, or that the gateway has refused to make it."""
        ledger.note_deleted(self.evaluation_id, self.gateway, self.agent_id, self.thread)


def notes_for(settings: Settings, evaluation_id: Any, thread: str) -> SessionNotes | None:
    """Return what to note a call's session with.

    Args:
        settings: the provider's configuration.
        evaluation_id: ``context["evaluationId"]``, whatever that holds.
        thread: the session's thread.

    Returns:
        ``None`` where nothing is to be noted: outside of a run, with the embedded gateway, and for
        sessions that are meant to stay (a pinned ``thread``, ``keepSession``).
    """
    config = settings.config
    stays = config.thread is not None or config.keep_session
    if not isinstance(evaluation_id, str) or not evaluation_id or settings.is_scripted or stays:
        return None
    gateway, agent_id = settings.gateway, settings.agent_id
    return SessionNotes(evaluation_id, gateway, agent_id, thread, marker_of(settings))


class CheckNotes(SessionNotes):
    """The notes on a session that is made only to see whether that works: a run of its own."""

    def gone(self) -> None:
        """Note that nothing is left, and remove the run's file."""
        super().gone()
        ledger.forget(self.evaluation_id)


def notes_for_check(settings: Settings, thread: str) -> CheckNotes:
    """Return what to note the session of a check with, which ends with this very process."""
    run, marker = f"check-{uuid4()}", marker_of(settings)
    return CheckNotes(run, settings.gateway, settings.agent_id, thread, marker, own_mark())
