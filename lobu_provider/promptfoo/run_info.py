"""Which run this is: in CI or not, and at which commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.ci import is_ci

_COMMIT_VARIABLES: Final = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
    "GIT_COMMIT",
    "BITBUCKET_COMMIT",
)


def run_info(context: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return ``{"ci": bool, "commit": str, "repeatIndex": int}``; unknown ones are absent.

    ``ci`` is true when the variable ``CI`` is set to anything but ``false`` or ``0``. The commit
    comes from the CI system's variable, else from git in the working directory.
    """
    commit = next((os.environ[name] for name in _COMMIT_VARIABLES if os.environ.get(name)), None)
    repeat = context.get("repeatIndex") if isinstance(context, Mapping) else None
    optional = {"commit": commit or _commit_here(), "repeatIndex": repeat}
    return {"ci": is_ci(), **{key: value for key, value in optional.items() if value is not None}}


def _commit_here() -> str | None:
    try:
        return _git_commit(os.getcwd())
    except FileNotFoundError:  # the working directory was deleted
        return None


def is_known_at_once() -> bool:
    """Return whether :func:`run_info` answers without starting git."""
    if any(os.environ.get(name) for name in _COMMIT_VARIABLES):
        return True
    try:
        return os.getcwd() in _commits
    except FileNotFoundError:
        return True


_commits: dict[str, str | None] = {}
"""By folder, of those for which git was asked."""


def _git_commit(folder: str) -> str | None:
    if folder not in _commits:
        _commits[folder] = _ask_git(folder)
    return _commits[folder]


def _ask_git(folder: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - whichever git the user has
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # no git, or not in time: the commit is unknown
    commit = done.stdout.decode("ascii", "replace").strip()
    return commit if done.returncode == 0 and commit else None
