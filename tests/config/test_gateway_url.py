"""Every spelling of a gateway's address reaches the one base URL (protocol, section 1)."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.config.gateway_url import is_script, normalise_gateway
from lobu_provider.errors import ConfigError

UNLIMITED = settings(deadline=None)

SPELLINGS = [
    "",
    "/lobu",
    "/api/v1",
    "/api/v1/agents",
    "/lobu/api/v1",
    "/lobu/api/v1/agents",
    "/lobu/api/v1/agents/conv-1/events",
]


@pytest.mark.parametrize("tail", ["", "/", "//", "?x=1", "/?x=1", "#top", "/?a=/lobu#b"])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("prefix", ["", "/team", "/a/b"])
@pytest.mark.parametrize("origin", ["http://h", "https://gw.example:8443", "http://[::1]:8787"])
def test_all_spellings_reach_the_same_place(
    origin: str, prefix: str, spelling: str, tail: str
) -> None:
    assert normalise_gateway(f"{origin}{prefix}{spelling}{tail}") == f"{origin}{prefix}/lobu"


@UNLIMITED
@given(
    st.sampled_from(["http://h", "HTTPS://GW.example:8443", "http://[::1]:1", "http://h."]),
    st.text("/abclou-_.%~1v", max_size=30),
    st.sampled_from([*SPELLINGS, "/lobu/lobu"]),
    st.sampled_from(["", "/", "//", "?q", "#f"]),
)
def test_a_normalised_address_is_left_alone(
    origin: str, path: str, spelling: str, tail: str
) -> None:
    once = normalise_gateway(f"{origin}/{path}{spelling}{tail}")
    assert once.endswith("/lobu")
    assert normalise_gateway(once) == once


@UNLIMITED
@given(st.text())
def test_any_text_is_an_address_or_a_config_error(text: str) -> None:
    with suppress(ConfigError):
        assert normalise_gateway(text).endswith("/lobu")


@pytest.mark.parametrize(
    ("given_as", "base"),
    [
        ("  http://h/  ", "http://h/lobu"),
        ("HTTP://H/x", "http://h/x/lobu"),
        ("http://h/mylobu", "http://h/mylobu/lobu"),
        ("http://h:80", "http://h:80/lobu"),
    ],
)
def test_an_address_is_trimmed_and_its_origin_lowered_but_its_path_kept(
    given_as: str, base: str
) -> None:
    assert normalise_gateway(given_as) == base


@pytest.mark.parametrize(
    ("bad", "hint"),
    [
        ("localhost:8787", "http://localhost:8787"),
        ("gw.example", "http://gw.example"),
        ("ftp://h", "http:// or https://"),
        ("http://", "http://HOST:PORT"),
        ("http:///lobu", "http://HOST:PORT"),
        ("http://h:0", "http://HOST:PORT"),
        ("http://h:99999", "is not a URL"),
        ("http://h:port", "is not a URL"),
        ("http://a b", "http://HOST:PORT"),
        ("http://[::1", "is not a URL"),
        ("{{env.LOBU_GATEWAY}}", "template"),
        ("http://{{env.HOST}}/lobu", "template"),
    ],
)
def test_what_is_no_address_is_refused_with_the_value_and_a_hint(bad: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        normalise_gateway(bad)
    assert hint in str(caught.value)
    assert bad in str(caught.value)
    assert "config.gateway" in str(caught.value)


def test_credentials_in_the_address_are_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        normalise_gateway("http://me:s3cret-pw@h")
    assert "s3cret-pw" not in str(caught.value)
    assert "headers" in str(caught.value)


@pytest.mark.parametrize(
    ("gateway", "scripted"),
    [("script:demo", True), ("script:a/b.json", True), ("http://h", False), ("scripts", False)],
)
def test_only_the_script_scheme_means_the_embedded_gateway(gateway: str, scripted: bool) -> None:
    assert is_script(gateway) is scripted
