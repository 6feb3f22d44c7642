"""What changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lobu_provider.results.baseline import baseline_lines, read_run_or_baseline
from lobu_provider.results.comparison import Comparison, compare
from lobu_provider.results.comparison_report import (
    comparison_json,
    comparison_markdown,
    comparison_text,
)
from lobu_provider.results.faults import ResultsError
from lobu_provider.results.runs import Run, read_run

from .made_rows import FIXTURES, made, read, tries, write


def changes(found: Comparison) -> list[tuple[str, str]]:
    return [(pair.name, "flip" if pair.is_flip else pair.change) for pair in found.pairs]


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("p", "p", "same"),
        ("p", "f", "regression"),
        ("f", "p", "fix"),
        ("ppp", "ppf", "regression"),
        ("ppf", "pff", "flip"),
        ("pff", "fff", "regression"),
        ("fff", "pff", "fix"),
        ("p", "i", "unjudged"),
        ("p", "g", "unjudged"),
        ("f", "i", "unjudged"),
        ("i", "f", "judged again"),
        ("i", "g", "same"),
        ("pp", "pi", "same"),
    ],
)
def test_a_verdict_that_got_worse_is_a_regression(old: str, new: str, change: str) -> None:
    found = compare(read(*tries("t", old)), read(*tries("t", new)))
    assert changes(found) == [("t", change)]


def test_tests_are_matched_by_what_they_say_in_any_order() -> None:
    old = read(made("a"), made("b"), made("gone"))
    new = read(made("new"), made("b", verdict="fail"), made("a"))
    assert changes(compare(old, new)) == [
        ("new", "added"),
        ("b", "regression"),
        ("a", "same"),
        ("gone", "removed"),
    ]


def test_tests_of_one_name_are_matched_by_their_assertions_first() -> None:
    strict, lenient = ([{"type": kind, "value": "x"}] for kind in ("equals", "contains"))
    old = read(made("a", checks=lenient), made("a", verdict="fail", checks=strict))
    new = read(made("a", verdict="fail", checks=strict), made("a", checks=lenient))
    assert [change for _, change in changes(compare(old, new))] == ["same", "same"]


def test_a_test_whose_assertions_changed_is_the_same_test_and_that_is_told() -> None:
    new = made("a", verdict="fail", checks=[{"type": "equals", "value": "x"}])
    told = comparison_json(compare(read(made("a")), read(new)))
    assert [(t["change"], t["checksChanged"]) for t in told["tests"]] == [("regression", True)]


def test_two_models_are_compared_where_each_run_has_one() -> None:
    found = compare(
        read(made("a", provider="small")), read(made("a", verdict="fail", provider="large"))
    )
    assert changes(found) == [("a", "regression")]
    assert found.notes == ("The provider is another: small before, large now.",)


def test_of_several_providers_each_is_compared_with_itself() -> None:
    old = read(made("a", provider="x"), made("a", provider="y", promptIdx=1))
    new = read(made("a", provider="y", verdict="fail"), made("a", provider="z", promptIdx=1))
    found = {(p.column.provider, p.change) for p in compare(old, new).pairs}
    assert found == {("y", "regression"), ("z", "added"), ("x", "removed")}


def call(name: str, turn: int = 1, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "turn": turn, "input": arguments}


def tools(old: list[Any], new: list[Any], **named: Any) -> list[tuple[int, str, str]]:
    found = compare(read(made("t", calls=old)), read(made("t", calls=new)), **named)
    return [(change.turn, change.kind, change.text) for change in found.pairs[0].tools]


def test_a_changed_sequence_is_told_for_its_turn() -> None:
    old = [call("find"), call("refund", 2)]
    assert tools(old, [call("find"), call("check", 2), call("refund", 2)]) == [
        (2, "sequence", "refund -> check, refund")
    ]
    assert tools(old, [call("find")]) == [(2, "sequence", "refund -> no tool")]


def test_a_changed_argument_is_told_by_name() -> None:
    old = [call("refund", order=17, note="x"), call("mail", to="a")]
    new = [call("refund", order=71, fast=True), call("mail", to="a")]
    assert tools(old, new) == [
        (1, "arguments", 'refund: order: 17 -> 71; note: "x" -> absent; fast: absent -> true')
    ]


def test_the_order_of_keys_is_no_change_and_ignored_arguments_are_none() -> None:
    assert tools([call("a", x=1, y=2)], [call("a", y=2, x=1)]) == []
    assert tools([call("a", id=1)], [call("a", id=2)], ignored=frozenset({"id"})) == []


def test_an_agent_that_varied_before_has_not_changed() -> None:
    one, two = made("t", calls=[call("a")]), made("t", calls=[call("b")])
    assert compare(read(one, one, two), read(two, two, one)).pairs[0].tools == ()
    assert compare(read(one, one), read(two, two)).pairs[0].tools != ()


def test_a_sequence_that_only_some_repeats_have_now_is_told_with_its_count() -> None:
    old, new = tries("a", "ppp", calls=[call("search")]), tries("a", "pp", calls=[call("search")])
    new += [made("a", verdict="fail")]
    found = compare(read(*old), read(*new))
    assert [change.words for change in found.pairs[0].tools] == ["1 of 3: search -> no tool"]
    assert "    turn 1: 1 of 3: search -> no tool" in list(comparison_text(found))
    (told,) = comparison_json(found)["tests"]
    assert told["tools"] == [
        {"turn": 1, "kind": "sequence", "change": "search -> no tool", "rows": 1, "of": 3}
    ]
    assert compare(read(*new), read(*old)).pairs[0].tools == ()  # it was known before


def test_arguments_that_only_some_repeats_have_now_are_no_change() -> None:
    old = tries("a", "ppp", calls=[call("search", id=1)])
    new = [*tries("a", "pp", calls=[call("search", id=1)]), made("a", calls=[call("search", id=2)])]
    assert compare(read(*old), read(*new)).pairs[0].tools == ()


def test_a_change_beyond_what_is_kept_of_long_arguments_is_still_one() -> None:
    text = "x" * 5000
    (change,) = tools([call("a", text=text + "1")], [call("a", text=text + "2")])
    assert change[:2] == (1, "arguments")


def test_the_regressions_of_a_real_run_are_found_between_its_two_providers() -> None:
    rows = read_run([FIXTURES / "package-0.123.1.json"]).rows
    found = compare(
        [row for row in rows if row.provider == "good"],
        [row for row in rows if row.provider == "other"],
    )
    (refund,) = found.of("regression")
    assert refund.name == "refunds an order"
    assert [(change.turn, change.text) for change in refund.tools] == [
        (1, "lookup_order -> search_orders"),
        (2, "refund_order: order_id: 17 -> 71"),
    ]
    text = "\n".join(comparison_text(found))
    assert "Regressions: 1" in text
    assert "closest call (call 2, turn 2) differs in order_id" in text
    markdown = "\n".join(comparison_markdown(found))
    assert "## Evaluation: 1 regression\n" in markdown
    assert "### Regressions: 1" in markdown


def text_of(run: Run) -> str:
    return "\n".join(baseline_lines(run))


def test_a_baseline_compares_as_the_run_that_was_blessed(tmp_path: Path) -> None:
    run = read_run([FIXTURES / "python-0.121.20.json"])
    path = tmp_path / "baseline.json"
    path.write_text(text_of(run), encoding="utf-8")
    blessed = read_run_or_baseline([path])
    found = compare(blessed.rows, run.rows)
    assert {change for _, change in changes(found)} == {"same"}
    assert not any(pair.tools for pair in found.pairs)
    assert text_of(blessed) == path.read_text(encoding="utf-8")


def test_a_baseline_holds_no_secrets_ids_variables_or_answers(tmp_path: Path) -> None:
    secret = "owl_pat_canary_0123456789abcdef"
    row = made("t", verdict="fail", calls=[call("a", api_key="hidden-value", said=secret)])
    row["error"] = f"Bearer {secret}"
    row["vars"] = row["testCase"]["vars"] = {"query": "t", "private": "variable-value"}
    row["response"]["metadata"]["sessionId"] = "session-value"
    text = text_of(read_run([write(tmp_path / "r.json", [row])]))
    for hidden in (secret, "hidden-value", "variable-value", "session-value", "hello"):
        assert hidden not in text
    assert '\\"said\\": \\"***\\"' in text


def test_a_baseline_of_another_version_or_damaged_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text('{"format": "lobu-provider baseline", "version": 9, "rows": []}')
    with pytest.raises(ResultsError, match=r"version 9 .* Bless the run again"):
        read_run_or_baseline([path])
    path.write_text('{"format": "lobu-provider baseline", "version": 1, "rows": [{}]}')
    with pytest.raises(ResultsError, match=r"rows\[0\] is damaged"):
        read_run_or_baseline([path])
