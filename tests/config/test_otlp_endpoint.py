"""The address that spans are posted to."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.config.settings import load_settings
from lobu_provider.errors import ConfigError


def endpoint(**config: Any) -> str:
    return load_settings({"config": {"agent": "a", **config}}).otlp_endpoint


@pytest.mark.parametrize("config", [{}, {"otlpEndpoint": None}, {"otlpEndpoint": " "}])
def test_it_is_promptfoo_s_own_receiver_unless_given(config: dict[str, Any]) -> None:
    assert endpoint(**config) == "http://127.0.0.1:4318/v1/traces"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("http://127.0.0.1:4319", "http://127.0.0.1:4319/v1/traces"),
        ("http://127.0.0.1:4319/", "http://127.0.0.1:4319/v1/traces"),
        ("https://otel.example/in/v1/traces", "https://otel.example/in/v1/traces"),
        (" http://[::1]:4318/v1/traces ", "http://[::1]:4318/v1/traces"),
    ],
)
def test_an_address_without_a_path_gets_the_usual_one(given: str, found: str) -> None:
    assert endpoint(otlpEndpoint=given) == found


@pytest.mark.parametrize(
    "given",
    ["4318", "127.0.0.1:4318", "ftp://h/v1/traces", "http://", "http://h:0", "http://h:99999",
     "http://a b/v1", "grpc://h:4317"],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_the_form_that_is(given: str) -> None:
    with pytest.raises(ConfigError, match=r"config\.otlpEndpoint: expected http://HOST:PORT"):
        endpoint(otlpEndpoint=given)


def test_credentials_in_the_address_are_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="holds '@'") as caught:
        endpoint(otlpEndpoint="http://user:sekret@h/v1/traces")
    assert "sekret" not in str(caught.value)


def test_tracing_false_is_what_some_yaml_readers_make_of_off() -> None:
    settings = load_settings({"config": {"agent": "a", "tracing": False}})
    assert settings.tracing == "off"
