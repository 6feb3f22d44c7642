"""Which cassette a call is recorded to or replayed from, and what is told when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lobu_provider.cassettes.clashes import Clash, put, run_mark
from lobu_provider.cassettes.key import CassetteKey
from lobu_provider.cassettes.masking import Masker
from lobu_provider.cassettes.player import Player
from lobu_provider.cassettes.reading import CassetteFault, read_cassette
from lobu_provider.cassettes.shelf import Shelf
from lobu_provider.cassettes.tape import Tape
from lobu_provider.cassettes.uses import note_use
from lobu_provider.cassettes.written import written
from lobu_provider.ci import is_ci
from lobu_provider.config.cassette_rules import CassetteRules
from lobu_provider.config.settings import Settings
from lobu_provider.errors import failure
from lobu_provider.promptfoo.call_plan import CallPlan
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.tape_faults import clash, fault, missing, record_again, shown_path

_UNSAVED = frozenset({"cancelled", "internal", "cassette"})
"""Codes of calls that did not come to an end of their own."""


@dataclass(frozen=True)
class Replay:
    """A call that a cassette answers."""

    player: Player
    speed: float | None
    told: Mapping[str, Any]
    """For ``metadata.cassette``."""


@dataclass(frozen=True)
class Recording:
    """A call that goes to the gateway and onto a tape."""

    rules: CassetteRules
    key: CassetteKey
    description: str | None
    base_dir: Path
    run: str | None
    """promptfoo's, where there is one."""
    tape: Tape = field(default_factory=Tape)

    def save(self, record: CallRecord) -> None:
        """Write the cassette of a call that has ended; ``record`` is told how that went."""
        failed = record.first_failure
        if failed is not None and failed.code in _UNSAVED:
            record.warnings.append(
                f"The call was not recorded, since it did not end by itself ({failed.code})."
            )
            return
        if not self.tape.requests:
            return
        shelf = Shelf(self.rules.folder)
        masker = Masker([*record.secrets, *self.tape.tokens], self.rules.redact)
        title = _title(self.key, self.description, masker)
        at = datetime.now(tz=timezone.utc).isoformat(timespec="seconds")
        try:
            if self.tape.is_too_big:
                raise OSError("more than 64 MB came")
            path = put(shelf, self.key, title, self._written(masker, at))
        except Clash as exc:
            self._fail(record, clash(shown_path(exc.path, self.base_dir)))
            return
        except OSError as exc:
            shown = shown_path(shelf.place_for(self.key, title), self.base_dir)
            self._fail(record, f"The cassette {shown} was not written: {exc.strerror or exc}.")
            return
        shown = shown_path(path, self.base_dir)
        if self.run is not None:
            note_use(self.rules.folder, self.run, path)
        record.cassette = {"mode": "recorded", "file": shown, "recordedAt": at}
        if masker.has_masked:
            record.warnings.append(
                f"Something was masked in the cassette {shown}, so a replay says *** there."
            )

    def _written(self, masker: Masker, at: str) -> str:
        about = about_of(self.key, self.description)
        mark = run_mark(self.run)
        return written(self.tape, about, masker, recorded_at=at, by=_version(), mark=mark)

    @staticmethod
    def _fail(record: CallRecord, said: str) -> None:
        if record.first_failure is None:
            record.failure = failure("cassette", said, phase="turn")
        else:
            record.warnings.append(said)


def tape_for(
    settings: Settings, plan: CallPlan, context: Mapping[str, Any] | None
) -> Recording | Replay | None:
    """Return how a call is recorded or replayed; ``None`` where it is neither.

    Args:
        settings: the provider's configuration.
        plan: what is to be said.
        context: promptfoo's.

    Raises:
        ConfigError: there is no usable cassette to replay, or no folder to record to.
    """
    rules = settings.cassettes
    if rules is None or (rules.mode == "auto" and not is_ci()):
        return None
    key, description = _key(settings, plan, context), _description(context)
    shelf = Shelf(rules.folder)
    if rules.mode == "record":
        try:
            shelf.prepare()
        except OSError as exc:
            raise fault(
                f"The folder {str(rules.folder)!r} of config.cassettes cannot be written to: "
                f"{exc.strerror or exc}. Name another one, or make this one writable."
            ) from None
        return Recording(rules, key, description, settings.base_dir, plan.evaluation_id)
    title = _title(key, description, Masker(settings.secrets, rules.redact))
    path = shelf.place_for(key, title)
    shown = shown_path(path, settings.base_dir)
    if not path.exists():
        if rules.mode == "auto":
            return None
        raise missing(shelf, about_of(key, description), shown)
    try:
        cassette = read_cassette(path)
    except CassetteFault as exc:
        raise fault(f"The cassette {shown} cannot be replayed: {exc}. {record_again()}") from None
    if plan.evaluation_id is not None:
        note_use(rules.folder, plan.evaluation_id, path)
    told = {"mode": "replayed", "file": shown, "recordedAt": cassette.recorded_at}
    return Replay(Player(cassette, shown, record_again()), rules.speed, told)


def _title(key: CassetteKey, description: str | None, masker: Masker) -> str:
    return masker.text(description or (key.turns[0] if key.turns else ""))


def about_of(key: CassetteKey, description: str | None) -> dict[str, Any]:
    """Return a cassette's first line but for its format."""
    return {
        **({"description": description} if description else {}),
        "key": key.digest,
        **key.told(),
    }


def _key(settings: Settings, plan: CallPlan, context: Mapping[str, Any] | None) -> CassetteKey:
    config = settings.config
    given = context.get("repeatIndex") if isinstance(context, Mapping) else None
    return CassetteKey(
        agent=settings.agent_id,
        turns=plan.messages,
        before=plan.said_before,
        repeat=given if isinstance(given, int) else 0,
        org=settings.org,
        model=config.model,
        provider=config.provider,
        dry_run=config.dry_run if not config.dry_run else None,
        ephemeral_context=config.ephemeral_context,
        thread=config.thread,
    )


def _description(context: Mapping[str, Any] | None) -> str | None:
    test = context.get("test") if isinstance(context, Mapping) else None
    found = test.get("description") if isinstance(test, Mapping) else None
    return found if isinstance(found, str) and found.strip() else None


def _version() -> str:
    try:
        return version("lobu-provider")
    except PackageNotFoundError:  # run from its source, without an installation
        return "unknown"
