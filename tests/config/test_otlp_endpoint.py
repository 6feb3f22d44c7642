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


def backend(env: dict[str, str] | None = None, **config: Any) -> Any:
    return load_settings({"config": {"agent": "a", **config}, "env": env or {}})


def test_a_backend_has_an_address_and_headers_of_its_own() -> None:
    settings = backend(
        {"KEY": "sk_0123456789"},
        otlpBackend="https://otel.example",
        otlpBackendHeaders={"x-api-key": {"env": "KEY"}},
    )
    assert settings.otlp_backend == "https://otel.example/v1/traces"
    assert settings.otlp_backend_headers == {"x-api-key": "sk_0123456789"}
    assert "sk_0123456789" in settings.secrets
    assert "sk_0123456789" not in repr(settings)
    assert backend().otlp_backend is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"otlpBackend": "otel.example"}, "config.otlpBackend: expected http://HOST:PORT"),
        ({"otlpBackend": "https://me:sekret@h"}, "config.otlpBackend: the URL holds '@'"),
        (
            {"otlpBackend": "http://h", "otlpBackendHeaders": {"a": "sekret"}},
            r"config.otlpBackendHeaders.a: expected a mapping of header names to {env: NAME}",
        ),
        (
            {"otlpBackend": "http://h", "otlpBackendHeaders": {"a": {"env": "NOT_SET"}}},
            "config.otlpBackendHeaders.a: the environment variable 'NOT_SET' is not set",
        ),
        (
            {"otlpBackend": "http://h", "otlpBackendHeaders": {"content-type": {"env": "KEY"}}},
            "config.otlpBackendHeaders.content-type: the provider sets this header itself",
        ),
        (
            {"otlpBackendHeaders": {"a": {"env": "KEY"}}},
            "config.otlpBackendHeaders does nothing without otlpBackend",
        ),
    ],
)
def test_what_cannot_work_with_a_backend_is_refused_without_its_secrets(
    config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        backend({"KEY": "sk_0123456789"}, **config)
    assert message in str(caught.value)
    assert "sekret" not in str(caught.value)
