"""Record a call and replay it, with the embedded gateway."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import LobuProvider


@dataclass
class Suite:
    """A folder with a script and cassettes, as beside a config file."""

    folder: Path

    @property
    def cassettes(self) -> Path:
        return self.folder / "cassettes"

    @property
    def files(self) -> list[Path]:
        return sorted(self.cassettes.rglob("*.jsonl"))

    @property
    def file(self) -> Path:
        (only,) = self.files
        return only

    def script(self, *replies: Mapping[str, Any], **more: Any) -> None:
        told = {"version": 1, "replies": list(replies), **more}
        (self.folder / "script.json").write_text(json.dumps(told), "utf-8")

    async def call(
        self,
        mode: str,
        *messages: str,
        context: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        **config: Any,
    ) -> dict[str, Any]:
        options = {
            "config": {
                "agent": "support-agent",
                "gateway": "script:script.json",
                "basePath": str(self.folder),
                "cassettes": "cassettes",
                "cassetteMode": mode,
                **config,
            },
            "env": dict(env or {}),
        }
        told: dict[str, Any] = {"vars": {"transcript": [list(messages)]}, **(context or {})}
        return await LobuProvider(options).call_api("", told)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    made = Suite(tmp_path)
    made.script({"steps": [{"text": "Hello there.", "delay_ms": 0}]})
    return made


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever connects or looks a name up fails the test."""

    def refuse(*args: object, **_: object) -> None:
        raise AssertionError(f"something was sent: {args}")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
