"""Keys that do not go together."""

from __future__ import annotations

from typing import Any

import certifi
import pytest

from lobu_provider.config.settings import load_settings
from lobu_provider.errors import ConfigError


def warnings(**config: Any) -> tuple[str, ...]:
    return load_settings({"config": {"agent": "a", **config}}).warnings


@pytest.mark.parametrize("other", [{"thread": "t-1"}, {"keepSession": True}])
def test_a_repeat_needs_a_thread_of_its_own(other: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        warnings(retries=1, **other)
    assert f"config.retries and config.{next(iter(other))}" in str(caught.value)
    assert warnings(retries=0, **other) == ()


@pytest.mark.parametrize(
    ("config", "inner", "outer"),
    [
        ({"turnTimeoutMs": 200_000}, "turnTimeoutMs", "timeoutMs"),
        ({"idleTimeoutMs": 200_000}, "idleTimeoutMs", "timeoutMs"),
        ({"idleTimeoutMs": 9000, "turnTimeoutMs": 8000}, "idleTimeoutMs", "turnTimeoutMs"),
    ],
)
def test_a_limit_that_never_comes_first_is_warned_of(
    config: dict[str, Any], inner: str, outer: str
) -> None:
    (warning,) = warnings(**config)
    assert warning.startswith(f"config.{inner} ")
    assert f"is longer than {outer} " in warning


@pytest.mark.parametrize(
    "config",
    [
        {"timeoutMs": 5000},
        {"turnTimeoutMs": 5000},
        {"timeoutMs": 5000, "turnTimeoutMs": 5000, "idleTimeoutMs": 5000},
    ],
)
def test_limits_in_order_and_the_default_one_are_not(config: dict[str, Any]) -> None:
    assert warnings(**config) == ()


@pytest.mark.parametrize(
    ("text", "warned"), [("x" * 2048, False), ("x" * 2049, True), ("\U0001f600" * 1025, True)]
)
def test_more_context_than_a_gateway_uses_is_warned_of(text: str, warned: bool) -> None:
    found = warnings(ephemeralContext=text)
    assert any("2,048" in warning for warning in found) is warned


@pytest.mark.parametrize(
    ("gateway", "warned"), [("http://h", True), ("https://h", False), ("script:demo", False)]
)
def test_certificates_for_a_gateway_without_https_are_warned_of(gateway: str, warned: bool) -> None:
    found = warnings(gateway=gateway, caFile=certifi.where())
    assert any("caFile is not used" in warning for warning in found) is warned
