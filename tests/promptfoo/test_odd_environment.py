"""Whatever the environment says of proxies and certificates, a call ends in a row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

# 127.0.0.2 is this machine, where nothing listens, and not one of the names that need no proxy.
CALLS = """
import asyncio, json, sys
import lobu_provider
from lobu_provider import GatewayClient, LobuProvider

def ask(gateway):
    config = {"agent": "support-agent", "gateway": gateway, "timeoutMs": 20000}
    provider = LobuProvider({"config": config, "env": {"LOBU_TOKEN": "canary-7f3a91"}})
    return provider.call_api("How do refunds work?")

async def ask_all(*gateways):
    return await asyncio.gather(*[ask(gateway) for gateway in gateways])

gateways = ["script:demo", "http://127.0.0.1:9", "http://127.0.0.2:9", "https://127.0.0.2:9"]
print(json.dumps(asyncio.run(ask_all(*gateways))))
"""

ODD: list[dict[str, str]] = [
    {"HTTP_PROXY": "garbage", "HTTPS_PROXY": "garbage", "ALL_PROXY": "garbage"},
    {"http_proxy": "http://", "https_proxy": "://", "all_proxy": " "},
    {"HTTP_PROXY": "http://h:not-a-port", "HTTPS_PROXY": "http://[::1", "NO_PROXY": "[::"},
    {"ALL_PROXY": "ftp://127.0.0.2:9", "NO_PROXY": ",*, ,://"},
    {"ALL_PROXY": "socks5://127.0.0.2:9", "no_proxy": "http://"},
    {"HTTP_PROXY": "\x01\x7f", "HTTPS_PROXY": "x" * 10_000, "NO_PROXY": "\t"},
    {"HTTP_PROXY": "http://me:canary-c04d55@[bad", "HTTPS_PROXY": "http://me:canary-c04d55@h:x"},
    {"SSL_CERT_FILE": "/nowhere/ca.pem", "SSL_CERT_DIR": "/nowhere", "REQUESTS_CA_BUNDLE": "?"},
    {"SSLKEYLOGFILE": "/nowhere/keys", "SSL_CERT_FILE": os.devnull},
]


def rows_in(environment: dict[str, str]) -> list[dict[str, Any]]:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", CALLS],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "canary" not in done.stdout + done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.parametrize("environment", ODD, ids=lambda value: ",".join(value))
def test_odd_values_cost_neither_the_import_nor_what_needs_no_network(
    environment: dict[str, str],
) -> None:
    scripted, own, other, secure = rows_in(environment)
    assert "error" not in scripted
    assert "30 days" in scripted["output"]
    assert own["error"].startswith("[gateway] Cannot reach")
    for row in (other, secure):
        assert row["error"].startswith(("[gateway]", "[config]"))
        assert row["metadata"]["error"]["code"] in ("gateway", "config")
