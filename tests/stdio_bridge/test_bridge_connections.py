"""Many calls over one pool of connections, and without the package that makes it."""

from __future__ import annotations

import sys

import pytest

from .conftest import REAL, StartBridge, WatchedGateway

WITHOUT_AIOHTTP = (
    sys.executable,
    "-c",
    (
        "import runpy, sys; sys.modules['aiohttp'] = None; "
        "runpy.run_module('lobu_provider.stdio_bridge', run_name='__main__', alter_sys=True)"
    ),
)
COMMANDS = {"with aiohttp": REAL, "without aiohttp": WITHOUT_AIOHTTP}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_hundred_calls_of_every_end_leave_no_session(
    start_bridge: StartBridge, gateway: tuple[WatchedGateway, str], command: tuple[str, ...]
) -> None:
    watched, url = gateway
    bridge = start_bridge(command)
    options = watched.options(url)
    impatient = {"config": {**options["config"], "timeoutMs": 5000}}
    for number in range(90):
        bridge.call(number, f"hello {number}" if number < 80 else "slow please", options)
    for _ in range(90):
        watched.wait_for_message()
    for number in range(80, 90):
        bridge.send(type="cancel", id=number)
    responses = bridge.responses(90)
    for number in range(90, 100):
        bridge.call(number, "slow please", impatient)
    responses |= bridge.responses(10)
    assert all("error" not in responses[number] for number in range(80))
    codes = [responses[number]["metadata"]["error"]["code"] for number in range(80, 100)]
    assert codes == ["cancelled"] * 10 + ["timeout"] * 10
    assert not watched.sessions
    bridge.close_stdin()
    assert bridge.wait() == 0
    assert bridge.stderr == b""
