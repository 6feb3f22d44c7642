"""What may hide a regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lobu_provider.results.baseline import baseline_lines, read_run_or_baseline
from lobu_provider.results.comparison import compare
from lobu_provider.results.comparison_doubts import doubts_of
from lobu_provider.results.runs import read_run

from .made_rows import made, read, write


def doubts(old: list[dict[str, Any]], new: list[dict[str, Any]], **more: bool) -> list[str]:
    return doubts_of(compare(read(*old), read(*new)), **more)


def test_a_test_that_is_gone_is_named_unless_that_is_allowed() -> None:
    old, new = [made("a"), made("b"), made("c", "fail")], [made("a")]
    (text,) = doubts(old, new)
    assert text.startswith("2 tests judged in OLD and not in NEW: 'b' (model), 'c' (model). If")
    assert "--allow-removed" in text
    assert doubts(old, new, allow_removed=True) == []
    assert doubts(new, old) == []


def test_a_test_that_was_never_judged_may_go() -> None:
    assert doubts([made("a"), made("b", "infrastructure")], [made("a")]) == []


def test_a_provider_that_is_gone_takes_its_tests_with_it() -> None:
    both = [made("a", provider="x"), made("a", provider="y", promptIdx=1)]
    (text,) = doubts(both, both[:1])
    assert "'a' (y)" in text


def test_of_many_tests_that_are_gone_some_are_named() -> None:
    (text,) = doubts([made(f"t{n}") for n in range(30)], [])
    assert "'t19' (model) and 10 more" in text
    assert "'t20'" not in text


def test_a_test_that_cannot_be_judged_any_more_is_named_whatever_is_allowed() -> None:
    (text,) = doubts([made("a")], [made("a", "infrastructure")], allow_removed=True)
    assert text == "1 test judged in OLD and could not be in NEW: 'a' (model)"


def test_a_test_that_was_never_judged_is_named_and_so_is_its_failure() -> None:
    broken, failed, passed = made("a", "infrastructure"), made("a", "fail"), made("a")
    assert doubts([broken], [broken]) == ["no test of NEW could be judged"]
    assert doubts([broken, made("b")], [broken, made("b")]) == []
    (fresh,) = doubts([passed], [passed, made("b", "infrastructure")])
    assert "'b' (model)" in fresh
    (worse,) = doubts([broken], [failed])
    assert worse == "1 test could not be judged in OLD and did not pass in NEW: 'a' (model)"
    assert doubts([broken], [passed]) == []


def test_tests_without_variables_are_matched_by_place_which_is_no_proof(tmp_path: Path) -> None:
    def rows(*verdicts: str, described: bool = False) -> Any:
        found = [made(str(place), verdict) for place, verdict in enumerate(verdicts)]
        for row in found:
            del row["testCase"]["vars"]
            row["vars"] = {}
            if not described:
                del row["testCase"]["description"]
        return read_run([write(tmp_path / "r.json", found)]).rows

    same = rows("pass", "fail")
    (text,) = doubts_of(compare(same, same))
    assert text.startswith("2 tests of NEW named '(no variables)' are matched by their place alone")
    assert doubts_of(compare(rows("pass"), rows("pass"))) == []
    described = rows("pass", "pass", described=True)
    assert doubts_of(compare(described, described)) == []


def test_an_old_baseline_that_held_two_tests_as_one_must_be_blessed_again(tmp_path: Path) -> None:
    rows = [made("a", metadata={"conversationId": name}) for name in ("x", "y")]
    run = read_run([write(tmp_path / "r.json", rows)])
    path = tmp_path / "baseline.json"

    def against(version: int) -> list[str]:
        merged = [row for row in run.rows if version == 2 or row.test_idx == 0]
        text = "\n".join(baseline_lines(type(run)(tuple(merged), run.files)))
        if version == 1:
            text = text.replace('"version": 2', '"version": 1').replace('"metadata"', '"unknown"')
        path.write_text(text, encoding="utf-8")
        return doubts_of(compare(read_run_or_baseline([path]).rows, run.rows))

    assert against(2) == []
    (text,) = against(1)
    assert text.startswith("2 tests of NEW named 'a' stand against 1 of a baseline by an older")
