"""How fast conversations go: ours, a plain Node client's, bare aiohttp, bare sockets.

    python benchmarks/speed.py [--pairs 5] [--tree NAME=FOLDER] [--only ratios|growth]

All clients do the same work at the same load gateway, one after another, again and again; what
counts is the ratio of ours to Node's within one round, since machines differ and are noisy; on a
busy machine the CPU time says more than the wall time. The medians over all rounds are printed. A
time is that of the conversations alone: each client holds
some before the clock starts, as promptfoo's own process has long been running. `--tree` measures
the package in another checkout beside this one, to compare two states of it.

The second table is about growth: one conversation, and the same with twice as much in it. Twice
the time is linear, four times is quadratic.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from work import Measured, Work

HERE = Path(__file__).resolve().parent
NODE = "node"

SMALL = "d4-b40-t1"
RATIOS = {
    "400 x 1 turn, 32 at once": Work("", SMALL, 400, 1, 32, 32),
    "100 x 10 turns, 8 at once": Work("", SMALL, 100, 10, 8, 8),
    "40 x 30 turns, 4 at once": Work("", SMALL, 40, 30, 4, 4),
}
ONE = Work("", SMALL, 1, 1, 1, 1)
GROWTH = {
    "turns": [(f"{n}", replace(ONE, turns=n)) for n in (100, 200, 400)],
    "deltas of 500 bytes": [
        (f"{n}", replace(ONE, agent=f"d{n}-b500-t0")) for n in (5000, 10000, 20000)
    ],
    "tool calls": [(f"{n}", replace(ONE, agent=f"d4-b40-t{n}")) for n in (500, 1000, 2000)],
}


@dataclass(frozen=True)
class Client:
    """A client program, and the folder that its ``lobu_provider`` comes from."""

    name: str
    command: tuple[str, ...]
    tree: Path = HERE.parent

    def run(self, work: Work) -> Measured:
        """Have the work done in a fresh process."""
        done = subprocess.run(  # noqa: S603 - our own programs
            [*self.command, json.dumps(asdict(work))],
            stdout=subprocess.PIPE,
            check=True,
            env={**os.environ, "PYTHONPATH": str(self.tree), "LOBU_PYTHON": sys.executable},
            text=True,
        )
        return Measured(**json.loads(done.stdout))


def python_client(name: str, file: str, tree: Path = HERE.parent) -> Client:
    """Return a client that is one of the Python files here."""
    return Client(name, (sys.executable, str(HERE / file)), tree)


@contextmanager
def load_gateway() -> Iterator[str]:
    """Run the load gateway; yields its address."""
    command = ["node", str(HERE / "load_gateway.mjs")]
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        assert process.stdin is not None  # noqa: S101
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()


def gateway_cpu_s(url: str) -> float:
    """Return the CPU seconds that the gateway has used."""
    with urllib.request.urlopen(f"{url}/load") as reply:  # noqa: S310 - the gateway's own address
        return float(json.load(reply)["cpu_s"])


def run_checked(client: Client, work: Work) -> tuple[Measured, float]:
    """Run a client; returns the result and the share of the time in which the gateway was busy."""
    with load_gateway() as url:
        before_s = gateway_cpu_s(url)
        result = client.run(replace(work, url=url))
        busy_s = gateway_cpu_s(url) - before_s
    deltas, size, tools = (int(part[1:]) for part in work.agent.split("-"))
    turns = work.conversations * work.turns
    expected = (turns * deltas * size, turns * tools)
    if (result.characters, result.tool_calls) != expected:
        raise SystemExit(f"{client.name} read {result}, expected {expected}")
    share = work.conversations / (work.conversations + work.warmup)
    return result, busy_s * share / result.wall_s


Round = dict[str, tuple[Measured, float]]
"""What each client needed, by its name, and the share of the time the gateway was busy."""


def print_ratios(clients: list[Client], pairs: int) -> None:
    """Print the table of times against Node's."""
    print(
        f"\n{'':27}{'':>10}{'wall':>7}{'CPU':>7}{'wall s':>8}{'CPU s':>7}{'peak':>6}{'gateway':>8}"
    )
    print(f"{'':27}{'':>10}{'/Node':>7}{'/Node':>7}{'/1000':>8}{'/1000':>7}{'MB':>6}{'busy':>8}")
    for title, work in RATIOS.items():
        rounds = [{c.name: run_checked(c, work) for c in clients} for _ in range(pairs)]
        for client in clients:
            print(f"{title:27}{client.name:>10}{ratios_row(rounds, client.name, work)}", flush=True)
            title = ""


def ratios_row(rounds: list[Round], name: str, work: Work) -> str:
    """Return the figures of one client: medians over the rounds."""
    results = [round_[name][0] for round_ in rounds]
    nodes = [round_[NODE][0] for round_ in rounds]
    pairs = list(zip(results, nodes, strict=True))
    per_1000 = 1000 / work.conversations
    return (
        f"{median(ours.wall_s / node.wall_s for ours, node in pairs):>7.2f}"
        f"{median(ours.cpu_s / node.cpu_s for ours, node in pairs):>7.2f}"
        f"{median(r.wall_s for r in results) * per_1000:>8.2f}"
        f"{median(r.cpu_s for r in results) * per_1000:>7.2f}"
        f"{median(r.peak_mb for r in results):>6.0f}"
        f"{median(round_[name][1] for round_ in rounds):>8.0%}"
    )


def print_growth(clients: list[Client], pairs: int) -> None:
    """Print how time and memory grow with what one conversation holds."""
    print(f"\n{'one conversation of':27}{'':>10} {'wall s':>8} {'growth':>7} {'peak MB':>8}")
    for what, steps in GROWTH.items():
        for client in clients:
            earlier_s = None
            for size, work in steps:
                results = [run_checked(client, work)[0] for _ in range(pairs)]
                wall_s = median(r.wall_s for r in results)
                growth = f"{wall_s / earlier_s:.1f}" if earlier_s else ""
                peak_mb = median(r.peak_mb for r in results)
                print(
                    f"{size + ' ' + what:27}{client.name:>10} {wall_s:>8.2f} {growth:>7}"
                    f" {peak_mb:>8.0f}",
                    flush=True,
                )
                earlier_s = wall_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5, help="rounds; medians are printed")
    parser.add_argument("--tree", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--only", choices=["ratios", "growth"])
    options = parser.parse_args()
    node = Client(NODE, ("node", str(HERE / "node_client.mjs")))
    ours = [python_client("ours", "our_client.py")]
    ours.append(Client("by npm", ("node", str(HERE / "shim_client.mjs"))))
    for tree in options.tree:
        name, _, folder = tree.partition("=")
        ours.append(python_client(name, "our_client.py", Path(folder).resolve()))
    node_version = subprocess.check_output(["node", "--version"], text=True).strip()  # noqa: S607
    print(f"Python {sys.version.split()[0]}, Node {node_version}, ", end="")
    print(f"{os.cpu_count()} cores, medians of {options.pairs} rounds")
    if options.only != "growth":
        bare = [
            python_client("aiohttp", "library_client.py"),
            python_client("floor", "floor_client.py"),
        ]
        print_ratios([node, *ours, *bare], options.pairs)
    if options.only != "ratios":
        print_growth([node, *ours], options.pairs)


if __name__ == "__main__":
    main()
