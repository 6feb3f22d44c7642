"""Abort: whoever listens is told, once, also when the flag was set before or is set twice."""

from __future__ import annotations

import asyncio
import signal
import threading

from lobu_provider.abort import Abort


def test_a_listener_is_told_once_however_often_the_flag_is_set() -> None:
    abort, told = Abort(), []
    with abort.listening(lambda: told.append(1)):
        assert not abort.is_set
        abort.set()
        abort.set()
    assert abort.is_set
    assert told == [1]


def test_who_listens_after_the_flag_was_set_is_told_at_once() -> None:
    abort, told = Abort(), []
    abort.set()
    with abort.listening(lambda: told.append(1)):
        assert told == [1]


def test_who_listens_no_longer_is_not_told() -> None:
    abort, told = Abort(), []
    with abort.listening(lambda: told.append("gone")), abort.listening(lambda: told.append("too")):
        pass
    abort.set()
    assert told == []


def test_all_listeners_are_told() -> None:
    abort, told = Abort(), []
    with abort.listening(lambda: told.append(1)), abort.listening(lambda: told.append(2)):
        abort.set()
    assert sorted(told) == [1, 2]


def test_a_flag_set_again_while_a_listener_is_told_does_no_harm() -> None:
    abort, told = Abort(), []

    def tell() -> None:
        told.append(1)
        abort.set()

    with abort.listening(tell):
        abort.set()
    assert told == [1]


class _Interrupted(list):  # type: ignore[type-arg]
    """Listeners of which the last is taken by a signal between the question and the pop."""

    def __init__(self, abort: Abort) -> None:
        super().__init__()
        self._abort = abort
        self._armed = True

    def pop(self, *args: int) -> object:  # type: ignore[override]
        if self._armed:
            self._armed = False
            self._abort.set()
        return super().pop(*args)


def test_a_second_signal_between_question_and_pop_raises_nothing() -> None:
    abort, told = Abort(), []
    abort._listeners = _Interrupted(abort)
    with abort.listening(lambda: told.append(1)):
        abort.set()
    assert told == [1]


def test_an_event_loop_is_told_from_another_thread() -> None:
    async def wait(abort: Abort) -> bool:
        stopped = asyncio.Event()
        with abort.cancelling(stopped.set):
            threading.Thread(target=abort.set).start()
            return await asyncio.wait_for(stopped.wait(), 20)

    assert asyncio.run(wait(Abort()))


def test_the_flag_can_be_set_in_a_signal_handler() -> None:
    abort, told = Abort(), []
    before = signal.signal(signal.SIGUSR1, lambda *_: abort.set())
    try:
        with abort.listening(lambda: told.append(1)):
            signal.raise_signal(signal.SIGUSR1)
            assert told == [1]
    finally:
        signal.signal(signal.SIGUSR1, before)
