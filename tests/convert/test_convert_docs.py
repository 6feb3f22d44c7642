"""What docs/convert.md and docs/from-typescript.md show is true."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from lobu_provider import LobuProvider
from lobu_provider.assertions.options import CHECKS
from lobu_provider.config.settings import parse_config
from lobu_provider.convert import hubzoid_markdown, lobu_yaml
from lobu_provider.convert.conversion import convert
from lobu_provider.errors import ConfigError

DOCS = Path(__file__).resolve().parents[2] / "docs"
CONVERT = (DOCS / "convert.md").read_text("utf-8")
FROM_TYPESCRIPT = (DOCS / "from-typescript.md").read_text("utf-8")
MARKED = re.compile(r"<!-- (\w+)(?:: ([\w.-]+))? -->\n```yaml\n(.*?)```", re.DOTALL)


def blocks(text: str) -> dict[str, str]:
    return {kind: block for kind, _, block in MARKED.findall(text)}


def test_the_example_becomes_what_the_page_shows(tmp_path: Path) -> None:
    found = blocks(CONVERT)
    path = tmp_path / "context-retention.yaml"
    path.write_text(found["source"], "utf-8")
    (file,) = convert([path]).files
    assert file.config["tests"] == yaml.safe_load(found["tests"])
    assert file.config["evaluateOptions"]["repeat"] == 3
    assert file.config["providers"][0]["config"]["turnTimeoutMs"] == 60_000


def test_every_key_of_the_formats_stands_on_the_page() -> None:
    keys = {*hubzoid_markdown.KEYS, "tools_default", "max_avg_tokens", "pass_rate", "pass_score"}
    keys |= {"name", "trials", "timeout", "rubric", "pass_threshold", "case_insensitive", "weight"}
    assert [key for key in sorted(keys) if f"{key}" not in CONVERT] == []


def test_the_defaults_on_the_page_are_those_of_the_code() -> None:
    assert f"`trials` ({lobu_yaml.TRIALS})" in CONVERT
    assert f"`timeout` ({lobu_yaml.TIMEOUT_S} s, of a turn)" in CONVERT
    assert f"`scoring.pass_threshold` ({lobu_yaml.PASS_THRESHOLD})" in CONVERT
    assert f"`threshold` ({hubzoid_markdown.THRESHOLD} of 10)" in CONVERT
    assert f"`timeout` ({hubzoid_markdown.TIMEOUT_S} s, of the case)" in CONVERT


def test_the_assertions_that_the_page_names_exist() -> None:
    ours = set(re.findall(r"`((?:tool|max)[A-Z]\w+|completed|turns)`", CONVERT))
    assert len(ours) > 7
    assert ours <= set(CHECKS)


@pytest.mark.parametrize("kind", ["before", "after"])
def test_the_providers_of_the_page_are_valid(kind: str) -> None:
    (entry,) = yaml.safe_load(blocks(FROM_TYPESCRIPT)[kind])["providers"]
    parse_config(entry["config"])


def ask(variables: dict[str, Any], prompt: str = "", **config: Any) -> dict[str, Any]:
    given = {"agent": "support-agent", "gateway": "script:demo", **config}
    return asyncio.run(LobuProvider({"config": given}).call_api(prompt, {"vars": variables}))


def test_what_the_page_says_about_variables_is_so() -> None:
    turns = ["I want to return order 17.", "Yes, please refund it."]
    assert "disableVarExpansion" in ask({"transcript": turns[0]})["error"]
    assert "error" not in ask({"transcript": "Hello"}, "Hello", stringTranscript="prompt")
    for shape in (turns, [turns], [{"role": "user", "content": text} for text in turns]):
        assert len(ask({"transcript": shape})["metadata"]["turns"]) == 2
    assert "error" not in ask({"transcript": None}, "Hello")
    assert "error" not in ask({"transcript": []}, "Hello")
    blank = ask({"transcript": [turns[0], " ", turns[1]]})
    assert any("blank entry" in warning for warning in blank["metadata"]["warnings"])
    assert ask({}, "")["metadata"]["error"]["code"] == "config"
    named = ask({"transcript": ["I want to return order 17, {{name}}."]})
    assert any("renderTurns" in warning for warning in named["metadata"]["warnings"])


def test_an_unknown_key_is_an_error_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match="timeoutMs"):
        parse_config({"agent": "a", "timeoutM": 1})
