"""The decision on a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lobu_provider.results.completeness import gaps_of
from lobu_provider.results.gate import Gate, Rates, decide
from lobu_provider.results.runs import read_run

from .made_rows import made, tries, write


def gate(folder: Path, rows: list[dict[str, Any]], *required: str, **more: Any) -> Gate:
    run = read_run([write(folder / "r.json", rows)])
    return decide(run, gaps_of(run), required, **more)


@pytest.mark.parametrize(
    ("verdicts", "answer"),
    [("pp", "ok"), ("pf", "failed"), ("pi", "unknown"), ("pg", "unknown"), ("fi", "failed")],
)
def test_a_failure_outweighs_a_doubt_and_a_doubt_a_pass(
    tmp_path: Path, verdicts: str, answer: str
) -> None:
    assert gate(tmp_path, tries("t", verdicts)).answer == answer


def test_a_run_without_rows_is_never_good(tmp_path: Path) -> None:
    found = gate(tmp_path, [])
    assert found.answer == "unknown"
    assert "has no rows" in found.doubts[0]


def test_what_was_not_judged_stays_a_doubt_whatever_rate_is_enough(tmp_path: Path) -> None:
    rates = Rates(overall=0.5)
    assert gate(tmp_path, tries("t", "pf"), rates=rates).answer == "ok"
    assert gate(tmp_path, tries("t", "pfi"), rates=rates).answer == "unknown"
    assert gate(tmp_path, tries("t", "pff"), rates=rates).answer == "failed"


def test_a_requirement_names_tests_by_pattern_or_by_their_metadata(tmp_path: Path) -> None:
    rows = [
        *tries("refunds: [17]", "p", metadata={"suite": ["safety", "money"]}),
        *tries("refunds: slow", "pi"),
        *tries("greets", "pf"),
    ]
    found = gate(tmp_path, rows, "refunds:*", "greets", "suite=safety", "refunds: [17]")
    assert [(one.requirement, one.test, one.state) for one in found.required] == [
        ("refunds:*", "refunds: [17]", "ok"),
        ("refunds:*", "refunds: slow", "pending"),
        ("greets", "greets", "failed"),
        ("suite=safety", "refunds: [17]", "ok"),
        ("refunds: [17]", "refunds: [17]", "ok"),
    ]


def test_a_requirement_that_matches_nothing_fails(tmp_path: Path) -> None:
    found = gate(tmp_path, [made("a")], "b*")
    assert found.answer == "failed"
    assert found.failures == ("required b*: no test of the run matches it",)


def test_a_required_test_must_pass_every_time_whatever_rate_is_enough(tmp_path: Path) -> None:
    rates = Rates(overall=0.1)
    rows = tries("a", "ppf")
    assert gate(tmp_path, rows, rates=rates).answer == "ok"
    assert gate(tmp_path, rows, "a", rates=rates).failures == (
        "required a: a (model) passed 2 of 3",
    )


def test_rows_that_asserted_nothing_are_noted(tmp_path: Path) -> None:
    row = made("a")
    row["gradingResult"]["componentResults"] = []
    found = gate(tmp_path, [row, made("b")])
    assert (found.answer, found.notes) == ("ok", ("1 row passed without any assertion",))


def test_a_run_of_fewer_tests_than_the_config_has_is_noted(tmp_path: Path) -> None:
    rows = [made("a"), made("b")]
    tests: list[dict[str, Any]] = [{}] * 3
    path = write(tmp_path / "r.json", rows, tests=tests)
    found = decide(read_run([path]), [])
    assert found.answer == "ok"
    assert found.notes == (f"{path} has 2 of the config's 3 tests: a filter?",)
    whole = write(tmp_path / "w.json", rows, tests=tests[:2])
    assert decide(read_run([whole]), []).notes == ()


def test_tests_that_each_name_one_provider_are_no_part_of_the_config(tmp_path: Path) -> None:
    rows = [made("a", promptIdx=0), made("b", provider="other", promptIdx=1)]
    path = write(tmp_path / "r.json", rows, tests=[{}, {}])
    assert decide(read_run([path]), []).notes == ()
    repeated = [made("a", testIdx=n, promptIdx=n // 2) for n in range(4)]
    path = write(tmp_path / "r.json", repeated, tests=[{}, {}], options={"repeat": 2})
    assert decide(read_run([path]), []).notes == ()
