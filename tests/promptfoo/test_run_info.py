"""``metadata.run``: in CI or not, at which commit, in which repeat."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.promptfoo import run_info as module
from lobu_provider.promptfoo.run_info import run_info

VARIABLES = [
    *("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GIT_COMMIT"),
    "BITBUCKET_COMMIT",
]


@pytest.fixture(autouse=True)
def outside_git_and_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*VARIABLES, *(name for name in os.environ if name.startswith("GIT_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    module._commits.clear()


@pytest.mark.parametrize(
    ("value", "ci"),
    [("true", True), ("1", True), ("woodpecker", True), ("false", False), ("FALSE", False),
     ("0", False), ("", False), (" ", False)],
)  # fmt: skip
def test_ci_is_what_the_variable_says(
    value: str, ci: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", value)
    assert run_info() == {"ci": ci}


def test_without_the_variable_it_is_no_ci() -> None:
    assert run_info() == {"ci": False}


@pytest.mark.parametrize("name", VARIABLES)
def test_the_commit_comes_from_the_ci_systems_variable(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "abc123")
    assert run_info()["commit"] == "abc123"


def test_else_the_commit_comes_from_git(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    told = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    assert run_info()["commit"] == told.stdout.strip()


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert "commit" not in run_info()


@pytest.mark.parametrize(
    "problem", [FileNotFoundError(2, "no git"), subprocess.TimeoutExpired("git", 2)]
)
def test_without_a_working_git_the_commit_is_unknown(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: Any, **__: Any) -> Any:
        raise problem

    monkeypatch.setattr("subprocess.run", run)
    assert run_info() == {"ci": False}


def test_git_is_asked_with_a_bound_and_without_our_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def run(*_: Any, **options: Any) -> Any:
        seen.update(options)
        raise FileNotFoundError

    monkeypatch.setattr("subprocess.run", run)
    run_info()
    assert seen["stdin"] == subprocess.DEVNULL
    assert 0 < seen["timeout"] <= 5
    assert seen["capture_output"] is True


def test_a_deleted_working_directory_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run_info() == {"ci": False}


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ({"repeatIndex": 0}, {"repeatIndex": 0}),
        ({"repeatIndex": 3}, {"repeatIndex": 3}),
        ({"repeatIndex": None}, {}),
        ({}, {}),
        (None, {}),
        ([7], {}),
        ("text", {}),
    ],
)
def test_the_repeat_comes_from_promptfoos_context(context: Any, told: dict[str, Any]) -> None:
    assert run_info(context) == {"ci": False, **told}
