"""Whether a run is whole."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from lobu_provider.results.completeness import gaps_of, stale_files
from lobu_provider.results.runs import read_run

from .made_rows import FIXTURES, made, write


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-rows-0.123.1", "has no rows"),
        ("abort-0.121.20", "promptfoo counted 0: the run was aborted"),
        ("abort-0.123.1", "promptfoo counted 0: the run was aborted"),
        ("paused-exported-0.121.20", "it did not end: it was paused"),
        ("paused-exported-0.123.1", "it did not end: it was paused"),
    ],
)
def test_a_run_for_which_promptfoo_ends_with_0_is_not_whole(name: str, words: str) -> None:
    (gap,) = gaps_of(read_run([FIXTURES / f"{name}.json"]))
    assert words in gap


def shards(
    folder: Path, *ranges: str, tests: object = "file://tests.yaml", count: int | None = None
) -> list[str]:
    paths = [
        write(folder / f"{n}.json", [made(str(n))], options={"filterRange": one}, tests=tests)
        for n, one in enumerate(ranges)
    ]
    return gaps_of(read_run(paths), count)


def test_neighbouring_ranges_whose_last_has_no_end_are_whole_in_any_order(tmp_path: Path) -> None:
    assert shards(tmp_path, "4:", ":2", "2:4") == []


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        (["2:4", "4:"], "tests 0 to 1 are in no shard"),
        (["0:2", "4:"], "tests 2 to 3 are in no shard"),
        (["0:3", "2:"], "overlaps"),
        (["0:2", "2:", "5:"], "overlaps"),
        (["0:2", "2:4"], "nothing tells whether that is the end"),
    ],
)
def test_a_missing_or_doubled_shard_is_noticed(
    tmp_path: Path, ranges: list[str], words: str
) -> None:
    assert any(words in gap for gap in shards(tmp_path, *ranges))


def test_the_configs_own_list_of_tests_tells_whether_the_last_shard_is_there(
    tmp_path: Path,
) -> None:
    assert shards(tmp_path, "0:2", "2:4", tests=[{}] * 4) == []
    (gap,) = shards(tmp_path, "0:2", "2:4", tests=[{}] * 5)
    assert "tests 4 to 4 are in no shard" in gap


def test_the_right_number_of_shards_does_not_hide_that_the_last_tests_are_in_none(
    tmp_path: Path,
) -> None:
    (gap,) = shards(tmp_path, "0:3", "3:6", tests=[{}] * 20, count=2)
    assert "tests 6 to 19 are in no shard" in gap
    (gap,) = shards(tmp_path, "0:3", "3:6", count=2)
    assert "nothing tells whether that is the end" in gap
    assert shards(tmp_path, "0:3", "3:", tests=[{}] * 20, count=2) == []


def test_files_without_a_range_are_not_known_to_be_the_shards(tmp_path: Path) -> None:
    run = read_run([write(tmp_path / f"{name}.json", [made(name)]) for name in "ab"])
    (gap,) = gaps_of(run, shards=2)
    assert "no file tells a filterRange" in gap


def test_a_shard_beside_a_whole_run_is_counted_twice(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.json", [made("a")])
    part = write(tmp_path / "part.json", [made("b")], options={"filterRange": "0:"})
    (gap,) = gaps_of(read_run([whole, part]))
    assert "is no shard" in gap


def test_the_number_of_files_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    run = read_run([write(tmp_path / "a.json", [made()])])
    assert gaps_of(run, shards=1) == []
    assert "1 file of 2 shards given" in gaps_of(run, shards=2)[0]


def test_a_file_of_an_older_run_or_of_no_known_time_is_stale() -> None:
    names = ("shard-0.123.1.json", "paused-0.123.1.jsonl")
    files = read_run([FIXTURES / name for name in names]).files
    assert files[0].started == "2026-11-30T17:09:24.202Z"
    began = datetime(2026, 11, 30, 17, 9, 24, 202_000, tzinfo=timezone.utc)
    hour = timedelta(hours=1)
    (unknown,) = stale_files(files, began + hour, hour)
    assert "does not tell when" in unknown
    old, _ = stale_files(files, began + hour + timedelta(seconds=1), hour)
    assert "began at 2026-11-30T17:09:24.202Z, which is too long ago" in old
