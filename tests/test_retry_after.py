"""The ``Retry-After`` header: seconds, a date, or nothing usable."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from lobu_provider.http_replies import retry_after_s

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 12:00:30 -0000", 30.0),
        ("Mon, 30 Nov 2026 13:00:30 +0100", 30.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
    ],
)
def test_seconds_and_dates_are_read(value: str, seconds: float) -> None:
    assert retry_after_s(value, NOW) == seconds


@pytest.mark.parametrize(
    "value",
    [None, "", "soon", "-5", "1e9", "inf", "nan", "9" * 400, "٣", "Mon, 99 Nov 2026 12:00:30 GMT"],
)
def test_what_means_nothing_is_none(value: str | None) -> None:
    assert retry_after_s(value, NOW) is None
