"""What is done with cassettes, from the config keys and the environment together.

The variables win over the config file, so that a suite is switched without editing it; the
process's own over those of the file's ``env:`` block.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, cast, get_args

from lobu_provider.config.environment import Environment
from lobu_provider.config.model import ProviderConfig
from lobu_provider.config.redact_rules import RedactRules, read_redact_rules
from lobu_provider.errors import config_error

MODE_VARIABLE: Final = "LOBU_CASSETTE_MODE"
FOLDER_VARIABLE: Final = "LOBU_CASSETTES"

Mode = Literal["off", "record", "replay", "auto"]


@dataclass(frozen=True)
class CassetteRules:
    """Where the cassettes lie and what to do with them."""

    mode: Literal["record", "replay", "auto"]
    folder: Path
    speed: float | None = None
    """How many times faster than recorded; ``None`` without any wait."""
    redact: RedactRules = field(default_factory=RedactRules)


def read_cassette_rules(
    config: ProviderConfig, env: Environment, base_dir: Path
) -> CassetteRules | None:
    """Return the rules; ``None`` where cassettes are off.

    Raises:
        ConfigError: a variable's value is none of the modes, a mode has no folder, a key has no
            sense without a folder, or what is to be masked cannot be read.
    """
    mode = _mode(config, env)
    folder = cassette_variable(env, FOLDER_VARIABLE) or config.cassettes
    redact = read_redact_rules(config.cassette_redact)
    if folder is None:
        _refuse_without_folder(config, env, mode)
        return None
    name = config.cassette_set
    if name is not None and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", name.strip()):
        raise config_error(
            f"config.cassetteSet: {name!r} is no name of a folder. Expected letters, digits, "
            "'-', '_' and '.', e.g. staging."
        )
    if mode == "off":
        return None
    path = base_dir / Path(folder).expanduser()
    return CassetteRules(
        mode=mode,
        folder=path if name is None else path / name.strip(),
        speed=config.cassette_speed,
        redact=redact,
    )


def _mode(config: ProviderConfig, env: Environment) -> Mode:
    given = cassette_variable(env, MODE_VARIABLE)
    if given is None:
        return config.cassette_mode or "off"
    if given not in get_args(Mode):
        raise config_error(
            f"{MODE_VARIABLE}: {given[:80]!r} is no mode. Expected one of "
            f"{', '.join(get_args(Mode))}."
        )
    return cast("Mode", given)


def cassette_variable(env: Environment, name: str) -> str | None:
    """Return what one of the variables says; ``None`` where it is not set.

    Args:
        env: with the config file's ``env:`` block.
        name: :data:`MODE_VARIABLE` or :data:`FOLDER_VARIABLE`.
    """
    return os.environ.get(name, "").strip() or env.get(name)


def _refuse_without_folder(config: ProviderConfig, env: Environment, mode: Mode) -> None:
    where = f"Name it in config.cassettes or {FOLDER_VARIABLE}"
    if mode != "off":
        by_variable = cassette_variable(env, MODE_VARIABLE) is not None
        source = MODE_VARIABLE if by_variable else "config.cassetteMode"
        raise config_error(f"{source} is {mode!r}, and no folder of cassettes is given. {where}.")
    given = {
        "cassetteSet": config.cassette_set,
        "cassetteSpeed": config.cassette_speed,
        "cassetteRedact": config.cassette_redact or None,
    }
    for key, value in given.items():
        if value is not None:
            raise config_error(
                f"config.{key} says something of cassettes, and no folder of cassettes is given. "
                f"{where}, or remove it."
            )
