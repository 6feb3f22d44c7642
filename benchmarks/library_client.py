"""What the HTTP library alone costs: our client's requests over aiohttp, the same events parsed.

python benchmarks/library_client.py '{"url": ..., "agent": ..., "conversations": ..., ...}'

One connection pool for all. As in the floor client there are no limits, no checks and no errors.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import aiohttp
from work import Sums, Work, main
from yarl import URL

API = "/lobu/api/v1/agents"


@lru_cache
def session() -> aiohttp.ClientSession:
    """Return the one session; it has to be made in the event loop."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))


@asynccontextmanager
async def open_session() -> AsyncIterator[None]:
    """Close the session in the end."""
    async with session():
        yield


async def ask(method: str, url: str, token: str, body: Any = None) -> Any:
    """Send a request and return the JSON of the reply."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    address = URL(url, encoded=True)
    async with session().request(method, address, headers=headers, data=content) as reply:
        return json.loads(await reply.read())


async def converse(work: Work, sums: Sums) -> None:
    """Hold one conversation."""
    wish = {"agentId": work.agent, "thread": f"promptfoo-{uuid4()}", "forceNew": True}
    made = await ask("POST", work.url + API, "user-token", wish)
    url, token = f"{work.url}{API}/{quote(made['agentId'], safe='')}", made["token"]
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    address = URL(f"{url}/events", encoded=True)
    async with session().get(address, headers=headers) as stream:
        data = b""
        for n in range(1, work.turns + 1):
            message = {"content": f"message {n}", "messageId": str(uuid4())}
            await ask("POST", f"{url}/messages", token, message)
            is_over = False
            while not is_over:
                data += await stream.content.readany()
                *events, data = data.split(b"\n\n")
                for event in events:
                    is_over |= take(event, message["messageId"], sums)
    await ask("DELETE", url, token)


def take(event: bytes, message_id: str, sums: Sums) -> bool:
    """Add an event to the sums; returns whether it ends the turn."""
    name, data = event.split(b"\n", 1)
    content = json.loads(data[6:])
    if content.get("messageId") != message_id:
        return False
    if name == b"event: output":
        sums.characters += len(content["content"])
    sums.tool_calls += name == b"event: tool_use"
    return name == b"event: complete"


if __name__ == "__main__":
    main(converse, open_session())
