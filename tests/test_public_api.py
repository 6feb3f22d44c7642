"""The public names: all there, loaded when first used, and no others."""

from __future__ import annotations

import inspect
from importlib.metadata import version

import pytest

import lobu_provider

NAMES = [
    *("Abort", "AgentError", "ConfigError", "Conversation", "Event", "Failure", "GatewayClient"),
    *("InfrastructureError", "LobuError", "LobuProvider", "RequestLimits", "SentMessage"),
    *("Session", "SessionPlan", "ToolCall", "Turn", "fold_turn", "normalise_gateway"),
    "open_conversation",
]


def test_all_lists_the_public_names_and_the_version() -> None:
    assert lobu_provider.__all__ == sorted([*NAMES, "__version__"])
    assert dir(lobu_provider) == lobu_provider.__all__


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_there_documented_and_from_this_package(name: str) -> None:
    thing = getattr(lobu_provider, name)
    assert thing.__name__ == name
    assert thing.__module__.startswith("lobu_provider.")
    assert inspect.getdoc(thing)
    assert getattr(lobu_provider, name) is thing


def test_the_version_is_that_of_the_installed_package() -> None:
    assert lobu_provider.__version__ == version("lobu-provider")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = lobu_provider.Nonsense


def test_the_exceptions_form_one_family() -> None:
    for kind in (lobu_provider.ConfigError, lobu_provider.AgentError):
        assert issubclass(kind, lobu_provider.LobuError)
    assert issubclass(lobu_provider.InfrastructureError, lobu_provider.LobuError)


def test_a_provider_tells_its_id_from_the_options_else_from_the_agent() -> None:
    provider = lobu_provider.LobuProvider
    assert provider({"id": "file://x.py"}).id() == "file://x.py"
    assert provider({"config": {"agent": "support"}}).id() == "lobu:support"
    assert provider({"id": "", "config": {"agent": 7}}).id() == "lobu"
    assert provider(None).id() == provider().id() == "lobu"


def test_secrets_are_not_part_of_how_a_session_is_shown() -> None:
    session = lobu_provider.Session(id="c", agent_id="a", thread="t", token="s3cret-value")
    assert "s3cret-value" not in repr(session)
