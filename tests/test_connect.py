"""Which gateway a client is opened for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lobu_provider.config.settings import load_settings
from lobu_provider.connect import open_client
from lobu_provider.errors import LobuError


def test_an_agent_that_a_script_does_not_know_is_told_with_those_that_it_knows(
    tmp_path: Path,
) -> None:
    script = tmp_path / "shop.json"
    script.write_text(json.dumps({"version": 1, "agents": ["a", "b"], "replies": []}), "utf-8")
    config = {"agent": "c", "gateway": f"script:{script}"}
    with pytest.raises(LobuError) as caught:
        open_client(load_settings({"config": config}), None)
    failure = caught.value.failure
    assert (failure.code, failure.phase) == ("not_found", "create")
    assert "does not know the agent 'c' (its agents: 'a', 'b')" in failure.message
    assert "token" not in failure.message
    open_client(load_settings({"config": {**config, "agent": "b"}}), None)
