"""LOBU_WIRE_LOG keeps the start of what is long: no half of a secret, and little work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import wire_log
from lobu_provider.redaction import Redactor
from lobu_provider.wire_log import MAX_TEXT, WireLog

SECRET = "canary-of-the-session-c04d55"


def told(log: Path, data: str) -> str:
    """What the log says of a frame's data."""
    WireLog(log).write("frame", (SECRET,), data=data)
    line = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    return str(line["data"])


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the texts in which secrets were looked for."""
    lengths: list[int] = []

    class Counting(Redactor):
        def text(self, text: str) -> str:
            lengths.append(len(text))
            return super().text(text)

    monkeypatch.setattr(wire_log, "Redactor", Counting)
    return lengths


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"content": "word " * 1_800_000}),
        json.dumps({"content": 'He said "yes"\n' * 600_000}),
        json.dumps({"content": "abcdef01" * 1_100_000}),
        json.dumps({"result": [{"a": "some words"}] * 400_000}),
        "no JSON " * 1_100_000,
    ],
)
def test_of_nine_megabytes_the_start_is_logged_and_little_is_searched(
    tmp_path: Path, searched: list[int], data: str
) -> None:
    text = told(tmp_path / "log", data)
    assert text.endswith("... [cut]") or "... [cut]" in text[-20:]
    assert MAX_TEXT / 2 < len(text) < 2 * MAX_TEXT
    assert text[:12] == data[:12]
    assert sum(searched) < 4 * MAX_TEXT


@pytest.mark.parametrize("wrap", [lambda text: json.dumps({"content": text}), lambda text: text])
@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        f"{'d4' * 12}:{'e5' * 16}:{'f6' * 40}",
        "owl_pat_" + "z9" * 30,
        "//u:" + "p4" * 9 + "@h",
    ],
)
def test_a_secret_that_lies_where_a_text_is_cut_is_not_logged_in_part(
    tmp_path: Path, wrap: Any, secret: str
) -> None:
    for place in (MAX_TEXT, MAX_TEXT + 4096):
        for shift in range(0, len(secret) + 20, 7):
            words = "x " * ((place - shift) // 2)
            text = told(tmp_path / "log", wrap(f"{words}http:{secret} {'y ' * 50_000}"))
            for part in (secret[:8], secret[4:12], secret[-14:-6]):
                assert part in words or part not in text


def test_a_secret_that_is_learned_from_its_name_is_hidden_in_the_whole_line(tmp_path: Path) -> None:
    data = {"error": "bad plain-words-1", "token": {"value": "plain-words-1"}, "tokens": 512}
    assert json.loads(told(tmp_path / "log", json.dumps(data))) == {
        "error": "bad ***",
        "token": {"value": "***"},
        "tokens": 512,
    }
