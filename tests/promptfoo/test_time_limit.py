"""A call's own time, which stands still while it waits for others, and promptfoo's."""

from __future__ import annotations

import anyio
import pytest

from lobu_provider.errors import InfrastructureError
from lobu_provider.promptfoo.time_limit import TimeLimit

pytestmark = pytest.mark.anyio


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_where_promptfoo_has_no_limit_only_the_calls_own_counts(clock: Clock) -> None:
    limit = TimeLimit(120.0, now_s=clock)
    clock.now_s = 130.0
    assert (limit.deadline, limit.left_s, limit.warning) == (220.0, 90.0, None)


async def test_time_that_passed_before_counts(clock: Clock) -> None:
    assert TimeLimit(120.0, started_s=90.0, now_s=clock).left_s == 110.0


@pytest.mark.parametrize(
    ("host_limit_s", "deadline"), [(300.0, 220.0), (60.0, 155.0), (10.0, 108.0)]
)
async def test_a_call_ends_some_seconds_before_promptfoos_limit(
    clock: Clock, host_limit_s: float, deadline: float
) -> None:
    limit = TimeLimit(120.0, host_limit_s, now_s=clock)
    assert limit.deadline == deadline
    assert (limit.warning is None) == (deadline == 220.0)
    if limit.warning is not None:
        assert "timeoutMs is cut from 120000 to" in limit.warning


async def test_a_wait_for_others_takes_none_of_the_calls_time(clock: Clock) -> None:
    limit = TimeLimit(120.0, now_s=clock)
    with limit.waiting_for_others():
        clock.now_s += 1000.0
    assert limit.left_s == 120.0


async def test_a_wait_for_others_takes_of_promptfoos_time(clock: Clock) -> None:
    limit = TimeLimit(120.0, 205.0, now_s=clock)
    with limit.waiting_for_others():
        clock.now_s += 90.0
    assert limit.left_s == 110.0


async def test_promptfoos_limit_ends_a_wait_for_others() -> None:
    limit = TimeLimit(120.0, 0.0)
    with (
        anyio.fail_after(20),
        pytest.raises(InfrastructureError) as caught,
        limit.waiting_for_others(),
    ):
        await anyio.sleep_forever()
    assert caught.value.failure.code == "timeout"
    assert "maxConcurrentSessions" in str(caught.value)
