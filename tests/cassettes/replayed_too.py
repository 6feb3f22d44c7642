"""Record the calls of other tests, and replay each without a gateway: the same row must come."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from lobu_provider import LobuProvider, event_stream
from tests.cassettes.equal_rows import comparable, shown
from tests.wire.wire_gateway import SESSION_TOKEN, TOKEN

_SLEEP: Final = anyio.sleep


class ReplayedToo:
    """Called after each call with what it was asked and what came of it.

    Args:
        folder: of the cassettes.
        monkeypatch: sets the variables that have calls recorded.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        self.count = 0
        monkeypatch.setenv("LOBU_CASSETTES", str(folder))
        monkeypatch.setenv("LOBU_CASSETTE_MODE", "record")

    async def __call__(
        self,
        options: Mapping[str, Any],
        prompt: str,
        context: Mapping[str, Any] | None,
        live: Mapping[str, Any],
    ) -> None:
        if "cassette" not in live["metadata"]:  # it failed before its first request
            assert live["metadata"]["error"]["phase"] in ("config", "create")
            return
        with self._monkeypatch.context() as patch:
            patch.setenv("LOBU_CASSETTE_MODE", "replay")
            patch.setattr(anyio, "sleep", _SLEEP)  # where a test counts the naps of the live call
            # The live call may have got its first byte at the last moment, on a busy machine.
            patch.setattr(event_stream, "FIRST_BYTE_S", 0.5)
            without_token = {**options, "env": {}}
            replayed = await LobuProvider(without_token).call_api(prompt, context)
        told, expected = shown(comparable(replayed)), shown(comparable(live))
        assert told == expected, "\n".join(unified_diff(expected, told, lineterm="", n=0))
        for file in self._folder.rglob("*"):
            text = file.read_text("utf-8")
            assert TOKEN not in text
            assert SESSION_TOKEN not in text
            file.unlink()
        self.count += 1
