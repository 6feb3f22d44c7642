"""Which gateways, agents and accounts the providers of a suite name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lobu_provider.ci import is_ci
from lobu_provider.config.settings import Settings, load_settings
from lobu_provider.errors import LobuError
from lobu_provider.extension.suite import SeenProvider
from lobu_provider.probe.finding import TimeBudget
from lobu_provider.probe.gateway import Target, resolve, token_fix
from lobu_provider.redaction import Redactor

_TOKEN_LIMIT_S: Final = 1.5


@dataclass
class Targets:
    """What was found; sentences are without secrets once they went through ``redactor``."""

    reachable: list[Target] = field(default_factory=list)
    """Those that a gateway on the network answers."""
    faults: list[str] = field(default_factory=list)
    """Why a provider cannot work, and what to do."""
    notes: list[str] = field(default_factory=list)
    """What could not be looked at."""
    secrets: list[str | None] = field(default_factory=list)

    @property
    def redactor(self) -> Redactor:
        """Hides the secrets of all of them."""
        return Redactor(self.secrets)


def find_targets(providers: Iterable[SeenProvider], budget: TimeBudget) -> Targets:
    """Check the configuration of each provider, and find its token.

    Args:
        providers: of one suite.
        budget: a ``tokenCommand`` that takes longer is a note, not a fault.
    """
    found = Targets()
    for provider in providers:
        if not provider.is_whole:
            found.notes.append(
                f"{provider.where} was not looked at: the npm package tells no secrets to a Python "
                "hook. Use the hook that comes with it; see docs/extension.md."
            )
            continue
        _find(provider, found, budget)
    return found


def _find(provider: SeenProvider, found: Targets, budget: TimeBudget) -> None:
    found.secrets += _given_secrets(provider.options)
    try:
        settings = load_settings(provider.options)
    except LobuError as error:
        found.faults.append(f"{provider.where}: [{error.failure.code}] {error.failure.message}")
        return
    found.secrets += settings.secrets
    if settings.is_scripted or _replays(settings):  # nothing on the network answers
        return
    asked = TimeBudget(budget.at_most(_TOKEN_LIMIT_S))
    try:
        target = resolve(provider.where, settings, asked)
    except LobuError as error:
        if settings.config.token_command is not None and asked.is_spent:
            found.notes.append(f"{provider.where} was not checked: config.tokenCommand is slow.")
        else:
            found.faults.append(
                f"{provider.where}: [{error.failure.code}] {error.failure.message}\n"
                f"    Fix: {token_fix(settings)}"
            )
        return
    found.secrets.append(target.token)
    found.reachable.append(target)


def _replays(settings: Settings) -> bool:
    """Return whether cassettes answer. In CI with 'auto' only those that are missing need more."""
    rules = settings.cassettes
    return rules is not None and (rules.mode == "replay" or (rules.mode == "auto" and is_ci()))


def _given_secrets(options: Mapping[str, Any]) -> list[str | None]:
    config = options.get("config")
    given = config if isinstance(config, Mapping) else {}
    headers = given.get("headers")
    values = [given.get("token"), *(headers.values() if isinstance(headers, Mapping) else ())]
    return [value for value in values if isinstance(value, str)]
