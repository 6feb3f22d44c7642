"""Counts over repeats, against a table worked out by hand."""

from __future__ import annotations

import pytest

from lobu_provider.results.gate import Rates, rate_failures
from lobu_provider.results.runs import group_tests
from lobu_provider.results.stats_report import smallest_k, stats_json, stats_text
from lobu_provider.results.summary import summarize

from .made_rows import read, tries


def test_the_table_is_that_of_the_hand() -> None:
    rows = read(
        *tries("steady", "pppp"),
        *tries("flaky", "pfpi"),
        *tries("failing", "ff"),
        *tries("unjudged", "gi"),
    )
    tests = group_tests(rows)
    k = smallest_k(tests)
    told = stats_json(tests, summarize(rows), k)
    assert k == 2
    assert [
        (t["test"], t["verdict"], t["passed"], t["judged"], t["passAllK"], t["passAtK"])
        for t in told["tests"]
    ] == [
        ("steady", "stable", 4, 4, 1.0, 1.0),
        ("flaky", "flaky", 2, 3, pytest.approx(1 / 3), 1.0),
        ("failing", "failing", 0, 2, 0.0, 0.0),
        ("unjudged", "unjudged", 0, 0, None, None),
    ]
    overall = told["overall"]
    assert (overall["rows"], overall["judged"], overall["passed"]) == (12, 9, 6)
    assert (overall["graderFailures"], overall["infrastructureErrors"]) == (1, 2)
    assert overall["passRate"] == pytest.approx(6 / 9)
    assert overall["meanScore"] == pytest.approx(6 / 9)
    assert overall["passAllK"] == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert overall["passAtK"] == pytest.approx(2 / 3)
    lines = list(stats_text(tests, summarize(rows), k))
    assert len(lines) == 6
    assert lines[2].startswith("flaky          2/3  66.7%")
    assert "[not judged: 1 infrastructure]" in lines[2]


def test_latency_is_that_of_judged_rows() -> None:
    rows = read(
        *tries("a", "p", latency=10),
        *tries("a", "p", latency=30),
        *tries("a", "i", latency=100_000),
    )
    summary = summarize(rows)
    assert (summary.latency_p50_ms, summary.latency_p95_ms) == (20, 29)


def test_tokens_are_unknown_unless_a_row_tells_them() -> None:
    assert summarize(read(*tries("a", "p"))).tokens is None
    assert summarize(read(*tries("a", "p", tokenUsage={"total": 0}))).tokens is None
    assert summarize(read(*tries("a", "pp", tokenUsage={"total": 7}))).tokens == 14


def test_pass_rates_are_asked_of_judged_rows_overall_and_of_each_test() -> None:
    rows = read(*tries("a", "ppi"), *tries("b", "pf"))
    tests, whole = group_tests(rows), summarize(rows)
    assert rate_failures(tests, whole, Rates(overall=0.75, each=0.5)) == []
    (below,) = rate_failures(tests, whole, Rates(overall=0.76))
    assert below == "3 of 4 judged rows passed (75.0%); at least 76.0% must"
    (one,) = rate_failures(tests, whole, Rates(each=0.6))
    assert one == "b (model): passed 1 of 2 (50.0%); at least 60.0% must"
