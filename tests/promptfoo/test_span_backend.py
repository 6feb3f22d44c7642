"""A second receiver of the same spans: ``otlpBackend``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lobu_provider.promptfoo.tracing import SPANS_KEY
from tests.promptfoo.test_tracing import ASSERTION, NO_ADDRESS, NOBODY, call, warnings
from tests.promptfoo.test_tracing import time_to_deliver as time_to_deliver  # a fixture
from tests.spans.conftest import Receiver, listening
from tests.spans.conftest import receiver as receiver  # a fixture

pytestmark = pytest.mark.anyio

KEY = "Bearer sk_backend_0123456789abcdef"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr("lobu_provider.promptfoo.tracing.BACKEND_LIMIT_S", 10.0)
    monkeypatch.setenv("OTLP_AUTH", KEY)
    with listening() as made:
        made.service = "another"
        yield made


def to(backend: Receiver) -> dict[str, Any]:
    headers = {"Authorization": {"env": "OTLP_AUTH"}}
    return {"otlpBackend": backend.url, "otlpBackendHeaders": headers}


async def test_the_backend_gets_the_same_spans_with_its_headers(
    receiver: Receiver, backend: Receiver
) -> None:
    response = await call(ASSERTION, otlpEndpoint=receiver.url, **to(backend))
    assert "error" not in response
    assert warnings(response) == []
    assert len(backend.spans) == 3
    assert backend.bodies == receiver.bodies
    assert backend.headers[0]["authorization"] == KEY
    assert "authorization" not in receiver.headers[0]


async def test_it_gets_them_also_where_the_caller_makes_promptfoo_s(backend: Receiver) -> None:
    response = await call(ASSERTION, in_response=True, **to(backend))
    names = [span["name"] for span in response[SPANS_KEY]["spans"]]
    assert [span["name"] for span in backend.spans] == names
    assert len(names) == 3


@pytest.mark.parametrize("mode", ["auto", "required", "best-effort"])
async def test_its_refusal_is_a_warning_without_its_key(
    receiver: Receiver, backend: Receiver, mode: str
) -> None:
    backend.status = 401
    backend.answer = {"error": KEY}
    given = {**to(backend), "otlpBackend": f"{backend.url}?key=sekret"}
    response = await call(ASSERTION, otlpEndpoint=receiver.url, tracing=mode, **given)
    assert "error" not in response
    assert len(receiver.spans) == 3
    (warning,) = warnings(response)
    assert f"not delivered to {backend.url}: the answer was HTTP 401" in warning
    assert "otlpBackendHeaders" in warning
    assert "4318" not in warning
    assert KEY not in json.dumps(response)
    assert "sekret" not in json.dumps(response)


@pytest.mark.parametrize("address", [NOBODY, NO_ADDRESS])
async def test_a_backend_that_is_not_there_is_a_warning(receiver: Receiver, address: str) -> None:
    response = await call(ASSERTION, otlpEndpoint=receiver.url, otlpBackend=address)
    assert "error" not in response
    (warning,) = warnings(response)
    assert address in warning


async def test_a_backend_does_not_stand_in_for_promptfoo_s_receiver(backend: Receiver) -> None:
    response = await call(ASSERTION, otlpEndpoint=NOBODY, **to(backend))
    assert response["error"].startswith("[config] The spans of this conversation were not")
    assert len(backend.spans) == 3


async def test_without_tracing_the_backend_gets_nothing_and_a_warning_says_so(
    backend: Receiver,
) -> None:
    response = await call(tracing="off", **to(backend))
    assert "error" not in response
    assert warnings(response) == ["config.otlpBackend gets no spans: config.tracing is 'off'."]
    assert backend.bodies == []
