"""lobu-provider as promptfoo drives it: ``LobuProvider.call_api``, many calls in one event loop.

python benchmarks/our_client.py '{"url": ..., "agent": ..., "conversations": ..., ...}'
"""

from __future__ import annotations

from functools import lru_cache

from work import Sums, Work, main

from lobu_provider.http_over_aiohttp import AiohttpPool
from lobu_provider.promptfoo.provider import LobuProvider


@lru_cache
def shared_pool() -> AiohttpPool:
    """Return the one pool that the bridge would open."""
    return AiohttpPool()


@lru_cache
def provider(work: Work) -> LobuProvider:
    """Return the one provider that promptfoo would make."""
    config = {"agent": work.agent, "gateway": work.url}
    env = {"LOBU_TOKEN": "user-token"}  # where the README says that it belongs
    return LobuProvider({"id": "lobu", "config": config, "env": env}, pool=shared_pool())


async def converse(work: Work, sums: Sums) -> None:
    """Hold one conversation."""
    transcript = [f"message {n}" for n in range(1, work.turns + 1)]
    context = {"vars": {"transcript": transcript}}
    response = await provider(work).call_api("", context)
    if "error" in response:
        raise SystemExit(response["error"])
    metadata = response["metadata"]
    sums.characters += sum(len(turn["output"]) for turn in metadata["turns"])
    sums.tool_calls += len(metadata["toolCalls"])


if __name__ == "__main__":
    main(converse, shared_pool())
