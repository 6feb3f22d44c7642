"""What is sent again, how often, and after how long."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lobu_provider.errors import Failure, LobuError, error_for, failure
from lobu_provider.repeating import MAX_RETRY_AFTER_S, WAITS_S, repeated

pytestmark = pytest.mark.anyio

BROKEN = failure("gateway", "It broke.", phase="send", repeatable=True)
REFUSED = failure("gateway", "No.", phase="send")


def asks(seconds: float) -> Failure:
    return failure("gateway", "Busy.", phase="send", repeatable=True, retry_after_s=seconds)


class Sender:
    def __init__(self, *failures: Failure) -> None:
        self.failures = list(failures)
        self.tries = 0

    async def __call__(self) -> str:
        self.tries += 1
        if self.failures:
            raise error_for(self.failures.pop(0))
        return "sent"


async def told(send: Sender, may_repeat: Callable[[Failure], bool] = lambda _: True) -> str:
    with pytest.raises(LobuError) as caught:
        await repeated(send, may_repeat=may_repeat)
    return caught.value.failure.message


async def test_a_good_request_is_sent_once(naps: list[float]) -> None:
    send = Sender()
    assert (await repeated(send), send.tries, naps) == (("sent", 1), 1, [])


async def test_a_broken_one_is_sent_three_times_and_that_is_told(naps: list[float]) -> None:
    send = Sender(BROKEN, BROKEN)
    assert (await repeated(send), send.tries, naps) == (("sent", 3), 3, list(WAITS_S))
    assert await told(Sender(*[BROKEN] * 3)) == "It broke. Tried 3 times."


async def test_a_refused_one_is_not_sent_again(naps: list[float]) -> None:
    send = Sender(REFUSED)
    assert (await told(send), send.tries, naps) == ("No.", 1, [])


async def test_who_sends_may_forbid_the_repeat(naps: list[float]) -> None:
    send = Sender(BROKEN)
    assert (await told(send, lambda _: False), send.tries, naps) == ("It broke.", 1, [])


async def test_a_wait_that_is_asked_for_is_kept_and_never_shorter_than_ours(
    naps: list[float],
) -> None:
    assert await repeated(Sender(asks(7), asks(0.1))) == ("sent", 3)
    assert naps == [7, WAITS_S[1]]


async def test_whoever_asks_for_too_long_a_wait_is_left_alone(naps: list[float]) -> None:
    send = Sender(asks(MAX_RETRY_AFTER_S + 1))
    assert await told(send) == "Busy. It asks to be left alone for 11 s."
    assert (send.tries, naps) == (1, [])
