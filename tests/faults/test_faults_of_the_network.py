"""Between us and the gateway: names, addresses, proxies, certificates, old and odd HTTP."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from lobu_provider import gateway_http
from tests.faults.fault_rows import INFRA, held, whole
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    answers,
    call,
    complete,
    html,
    raw,
    stream,
)
from tests.wire.wire_gateway import SESSION_ID, SESSION_TOKEN, Answer, Exchange, WireGateway

pytestmark = pytest.mark.anyio

REFUSED_PORT: Final = "http://127.0.0.1:9"
"""Nobody listens at the discard port."""


async def at(gateway: WireGateway, url: str, **config: Any) -> Any:
    return whole(await call(url, "hello", **config), gateway)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """A table of host names and their addresses, in the place of the system's."""
    table: dict[str, list[str]] = {}
    ask = socket.getaddrinfo

    def look_up(host: Any, port: Any, *args: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in table:
            return ask(host, port, *args)
        if not table[name]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [found for address in table[name] for found in ask(address, port, 0, *args[1:])]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return table


# --- names and addresses -----------------------------------------------------------------------


async def test_a_host_that_does_not_exist_is_named(names: dict[str, list[str]]) -> None:
    names["gateway.invalid"] = []
    async with WireGateway(answers()) as gateway:
        row = await at(gateway, "http://gateway.invalid:8787")
    row.failed("gateway", INFRA, "create", retryable=True)
    assert "gateway.invalid" in row.error
    assert "LOBU_GATEWAY" in row.error


async def test_a_port_where_nobody_listens_is_named() -> None:
    async with WireGateway(answers()) as gateway:
        row = await at(gateway, REFUSED_PORT)
    row.failed("gateway", INFRA, "create", retryable=True)
    assert "127.0.0.1:9" in row.error


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")),
    ],
)
@pytest.mark.parametrize("order", [["::1", "127.0.0.1"], ["127.0.0.1", "::1"]])
async def test_localhost_is_found_whichever_family_listens(
    names: dict[str, list[str]], host: str, order: list[str]
) -> None:
    names["localhost"] = order
    async with WireGateway(answers(), host=host) as gateway:
        row = await at(gateway, f"http://localhost:{gateway.port}")
    row.passed("fine")


# --- proxies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_loopback_does_not_go_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, REFUSED_PORT)
    row = await held()
    row.passed("fine")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_another_host_is_reached_through_the_proxy(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    async with WireGateway(answers()) as proxy:
        monkeypatch.setenv(variable, proxy.url)
        row = await at(proxy, "http://gateway.invalid:8787")
    row.passed("fine")
    targets = {request.target.partition("/lobu")[0] for request in proxy.requests}
    assert targets == {"http://gateway.invalid:8787"}


async def test_no_proxy_names_hosts_that_are_reached_without_it(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]
) -> None:
    names["gateway.invalid"] = ["127.0.0.1"]
    monkeypatch.setenv("HTTP_PROXY", REFUSED_PORT)
    monkeypatch.setenv("NO_PROXY", "gateway.invalid")
    async with WireGateway(answers()) as gateway:
        row = await at(gateway, f"http://gateway.invalid:{gateway.port}")
    row.passed("fine")


@pytest.mark.parametrize("value", [REFUSED_PORT, "http://proxy.invalid:1"])
async def test_a_proxy_that_is_down_is_an_error_of_the_infrastructure(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]], value: str
) -> None:
    names["proxy.invalid"] = []
    monkeypatch.setenv("HTTP_PROXY", value)
    async with WireGateway(answers()) as gateway:
        row = await at(gateway, "http://gateway.invalid:8787")
    row.failed("gateway", INFRA, "create", retryable=True)


@pytest.mark.parametrize("value", ["socks9://x", "127.0.0.1:port"])
async def test_a_proxy_value_that_makes_no_sense_is_an_error_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", value)
    async with WireGateway(answers()) as gateway:
        row = await at(gateway, "http://gateway.invalid:8787")
    row.failed("config", "config", "config", retryable=False)


@pytest.mark.parametrize(("value", "host"), [("http://[bad", "[bad"), ("http://a b", "a b")])
async def test_a_proxy_of_an_odd_name_is_one_that_is_not_found(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]], value: str, host: str
) -> None:
    """httpx escapes what no host's name can hold, and asks for that name."""
    names[host] = names[quote(host)] = []
    monkeypatch.setenv("HTTP_PROXY", value)
    async with WireGateway(answers()) as gateway:
        row = await at(gateway, "http://gateway.invalid:8787")
    row.failed("gateway", INFRA, "create", retryable=True)


async def test_a_proxy_that_asks_for_a_login_is_told() -> None:
    row = await held(create=html(407, "<html>Proxy Authentication Required</html>"))
    row.failed("gateway", INFRA, "create", retryable=False)
    assert row.error is not None
    assert "Proxy Authentication Required" in row.error


# --- certificates ------------------------------------------------------------------------------

OPENSSL: Final = shutil.which("openssl")

needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="no openssl to make certificates with")


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a key and a certificate that signs itself, for this machine."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    command = f"{OPENSSL} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    more = ["-keyout", str(key), "-out", str(cert), "-subj", f"/CN={name}"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run([*command.split(), *more, *names], check=True, capture_output=True)
    return key, cert


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two private authorities."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("ours", "other"):
        certificate(folder, name)
    return folder


def secure_gateway(folder: Path) -> WireGateway:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "ours.pem", folder / "ours.key")
    return WireGateway(answers(), certificates=context)


@needs_openssl
async def test_a_private_authority_is_trusted_by_ca_file(private: Path) -> None:
    async with secure_gateway(private) as gateway:
        row = await at(gateway, gateway.url, caFile=str(private / "ours.pem"))
    row.passed("fine")


@needs_openssl
@pytest.mark.parametrize("config", [{}, {"caFile": "other.pem"}])
async def test_a_certificate_that_nobody_vouches_for_names_ca_file(
    private: Path, config: dict[str, str]
) -> None:
    async with secure_gateway(private) as gateway:
        row = await at(gateway, gateway.url, basePath=str(private), **config)
    row.failed("gateway", "config", "create", retryable=False)
    assert "caFile" in row.error
    assert "Tried" not in row.error


@needs_openssl
async def test_the_usual_variable_names_an_authority_too(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(private / "ours.pem"))
    gateway_http._certificates.cache_clear()
    try:
        async with secure_gateway(private) as gateway:
            row = await at(gateway, gateway.url)
    finally:
        gateway_http._certificates.cache_clear()
    row.passed("fine")


async def test_https_where_plain_http_is_spoken_is_told() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        response = await call(f"https://127.0.0.1:{port}", "hello")
    error = response["metadata"]["error"]
    assert (error["code"], error["class"], error["phase"]) == ("gateway", INFRA, "create")


@needs_openssl
async def test_plain_http_where_https_is_spoken_is_told(private: Path) -> None:
    async with secure_gateway(private) as gateway:
        row = await at(gateway, gateway.url.replace("https", "http"))
    row.failed("gateway", INFRA, "create", retryable=True)


# --- odd HTTP ----------------------------------------------------------------------------------

BODY: Final = f'{{"agentId":"{SESSION_ID}","token":"{SESSION_TOKEN}"}}'.encode()


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.0 201 Created\r\nContent-Type: application/json\r\n\r\n" + BODY,
        b"HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n" + BODY,
        b"HTTP/1.1 201 \r\nConnection: close\r\n\r\n" + BODY,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nConnection: close\r\n\r\n" + BODY,
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        b"HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n" + BODY,
    ],
)
async def test_old_and_odd_replies_that_are_still_http_are_read(reply: bytes) -> None:
    row = await held(create=raw(reply))
    row.passed("fine")


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"HTTP/1.1 201 Created\r\nContent-Length: -1\r\n\r\n{}",
        b"HTTP/1.1 201 Created\r\nno colon here\r\n\r\n{}",
        b"HTTP/1.1 two Created\r\n\r\n{}",
        b"HTTP/9.9 201 Created\r\n\r\n{}",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\x00" * 100,
        b"{}",
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n{}\r\n",
    ],
)
async def test_a_reply_that_is_no_http_is_an_error_of_the_infrastructure(reply: bytes) -> None:
    row = await held(create=raw(reply))
    row.failed("gateway", INFRA, "create", retryable=True)


async def test_a_switch_to_another_protocol_is_an_error_of_the_infrastructure() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    row = await held(create=raw(head))
    assert row.error is not None
    # httpx takes it for a broken connection, aiohttp for a reply.
    broke = "The connection broke" in row.error
    assert broke != ("answered 101" in row.error)
    row.failed("gateway", INFRA, "create", retryable=broke)
    assert row.count("create") == (3 if broke else 1)


async def test_a_stream_over_http_1_0_is_read() -> None:
    async def events(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        await exchange.send(CONNECTED)
        await exchange.gateway.message_answered(1)
        await exchange.send(complete(finalText="fine"))
        await exchange.client_gone()

    row = await held(events=events)
    row.passed("fine")


def garbled(garbage: bytes) -> Answer:
    """A stream whose chunks become garbage after a good beginning."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD)
        await exchange.chunk(CONNECTED)
        await exchange.gateway.message_answered(1)
        await exchange.send(garbage)
        exchange.close()

    return answer


@pytest.mark.parametrize(
    "garbage", [b"zz\r\nhello\r\n", b"-5\r\nhello\r\n", b"5\r\nhello world\r\n", b"\x00" * 50]
)
async def test_garbage_in_the_place_of_a_chunk_is_a_lost_stream(garbage: bytes) -> None:
    again = stream(CONNECTED, AfterMessage(1), complete(finalText="fine"))
    row = await held(events=[garbled(garbage), again])
    row.passed("fine")
    assert row.turns[0]["reconnects"] == 1


async def test_garbage_every_time_is_given_up() -> None:
    row = await held(events=garbled(b"zz\r\n"))
    row.failed("stream_lost", INFRA, "turn", retryable=True)
