"""The keys of cassettes: what they say together, and what contradicts itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lobu_provider.config.cassette_rules import CassetteRules
from lobu_provider.config.settings import load_settings
from lobu_provider.errors import ConfigError


def rules(env: dict[str, str] | None = None, **config: Any) -> CassetteRules | None:
    given = {"agent": "a", "basePath": "/suite", **config}
    return load_settings({"config": given, "env": env or {}}).cassettes


def refusal(**config: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        rules(**config)
    return str(caught.value)


@pytest.mark.parametrize(
    "config", [{}, {"cassettes": "c"}, {"cassettes": "c", "cassetteMode": False}]
)
def test_cassettes_are_off_unless_a_mode_says_otherwise(config: dict[str, Any]) -> None:
    assert rules(**config) is None


def test_the_folder_is_relative_to_the_config_file_and_a_set_lies_below() -> None:
    found = rules(cassettes="c", cassetteMode="record", cassetteSet="staging")
    assert found == CassetteRules("record", Path("/suite/c/staging"))
    assert rules(cassettes="/abs", cassetteMode="auto") == CassetteRules("auto", Path("/abs"))


def test_the_processs_variables_win_over_the_env_block_and_that_over_the_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = {"LOBU_CASSETTE_MODE": "replay", "LOBU_CASSETTES": "of-the-block"}
    found = rules(block, cassettes="c", cassetteMode="record")
    assert found == CassetteRules("replay", Path("/suite/of-the-block"))
    monkeypatch.setenv("LOBU_CASSETTE_MODE", "auto")
    monkeypatch.setenv("LOBU_CASSETTES", "of-the-process")
    found = rules(block, cassettes="c", cassetteMode="record")
    assert found == CassetteRules("auto", Path("/suite/of-the-process"))
    monkeypatch.setenv("LOBU_CASSETTE_MODE", "off")
    assert rules(block, cassettes="c", cassetteMode="record") is None


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"cassetteMode": "replay"}, "config.cassetteMode is 'replay', and no folder"),
        ({"env": {"LOBU_CASSETTE_MODE": "record"}}, "LOBU_CASSETTE_MODE is 'record', and no fold"),
        ({"env": {"LOBU_CASSETTE_MODE": "play"}, "cassettes": "c"}, "'play' is no mode. Expected"),
        ({"cassetteMode": "play"}, "config.cassetteMode: expected 'off', 'record', 'replay' or"),
        ({"cassetteSet": "x"}, "config.cassetteSet says something of cassettes, and no folder"),
        ({"cassetteSpeed": 1}, "config.cassetteSpeed says something"),
        ({"cassetteRedact": ["x"]}, "config.cassetteRedact says something"),
        ({"cassettes": "c", "cassetteSet": "../x"}, "config.cassetteSet: '../x' is no name of a"),
        ({"cassettes": "c", "cassetteSpeed": 0}, "config.cassetteSpeed: expected a number above 0"),
        ({"cassettes": "c", "cassetteRedact": "x"}, "config.cassetteRedact: expected a list"),
        ({"cassettes": "c", "cassetteRedact": ["("]}, "'(' is not a regular expression"),
        ({"cassettes": "c", "cassetteRedact": ["a*"]}, "'a*' fits an empty text"),
        ({"cassettes": "c", "cassetteRedact": ["(a+)+b"]}, "could take for ever"),
        ({"cassettes": "c", "cassetteRedact": ["$.a."]}, "'$.a.' is not a JSON path"),
        ({"cassettes": "c", "cassetteRedact": ["$.a[x]"]}, "'$.a[x]' is not a JSON path"),
    ],
)
def test_a_mistake_is_refused_with_the_reason(config: dict[str, Any], said: str) -> None:
    assert said in refusal(**config)


def test_patterns_and_paths_are_told_apart() -> None:
    given = ["[0-9]{16}", "$.input.email", "$..password", "$.a[*]['b c'][0]"]
    found = rules(cassettes="c", cassetteMode="record", cassetteRedact=given)
    assert found is not None
    assert [pattern.pattern for pattern in found.redact.patterns] == ["[0-9]{16}"]
    assert found.redact.paths == (
        ("input", "email"),
        ("..", "password"),
        ("a", None, "b c", 0),
    )
