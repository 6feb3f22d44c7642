"""stats, compare, bless, explain, report, shard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.results.made_rows import FIXTURES, made, tries, write

from .conftest import RunCli

REAL = str(FIXTURES / "package-0.123.1.json")


@pytest.fixture
def results(folder: Path) -> Any:
    def wrote(name: str, *rows: dict[str, Any], **more: Any) -> str:
        return str(write(folder / name, rows, **more))

    return wrote


@pytest.mark.parametrize(
    "words",
    [
        ["stats", REAL],
        ["compare", REAL, REAL],
        ["bless", REAL, "--to", "b.json"],
        ["explain", REAL],
        ["report", REAL, "--gate"],
        ["report", REAL],
        ["shard", "c.json", "--of", "2"],
    ],
)
def test_with_json_stdout_is_one_document(run_cli: RunCli, folder: Path, words: list[str]) -> None:
    (folder / "c.json").write_text(json.dumps({"tests": [{"vars": {}}] * 5}))
    assert json.loads(run_cli(*words, "--json").stdout)


@pytest.mark.parametrize(
    "words",
    [["stats"], ["compare", REAL], ["bless", "--to", "b.json"], ["explain"], ["report", "--gate"]],
)
def test_a_missing_file_is_a_run_that_did_not_end_and_rubbish_is_a_usage_error(
    run_cli: RunCli, folder: Path, words: list[str]
) -> None:
    missing = run_cli(*words, "none.json")
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert "none.json is missing" in missing.stderr
    (folder / "rubbish.json").write_text("[]")
    rubbish = run_cli(*words, "rubbish.json")
    assert (rubbish.exit_code, rubbish.stdout) == (2, "")
    assert "rubbish.json has no list results.results" in rubbish.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 0),
        (["--min-pass-rate", "60%"], 3),
        (["--min-pass-rate", "0.8"], 1),
        (["--min-test-pass-rate", "0.6"], 1),
        (["--min-pass-rate", "90"], 2),
        (["--min-pass-rate", "x"], 2),
    ],
)
def test_stats_holds_rates_against_what_was_judged(
    run_cli: RunCli, results: Any, options: list[str], code: int
) -> None:
    path = results("r.json", *tries("a", "pp"), *tries("b", "pf"), *tries("c", "i"))
    assert run_cli("stats", path, *options).exit_code == code


def test_stats_with_a_rate_that_all_reach_is_done(run_cli: RunCli, results: Any) -> None:
    path = results("r.json", *tries("a", "pp"), *tries("b", "pf"))
    found = run_cli("stats", path, "--min-pass-rate", "75%", "--min-test-pass-rate", "50%")
    assert (found.exit_code, found.stderr) == (0, "")
    assert "stable" in found.stdout


@pytest.mark.parametrize(("old", "new", "code"), [("p", "f", 1), ("f", "p", 0), ("p", "i", 3)])
def test_compare_ends_with_1_only_on_regressions(
    run_cli: RunCli, results: Any, old: str, new: str, code: int
) -> None:
    before, after = results("old.json", *tries("a", old)), results("new.json", *tries("a", new))
    for options in ([], ["--markdown"], ["--json"]):
        assert run_cli("compare", before, after, *options).exit_code == code


def test_compare_of_fewer_tests_is_a_yes_only_where_that_is_allowed(
    run_cli: RunCli, results: Any
) -> None:
    old, new = results("old.json", made("a"), made("b")), results("new.json", made("a"))
    found = run_cli("compare", old, new)
    assert (found.exit_code, "1 test judged in OLD and not in NEW: 'b'" in found.stderr) == (
        3,
        True,
    )
    told = json.loads(run_cli("compare", old, new, "--json").stdout)
    assert [text.partition(":")[0] for text in told["doubts"]] == [
        "1 test judged in OLD and not in NEW"
    ]
    allowed = run_cli("compare", old, new, "--allow-removed")
    assert (allowed.exit_code, allowed.stderr, "Removed: 1" in allowed.stdout) == (0, "", True)


def test_compare_refuses_two_documents_at_once(run_cli: RunCli) -> None:
    assert run_cli("compare", REAL, REAL, "--json", "--markdown").exit_code == 2


def test_what_is_blessed_is_compared_with(run_cli: RunCli, results: Any) -> None:
    good, bad = results("good.json", made("a")), results("bad.json", made("a", verdict="fail"))
    assert run_cli("bless", good, "--to", "baseline.json").exit_code == 0
    assert run_cli("compare", "baseline.json", good).exit_code == 0
    found = run_cli("compare", "baseline.json", bad)
    assert (found.exit_code, "Regressions: 1" in found.stdout) == (1, True)
    assert "is a baseline" in run_cli("stats", "baseline.json").stderr


def test_the_folder_of_a_baseline_is_made(run_cli: RunCli, results: Any, folder: Path) -> None:
    good = results("good.json", made("a"))
    assert run_cli("bless", good, "--to", "evals/old/baseline.json").exit_code == 0
    assert run_cli("compare", "evals/old/baseline.json", good).exit_code == 0
    (folder / "file").write_text("", "utf-8")
    refused = run_cli("bless", good, "--to", "file/baseline.json")
    assert (refused.exit_code, "file/baseline.json cannot be written" in refused.stderr) == (
        2,
        True,
    )


def test_a_run_that_is_not_whole_is_blessed_only_by_force(
    run_cli: RunCli, results: Any, folder: Path
) -> None:
    path = results("r.json", made("a"), stats={"errors": 5})
    assert run_cli("bless", path, "--to", "b.json").exit_code == 3
    assert not (folder / "b.json").exists()
    assert run_cli("bless", path, "--to", "b.json", "--force").exit_code == 0


def test_explain_without_a_test_shows_the_first_failure(run_cli: RunCli) -> None:
    found = run_cli("explain", REAL)
    assert found.stdout.startswith("FAILED: flaky shipping")
    assert "again: promptfoo eval --filter-pattern '^flaky shipping$'" in found.stdout
    unknown, other = found.stderr.splitlines()
    assert "do not tell which config file" in unknown
    assert other.startswith("Not shown: 'refunds an order (other)', 'parcel | fails")
    assert found.stderr.endswith(". Choose by TEST and --provider.\n")


def test_explain_finds_a_test_by_a_part_of_its_name_provider_and_repeat(run_cli: RunCli) -> None:
    found = run_cli("explain", REAL, "Refunds", "--provider", "good", "--repeat", "2", "--json")
    told = json.loads(found.stdout)
    assert (told["test"], told["outcome"], told["repeat"]) == ("refunds an order", "passed", 2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing"], "There are: 'greets'"),
        (["grader"], "2 tests fit 'grader': 'grader error', 'grader junk'"),
        (["greets", "--provider", "x"], "There are: good, other"),
        (["greets", "--repeat", "9"], "there is no row 9"),
    ],
)
def test_explain_says_what_there_is(run_cli: RunCli, words: list[str], told: str) -> None:
    found = run_cli("explain", REAL, *words)
    assert (found.exit_code, told in found.stderr) == (2, True)


def test_explain_that_shows_one_of_several_says_how_to_choose(
    run_cli: RunCli, results: Any
) -> None:
    prompts = [("in short", 0), ("at length", 1)]
    rows = [made("a", prompt=prompt, promptIdx=place) for prompt, place in prompts]
    path = results("r.json", *rows)
    found = run_cli("explain", path, "a")
    assert found.stdout.startswith("PASSED: a\nprovider: model   prompt: in short\n")
    assert "again: promptfoo eval --filter-pattern '^a$' --filter-prompts '^in short$'" in (
        found.stdout
    )
    assert "Not shown: 'a (model [at length])'. Choose by --prompt.\n" in found.stderr
    for words in ("at length", "LENGTH"):
        chosen = run_cli("explain", path, "a", "--prompt", words)
        assert (chosen.exit_code, "Not shown" in chosen.stderr) == (0, False)
        assert "prompt: at length\n" in chosen.stdout
    refused = run_cli("explain", path, "--prompt", "x")
    assert (refused.exit_code, "There are: 'at length', 'in short'" in refused.stderr) == (2, True)


def test_texts_tell_prompts_of_one_provider_apart(run_cli: RunCli, results: Any) -> None:
    def rows(verdict: str) -> list[dict[str, Any]]:
        kinds = [("in short", "pass"), ("at length", verdict)]
        return [made("a", one, prompt=p, promptIdx=n) for n, (p, one) in enumerate(kinds)]

    old, new = results("old.json", *rows("pass")), results("new.json", *rows("fail"))
    for options in ([], ["--markdown"]):
        told = run_cli("compare", old, new, *options).stdout
        assert told.count("model [at length]" if not options else r"model \[at length\]") == 2
    gate = run_cli("report", new, "--gate", "--min-test-pass-rate", "1", "--required", "a")
    assert gate.stderr.splitlines()[1:-1] == [
        "required ok      a (model [in short]): passed all 1",
        "required failed  a (model [at length]): passed 0 of 1",
        "failed: a (model [at length]): passed 0 of 1 (0.0%); at least 100.0% must",
        "failed: required a: a (model [at length]) passed 0 of 1",
    ]
    assert "a (model [at length])%3A 1 of 1" in run_cli("report", new, "--github").stdout


def test_the_command_that_runs_a_test_again_admits_providers_of_one_name(
    run_cli: RunCli, results: Any
) -> None:
    tests = [{"description": "a", "vars": {"query": "a"}}]
    rows = [made("a", promptIdx=place) for place in range(2)]
    path = results("r.json", *rows, tests=tests)
    found = json.loads(run_cli("explain", path, "a", "--provider", "model #2", "--json").stdout)
    assert (found["rerunIsExact"], found["alsoFit"]) == (False, [])


def test_explain_of_a_run_that_passed_says_so_and_stops_no_script(
    run_cli: RunCli, results: Any
) -> None:
    path = results("r.json", made("a"), made("b"))
    found = run_cli("explain", path)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == "Every row passed. Name the TEST to be shown: 'a', 'b'\n"
    told = json.loads(run_cli("explain", path, "--json").stdout)
    assert (told["test"], told["outcome"], told["alsoFit"]) == (None, "passed", ["a", "b"])
    assert (told["provider"], told["prompt"]) == (None, None)
    assert run_cli("explain", path, "a").stdout.startswith("PASSED: a")


def test_explain_of_a_run_without_rows_does_not_say_that_they_passed(
    run_cli: RunCli, results: Any
) -> None:
    found = run_cli("explain", results("r.json"))
    assert (found.exit_code, "There are no rows" in found.stderr) == (2, True)


def test_explain_takes_the_number_that_cases_gives_where_no_test_has_that_name(
    run_cli: RunCli, results: Any
) -> None:
    path = results("r.json", made("one of 2"), made("second", provider="x"), made("third"))
    assert run_cli("explain", path, "2").stdout.startswith("PASSED: second")
    assert "No test '4'" in run_cli("explain", path, "4").stderr
    named = results("n.json", made("2"), made("second"))
    assert run_cli("explain", named, "2").stdout.startswith("PASSED: 2")


def test_explain_asks_for_the_config_unless_this_folder_has_the_one_of_the_test(
    run_cli: RunCli, results: Any, folder: Path
) -> None:
    path = results("r.json", made("a"))

    def is_asked() -> bool:
        found = run_cli("explain", path, "a")
        told = json.loads(run_cli("explain", path, "a", "--json").stdout)
        asked = "name it by -c" in found.stderr
        assert told["rerunConfigIsKnown"] is not asked
        return asked

    assert is_asked()
    config = folder / "promptfooconfig.json"
    config.write_text(json.dumps({"tests": [{"description": "b", "vars": {"query": "b"}}]}))
    assert is_asked()
    config.write_text(json.dumps({"tests": [{"description": "a", "vars": {"query": "a"}}]}))
    assert not is_asked()
    found = run_cli("explain", path, "a", "-c", "promptfooconfig.json")
    assert found.stderr == ""


def test_explain_tells_of_a_conversation_that_would_begin_anew(
    run_cli: RunCli, results: Any
) -> None:
    path = results("r.json", made("a", metadata={"conversationId": "c"}))
    assert "the agent then sees a new one" in run_cli("explain", path, "a").stderr


@pytest.mark.parametrize(("verdicts", "code"), [("pp", 0), ("pf", 1), ("pi", 3), ("", 3)])
def test_the_gate_s_exit_code_is_its_answer(
    run_cli: RunCli, results: Any, verdicts: str, code: int
) -> None:
    path = results("r.json", *tries("a", verdicts))
    assert run_cli("report", path).exit_code == 0
    found = run_cli("report", path, "--gate")
    assert found.exit_code == code
    assert found.stderr.splitlines()[-1].startswith("gate: ")


def test_the_gate_takes_no_file_that_an_older_run_left(run_cli: RunCli, results: Any) -> None:
    path = results("r.json", made("a"), began="2020-01-31T12:00:00.000Z")
    assert run_cli("report", path, "--gate").exit_code == 0
    found = run_cli("report", path, "--gate", "--max-age", "60")
    assert (found.exit_code, "too long ago" in found.stderr) == (3, True)


def test_report_writes_its_documents_and_annotates(
    run_cli: RunCli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    found = run_cli("report", REAL, "--junit", "j.xml", "--markdown", "m.md", "--github")
    assert found.exit_code == 0
    assert len(found.stdout.splitlines()) == 10
    assert (folder / "j.xml").read_text("utf-8").startswith("<?xml")
    report = (folder / "m.md").read_text("utf-8")
    assert (folder / "summary.md").read_text("utf-8") == "before\n" + report


def test_what_is_read_is_never_written_over(run_cli: RunCli, results: Any) -> None:
    path = results("r.json", made("a"))
    before = Path(path).read_text()
    for command, option in (("bless", "--to"), ("report", "--junit"), ("report", "--markdown")):
        assert run_cli(command, path, option, f"./{Path(path).name}").exit_code == 2
    assert Path(path).read_text() == before


def test_a_comparison_with_an_old_run_that_is_not_whole_says_so(
    run_cli: RunCli, results: Any
) -> None:
    old, new = results("old.json", made("a"), stats={"errors": 5}), results("new.json", made("a"))
    found = run_cli("compare", old, new)
    assert (found.exit_code, found.stderr.startswith("OLD: ")) == (0, True)


def test_report_says_where_it_cannot_write(run_cli: RunCli) -> None:
    found = run_cli("report", REAL, "--junit", "no/such/folder/j.xml")
    assert found.exit_code == 2
    assert "no/such/folder/j.xml cannot be written: No such file" in found.stderr


@pytest.mark.parametrize(
    "options", [["--required", "a"], ["--min-pass-rate", "1"], ["--json", "--github"]]
)
def test_report_refuses_options_that_would_do_nothing(run_cli: RunCli, options: list[str]) -> None:
    assert run_cli("report", REAL, *options).exit_code == 2


def test_shard_prints_a_range_for_each_part_or_for_one(run_cli: RunCli, folder: Path) -> None:
    tests = [{"vars": {"q": ["a", "b", "c"]}}, {"vars": {"q": "d"}}, {"vars": {"q": "e"}}]
    (folder / "c.json").write_text(json.dumps({"tests": tests}))
    both = run_cli("shard", "c.json", "--of", "2")
    assert both.stdout == "--filter-range 0:1\n--filter-range 1:\n"
    assert both.stderr == "3 tests; 2 to 3 rows a part, provider and repeat\n"
    assert run_cli("shard", "c.json", "--of", "2", "--index", "1").stdout == "--filter-range 1:\n"


@pytest.mark.parametrize(
    ("config", "options", "told"),
    [
        ({"tests": [{}]}, ["--of", "2"], "cannot be cut into 2 parts"),
        ({"tests": [{}]}, ["--of", "1", "--index", "1"], "beyond the last part, 0"),
        ({"tests": "file://made.py:tests"}, ["--of", "2"], "--tests M"),
        ({"scenarios": [{"tests": [{}]}]}, ["--of", "2"], "--tests M"),
        (None, ["--of", "2"], "c.json cannot be read"),
    ],
)
def test_shard_says_what_it_cannot_do(
    run_cli: RunCli, folder: Path, config: Any, options: list[str], told: str
) -> None:
    if config is not None:
        (folder / "c.json").write_text(json.dumps(config))
    found = run_cli("shard", "c.json", *options)
    assert (found.exit_code, found.stdout) == (2, "")
    assert told in found.stderr


def test_shard_takes_the_number_of_tests_that_it_cannot_count(
    run_cli: RunCli, folder: Path
) -> None:
    (folder / "c.json").write_text(json.dumps({"tests": "file://made.py:tests"}))
    found = run_cli("shard", "c.json", "--of", "2", "--tests", "5")
    assert found.stdout == "--filter-range 0:3\n--filter-range 3:\n"
