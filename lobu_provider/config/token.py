"""Find the token, check its form, and never show it.

Sources, of which a config may name one: ``token``, ``tokenEnv``, ``tokenFile``, ``tokenCommand``;
with none of them, ``LOBU_TOKEN``.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from lobu_provider.config.environment import quoted_name
from lobu_provider.config.model import ProviderConfig
from lobu_provider.config.settings import Settings
from lobu_provider.errors import ConfigError, config_error

COMMAND_TIMEOUT_S: Final = 10.0
COMMAND_CACHE_S: Final = 300.0
"""How long a command's token is reused in one process: logins refresh, evals run for hours."""

MAX_TOKEN_BYTES: Final = 65_536
"""Read from a file or command; a token is far shorter, and a header could not carry more."""

_one_command = threading.Lock()
_running_commands: set[subprocess.Popen[bytes]] = set()

_command_tokens: dict[tuple[str, tuple[str, ...]], tuple[float, str]] = {}


def find_token(settings: Settings, *, limit_s: float = COMMAND_TIMEOUT_S) -> str | None:
    """Return the bearer token; ``None`` for the embedded gateway when none is configured.

    Args:
        settings: where the token comes from.
        limit_s: bound on ``tokenCommand`` in seconds; 10 at most.

    Raises:
        ConfigError: no source, two sources, an unreadable source, or a value that cannot be a
            token. The value is never part of the message.
    """
    config = settings.config
    named = named_sources(config)
    if len(named) > 1:
        raise config_error(f"config: {' and '.join(named)} are given; keep one of them.")
    if config.token is not None:
        return check_token(config.token, "config.token")
    if config.token_env is not None:
        return _from_env(settings, config.token_env)
    if config.token_file is not None:
        return _from_file(settings.base_dir, config.token_file)
    if config.token_command is not None:
        return _from_command(settings, config.token_command, min(limit_s, COMMAND_TIMEOUT_S))
    return _from_lobu_token(settings)


def may_block(settings: Settings) -> bool:
    """Return whether :func:`find_token` reads a file or starts a command."""
    return settings.config.token_file is not None or settings.config.token_command is not None


def named_sources(config: ProviderConfig) -> list[str]:
    """Return which of the keys that give a token are in the config; more than one is a fault."""
    given = {
        "token": config.token,
        "tokenEnv": config.token_env,
        "tokenFile": config.token_file,
        "tokenCommand": config.token_command,
    }
    return [key for key, value in given.items() if value is not None]


def check_token(raw: str, source: str) -> str:
    """Return the token without surrounding white space.

    Raises:
        ConfigError: the value cannot be a token; the message names ``source`` and the fix.
    """
    token = raw.strip()
    if not token:
        raise config_error(f"{source} is blank.{_HOW_TO_GET}")
    if "{{" in token:
        raise config_error(
            f"{source} holds a template that promptfoo did not fill in. Remove it and set "
            "LOBU_TOKEN in the environment; promptfoo would store a templated token."
        )
    if token.lower().startswith("bearer"):
        rest = token[len("bearer") :]
        if rest[:1].isspace() or rest[:1] == ":":
            raise config_error(f"{source} starts with 'Bearer': give the token alone.")
    if token[0] == token[-1] and token[0] in "'\"":
        raise config_error(f"{source} stands in quotes: give the token alone.")
    if any(character.isspace() for character in token):
        raise config_error(
            f"{source} holds white space, so it is not a token; "
            "'lobu token' without --raw prints a status text. Use: lobu token --raw"
        )
    if not (token.isascii() and token.isprintable()):
        raise config_error(f"{source} holds characters that no token has.{_HOW_TO_GET}")
    return token


_HOW_TO_GET: Final = " Get one with: lobu token --raw"


def _from_lobu_token(settings: Settings) -> str | None:
    token = settings.env.get("LOBU_TOKEN")
    if token is not None:
        return check_token(token, "LOBU_TOKEN")
    if settings.is_scripted:
        return None
    raise config_error(
        f"No token for the gateway {settings.gateway}: set LOBU_TOKEN, or tokenEnv, tokenFile or "
        f"tokenCommand in the provider's config.{_HOW_TO_GET}"
    )


def _from_env(settings: Settings, name: str) -> str:
    token = settings.env.get(name)
    if token is None:
        raise config_error(
            f"config.tokenEnv: the environment variable {quoted_name(name)} is not set."
            f"{_HOW_TO_GET}"
        )
    return check_token(token, f"The environment variable {name!r} (config.tokenEnv)")


def _from_file(base_dir: Path, name: str) -> str:
    try:
        path = base_dir / Path(name).expanduser()
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would hold the call for ever
            raise ValueError("not a regular file")
        with path.open("rb") as file:
            raw = file.read(MAX_TOKEN_BYTES).decode("utf-8-sig")
    except (OSError, ValueError, RuntimeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "not a regular text file"
        # Not the value: promptfoo puts a file's content in the place of "file://token.txt".
        raise config_error(
            f"config.tokenFile: no token can be read from there: {reason}. Expected the path of a "
            f"text file, relative to {str(base_dir.absolute())!r}, without 'file://' in front."
        ) from None
    return check_token(raw, f"The file {path.name!r} (config.tokenFile)")


def _from_command(settings: Settings, command: str | list[str], limit_s: float) -> str:
    arguments = _arguments(command)
    with _one_command:  # many calls at once must not start it many times
        return _cached_or_run(settings, arguments, limit_s)


def _cached_or_run(settings: Settings, arguments: tuple[str, ...], limit_s: float) -> str:
    key = (os.path.abspath(settings.base_dir), arguments)
    cached = _command_tokens.get(key)
    if cached is not None and time.monotonic() - cached[0] < COMMAND_CACHE_S:
        return cached[1]
    token = check_token(
        _run(arguments, settings.base_dir, limit_s),
        f"What {arguments[0]!r} printed (config.tokenCommand)",
    )
    _command_tokens[key] = (time.monotonic(), token)
    return token


def forget_command_tokens() -> None:
    """Have the commands run anew: the gateway did not accept what they printed last."""
    _command_tokens.clear()


def _arguments(command: str | list[str]) -> tuple[str, ...]:
    try:
        arguments = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as exc:
        raise config_error(f"config.tokenCommand: cannot be split into words: {exc}.") from None
    if not arguments or not arguments[0]:
        raise config_error("config.tokenCommand: expected a command; got none.")
    return arguments


def _run(arguments: Sequence[str], base_dir: Path, limit_s: float) -> str:
    """Return what the command printed, once it has ended itself; what it started may go on."""
    # A file and not a pipe: a child that stays behind would hold a pipe open.
    with _temporary_file() as printed:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.DEVNULL,
                cwd=base_dir,
                start_new_session=True,
            )
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else str(exc)
            if isinstance(exc, FileNotFoundError):
                reason = "there is no such program on PATH"
            # Not its name: a token that somebody put there is no command either.
            raise config_error(
                f"config.tokenCommand: the command cannot be started: {reason}. "
                "Expected a program and its arguments, e.g. lobu token --raw"
            ) from None
        _running_commands.add(process)
        try:
            exit_code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            raise _command_fault(arguments, f"did not end within {limit_s:g} s") from None
        finally:
            _running_commands.discard(process)
        if exit_code != 0:
            raise _command_fault(arguments, f"ended with exit code {exit_code}")
        printed.seek(0)
        return printed.read(MAX_TOKEN_BYTES).decode("utf-8", "replace")


def _temporary_file() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile()
    except OSError as exc:
        raise config_error(
            "config.tokenCommand: no temporary file can be made for what the command prints: "
            f"{exc.strerror or exc}. Set TMPDIR to a folder that can be written, or give the token "
            "by LOBU_TOKEN."
        ) from exc


@atexit.register
def end_running_commands() -> None:
    """Kill the commands that still run: they are in sessions of their own and would go on."""
    for process in list(_running_commands):
        _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):  # it ended in this moment
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _command_fault(arguments: Sequence[str], what: str) -> ConfigError:
    # Only the program's name, and nothing that it printed: both can hold a secret.
    return config_error(
        f"config.tokenCommand: {arguments[0]!r} {what}. Run it in a shell to see what it prints."
    )
