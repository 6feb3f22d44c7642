"""Find the Lobu project that a folder belongs to, and the agent that is meant.

A Lobu project is a folder with ``lobu.toml``, or with a folder for each agent under ``agents/``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lobu_provider.errors import config_error


@dataclass(frozen=True)
class Place:
    """Where the files of an evaluation belong."""

    agent: str | None
    """``None`` when nothing names one."""
    folder: Path
    """Of the config."""
    root: Path
    """Of the repository: where .gitignore and .github stand."""


def find_place(start: Path, agent: str | None = None) -> Place:
    """Return where an evaluation begun in ``start`` belongs.

    Args:
        start: the working directory.
        agent: the agent's id, where it is known already.

    Raises:
        ConfigError: the project has no such agent, or several and nothing says which, or its
            lobu.toml cannot be read.
    """
    start = start.absolute()
    repository = next((p for p in (start, *start.parents) if (p / ".git").exists()), None)
    project = _project_of(start, repository)
    if project is None:
        return Place(agent, start, repository or start)
    chosen = agent or _agent_around(start, project) or _only_agent(project)
    return Place(
        chosen, project / "agents" / _known(chosen, project) / "evals", repository or project
    )


def _project_of(start: Path, repository: Path | None) -> Path | None:
    for folder in (start, *start.parents):
        if (folder / "lobu.toml").is_file() and _agents(folder):
            return folder
        if folder == start and _agents(folder):
            return folder
        if folder.name == "agents" and folder != start:
            return folder.parent  # started inside agents/NAME
        if folder == repository:
            break
    return None


def _agents(project: Path) -> list[str]:
    folder = project / "agents"
    if not folder.is_dir():
        return []
    return sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))


def _agent_around(start: Path, project: Path) -> str | None:
    parts = start.relative_to(project).parts
    return parts[1] if len(parts) > 1 and parts[0] == "agents" else None


def _only_agent(project: Path) -> str:
    agents = _agents(project)
    first = next((name for name in _declared(project / "lobu.toml") if name in agents), None)
    if first is not None:
        return first
    if len(agents) > 1:
        raise config_error(
            f"{project / 'agents'} has several agents ({', '.join(agents)}): say which with "
            "--agent ID"
        )
    return agents[0]


def _known(agent: str, project: Path) -> str:
    agents = _agents(project)
    if agent not in agents:
        raise config_error(
            f"{project / 'agents'} has no agent {agent!r} (agents: {', '.join(agents)})"
        )
    return agent


def _declared(path: Path) -> list[str]:
    """Return the agents of lobu.toml in their order; Lobu takes the first by default."""
    if sys.version_info >= (3, 11):  # older ones have no TOML in their library
        import tomllib

        try:
            data = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
        except (OSError, ValueError) as error:
            raise config_error(
                f"{path} cannot be read: {error}; say which agent with --agent ID"
            ) from None
        agents = data.get("agents")
        return [str(name) for name in agents] if isinstance(agents, Mapping) else []
    return []
