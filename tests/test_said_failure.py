"""One reading of what a reply says of its own success, whichever way its server writes it."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.said_failure import said_failure


@pytest.mark.parametrize(
    "told",
    [
        *({"success": value} for value in (False, 0, 0.0, "no", "False.", "0.0", [False])),
        {"ok": False},
        *({"isError": value} for value in (True, 1, 1.0, "yes", "TRUE", [True])),
        *({"status": value} for value in ("FAILED", "Timed out", "fa\u200biled", False)),
        *({"status": value} for value in (["ok", "failed"], {"state": ["failed"]})),
        {"status": {"status": "failed"}},
        {"error": True},
        *({"errorCode": value} for value in ("X", ["X"], -1)),
        {"errors": [{"message": "boom"}]},
        {"errors": "boom"},
    ],
    ids=str,
)
def test_an_object_that_tells_a_failure_by_any_sign_is_one(told: dict[str, Any]) -> None:
    whole = {"success": True, **told}
    assert said_failure(whole) is whole


@pytest.mark.parametrize("error", ["no", "\u26a0", "-1", ["boom"], {"message": None}, -1, "0x0"])
def test_an_error_that_is_something_is_returned_as_it_is(error: Any) -> None:
    assert said_failure({"success": True, "error": error}) is error


NOTHING: list[Any] = [None, "", " ", False, 0, 0.0, [], {}, [None, ""]]
NO_FAILURES: list[Any] = [None, "", [], True, 1, "yes", "perhaps", {}]
NO_ERRORS: list[Any] = [None, "", [], False, 0, "no", {}]
NO_STATUSES: list[Any] = [None, 0, 500, "500", "queued", [], {"code": 0}]


@pytest.mark.parametrize(
    "told",
    [
        *({"error": value} for value in NOTHING),
        *({"error": value} for value in ("OK", "N/A", "-", " - ", "no error", "None", "nil")),
        *({"error": value} for value in ("0.0", "00", "\u200bnull", "false.", "undefined")),
        *({"errorCode": value} for value in (*NOTHING, "OK", "NONE", "0")),
        *({"errors": value} for value in NOTHING),
        *({"success": value} for value in NO_FAILURES),
        *({"isError": value} for value in NO_ERRORS),
        *({"status": value} for value in NO_STATUSES),
    ],
    ids=str,
)
def test_what_says_nothing_of_a_failure_is_none(told: dict[str, Any]) -> None:
    assert said_failure(told) is None


def test_nesting_without_end_is_not_followed() -> None:
    deep: Any = "failed"
    for _ in range(5000):
        deep = [deep]
    assert said_failure({"status": deep}) is None
    assert said_failure({"errors": deep}) == {"errors": deep}
