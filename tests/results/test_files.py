"""Reading results files, small, large and broken."""

from __future__ import annotations

import builtins
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.results import documents
from lobu_provider.results.completeness import gaps_of
from lobu_provider.results.documents import plain
from lobu_provider.results.faults import ResultsError, UnfinishedResultsError
from lobu_provider.results.files import facts_of, rows_of
from lobu_provider.results.runs import read_run
from lobu_provider.results.summary import summarize

from .made_rows import FIXTURES, made, write

DOCUMENTS = sorted(path for path in FIXTURES.glob("*.json"))


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "READ_AT_ONCE", 0)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_streaming_gives_the_same_rows_and_facts_as_reading_at_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = (list(rows_of(path)), facts_of(path))
    monkeypatch.setattr(documents, "READ_AT_ONCE", 0)
    assert ([plain(row) for row in rows_of(path)], facts_of(path)) == at_once


@pytest.mark.usefixtures("streamed")
def test_numbers_of_any_size_and_lone_surrogates_are_read_in_a_stream(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [made(score=0.1, big=12345678901234567890123)])
    path.write_text(path.read_text().replace('"hello"', '"\\ud83d\\ude00"'))
    (row,) = rows_of(path)
    assert row["big"] == 12345678901234567890123
    assert row["response"]["output"] == "\U0001f600"
    assert read_run([path]).rows[0].score == 0.1


@pytest.mark.usefixtures("streamed")
def test_without_ijson_a_large_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def none_of_it(name: str, *more: Any, **named: Any) -> Any:
        if name == "ijson":
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", none_of_it)
    with pytest.raises(ResultsError, match=r"pip install 'lobu-provider\[results\]'"):
        list(rows_of(write(tmp_path / "r.json", [made()])))


@pytest.mark.parametrize("at_once", [True, False])
def test_a_file_that_is_cut_off_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr(documents, "READ_AT_ONCE", 10**9 if at_once else 0)
    path = write(tmp_path / "r.json", [made(), made()])
    path.write_text(path.read_text()[:-300])
    with pytest.raises(UnfinishedResultsError, match="cut off"):
        read_run([path])


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{]", "is not JSON"),
        ('{"results": {}}', "has no list results.results"),
        ("[]", "has no list results.results"),
        ('{"results": {"results": [1]}}', r"results\[0\] is not an object"),
    ],
)
def test_what_is_no_results_file_is_refused_with_what_was_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str, at_once: bool
) -> None:
    monkeypatch.setattr(documents, "READ_AT_ONCE", 10**9 if at_once else 0)
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ResultsError, match=words) as caught:
        read_run([path])
    assert str(path) in str(caught.value)


def test_a_missing_or_empty_file_is_a_run_that_did_not_end(tmp_path: Path) -> None:
    with pytest.raises(UnfinishedResultsError, match="paused run"):
        read_run([tmp_path / "none.json"])
    (tmp_path / "empty.json").touch()
    with pytest.raises(UnfinishedResultsError, match="is empty"):
        read_run([tmp_path / "empty.json"])


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ResultsError, match="is not a plain file"):
        read_run([tmp_path / "pipe"])


def test_json_lines_are_rows_and_never_proof_of_a_whole_run() -> None:
    run = read_run([FIXTURES / "paused-0.123.1.jsonl"])
    assert [row.outcome for row in run.rows] == ["passed", "passed", "not run"]
    assert "does not tell whether the run ended" in gaps_of(run)[0]


def test_a_broken_line_is_named_and_a_cut_off_one_is_a_run_that_did_not_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(made()) + "\n{]\n")
    with pytest.raises(ResultsError, match="line 2 is not JSON"):
        read_run([path])
    path.write_text(json.dumps(made()) + '\n{"a')
    with pytest.raises(UnfinishedResultsError, match="cut off"):
        read_run([path])


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    one = write(tmp_path / "one.json", [made()], eval_id="eval-x")
    two = write(tmp_path / "two.json", [made()], eval_id="eval-x")
    with pytest.raises(ResultsError, match="of the same run"):
        read_run([one, two])


def test_a_file_that_names_no_run_is_refused_twice_by_its_place_and_by_its_content(
    tmp_path: Path,
) -> None:
    one = write(tmp_path / "one.json", [made()], eval_id=None)
    link, copy = tmp_path / "link.json", tmp_path / "copy.json"
    link.symlink_to(one)
    copy.write_bytes(one.read_bytes())
    for other in (one, link, copy):
        with pytest.raises(ResultsError, match="of the same run, whose rows would count twice"):
            read_run([one, other])
    assert len(read_run([one, write(tmp_path / "b.json", [made("b")], eval_id=None)]).rows) == 2


@pytest.mark.parametrize("at_once", [True, False])
def test_small_and_streamed_files_agree_on_what_is_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr(documents, "READ_AT_ONCE", 10**9 if at_once else 0)
    path = write(tmp_path / "r.json", [made(score=0.5)])
    text = path.read_text("utf-8")
    path.write_text(f"\ufeff{text}", "utf-8")
    assert gaps_of(read_run([path])) == []
    path.write_text(text.replace("0.5", "NaN"), "utf-8")
    with pytest.raises(ResultsError, match="is not JSON"):
        read_run([path])


@pytest.mark.parametrize("at_once", [True, False])
def test_numbers_without_bound_are_no_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr(documents, "READ_AT_ONCE", 10**9 if at_once else 0)
    path = write(tmp_path / "r.json", [made(score=0.5)])
    text = path.read_text("utf-8")
    path.write_text(text.replace('"durationMs": 5', '"durationMs": 1e999'), "utf-8")
    (gap,) = gaps_of(read_run([path]))
    assert "it did not end" in gap
    path.write_text(text.replace("0.5", "1e999"), "utf-8")
    assert read_run([path]).rows[0].score is None


@pytest.mark.parametrize("name", ["python-0.121.20", "package-0.123.1"])
def test_what_both_promptfoos_wrote_through_both_doors_is_counted_alike(name: str) -> None:
    run = read_run([FIXTURES / f"{name}.json"])
    summary = summarize(run.rows)
    assert gaps_of(run) == []
    assert (summary.rows, summary.judged, summary.unjudged) == (78, 54, {"grader": 24})
    assert run.files[0].repeat == 3
    assert run.files[0].tests == 12
