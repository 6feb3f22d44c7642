"""What the documents show is true: their tables, configs, scripts and code are taken and run."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import lobu_provider
from lobu_provider import LobuProvider
from lobu_provider.cli.main import cli
from lobu_provider.config.settings import parse_config
from lobu_provider.scripted_gateway import cards, script, steps
from lobu_provider.scripted_gateway.script import parse_script

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCRIPT_FORMAT = (ROOT / "docs" / "script-format.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_tables_of_the_readme_are_those_of_the_code() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "readme_tables.py"), "--check"]
    done = subprocess.run(command, check=False)
    assert done.returncode == 0, "run `make docs`"


def test_the_reference_of_the_command_line_is_that_of_the_code() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "cli_reference.py"), "--check"]
    done = subprocess.run(command, check=False)
    assert done.returncode == 0, "run `make docs`"


def shown_commands() -> list[list[str]]:
    """The words of each call of our command line in the documents' shell blocks."""
    texts = [README, (ROOT / "docs" / "results.md").read_text(encoding="utf-8")]
    joined = [block.replace("\\\n", " ") for text in texts for block in blocks(text, "sh")]
    lines = re.findall(r"^lobu-provider .*$", "\n".join(joined), flags=re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.parametrize("words", shown_commands(), ids=" ".join)
def test_every_command_that_the_documents_show_has_these_options(words: list[str]) -> None:
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    known = {name for param in command.params for name in param.opts}
    assert [word for word in words if word.startswith("-") and word not in known] == []


def test_the_readme_names_every_command() -> None:
    for name in cli.list_commands(click.Context(cli)):
        assert f"`lobu-provider {name}" in README


def test_the_first_config_of_the_readme_gives_the_answer_that_it_asserts() -> None:
    config = yaml.safe_load(blocks(README, "yaml")[0])
    test = config["tests"][0]
    provider = LobuProvider(config["providers"][0])
    response = asyncio.run(provider.call_api(test["vars"]["query"], {"vars": test["vars"]}))
    assert "error" not in response
    assert test["assert"][0]["value"] in response["output"]


def test_each_provider_of_the_readme_answers_without_a_gateway_of_yours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("LOBU_GATEWAY", "LOBU_TOKEN", "LOBU_AGENT"):
        monkeypatch.delenv(name, raising=False)
    first, npm = (yaml.safe_load(block)["providers"][0] for block in blocks(README, "yaml")[:2])
    assert npm["id"] == "package:@lobu/promptfoo-provider:LobuProvider"
    for entry in (first, npm):
        response = asyncio.run(LobuProvider(entry).call_api("How do refunds work?"))
        assert "30 days" in response["output"]


def test_the_first_config_of_the_readme_is_eight_lines() -> None:
    assert len(blocks(README, "yaml")[0].splitlines()) == 8


@pytest.mark.parametrize("block", blocks(README, "yaml"))
def test_every_yaml_block_of_the_readme_parses_and_its_providers_are_valid(block: str) -> None:
    parsed = yaml.safe_load(block)
    for entry in parsed.get("providers", []) if isinstance(parsed, dict) else []:
        parse_config(entry["config"])


def test_every_transcript_of_the_readme_is_one_conversation(monkeypatch: Any) -> None:
    monkeypatch.chdir(ROOT)
    parsed = [yaml.safe_load(block) for block in blocks(README, "yaml")]
    tests = [
        test for config in parsed if isinstance(config, dict) for test in config.get("tests", [])
    ]
    lists = [test for test in tests if isinstance(test["vars"].get("transcript"), list)]
    assert len(lists) == 3
    provider = LobuProvider({"config": {"agent": "support-agent", "gateway": "script:demo"}})
    for test in lists:
        response = asyncio.run(provider.call_api("", {"vars": test["vars"]}))
        assert len(response["metadata"]["turns"]) == 2


def test_the_python_example_uses_names_that_exist() -> None:
    (code,) = blocks(README, "python")
    compile(code, "README.md", "exec")
    imported = re.search(r"from lobu_provider import (.*)", code)
    assert imported is not None
    for name in imported.group(1).split(", "):
        assert getattr(lobu_provider, name)


def test_every_metadata_key_of_an_answer_stands_in_the_readme() -> None:
    provider = LobuProvider({"config": {"agent": "support-agent", "gateway": "script:demo"}})
    good = asyncio.run(provider.call_api("How do refunds work?", {"vars": {}, "repeatIndex": 0}))
    bad = asyncio.run(provider.call_api("no entry for this"))
    table = README.partition("## What a row holds")[2].partition("### Errors")[0]
    for key in {**good["metadata"], **bad["metadata"]}:
        assert f"`{key}`" in table
    for key in [*good["metadata"]["turns"][0], *good["metadata"]["run"]]:
        assert f"`{key}`" in table


def test_the_example_script_is_valid() -> None:
    for block in blocks(SCRIPT_FORMAT, "json"):
        parse_script(json.loads(block))


def test_the_script_format_names_every_key() -> None:
    models: list[Any] = [script.Script, script.ReplyEntry, script.Match, script.Fault]
    models += [model for name, model in vars(steps).items() if name.endswith("Step")]
    models += [model for name, model in vars(cards).items() if name.endswith("Card")]
    names = {
        field.alias or name
        for model in models
        for name, field in getattr(model, "model_fields", {}).items()
    }
    assert len(names) > 25
    assert [
        n for n in names if f"`{n}`" not in SCRIPT_FORMAT and f'"{n}"' not in SCRIPT_FORMAT
    ] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])
def test_what_a_page_links_to_in_this_repository_is_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_pictures_are_small() -> None:
    pictures = list((ROOT / "docs").rglob("*.png"))
    assert pictures
    assert [path.name for path in pictures if path.stat().st_size > 250_000] == []


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in changelog or f"## [{lobu_provider.__version__}]" in changelog
