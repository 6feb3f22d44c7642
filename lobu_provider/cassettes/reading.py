"""Read a cassette back into what a replay needs, or say what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lobu_provider.cassettes.line_checks import (
    check_about,
    check_line,
    checked_ids,
    checked_times,
    finite,
    no_number,
    time_ms,
)
from lobu_provider.cassettes.placeholders import with_times
from lobu_provider.cassettes.written import VERSION
from lobu_provider.plain_file import open_plain

MAX_BYTES: Final = 200_000_000
"""Of a file that is read; the recorder writes less than half of it."""


class CassetteFault(Exception):  # noqa: N818 - what is raised in its place depends on who reads
    """A cassette cannot be used; the text says why, without naming the file."""


@dataclass
class Happening:
    """What a stream brought: a line, with the time in milliseconds since the first request."""

    line: Mapping[str, Any]
    at_ms: float
    after: int
    """Index of the request that was sent last before it."""


@dataclass
class Recorded:
    """One request of a cassette, and what came of it."""

    index: int
    method: str
    path: str
    line: Mapping[str, Any]
    sent_ms: float
    reply: Mapping[str, Any] = field(default_factory=dict)
    times_ms: tuple[float, ...] = ()
    """Of the reply: its head, and its end where it has one. Of a failure: when."""
    stream: list[Happening] = field(default_factory=list)


@dataclass(frozen=True)
class Cassette:
    """A recorded conversation."""

    about: Mapping[str, Any]
    """The first line: what it is known by."""
    requests: list[Recorded]
    recorded_at: str
    by: str
    """The version of this package that wrote it."""
    ids: Mapping[str, str]
    """Recorded values by placeholder."""

    @property
    def end_ms(self) -> float:
        """When the last thing happened."""
        return max(
            (
                t
                for r in self.requests
                for t in (r.sent_ms, *r.times_ms, *(h.at_ms for h in r.stream))
            ),
            default=0.0,
        )


def read_cassette(path: Path) -> Cassette:
    """Read a file.

    Raises:
        CassetteFault: it cannot be read, is of another version, incomplete, or damaged.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CassetteFault(f"it is larger than {MAX_BYTES // 10**6} MB")
        with open(path, encoding="utf-8", opener=open_plain) as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise CassetteFault(f"it cannot be read: {reason or exc}") from None
    return parse_cassette(text)


def read_about(path: Path) -> Mapping[str, Any] | None:
    """Return the first line of a file; ``None`` where it is none of a cassette."""
    try:
        with open(path, encoding="utf-8", opener=open_plain) as file:
            about = json.loads(file.readline(1_000_000))
    except (OSError, ValueError, RecursionError):
        return None
    return about if isinstance(about, dict) and "cassette" in about else None


def parse_cassette(text: str) -> Cassette:
    """Read the text of a cassette.

    Raises:
        CassetteFault: as :func:`read_cassette`.
    """
    lines = [_object(line, number) for number, line in enumerate(text.split("\n"), 1) if line]
    about = lines[0] if lines else {}
    if "cassette" not in about:
        raise CassetteFault('its first line is not that of a cassette: {"cassette": 1, ...}')
    if about["cassette"] is True or about["cassette"] != VERSION:
        raise CassetteFault(
            f"it is stale: format {about['cassette']!r}, and this version reads {VERSION}"
        )
    recorded = lines[-1].get("recorded")
    if not isinstance(recorded, dict):
        raise CassetteFault("it is incomplete: the last line, 'recorded', is missing")
    if recorded.get("clash"):
        raise CassetteFault("one run recorded two different conversations for it")
    try:
        check_about(about)
        return Cassette(
            about=about,
            requests=_requests(lines[1:-1], checked_times(recorded["times"])),
            recorded_at=str(recorded["at"]),
            by=str(recorded["by"]),
            ids=checked_ids(recorded["ids"]),
        )
    except RecursionError:
        raise CassetteFault("it is damaged: a line is nested too deeply") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as exc:
        said = f"no {exc}" if isinstance(exc, KeyError) else str(exc)
        raise CassetteFault(f"it is damaged: {said}") from None


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_constant=no_number, parse_float=finite)
    except (ValueError, RecursionError) as exc:
        raise CassetteFault(f"it is damaged: line {number} is not JSON: {exc}") from None
    if not isinstance(value, dict):
        raise CassetteFault(f"it is damaged: line {number} is not a JSON object")
    return value


def _requests(lines: list[dict[str, Any]], times: list[list[Any]]) -> list[Recorded]:
    if len(lines) != len(times):
        raise ValueError(
            f"there are {len(lines)} lines and times of {len(times)}; a line was added or removed "
            "by hand"
        )
    requests: list[Recorded] = []
    streams: list[Recorded] = []
    for line, own in _timed(lines, times):
        if "request" in line:
            method, _, path = str(line["request"]).partition(" ")
            requests.append(Recorded(len(requests), method, path, line, own[0]))
        elif not requests:
            raise ValueError("something comes before the first request")
        elif line.keys() & {"reply", "failed", "unanswered"}:
            requests[-1].reply, requests[-1].times_ms = line, tuple(own)
            if "stream" in line:
                streams.append(requests[-1])
        else:
            index = len(requests) - 1
            stream = line.get("stream", 1)
            if stream > len(streams):
                raise ValueError(f"something is of stream {stream}, and {len(streams)} are opened")
            streams[stream - 1].stream.append(Happening(line, own[0], index))
    return requests


_NUMBER_OF_TIMES: Final = {"request": 1, "failed": 1, "unanswered": 0, "text": 1, "event": 1,
                           "alive": 1, "end": 1, "broke": 1}  # fmt: skip


def _timed(
    lines: list[dict[str, Any]], times: list[list[Any]]
) -> Iterator[tuple[dict[str, Any], list[float]]]:
    for number, (line, own) in enumerate(zip(lines, times, strict=True), start=2):
        count = _count(line)
        if count is None:
            raise ValueError(f"line {number} is of no kind that this version knows")
        if len(own) < count:
            raise ValueError(f"line {number} has {len(own)} times and needs {count}")
        check_line(line, number)
        yield with_times(line, own[count:]), [time_ms(time, number) for time in own[:count]]


def _count(line: Mapping[str, Any]) -> int | None:
    if "reply" in line:
        return 1 if "stream" in line or "left" in line else 2
    return next((count for kind, count in _NUMBER_OF_TIMES.items() if kind in line), None)
