"""The real server with an answer that does what the prompt says; run as a script by the tests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from lobu_provider.abort import Abort
from lobu_provider.stdio_bridge.pipes import take_over_stdio
from lobu_provider.stdio_bridge.protocol import Call


async def answer(call: Call, abort: Abort) -> Mapping[str, Any]:
    word, _, rest = call.prompt.partition(" ")
    if word == "wait":
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        with abort.listening(lambda: loop.call_soon_threadsafe(stopped.set)):
            await stopped.wait()
        return {"output": "stopped"}
    if word == "block":  # an executor thread that never ends
        asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
        return {"output": "blocked"}
    if word == "big":
        return {"output": "x" * int(rest)}
    if word == "print":
        print("stray print")  # noqa: T201 - the fault that is tested
        print("on stderr", file=sys.stderr)  # noqa: T201
        os.write(1, b"stray write\n")
        child = [sys.executable, "-c", "print('stray child')"]
        await asyncio.to_thread(subprocess.run, child, check=True)
        return {"output": sys.stdin.read()}
    if word == "exit":
        sys.exit(3)
    if word == "raise":
        raise RuntimeError(rest)
    if word == "unfit":
        return {"output": float("nan")}
    return {"output": call.prompt, "options": call.options, "context": call.context}


if __name__ == "__main__":
    pipes = take_over_stdio()
    from lobu_provider.stdio_bridge.server import serve

    serve(*pipes, answer)
