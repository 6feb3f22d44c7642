"""Two different recordings of one conversation in one run: none of them may be replayed.

Both would be answered by one file, so a row that failed when it was recorded could be green.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lobu_provider.cassettes.key import CassetteKey
from lobu_provider.cassettes.odd_texts import data_of
from lobu_provider.cassettes.placeholders import ROLES, TIME_KEYS
from lobu_provider.cassettes.shelf import Shelf
from lobu_provider.plain_file import open_plain

_NOISE: Final = frozenset({"ping", "connected"})
"""Events that come whenever they come."""


class Clash(Exception):  # noqa: N818 - what is raised in its place depends on who records
    """The run has recorded something else for the same key; ``path`` can be replayed no more."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


def put(shelf: Shelf, key: CassetteKey, title: str, text: str) -> Path:
    """Write a cassette where it belongs, and return where that is.

    Args:
        shelf: the folder.
        key: of the conversation.
        title: for a new name.
        text: of the file. Where its last line names a run, what that run wrote before is
            replaced by the same behaviour only.

    Raises:
        Clash: that run wrote something else; the file is marked, and no longer read.
        OSError: it cannot be written.
    """
    with shelf.alone_with(key.digest):
        path = shelf.place_for(key, title)
        old = _read(path)
        if _is_clash(old, _lines(text)):
            last = json.dumps({"recorded": {**_recorded(old), "clash": True}}, ensure_ascii=False)
            shelf.save(path, "".join(f"{line}\n" for line in [*old[:-1], last]))
            raise Clash(path)
        shelf.save(path, text)
    return path


def run_mark(run: str | None) -> dict[str, str]:
    """Return what the last line says of promptfoo's run: its hash, or nothing."""
    if run is None:
        return {}
    return {"run": hashlib.sha256(run.encode("utf-8", "replace")).hexdigest()[:12]}


def _is_clash(old: list[str], new: list[str]) -> bool:
    before, now = _recorded(old), _recorded(new)
    if "run" not in now or before.get("run") != now["run"]:
        return False
    return bool(before.get("clash")) or _behaviour(old) != _behaviour(new)


def _read(path: Path) -> list[str]:
    try:
        with open(path, encoding="utf-8", opener=open_plain) as file:
            return _lines(file.read())
    except (FileNotFoundError, UnicodeDecodeError):
        return []


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1]  # the agent's words may hold other line ends


def _recorded(lines: list[str]) -> Mapping[str, Any]:
    try:
        found = json.loads(lines[-1])["recorded"]
    except (IndexError, ValueError, TypeError, KeyError, RecursionError):  # no whole cassette
        return {}
    return found if isinstance(found, dict) else {}


def _behaviour(lines: list[str]) -> Any:
    """Return what a replay shows, whatever the pieces in which it came, and when they did.

    Requests and events apart, for it is chance after which request an event came. Not what a
    deletion led to, which no row shows.
    """
    talk: list[Any] = []
    events: list[Any] = []
    is_deletion = False
    for line in map(json.loads, lines[1:-1]):
        if "request" in line:
            is_deletion = line["request"].startswith("DELETE ")
        if line.keys() & {"request", "reply", "failed", "unanswered"}:
            if not is_deletion:
                talk.append({k: _plain(v) for k, v in line.items() if k != "headers"})
        elif "alive" not in line and line.get("event") not in _NOISE:
            _add(events, line)
    return talk, events


def _add(events: list[Any], line: Mapping[str, Any]) -> None:
    name, data = data_of(line) or ("", None)
    if not isinstance(data, Mapping):
        events.append(_plain({k: v for k, v in line.items() if k != "id"}))
    elif name in _NOISE:
        return
    elif name == "output" and isinstance(data.get("content"), str):
        if events and isinstance(events[-1], str):
            events[-1] += data["content"]
        else:
            events.append(data["content"])
    else:
        events.append([name, _plain(data)])


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items() if k not in ROLES and k not in TIME_KEYS}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
