"""Which rows of one run are repeats, and which are tests that are written alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lobu_provider.results.baseline import baseline_lines, read_run_or_baseline
from lobu_provider.results.comparison import compare
from lobu_provider.results.completeness import gaps_of
from lobu_provider.results.gate import Rates, decide
from lobu_provider.results.runs import Test, group_tests, read_run

from .made_rows import made, write


def grouped(folder: Path, *rows: dict[str, Any], **more: Any) -> list[Test]:
    return group_tests(read_run([write(folder / "r.json", rows, **more)]).rows)


def outcomes(tests: list[Test]) -> list[tuple[str, str]]:
    return [(one.name, " ".join(row.outcome for row in one.rows)) for one in tests]


def in_conversation(name: str, verdict: str = "pass", **more: Any) -> dict[str, Any]:
    return made("Yes.", verdict, metadata={"conversationId": name}, **more)


def with_file(path: str, verdict: str = "pass", **more: Any) -> dict[str, Any]:
    row = made("t", verdict, **more)
    row["testCase"] |= {"description": None, "vars": {"transcript": f"file://{path}"}}
    return row


def stripped(verdict: str, **more: Any) -> dict[str, Any]:
    """A row as ``PROMPTFOO_STRIP_TEST_VARS`` leaves it."""
    row = made("t", verdict, **more)
    del row["testCase"]["vars"], row["testCase"]["description"]
    return row | {"vars": {}}


def test_tests_that_differ_in_metadata_alone_are_two(tmp_path: Path) -> None:
    run = read_run(
        [write(tmp_path / "r.json", [in_conversation("a"), in_conversation("b", "fail")])]
    )
    assert outcomes(group_tests(run.rows)) == [("Yes. #1", "passed"), ("Yes. #2", "failed")]
    rates = Rates(overall=0.5)
    states = {name: decide(run, [], [f"conversationId={name}"], rates).answer for name in "ab"}
    assert states == {"a": "ok", "b": "failed"}
    assert decide(run, [], rates=Rates(each=0.5)).answer == "failed"


def test_repeats_of_tests_that_are_written_alike_stay_with_their_test(tmp_path: Path) -> None:
    rows = [made(verdict=verdict) for verdict in ("pass", "pass", "fail", "fail")]
    found = grouped(tmp_path, *rows, options={"repeat": 2})
    assert outcomes(found) == [("t #1", "passed passed"), ("t #2", "failed failed")]
    once = grouped(tmp_path, *rows[1:3])
    assert outcomes(once) == [("t #1", "passed"), ("t #2", "failed")]
    assert outcomes(grouped(tmp_path, *rows, options={"repeat": 4})) == [
        ("t", "passed passed failed failed")
    ]


def test_the_repeats_of_a_list_s_texts_do_not_follow_each_other(tmp_path: Path) -> None:
    rows = [made("one"), made("two", "fail"), made("one"), made("two", "fail")]
    found = grouped(tmp_path, *rows, options={"repeat": 2})
    assert outcomes(found) == [("one", "passed passed"), ("two", "failed failed")]


def test_texts_of_a_list_are_tests_though_they_share_the_author_s_id(tmp_path: Path) -> None:
    rows = [
        made(text, verdict, metadata={"testCaseId": "id"})
        for text, verdict in [("one", "pass"), ("two", "fail")] * 2
    ]
    for row in rows:
        row["testCase"]["description"] = "d"
    found = grouped(tmp_path, *rows, options={"repeat": 2})
    assert outcomes(found) == [("d #1", "passed passed"), ("d #2", "failed failed")]


def test_a_test_s_own_number_of_repeats_counts_before_the_run_s(tmp_path: Path) -> None:
    rows = [made() for _ in range(5)]
    for row in rows[:3]:
        row["testCase"]["options"] = {"repeat": 3}
    found = grouped(tmp_path, *rows, options={"repeat": 2})
    places = [[row.test_idx for row in one.rows] for one in found]
    assert places == [[0, 1, 2], [3, 4]]


def test_all_providers_and_prompts_of_a_test_share_its_number(tmp_path: Path) -> None:
    rows = [
        made("t", verdict, provider=f"p{column}", promptIdx=column, testIdx=place)
        for place, verdict in ((1, "pass"), (2, "fail"))
        for column in (0, 1)
    ]
    found = {(one.name, one.column.provider, one.first.outcome) for one in grouped(tmp_path, *rows)}
    assert found == {
        ("t #1", "p0", "passed"),
        ("t #1", "p1", "passed"),
        ("t #2", "p0", "failed"),
        ("t #2", "p1", "failed"),
    }


def test_metadata_that_a_hook_changes_from_repeat_to_repeat_makes_no_tests(tmp_path: Path) -> None:
    rows = [made("t", metadata={"suite": str(place)}) for place in range(3)]
    (one,) = grouped(tmp_path, *rows, options={"repeat": 3})
    run = read_run([tmp_path / "r.json"])
    assert len(one.rows) == 3
    assert decide(run, [], ["suite=2"]).answer == "ok"


def test_files_of_one_name_in_two_folders_are_two_tests_on_every_machine(tmp_path: Path) -> None:
    def rows(home: str, *folders: str) -> list[dict[str, Any]]:
        verdicts = {"refund": "pass", "cancel": "fail"}
        return [with_file(f"{home}/{one}/turns.yaml", verdicts[one]) for one in folders]

    old = write(tmp_path / "old.json", rows("/home/me/evals", "refund", "cancel"))
    new = write(tmp_path / "new.json", rows("/ci/build", "cancel", "refund"))
    before, after = read_run([old]), read_run([new])
    assert [one.name for one in group_tests(before.rows)] == ["turns.yaml #1", "turns.yaml #2"]
    assert {row.identity for row in before.rows} == {row.identity for row in after.rows}
    assert [pair.change for pair in compare(before.rows, after.rows).pairs] == ["same", "same"]


def test_a_file_whose_name_is_one_of_a_kind_is_the_same_test_in_any_folder(tmp_path: Path) -> None:
    one, two = (
        read_run([write(tmp_path / f"{n}.json", [with_file(f"{home}/turns.yaml")])]).rows[0]
        for n, home in enumerate(("/home/me", "/ci"))
    )
    assert one.identity == two.identity
    assert one.identity.place == ""


def test_a_label_that_is_added_leaves_every_test_the_same(tmp_path: Path) -> None:
    def run(*labels: str) -> Any:
        more = dict.fromkeys(labels, "x")
        rows = [made("only", metadata=more), *(in_conversation(name) for name in "ab")]
        rows[2]["testCase"]["metadata"] |= more
        return read_run([write(tmp_path / f"r{len(labels)}.json", rows)]).rows

    changes = {pair.change for pair in compare(run(), run("owner")).pairs}
    assert changes == {"same"}


def test_conversations_are_matched_by_name_when_their_order_changes(tmp_path: Path) -> None:
    old = write(tmp_path / "o.json", [in_conversation("a"), in_conversation("b", "fail")])
    new = write(tmp_path / "n.json", [in_conversation("b"), in_conversation("a", "fail")])
    found = compare(read_run([old]).rows, read_run([new]).rows)
    assert [pair.change for pair in found.pairs] == ["fix", "regression"]


def test_shards_hold_further_tests_and_whole_runs_the_same(tmp_path: Path) -> None:
    def file(name: str, **options: Any) -> Path:
        return write(tmp_path / name, [made()], options=options)

    shards = [file("b.json", filterRange="1:"), file("a.json", filterRange="0:1")]
    found = group_tests(read_run(shards).rows)
    assert [(one.name, one.identity.place) for one in found] == [("t #1", "#2"), ("t #2", "")]
    whole = [file("c.json"), file("d.json")]
    (one,) = group_tests(read_run(whole).rows)
    assert (one.name, len(one.rows)) == ("t", 2)


def test_without_variables_each_place_is_a_test(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [stripped("pass"), stripped("fail")])
    run = read_run([path])
    assert gaps_of(run) == []
    assert decide(run, [], rates=Rates(each=0.5)).answer == "failed"


@pytest.mark.parametrize(("rows", "is_known"), [(2, True), (4, False)])
def test_without_variables_it_may_be_unknown_which_rows_are_repeats(
    tmp_path: Path, rows: int, is_known: bool
) -> None:
    made_rows = [stripped("pass") for _ in range(rows)]
    run = read_run([write(tmp_path / "r.json", made_rows, options={"repeat": 2})])
    gaps = gaps_of(run)
    assert decide(run, gaps).answer == ("ok" if is_known else "unknown")
    assert ["PROMPTFOO_STRIP_TEST_VARS" in gap for gap in gaps] == [True] * (not is_known)


def test_json_lines_do_not_tell_repeats_from_tests(tmp_path: Path) -> None:
    lines = tmp_path / "r.jsonl"
    lines.write_text('{"success": true, "testIdx": 0}\n{"success": true, "testIdx": 1}\n')
    run = read_run([lines])
    assert [len(one.rows) for one in group_tests(run.rows)] == [2]
    assert decide(run, gaps_of(run)).answer == "unknown"


def test_a_baseline_tells_apart_what_the_run_did(tmp_path: Path) -> None:
    rows = [in_conversation("a"), in_conversation("b"), made("c"), made("c")]
    run = read_run([write(tmp_path / "r.json", rows)])
    path = tmp_path / "baseline.json"
    path.write_text("\n".join(baseline_lines(run)), encoding="utf-8")
    blessed = read_run_or_baseline([path])
    assert {row.identity for row in blessed.rows} == {row.identity for row in run.rows}
