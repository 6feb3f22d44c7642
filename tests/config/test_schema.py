"""The JSON schema that editors use: generated from the model, and of one mind with it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from lobu_provider.config.model import PROMPTFOO_KEYS, known_keys
from lobu_provider.config.schema import SCHEMA_FILE, schema_text
from lobu_provider.config.settings import parse_config
from lobu_provider.errors import ConfigError

GOOD: list[dict[str, Any]] = [
    {},
    {"agent": "a"},
    {"agent": None},
    *({key: None} for key in known_keys()),
    *({key: ""} for key in known_keys()),
    *({key: " \n"} for key in known_keys()),
    {"agent": "a", "gateway": "http://h", "org": "o", "thread": "t", "provider": "claude"},
    {"token": "x"},
    {"tokenCommand": "lobu token --raw"},
    {"tokenCommand": ["lobu", "token", "--raw"]},
    {"headers": {}},
    {"headers": {"X-A": "b", "X-C": {"env": "D"}}},
    {"timeoutMs": 1},
    {"timeoutMs": 0.5},
    {"keepSession": True, "dryRun": False, "renderTurns": True},
    {"stringTranscript": "prompt"},
    {"stringTranscript": "error"},
    {"retrievalTools": []},
    {"retrievalTools": ["a", "b"]},
    {"caFile": "ca.pem", "ephemeralContext": "none", "failureTexts": False},
    {"turnTimeoutMs": 1, "idleTimeoutMs": 0.5, "sessionStartGapMs": 0},
    {"retries": 5, "maxToolCalls": 1, "maxConcurrentSessions": 1, "maxMetadataKb": 1},
    {"answers": {}},
    {"answers": {"size": "Large", ".": "Yes"}},
    {"stopOnTool": "refund"},
    {"stopOnTool": ["refund", "delete"]},
    {"tracing": "auto", "traceArguments": "redacted", "otlpEndpoint": "http://h/v1/traces"},
    {"tracing": "best-effort", "traceArguments": "none"},
    {"tracing": False},
    *({key: {"any": [1]}} for key in sorted(PROMPTFOO_KEYS)),
]
BAD: list[dict[str, Any]] = [
    {"agnet": "a"},
    {"agent_id": "a"},
    {"agent": 7},
    {"agent": ["a"]},
    {"gateway": True},
    {"token": 7},
    {"tokenEnv": ["X"]},
    {"tokenFile": {}},
    {"tokenCommand": 7},
    {"tokenCommand": ["a", 7]},
    {"org": 7},
    {"headers": ["X-A: b"]},
    {"headers": {"X-A": 7}},
    {"headers": {"X-A": None}},
    {"headers": {"X-A": {}}},
    {"headers": {"X-A": {"env": ""}}},
    {"headers": {"X-A": {"env": "B", "more": 1}}},
    {"provider": 7},
    {"model": 5.5},
    {"timeoutMs": 0},
    {"timeoutMs": -1},
    {"timeoutMs": "120000"},
    {"timeoutMs": True},
    {"thread": 7},
    {"keepSession": "yes"},
    {"keepSession": 1},
    {"dryRun": "false"},
    {"renderTurns": 0},
    {"stringTranscript": "ignore"},
    {"stringTranscript": True},
    {"retrievalTools": "a"},
    {"retrievalTools": [7]},
    {"retrievalTools": [""]},
    {"caFile": 7},
    {"turnTimeoutMs": 0},
    {"idleTimeoutMs": "1"},
    {"retries": 6},
    {"retries": -1},
    {"retries": 1.5},
    {"retries": True},
    {"answers": ["a"]},
    {"answers": {"a": True}},
    {"answers": {"a": " "}},
    {"stopOnTool": 7},
    {"stopOnTool": [" "]},
    {"stopOnTool": [7]},
    {"maxToolCalls": 0},
    {"ephemeralContext": ["a"]},
    {"failureTexts": "no"},
    {"maxConcurrentSessions": 0},
    {"sessionStartGapMs": -1},
    {"sessionStartGapMs": 60001},
    {"maxMetadataKb": 0},
    {"tracing": True},
    {"tracing": "on"},
    {"traceArguments": "all"},
    {"traceArguments": False},
    {"otlpEndpoint": 4318},
]


def test_the_packaged_file_is_the_generated_one() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "renew it by: make schema"


def test_the_schema_is_a_valid_one_of_its_draft() -> None:
    schema = json.loads(schema_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_every_key_is_described_and_no_other_is_allowed() -> None:
    schema = json.loads(schema_text())
    assert set(schema["properties"]) == {*known_keys(), *PROMPTFOO_KEYS}
    assert all(rules["description"] for rules in schema["properties"].values())
    assert schema["additionalProperties"] is False


def _model_accepts(block: dict[str, Any]) -> bool:
    try:
        parse_config(block)
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize("block", GOOD, ids=json.dumps)
def test_schema_and_model_accept_the_same_blocks(block: dict[str, Any]) -> None:
    jsonschema.validate(block, json.loads(schema_text()))
    assert _model_accepts(block)


@pytest.mark.parametrize("block", BAD, ids=json.dumps)
def test_schema_and_model_refuse_the_same_blocks(block: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(block, json.loads(schema_text()))
    assert not _model_accepts(block)


def test_defaults_in_the_schema_are_the_models() -> None:
    properties = json.loads(schema_text())["properties"]
    told = {key: rules["default"] for key, rules in properties.items() if rules.get("default")}
    assert told == {
        "timeoutMs": 120_000,
        "idleTimeoutMs": 120_000,
        "dryRun": True,
        "stringTranscript": "error",
        "failureTexts": True,
        "maxMetadataKb": 256,
        "tracing": "auto",
        "otlpEndpoint": "http://127.0.0.1:4318/v1/traces",
        "traceArguments": "full",
        "cassetteMode": "off",
    }
