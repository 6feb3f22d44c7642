"""Every config key: what it accepts, and what a wrong one is told, before any request."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import certifi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.config.model import PROMPTFOO_KEYS, known_keys
from lobu_provider.config.settings import Settings, load_settings
from lobu_provider.errors import ConfigError

UNLIMITED = settings(deadline=None)


def load(env: dict[str, Any] | None = None, **config: Any) -> Settings:
    return load_settings({"id": "x", "config": {"agent": "a", **config}, "env": env or {}})


def refusal(**config: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(**config)
    assert caught.value.failure.code == "config"
    return str(caught.value)


# --- the keys

ACCEPTED: list[tuple[str, Any, Any]] = [
    ("agent", "support-agent", "support-agent"),
    ("gateway", "http://h", "http://h"),
    ("token", "owl_pat_x", "owl_pat_x"),
    ("tokenEnv", "OTHER_TOKEN", "OTHER_TOKEN"),
    ("tokenFile", "secrets/token.txt", "secrets/token.txt"),
    ("tokenCommand", "lobu token --raw", "lobu token --raw"),
    ("tokenCommand", ["lobu", "token", "--raw"], ["lobu", "token", "--raw"]),
    ("org", "acme", "acme"),
    ("headers", {"X-A": "b", "X-C": {"env": "D"}}, None),
    ("provider", "claude", "claude"),
    ("provider", "openai", "openai"),
    ("model", "openai/gpt-5", "openai/gpt-5"),
    ("timeoutMs", 1, 1.0),
    ("timeoutMs", 1500.5, 1500.5),
    ("thread", "t-1", "t-1"),
    ("keepSession", True, True),
    ("keepSession", False, False),
    ("dryRun", False, False),
    ("renderTurns", True, True),
    ("stringTranscript", "prompt", "prompt"),
    ("stringTranscript", "error", "error"),
    ("retrievalTools", ["docs_search"], ["docs_search"]),
    ("retrievalTools", [], []),
    ("caFile", certifi.where(), certifi.where()),
    ("turnTimeoutMs", 60_000, 60_000.0),
    ("idleTimeoutMs", 0.5, 0.5),
    ("retries", 0, 0),
    ("retries", 5, 5),
    ("answers", {}, {}),
    ("answers", {"which size\\?": "Large"}, {"which size\\?": "Large"}),
    ("stopOnTool", "refund", "refund"),
    ("stopOnTool", ["refund", "delete"], ["refund", "delete"]),
    ("stopOnTool", [], []),
    ("maxToolCalls", 1, 1),
    ("ephemeralContext", "none", "none"),
    ("failureTexts", False, False),
    ("allowEmpty", True, True),
    ("maxConcurrentSessions", 1, 1),
    ("sessionStartGapMs", 0, 0.0),
    ("sessionStartGapMs", 60_000, 60_000.0),
    ("maxMetadataKb", 1, 1),
    ("tracing", "best-effort", "best-effort"),
    ("tracing", False, False),
    ("otlpEndpoint", "http://h:4319", "http://h:4319"),
    ("otlpBackend", "http://h:4319", "http://h:4319"),
    ("otlpBackendHeaders", {}, {}),
    ("traceArguments", "none", "none"),
    ("cassettes", "recorded", "recorded"),
    ("cassetteMode", "off", "off"),
    ("cassetteMode", False, False),
    ("cassetteSet", "staging", "staging"),
    ("cassetteSpeed", 2, 2),
    ("cassetteRedact", ["[0-9]+", "$.a"], ["[0-9]+", "$.a"]),
]


def attribute(key: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key)


@pytest.mark.parametrize(("key", "value", "kept"), ACCEPTED)
def test_a_key_takes_its_values(key: str, value: Any, kept: Any) -> None:
    env = {"D": "d", "LOBU_CASSETTES": "c"}
    found = getattr(load(env, **{key: value}).config, attribute(key))
    if key != "headers":
        assert found == kept


def test_the_tables_of_this_file_leave_no_key_out() -> None:
    assert {key for key, *_ in ACCEPTED} == set(known_keys())
    assert {key for key, *_ in REFUSED} == set(known_keys())


REFUSED: list[tuple[str, Any, str]] = [
    ("agent", 7, "expected a string; got 7. Put it in quotes."),
    ("agent", ["a"], "expected a string; got ['a']"),
    ("gateway", 8787, "expected a string; got 8787. Put it in quotes."),
    ("gateway", {"url": "http://h"}, "expected a string"),
    ("token", 12345678, "expected a string. Put it in quotes."),
    ("tokenEnv", 7, "expected a string"),
    ("tokenFile", ["a"], "expected a string"),
    ("tokenCommand", 7, "expected a command as one string, or as a list of strings"),
    ("tokenCommand", ["lobu", 7], "expected a command as one string, or as a list of strings"),
    ("org", True, "expected a string; got True. Put it in quotes."),
    ("headers", ["X-A: b"], "expected a mapping of header names"),
    ("headers", {"X-A": 7}, "expected a mapping of header names"),
    ("headers", {"X-A": {"env": ""}}, "expected a mapping of header names"),
    ("headers", {"X-A": {"env": "B", "or": "c"}}, "expected a mapping of header names"),
    ("provider", 7, "expected a string; got 7"),
    ("model", 5.5, "expected a string; got 5.5. Put it in quotes."),
    ("timeoutMs", 0, "expected a positive number of milliseconds; got 0"),
    ("timeoutMs", -5, "expected a positive number of milliseconds; got -5"),
    ("timeoutMs", float("inf"), "expected a positive number of milliseconds; got inf"),
    ("timeoutMs", float("nan"), "expected a positive number of milliseconds; got nan"),
    ("timeoutMs", 10**400, "expected a positive number of milliseconds"),
    ("timeoutMs", True, "expected a positive number of milliseconds; got True"),
    (
        "timeoutMs",
        "120000",
        "expected a positive number of milliseconds; got '120000'. Write it without quotes.",
    ),
    ("thread", 7, "expected a string; got 7. Put it in quotes."),
    ("keepSession", "yes", "expected true or false; got 'yes'. Write it without quotes."),
    ("keepSession", 1, "expected true or false; got 1"),
    ("dryRun", "false", "expected true or false; got 'false'. Write it without quotes."),
    ("renderTurns", 0, "expected true or false; got 0"),
    ("stringTranscript", "ignore", "expected 'error' or 'prompt'; got 'ignore'"),
    ("stringTranscript", True, "expected 'error' or 'prompt'; got True"),
    ("retrievalTools", "docs", "expected a list of tool names; got 'docs'"),
    ("retrievalTools", [7], "expected a list of tool names; got 7"),
    ("retrievalTools", [""], "expected a list of tool names; got ''"),
    ("otlpBackend", 7, "expected a string; got 7. Put it in quotes."),
    ("otlpBackendHeaders", {"a": "b"}, "expected a mapping of header names to {env: NAME}"),
    ("caFile", 7, "expected a string; got 7. Put it in quotes."),
    ("caFile", ["a.pem"], "expected a string; got ['a.pem']"),
    ("turnTimeoutMs", 0, "expected a positive number of milliseconds; got 0"),
    ("turnTimeoutMs", "none", "expected a positive number of milliseconds; got 'none'"),
    ("idleTimeoutMs", -1, "expected a positive number of milliseconds; got -1"),
    ("idleTimeoutMs", float("inf"), "expected a positive number of milliseconds; got inf"),
    ("retries", 6, "expected a whole number from 0 to 5; got 6"),
    ("retries", -1, "expected a whole number from 0 to 5; got -1"),
    ("retries", 1.5, "expected a whole number from 0 to 5; got 1.5"),
    ("retries", True, "expected a whole number from 0 to 5; got True"),
    ("retries", "2", "expected a whole number from 0 to 5; got '2'. Write it without quotes."),
    ("answers", ["a"], "expected a mapping of question patterns to the option"),
    ("answers", "yes", "expected a mapping of question patterns to the option"),
    ("answers", {"sure": True}, "to the option to answer with; got True. Put it in quotes."),
    ("answers", {"sure": " "}, "to the option to answer with; got ' '"),
    ("answers", {"sure": None}, "to the option to answer with; got None"),
    ("stopOnTool", 7, "expected the name of a tool, or a list of names; got 7"),
    ("stopOnTool", [" "], "expected the name of a tool, or a list of names; got [' ']"),
    ("stopOnTool", [["a"]], "expected the name of a tool, or a list of names; got [['a']]"),
    ("stopOnTool", "send_*", "'send_*' is no tool's name. Expected names without patterns"),
    ("stopOnTool", ["refund", "a|b"], "'a|b' is no tool's name."),
    ("stopOnTool", "refund, delete", "list each tool as an item of its own"),
    ("retrievalTools", ["/docs/i"], "'/docs/i' is no tool's name."),
    ("maxToolCalls", 0, "expected a whole number of at least 1; got 0"),
    ("maxToolCalls", 2.5, "expected a whole number of at least 1; got 2.5"),
    ("ephemeralContext", 7, "expected a string; got 7. Put it in quotes."),
    ("failureTexts", "no", "expected true or false; got 'no'. Write it without quotes."),
    ("allowEmpty", 1, "expected true or false; got 1"),
    ("maxConcurrentSessions", 0, "expected a whole number of at least 1; got 0"),
    ("sessionStartGapMs", -1, "expected a number of milliseconds from 0 to 60000; got -1"),
    ("sessionStartGapMs", 60_001, "expected a number of milliseconds from 0 to 60000; got 60001"),
    ("sessionStartGapMs", float("nan"), "expected a number of milliseconds from 0 to 60000"),
    ("maxMetadataKb", 0, "expected a whole number of kilobytes of at least 1; got 0"),
    ("maxMetadataKb", "256", "of at least 1; got '256'. Write it without quotes."),
    ("tracing", "on", "expected 'auto', 'required', 'best-effort' or 'off'; got 'on'"),
    ("tracing", True, "expected 'auto', 'required', 'best-effort' or 'off'; got True"),
    ("otlpEndpoint", 4318, "expected a string; got 4318. Put it in quotes."),
    ("cassettes", 7, "expected a string; got 7. Put it in quotes."),
    ("cassetteMode", "play", "expected 'off', 'record', 'replay' or 'auto'; got 'play'"),
    ("cassetteSet", 7, "expected a string; got 7. Put it in quotes."),
    ("cassetteSpeed", 0, "expected a number above 0, e.g. 1 for the recorded time; got 0"),
    ("cassetteRedact", "x", "expected a list of regular expressions and JSON paths; got 'x'"),
    ("traceArguments", "all", "expected 'full', 'redacted' or 'none'; got 'all'"),
]


def test_all_faults_of_a_block_are_told_at_once_a_line_each() -> None:
    message = refusal(
        tiemoutMs=1, timeoutMs="x", agnet="a", org="{{env.ORG}}", retries="{{env.N}}", headers=7
    )
    assert [line.split(" ")[0] for line in message.splitlines()] == [
        "[config]",
        "config.agnet",
        "config.org:",
        "config.retries:",
        "config.headers:",
        "config.timeoutMs:",
    ]
    assert message.startswith("[config] config.tiemoutMs is not a key")
    assert message.count("Known keys:") == 1


@pytest.mark.parametrize(("key", "value", "said"), REFUSED)
def test_a_wrong_value_is_told_with_key_value_and_what_was_expected(
    key: str, value: Any, said: str
) -> None:
    message = refusal(**{key: value})
    assert message.startswith(f"[config] config.{key}")
    assert said in message
    assert len(message) < 300


@pytest.mark.parametrize("key", [*known_keys()])
@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_null_and_blank_mean_not_given(key: str, blank: Any) -> None:
    config = {"agent": "a", key: blank}
    found = load_settings({"config": config, "env": {"LOBU_AGENT": "a"}})
    assert (
        found.config
        == load_settings(
            {"config": {} if key == "agent" else {"agent": "a"}, "env": {"LOBU_AGENT": "a"}}
        ).config
    )


@pytest.mark.parametrize("key", sorted(PROMPTFOO_KEYS))
@pytest.mark.parametrize("value", ["x", 7, {"any": ["thing"]}])
def test_promptfoos_own_keys_are_not_looked_at(key: str, value: Any) -> None:
    assert load(**{key: value}).config == load().config


@pytest.mark.parametrize(
    "key", ["basePath", "workers", "timeout", "pythonExecutable", "maxRetries"]
)
def test_the_keys_that_promptfoo_is_known_to_pass_are_among_its_own(key: str) -> None:
    assert key in PROMPTFOO_KEYS


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("agnet", "agent"),
        ("Agent", "agent"),
        ("agent_id", "agent"),
        ("timeoutMS", "timeoutMs"),
        ("timeout_ms", "timeoutMs"),
        ("token_env", "tokenEnv"),
        ("keepsession", "keepSession"),
        ("retrieval_tools", "retrievalTools"),
        ("dryrun", "dryRun"),
        ("header", "headers"),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_one(typo: str, meant: str) -> None:
    message = refusal(**{typo: "the value"})
    assert f"config.{typo} is not a key" in message
    assert f"Did you mean '{meant}'?" in message
    assert "the value" not in message


def test_an_unknown_key_without_a_near_one_is_told_with_all_keys() -> None:
    message = refusal(zzz=1)
    assert "Did you mean" not in message
    assert all(key in message for key in known_keys())


@pytest.mark.parametrize("key", ["delay", "label", "transform", "prompts"])
def test_a_key_that_belongs_beside_config_is_told_so(key: str) -> None:
    assert "beside 'config'" in refusal(**{key: 1})


def test_a_key_that_is_no_text_is_an_unknown_key() -> None:
    with pytest.raises(ConfigError, match=r"config\.7 is not a key"):
        load_settings({"config": {"agent": "a", 7: "x"}})


@pytest.mark.parametrize(
    "options", [[1], "text", 7, {"config": [{"token": "s3cret-value"}]}, {"env": "A=s3cret-value"}]
)
def test_options_that_are_no_mapping_are_refused_without_being_shown(options: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(options)
    assert "expected a mapping" in str(caught.value)
    assert "s3cret-value" not in str(caught.value)


@UNLIMITED
@given(
    st.dictionaries(
        st.sampled_from([*known_keys(), "basePath", "typo"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
            ),
            max_leaves=5,
        ),
    )
)
def test_any_block_is_a_configuration_or_a_config_error(block: dict[str, Any]) -> None:
    with suppress(ConfigError):
        found = load_settings({"config": block})
        assert found.agent_id
        assert found.timeout_s > 0


# --- templates that promptfoo left in place


@pytest.mark.parametrize("key", ["agent", "gateway", "org", "model", "provider", "thread"])
def test_a_template_left_in_a_value_is_refused_with_value_and_fix(key: str) -> None:
    message = refusal(**{key: "{{env.NOPE}}"})
    assert f"config.{key}" in message
    assert "{{env.NOPE}}" in message
    assert "default('', true)" in message


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"token": "pre{{env.NOPE}}"}, "config.token"),
        ({"tokenEnv": "pre{{env.NOPE}}"}, "config.tokenEnv"),
        ({"tokenFile": "pre{{env.NOPE}}"}, "config.tokenFile"),
        ({"tokenCommand": ["pre{{env.NOPE}}"]}, "config.tokenCommand.0"),
        ({"headers": {"X-A": "pre{{env.NOPE}}"}}, "config.headers.X-A"),
    ],
)
def test_a_template_left_in_a_secret_is_refused_without_the_value(
    config: dict[str, Any], path: str
) -> None:
    message = refusal(**config)
    assert path in message
    assert "pre{{" not in message


def test_a_template_left_in_a_list_is_refused_with_its_place() -> None:
    assert "config.retrievalTools.1" in refusal(retrievalTools=["a", "{{env.NOPE}}"])


@pytest.mark.parametrize("name", ["LOBU_AGENT", "LOBU_ORG", "LOBU_GATEWAY"])
def test_a_template_left_in_the_env_block_is_refused_too(name: str) -> None:
    env = {"LOBU_AGENT": "a", name: "{{env.NOPE}}"}
    with pytest.raises(ConfigError, match=r"\{\{env\.NOPE\}\}"):
        load_settings({"env": env})


# --- where values come from


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("LOBU_AGENT", "env-agent", lambda s: s.agent_id),
        ("LOBU_GATEWAY", "script:env", lambda s: s.gateway),
        ("LOBU_ORG", "env-org", lambda s: s.org),
    ],
)
def test_config_beats_the_env_block_which_beats_the_environment(
    name: str, value: str, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = name.removeprefix("LOBU_").lower()
    agent = {} if key == "agent" else {"agent": "a"}
    monkeypatch.setenv(name, f" {value} ")
    assert read(load_settings({"config": agent})) == value
    block = {name: f"{value}-block"}
    assert read(load_settings({"config": agent, "env": block})) == f"{value}-block"
    config = {**agent, key: f"{value}-config"}
    assert read(load_settings({"config": config, "env": block})) == f"{value}-config"


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_an_empty_variable_is_unset(blank: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_AGENT", "from-environment")
    monkeypatch.setenv("LOBU_GATEWAY", "")
    monkeypatch.setenv("LOBU_ORG", " ")
    found = load_settings({"env": {"LOBU_AGENT": blank}})
    assert found.agent_id == "from-environment"
    assert found.gateway == "http://localhost:8787/lobu"
    assert found.org is None


def test_a_number_in_the_env_block_counts_as_text() -> None:
    assert load_settings({"env": {"LOBU_AGENT": 42}}).agent_id == "42"


@pytest.mark.parametrize("options", [None, {}, {"config": None}, {"config": {}, "env": None}])
def test_without_an_agent_the_message_says_where_to_name_one(options: Any) -> None:
    with pytest.raises(ConfigError, match=r"config\.agent is missing.*LOBU_AGENT"):
        load_settings(options)


def test_the_defaults_are_those_of_the_documentation() -> None:
    found = load()
    config = found.config
    assert (found.gateway, found.timeout_s, found.org, dict(found.headers)) == (
        "http://localhost:8787/lobu",
        120.0,
        None,
        {},
    )
    assert config.dry_run is True
    assert (config.keep_session, config.render_turns) == (False, False)
    assert config.string_transcript == "error"
    assert config.retrieval_tools == []
    assert (found.turn_timeout_s, found.idle_timeout_s, config.retries) == (None, 120.0, 0)
    assert (found.answers, found.stop_on_tool, config.max_tool_calls) == ((), (), None)
    assert (config.max_concurrent_sessions, found.session_start_gap_s) == (None, 0.0)
    assert (config.ephemeral_context, found.ca_file, config.failure_texts) == (None, None, True)
    assert found.max_metadata_bytes == 262_144
    assert found.warnings == ()
    assert not found.is_scripted


def test_a_script_is_kept_as_it_is_written() -> None:
    found = load(gateway=" script:my/file.json ")
    assert found.gateway == "script:my/file.json"
    assert found.is_scripted


def test_the_gateways_address_is_normalised() -> None:
    assert load(gateway="http://h/lobu/").gateway == "http://h/lobu"


@pytest.mark.parametrize(
    ("base_path", "folder"), [("", "."), ("conf", "conf"), (None, "."), ("/abs", "/abs")]
)
def test_relative_paths_start_from_the_config_files_folder(
    base_path: str | None, folder: str
) -> None:
    assert load(basePath=base_path).base_dir == Path(folder)


@pytest.mark.parametrize(("model", "warned"), [("gpt-5", True), ("openai/gpt-5", False)])
def test_a_model_without_a_provider_in_front_is_warned_of(model: str, warned: bool) -> None:
    assert any(model in warning for warning in load(model=model).warnings) is warned


def test_a_token_in_the_config_is_warned_of_without_being_shown() -> None:
    (warning,) = load(token="owl_pat_s3cret").warnings
    assert "database" in warning
    assert "s3cret" not in warning


@pytest.mark.parametrize("key", ["agent", "org"])
def test_a_value_of_two_lines_is_refused(key: str) -> None:
    assert f"config.{key}" in refusal(**{key: "two\nlines"})


def test_white_space_around_agent_and_org_is_dropped() -> None:
    found = load(agent=" support ", org=" acme ")
    assert (found.agent_id, found.org) == ("support", "acme")


# --- units and shapes


def test_milliseconds_become_seconds_and_kilobytes_bytes() -> None:
    found = load(turnTimeoutMs=1500, idleTimeoutMs=250, sessionStartGapMs=100, maxMetadataKb=2)
    assert (found.turn_timeout_s, found.idle_timeout_s) == (1.5, 0.25)
    assert (found.session_start_gap_s, found.max_metadata_bytes) == (0.1, 2048)


@pytest.mark.parametrize(
    ("written", "read"),
    [("refund", ("refund",)), ([" refund ", "delete"], ("refund", "delete")), ([], ())],
)
def test_one_tool_or_several_may_stop_a_conversation(written: Any, read: tuple[str, ...]) -> None:
    assert load(stopOnTool=written).stop_on_tool == read


@pytest.mark.parametrize(
    ("config", "gap_s"),
    [
        ({}, 0.0),
        ({"maxConcurrentSessions": 4}, 0.25),
        ({"maxConcurrentSessions": 4, "sessionStartGapMs": 0}, 0.0),
        ({"sessionStartGapMs": 1000}, 1.0),
    ],
)
def test_a_limited_number_of_sessions_starts_staggered_unless_told_otherwise(
    config: dict[str, Any], gap_s: float
) -> None:
    assert load(**config).session_start_gap_s == gap_s


# --- headers


def test_headers_are_text_or_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXY_KEY", "from-environment")
    headers = {"X-A": " plain ", "X-B": {"env": "PROXY_KEY"}, "X-C": {"env": "BLOCK_KEY"}}
    assert load({"BLOCK_KEY": "from-block"}, headers=headers).headers == {
        "X-A": "plain",
        "X-B": "from-environment",
        "X-C": "from-block",
    }


def test_a_header_whose_variable_is_not_set_is_refused_with_both_names() -> None:
    message = refusal(headers={"X-A": {"env": "NOT_SET"}})
    assert "config.headers.X-A" in message
    assert "NOT_SET" in message


def test_a_secret_written_where_a_variables_name_belongs_is_not_shown() -> None:
    assert "s3cret" not in refusal(headers={"X-A": {"env": "s3cret-value-pasted-here"}})


@pytest.mark.parametrize(
    "name", ["", "X A", "X:A", "X-Ä", "X\nA", "{{env.X}}", "a(b)", " X-A", "X-A\x00"]
)
def test_what_is_no_header_name_is_refused(name: str) -> None:
    assert "is not a header name" in refusal(headers={name: "s3cret-value"})


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
def test_the_lobu_tokens_own_header_is_refused_with_the_right_keys(name: str) -> None:
    message = refusal(headers={name: "Bearer s3cret-value"})
    assert "tokenEnv" in message
    assert "s3cret" not in message


@pytest.mark.parametrize("name", ["Content-Type", "content-length", "Transfer-Encoding", "Accept"])
def test_a_header_that_would_break_our_requests_is_refused(name: str) -> None:
    # Without our content type, a gateway ignores the body and answers for its default agent.
    assert f"config.headers.{name}" in refusal(headers={name: "text/plain"})


@pytest.mark.parametrize("value", ["s3cret\nvalue", "s3crét", "s3cret\x00"])
def test_a_header_value_that_cannot_be_sent_is_refused_without_being_shown(value: str) -> None:
    message = refusal(headers={"X-A": value})
    assert "config.headers.X-A" in message
    assert "s3cr" not in message


@pytest.mark.parametrize(
    "value", [["s3cret-value"], {"env": ["s3cret-value"]}, {"a": "s3cret-value"}]
)
def test_a_header_value_of_a_wrong_type_is_refused_without_being_shown(value: Any) -> None:
    message = refusal(headers={"X-A": value})
    assert "config.headers.X-A" in message
    assert "s3cret" not in message


@pytest.mark.parametrize("key", ["token", "tokenEnv", "tokenFile", "tokenCommand"])
def test_a_token_of_a_wrong_type_is_refused_without_being_shown(key: str) -> None:
    # promptfoo puts a file's content in the place of "file://token.json".
    message = refusal(**{key: {"value": "s3cret-value"}})
    assert f"config.{key}" in message
    assert "s3cret" not in message


def test_secrets_are_not_part_of_how_settings_are_shown() -> None:
    found = load({"X": "s3cret-env"}, headers={"X-A": "s3cret-header"})
    assert "s3cret-env" not in repr(found)


@pytest.mark.parametrize(
    ("headers", "secrets"),
    [
        ({"X-Env": "production"}, []),
        ({"User-Agent": "promptfoo evals"}, []),
        ({"X-Env": "pr0duction"}, ["pr0duction"]),
        ({"X-Api-Key": "production"}, ["production"]),
        ({"Cookie": "production"}, ["production"]),
        ({"Proxy-Authorization": "production"}, ["production"]),
        ({"X-Env": {"env": "FROM_HERE"}}, ["production"]),
        ({"X-Env": "s3cret-value"}, ["s3cret-value"]),
    ],
)
def test_a_header_is_a_secret_unless_it_is_a_plain_word_in_a_plain_header(
    headers: dict[str, Any], secrets: list[str]
) -> None:
    assert load({"FROM_HERE": "production"}, headers=headers).secrets == secrets


def test_a_token_in_the_config_is_a_secret() -> None:
    assert load(token="owl_pat_s3cret").secrets == ["owl_pat_s3cret"]
