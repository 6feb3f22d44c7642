"""promptfoo's own limit on a call: ``config.timeout``, else ``REQUEST_TIMEOUT_MS``, else 300 s."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.promptfoo.host_limit import host_limit_s

ODD = [
    "",
    " ",
    "soon",
    0,
    -5,
    "0",
    "-1",
    float("nan"),
    float("inf"),
    "inf",
    10**400,
    True,
    None,
    [1],
]


@pytest.mark.parametrize("options", [None, {}, {"config": None}, {"config": [1]}, [1], "text", 7])
def test_without_a_limit_in_the_options_it_is_promptfoos_default(options: Any) -> None:
    assert host_limit_s(options) == 300.0


@pytest.mark.parametrize(("value", "seconds"), [(5000, 5.0), (1.5, 0.0015), ("5000", 5.0)])
def test_the_config_wins_over_the_variable(
    value: Any, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUEST_TIMEOUT_MS", "60000")
    assert host_limit_s({}) == 60.0
    assert host_limit_s({"config": {"timeout": value}}) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("4000", 4.0), (4000, 4.0), ("4000ms", 4.0), (" 4000.9", 4.0), ("1e4", 0.001)],
)
def test_the_env_of_promptfoos_config_wins_and_is_read_as_promptfoo_reads_it(
    value: Any, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUEST_TIMEOUT_MS", "60000")
    assert host_limit_s({"env": {"REQUEST_TIMEOUT_MS": value}}) == seconds
    assert host_limit_s({"env": {"OTHER": "1"}}) == 60.0
    assert host_limit_s({"env": [value]}) == 60.0


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_value_is_passed_over(odd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUEST_TIMEOUT_MS", "60000")
    assert host_limit_s({"config": {"timeout": odd}}) == 60.0
    if isinstance(odd, str):
        monkeypatch.setenv("REQUEST_TIMEOUT_MS", odd)
        assert host_limit_s({}) == 300.0
