"""LOBU_WIRE_LOG: everything that went over the wire, and no secret."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from lobu_provider import LobuProvider
from tests.wire.wire_answers import answers, call
from tests.wire.wire_gateway import SESSION_TOKEN, TOKEN, Answer, Exchange, WireGateway

pytestmark = pytest.mark.anyio

OTHER_SESSION_TOKEN = f"{'d4' * 12}:{'e5' * 16}:{'f6' * 40}"


def raw_json(body: str) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(200, body.encode(), "application/json")

    return answer


async def test_requests_replies_and_frames_are_in_it_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "wire.jsonl"
    monkeypatch.setenv("LOBU_WIRE_LOG", str(log))
    async with WireGateway(answers()) as gateway:
        response = await call(gateway.url, f"hello {TOKEN}")
    assert "error" not in response
    text = log.read_text(encoding="utf-8")
    assert TOKEN not in text
    assert SESSION_TOKEN not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert {line["what"] for line in lines} == {"opened", "request", "reply", "frame", "ended"}
    assert [line["method"] for line in lines if line["what"] == "request"] == [
        "POST",
        "GET",
        "POST",
        "DELETE",
    ]
    assert "complete" in [line.get("event") for line in lines]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


async def test_a_file_that_cannot_be_written_is_an_error_before_any_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOBU_WIRE_LOG", str(tmp_path / "no such folder" / "wire.jsonl"))
    async with WireGateway(answers()) as gateway:
        response = await call(gateway.url, "hello")
        assert gateway.kinds == []
    assert "LOBU_WIRE_LOG" in response["error"]
    assert response["metadata"]["error"]["code"] == "config"


@pytest.mark.parametrize("path", ["~no-such-user/wire.jsonl", "a\0b", "\ud800"])
async def test_an_impossible_name_of_a_file_is_an_error_of_the_configuration(path: str) -> None:
    config = {"agent": "support-agent", "gateway": "script:demo"}
    provider = LobuProvider({"config": config, "env": {"LOBU_WIRE_LOG": path}})
    response = await provider.call_api("How do refunds work?")
    assert response["error"].startswith("[config] LOBU_WIRE_LOG: ")


async def test_a_body_that_is_nested_as_deep_as_json_goes_is_logged_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "wire.jsonl"
    monkeypatch.setenv("LOBU_WIRE_LOG", str(log))
    deep = f'{{"success": true, "deep": {"[" * 800}"{SESSION_TOKEN}"{"]" * 800}}}'
    async with WireGateway(answers(delete=raw_json(deep))) as gateway:
        response = await call(gateway.url, "hello")
    assert "error" not in response
    text = log.read_text(encoding="utf-8")
    assert "[" * 800 in text
    assert SESSION_TOKEN not in text


@pytest.mark.parametrize("before", ["session:\n", "\t", "\b", "\u0001", "sess_"])
@pytest.mark.parametrize("secret", [OTHER_SESSION_TOKEN, "owl_pat_another12345"])
async def test_a_secret_of_somebody_else_is_not_logged_whatever_stands_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, secret: str
) -> None:
    log = tmp_path / "wire.jsonl"
    monkeypatch.setenv("LOBU_WIRE_LOG", str(log))
    told = json.dumps({"success": True, "note": f"{before}{secret}"})
    async with WireGateway(answers(delete=raw_json(told))) as gateway:
        assert "error" not in await call(gateway.url, "hello")
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    bodies = [line["body"] for line in lines if "note" in line.get("body", "")]
    assert [json.loads(body)["note"] for body in bodies] == [f"{before}***"]


async def test_a_token_in_json_inside_a_string_is_not_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "wire.jsonl"
    monkeypatch.setenv("LOBU_WIRE_LOG", str(log))
    inner = json.dumps({"token": "plain-words-1"})
    told = json.dumps({"success": True, "note": inner, "notes": [inner]})
    async with WireGateway(answers(delete=raw_json(told))) as gateway:
        assert "error" not in await call(gateway.url, "hello")
    text = log.read_text(encoding="utf-8")
    assert "plain-words" not in text
    assert text.count("***") >= 2
