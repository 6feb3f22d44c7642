"""Write a results file as promptfoo writes it, of any size, and read it with every command.

python benchmarks/big_results.py write FILE [--rows 50000] [--kilobytes 10]
python benchmarks/big_results.py read FILE

``read`` prints processor seconds and peak memory of each command, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPEAT = 5
PROVIDERS = ("good", "other")


def row(number: int, filler: str) -> dict[str, Any]:
    """Return one row: tests of two turns and two tools, one in seven fails."""
    test, provider = divmod(number, len(PROVIDERS))
    query = f"I want to return order {test // REPEAT}."
    fails = number % 7 == 0
    reason = f"Expected output to contain {'refunded'!r}" if fails else "Assertion passed"
    calls = [
        {"toolCallId": f"c{number}-{turn}", "name": name, "input": {"order_id": test // REPEAT},
         "isError": False, "turn": turn}
        for turn, name in ((1, "lookup_order"), (2, "refund_order"))
    ]  # fmt: skip
    turns = [
        {"turn": turn, "user": query, "output": filler[: len(filler) // 2], "latencyMs": 900}
        for turn in (1, 2)
    ]
    metadata = {"agent": "support", "thread": f"t-{number}", "sessionId": f"t-{number}",
                "traceId": f"{number:032x}", "toolCalls": calls, "turns": turns}  # fmt: skip
    check = {"type": "contains", "value": "refunded"}
    component = {"pass": not fails, "score": int(not fails), "reason": reason, "assertion": check}
    return {
        "cost": 0,
        "gradingResult": {"pass": not fails, "score": int(not fails), "reason": reason,
                          "componentResults": [component]},
        "id": f"row-{number}",
        "latencyMs": 500 + number % 1000,
        "prompt": {"raw": query, "label": "{{query}}"},
        "promptIdx": provider,
        "provider": {"id": "file://lobu_hook.py", "label": PROVIDERS[provider]},
        "response": {"output": filler[: len(filler) // 2], "metadata": metadata},
        "score": int(not fails),
        "success": not fails,
        "testCase": {"description": f"returns order {test // REPEAT}",
                     "vars": {"query": query}, "assert": [check]},
        "testIdx": test,
        "vars": {"query": query},
        "metadata": metadata,
        "failureReason": int(fails),
    }  # fmt: skip


def pieces(rows: int, kilobytes: int) -> Iterator[str]:
    """Yield the text of a results file, row by row."""
    filler = ('The order is on its way; "quoted", one line\nand another. ' * 200)[: kilobytes * 330]
    prompts = [{"raw": "{{query}}", "label": "{{query}}", "provider": name} for name in PROVIDERS]
    head = {"version": 3, "timestamp": "2026-11-30T12:00:00.000Z", "prompts": prompts}
    yield '{"evalId": "eval-big", "results": ' + json.dumps(head)[:-1] + ', "results": [\n'
    failed = 0
    for number in range(rows):
        one = row(number, filler)
        failed += one["failureReason"]
        yield json.dumps(one) + (",\n" if number + 1 < rows else "\n")
    stats = {"successes": rows - failed, "failures": failed, "errors": 0, "durationMs": 1}
    yield f'], "stats": {json.dumps(stats)}}}, "config": {{"tests": "file://tests.yaml"}}, '
    yield '"runtimeOptions": {"repeat": 5}, "metadata": {"promptfooVersion": "0.123.1"}}'


def read(path: Path) -> None:
    """Run every command on the file and print what each took."""
    for command in (
        ["stats", str(path)],
        ["compare", str(path), str(path)],
        ["explain", str(path), "returns order 17"],
        ["report", str(path), "--junit", os.devnull, "--markdown", os.devnull],
        ["bless", str(path), "--to", str(path.with_suffix(".blessed"))],
    ):
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, "-m", "lobu_provider", *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        took = used.ru_utime + used.ru_stime
        code = os.waitstatus_to_exitcode(status)
        print(f"{command[0]:8} {took:6.1f} s {used.ru_maxrss / 1024:6.0f} MB  exit {code}")


def main() -> None:
    """Write or read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("write", "read"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--kilobytes", type=int, default=10, help="of a row, about")
    given = parser.parse_args()
    if given.what == "read":
        return read(given.file)
    with given.file.open("w", encoding="utf-8") as out:
        out.writelines(pieces(given.rows, given.kilobytes))
    return None


if __name__ == "__main__":
    main()
