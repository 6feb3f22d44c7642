"""The files of a first evaluation, filled in; nothing is written here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

from lobu_provider.new_project.lobu_project import Place

TESTS: Final = 3
"""How many tests the first config has."""

_DEFAULT_AGENT: Final = "support-agent"
CASSETTES: Final = "      cassettes: ./cassettes # recorded, for LOBU_CASSETTE_MODE\n"
"""The line of the config, under ``config:``, that the workflow needs."""


class _Template(Template):
    delimiter = "@@"
    braceidpattern = None


@dataclass(frozen=True)
class NewFile:
    """One file to write."""

    path: Path
    text: str


def starter_files(
    place: Place, *, promptfoo: str, ci: bool = False, shards: int = 1
) -> list[NewFile]:
    """Return the files of a first evaluation, without .gitignore.

    Args:
        place: where they belong.
        promptfoo: the version that records and that the workflow runs.
        ci: also a GitHub Actions workflow, and the config's folder of recorded conversations.
        shards: on how many machines the workflow runs the tests.
    """
    agent = place.agent or _DEFAULT_AGENT
    config = place.folder / "promptfooconfig.yaml"
    made = [
        NewFile(
            config,
            _filled(
                "promptfooconfig.yaml",
                {
                    "agent": _quoted(agent),
                    "description": _quoted(f"Evals of {agent}"),
                    "cassettes": CASSETTES if ci else "",
                },
            ),
        ),
        NewFile(place.folder / "agent-script.json", _filled("agent-script.json", {})),
    ]
    if ci:
        shown = config.relative_to(place.root).as_posix()
        values = {
            "config": shown,
            "quoted_config": _quoted(shown),
            "folder": Path(shown).parent.as_posix(),
            "indexes": json.dumps(list(range(shards))),
            "shards": str(shards),
            "package": f"promptfoo@{promptfoo}",
        }
        name = "workflow-sharded.yml" if shards > 1 else "workflow.yml"
        made.append(NewFile(place.root / ".github/workflows/evals.yml", _filled(name, values)))
    return made


def ignore_lines(place: Place) -> list[str]:
    """Return the lines for .gitignore: what promptfoo and ``report`` write, run here or there."""
    folder = place.folder.relative_to(place.root).as_posix()
    folders = ["/"] if folder == "." else ["/", f"/{folder}/"]
    return [f"{one}{name}" for one in folders for name in ("results*.json", "junit*.xml")]


def with_lines(text: str, lines: Sequence[str]) -> str | None:
    """Return the text of a .gitignore with lines added; ``None`` when it has all of them."""
    known = {line.strip() for line in text.splitlines()}
    missing = [line for line in lines if line not in known]
    if not missing:
        return None
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{end}" + "".join(f"{line}\n" for line in missing)


def _filled(name: str, values: Mapping[str, str]) -> str:
    text = (files("lobu_provider.new_project") / "templates" / name).read_text("utf-8")
    return _Template(text).substitute(values)


def _quoted(text: str) -> str:
    """Return a text as JSON, which YAML reads too."""
    return json.dumps(text, ensure_ascii=False)
