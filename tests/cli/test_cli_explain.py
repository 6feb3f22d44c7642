"""explain: what is said of rows that passed, and the command that runs a test again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.results.made_rows import made, write

from .conftest import RunCli

OWN = {"description": "a", "vars": {"query": "a"}}
SCENARIO = {"config": [{"vars": {"query": "s"}}], "tests": [{"description": "a"}]}
PATTERN = "promptfoo eval{} --filter-pattern '^a$'"
RANGE = "promptfoo eval{} --filter-range 0:1"


def of_two(folder: Path) -> str:
    """Return results in which all of ``good`` and of the prompt ``short`` passed, and no more."""
    rows = [
        made("a", provider="good", prompt="short", promptIdx=0),
        made("a", provider="bad", prompt="short", promptIdx=1),
        made("a", "fail", provider="bad", prompt="long", promptIdx=2),
    ]
    return str(write(folder / "r.json", rows))


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (("--provider", "good"), "Every row of provider 'good'"),
        (("--prompt", "short"), "Every row of prompt 'short'"),
        (("--provider", "bad", "--prompt", "sho"), "Every row of provider 'bad' and prompt 'sho'"),
    ],
)
def test_rows_that_passed_are_told_with_what_chose_them(
    run_cli: RunCli, folder: Path, words: tuple[str, ...], rows: str
) -> None:
    path = of_two(folder)
    found = run_cli("explain", path, *words)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == f"{rows} passed. Name the TEST to be shown: 'a'\n"
    told = json.loads(run_cli("explain", path, *words, "--json").stdout)
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert told == {
        "test": None,
        "outcome": "passed",
        "provider": given.get("--provider"),
        "prompt": given.get("--prompt"),
        "alsoFit": ["a"],
    }


def test_only_tests_that_were_asked_for_are_named(run_cli: RunCli, folder: Path) -> None:
    rows = [made("a", provider="good"), made("b", "fail", provider="bad", promptIdx=1)]
    found = run_cli("explain", str(write(folder / "r.json", rows)), "--provider", "good")
    assert found.stdout.endswith("Name the TEST to be shown: 'a'\n")


@pytest.mark.parametrize(
    ("words", "rows"),
    [((), "every row"), (("--provider", "model"), "every row of provider 'model'")],
)
def test_a_repeat_of_no_test_is_refused_where_every_row_passed(
    run_cli: RunCli, folder: Path, words: tuple[str, ...], rows: str
) -> None:
    path = str(write(folder / "r.json", [made("a"), made("b")]))
    found = run_cli("explain", path, "--repeat", "2", *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"--repeat needs a TEST: {rows} passed. There are: 'a', 'b'" in found.stderr


def again(run_cli: RunCli, *words: str) -> tuple[str, bool]:
    told = json.loads(run_cli("explain", *words, "--json").stdout)
    return told["rerun"], told["rerunIsExact"]


def of_scenario() -> dict[str, Any]:
    row = made("a", metadata={"conversationId": "__scenario_0__"})
    row["vars"] = row["testCase"]["vars"] = {"query": "s"}
    return row


@pytest.mark.parametrize("own", [OWN, {"description": "a"}])
def test_the_test_of_a_scenario_is_none_of_the_config_s_own(
    run_cli: RunCli, folder: Path, own: dict[str, Any]
) -> None:
    (folder / "c.json").write_text(json.dumps({"tests": [own], "scenarios": [SCENARIO]}))
    path = str(write(folder / "r.json", [of_scenario()]))
    assert again(run_cli, path, "a", "-c", "c.json") == (PATTERN.format(" -c c.json"), False)
    assert "may select more" in run_cli("explain", path, "a", "-c", "c.json").stderr


def test_a_scenario_s_test_without_a_name_is_not_given_the_place_of_another(
    run_cli: RunCli, folder: Path
) -> None:
    nameless = {"config": SCENARIO["config"], "tests": [{"assert": []}]}
    (folder / "c.json").write_text(json.dumps({"tests": [OWN], "scenarios": [nameless]}))
    row = of_scenario()
    del row["testCase"]["description"]
    path = str(write(folder / "r.json", [row]))
    assert again(run_cli, path, "s", "-c", "c.json") == ("promptfoo eval -c c.json", False)


@pytest.mark.parametrize(
    ("scenarios", "command"), [([], PATTERN), ([SCENARIO], RANGE)], ids=["alone", "named alike"]
)
def test_a_test_whose_name_a_scenario_has_too_is_selected_by_its_place(
    run_cli: RunCli, folder: Path, scenarios: list[Any], command: str
) -> None:
    config = {"tests": [OWN], "scenarios": scenarios}
    path = write(folder / "r.json", [made("a")], tests=[OWN])
    (folder / "c.json").write_text(json.dumps(config))
    assert again(run_cli, str(path), "a", "-c", "c.json") == (command.format(" -c c.json"), True)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "config": config}))  # the results tell it themselves
    assert again(run_cli, str(path), "a") == (command.format(""), True)
    path.write_text(json.dumps({**document, "config": {}}))
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    assert again(run_cli, str(path), "a") == (command.format(""), True)


def test_a_command_is_not_exact_where_only_promptfoo_can_read_the_scenarios(
    run_cli: RunCli, folder: Path
) -> None:
    (folder / "c.json").write_text(json.dumps({"tests": [OWN], "scenarios": "file://s.yaml"}))
    path = str(write(folder / "r.json", [made("a")]))
    assert again(run_cli, path, "a", "-c", "c.json") == (PATTERN.format(" -c c.json"), False)
