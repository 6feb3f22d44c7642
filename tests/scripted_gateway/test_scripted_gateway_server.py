"""Starting and stopping the gateway on a socket, and using one gateway from several loops."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys

import anyio
import httpx
import pytest

from lobu_provider.errors import ConfigError
from lobu_provider.scripted_gateway import ScriptedGateway, ScriptedTransport, load_script
from lobu_provider.scripted_gateway.server import running

from .conftest import API, LIMIT_S, Caller

SERVE = """
from lobu_provider.scripted_gateway import ScriptedGateway, load_script
from lobu_provider.scripted_gateway.server import serve
serve(ScriptedGateway(load_script("demo")), port=0, on_ready=lambda url: print(url, flush=True))
print("stopped in order", flush=True)
"""
AUTH = {"authorization": "Bearer owl_pat_any"}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one child process")
def test_ctrl_c_stops_serving_although_a_stream_is_open() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with httpx.Client(base_url=url, headers=AUTH, trust_env=False) as client:
            created = client.post(API, json={"agentId": "support-agent"}).json()
            with client.stream("GET", f"{API}/{created['agentId']}/events") as response:
                chunks = response.iter_bytes()
                assert b"event: connected" in next(chunks)
                server.send_signal(signal.SIGINT)
                assert list(chunks) == []
        out, err = server.communicate(timeout=LIMIT_S)
    assert (server.returncode, out, err) == (0, "stopped in order\n", "")


def test_a_port_in_use_is_told() -> None:
    gateway = ScriptedGateway(load_script("demo"))
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ConfigError, match=r"Cannot listen on 127\.0\.0\.1:"),
        running(gateway, port=taken.getsockname()[1]),
    ):
        raise AssertionError("never served")


def test_one_gateway_serves_one_event_loop_after_another() -> None:
    gateway = ScriptedGateway(load_script("demo"))

    async def converse() -> str:
        transport = ScriptedTransport(gateway)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://script", headers=AUTH
        ) as client:
            caller = Caller(gateway, client)
            await caller.create()
            end = (await caller.turn("hello"))[-1]
        return str(end.data["finalText"])

    assert asyncio.run(converse()) == asyncio.run(converse()) != ""
    assert gateway.open_streams == 0


@pytest.mark.anyio
async def test_a_cancelled_reader_and_a_closed_client_leave_no_stream() -> None:
    gateway = ScriptedGateway(load_script("demo"))
    client = httpx.AsyncClient(
        transport=ScriptedTransport(gateway), base_url="http://script", headers=AUTH
    )
    caller = Caller(gateway, client)
    async with client:
        await caller.create()
        with anyio.fail_after(LIMIT_S):
            async with anyio.create_task_group() as group:
                connected = anyio.Event()

                async def read_on() -> None:
                    async with caller.events() as reader:
                        await reader.next()
                        connected.set()
                        await reader.next()

                group.start_soon(read_on)
                await connected.wait()
                assert gateway.open_streams == 1
                group.cancel_scope.cancel()
        assert gateway.open_streams == 0
        request = client.build_request("GET", caller.url("/events"))
        await client.send(request, stream=True)
        assert gateway.open_streams == 1
    assert gateway.open_streams == 0


@pytest.mark.anyio
async def test_a_client_that_goes_away_frees_its_place_on_the_server() -> None:
    gateway = ScriptedGateway(load_script("demo"))
    with running(gateway) as url, anyio.fail_after(LIMIT_S):
        async with httpx.AsyncClient(base_url=url, headers=AUTH, trust_env=False) as client:
            caller = Caller(gateway, client)
            await caller.create()
            for _ in range(7):
                async with caller.events() as reader:
                    await reader.next()
                while (await client.get(caller.url())).json()["agent"]["hasActiveConnection"]:
                    continue
    assert gateway.open_streams == 0
