"""lobu-provider convert: the files, the report, and what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from .conftest import RunCli

SOURCES = Path(__file__).resolve().parents[1] / "convert" / "sources"


@pytest.fixture
def project(folder: Path) -> Path:
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    return folder


def test_the_config_stands_beside_the_evals_and_the_report_says_what_was_lost(
    run_cli: RunCli, project: Path
) -> None:
    result = run_cli("convert", "hub")
    assert result.exit_code == 0
    config = project / "hub" / "evals" / "promptfooconfig.yaml"
    assert f"wrote {config.relative_to(project)} (6 tests)" in result.stdout
    assert "Not carried over:" in result.stdout
    assert "switched-off (enabled): false: the case is left out" in result.stdout
    assert "To do before a run:" in result.stdout
    assert f"npx promptfoo@0.121.20 eval -c {config.relative_to(project)}" in result.stdout
    assert "export LOBU_GATEWAY=... LOBU_TOKEN=..." in result.stdout
    assert len(yaml.safe_load(config.read_text("utf-8"))["tests"]) == 6


def test_the_report_as_json(run_cli: RunCli, project: Path) -> None:
    result = run_cli("convert", "config/evals", "-o", "out.yaml", "--json")
    report = json.loads(result.stdout)
    assert report["files"] == [{"path": "out.yaml", "tests": 4}]
    assert {note["kind"] for note in report["notes"]} == {"lost", "differs"}
    (tools,) = [n for n in report["notes"] if n["field"] == "spec.cases[0].tools"]
    assert tools["case"] == "stock-simple"
    assert tools["source"] == "config/evals/lucia.eval.yaml"


def test_on_stdout_stands_the_config_alone(run_cli: RunCli, project: Path) -> None:
    result = run_cli("convert", "config/evals", "-o", "-")
    assert len(yaml.safe_load(result.stdout)["tests"]) == 4
    assert "Not carried over:" in result.stderr
    assert run_cli("convert", "hub", "-o", "-", "--json").exit_code == 2


def test_nothing_is_overwritten_without_force(run_cli: RunCli, project: Path) -> None:
    target = project / "agents" / "support" / "evals" / "promptfooconfig.yaml"
    target.write_text("mine", "utf-8")
    refused = run_cli("convert", "agents/support/evals")
    assert (refused.exit_code, target.read_text("utf-8")) == (2, "mine")
    assert "--force overwrites" in refused.stderr
    assert run_cli("convert", "agents/support/evals", "--force").exit_code == 0
    assert target.read_text("utf-8") != "mine"


def test_strict_makes_a_loss_a_failure(run_cli: RunCli, project: Path) -> None:
    assert run_cli("convert", "hub", "--strict").exit_code == 1
    assert run_cli("convert", "agents", "--strict").exit_code == 0


def test_all_faults_of_all_sources_are_told_and_nothing_is_written(
    run_cli: RunCli, project: Path
) -> None:
    (project / "hub/evals/a.md").write_text("---\nexpected_tools: [x]\n---\nhi\n", "utf-8")
    (project / "hub/evals/b.md").write_text("## Criteria\nx\n", "utf-8")
    result = run_cli("convert", "hub", "--json")
    assert result.exit_code == 2
    problems = json.loads(result.stdout)["problems"]
    assert [text.partition(":")[0] for text in problems] == ["hub/evals/a.md", "hub/evals/b.md"]
    assert "Nothing was written." in result.stderr
    assert not (project / "hub/evals/promptfooconfig.yaml").exists()


def test_several_files_for_one_output_are_refused(run_cli: RunCli, project: Path) -> None:
    text = (project / "config/evals/lucia.eval.yaml").read_text("utf-8")
    (project / "config/evals/two.eval.yaml").write_text(text.replace("lucia-basic", "two"), "utf-8")
    result = run_cli("convert", "config", "-o", "out.yaml")
    assert (result.exit_code, "leave --output out" in result.stderr) == (2, True)


def test_without_pyyaml_the_command_to_install_it_is_told(
    run_cli: RunCli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for path in ("config/evals", "hub/evals/finance-locked.md"):
        result = run_cli("convert", path)
        assert result.exit_code == 2
        assert "pip install pyyaml" in result.stderr


def test_a_config_for_disabled_cases_only_is_not_written(run_cli: RunCli, project: Path) -> None:
    result = run_cli("convert", "hub/evals/switched-off.md")
    assert result.exit_code == 2
    assert "No case is left to convert" in result.stdout


def test_a_folder_that_cannot_be_written_is_named(run_cli: RunCli, project: Path) -> None:
    (project / "blocked").write_text("", "utf-8")
    result = run_cli("convert", "agents", "-o", "blocked/out.yaml")
    assert result.exit_code == 2
    assert "blocked/out.yaml cannot be written" in result.stderr
