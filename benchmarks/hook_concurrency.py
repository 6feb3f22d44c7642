"""How long promptfoo takes for 8 turns of one second each: one at a time, and with -j 4.

    python benchmarks/hook_concurrency.py PROMPTFOO_COMMAND

Beside our hook runs a provider that only sleeps for a second, on the same machine in the same run:
what counts is the ratio between the two, since machines differ and are noisy. The times are
promptfoo's own (``stats.durationMs``), without its start; they include starting one Python worker
for each of the ``-j``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TURNS = 8
RUNS = 3
SLEEPER = "import time\ndef call_api(p, o, c):\n    time.sleep(1)\n    return {'output': 'done'}\n"
SCRIPT = {"version": 1, "replies": [{"steps": [{"delay_ms": 1000}, {"text": "done"}]}]}


def main(promptfoo: str) -> None:
    """Measure and print a small table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sleeper.py").write_text(SLEEPER, encoding="utf-8")
        (folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
        hook = ROOT / "lobu_provider" / "hook" / "lobu_hook.py"
        ours = {
            "id": f"file://{hook}",
            "config": {"agent": "a", "gateway": f"script:{folder / 'script.json'}"},
        }
        sleeper = {"id": f"file://{folder / 'sleeper.py'}"}
        print(f"{'-j':>3} {'ours s':>8} {'sleep s':>8} {'ratio':>6}   medians of {RUNS} runs")
        for jobs in (1, 4):
            pairs = [
                (measure(promptfoo, folder, ours, jobs), measure(promptfoo, folder, sleeper, jobs))
                for _ in range(RUNS)
            ]
            mine, bare = median(p[0] for p in pairs), median(p[1] for p in pairs)
            ratio = median(a / b for a, b in pairs)
            print(f"{jobs:>3} {mine:>8.1f} {bare:>8.1f} {ratio:>6.2f}")


def measure(promptfoo: str, folder: Path, provider: dict[str, Any], jobs: int) -> float:
    """Return the seconds that one eval took; every row must have passed."""
    config = {
        "prompts": ["{{n}}"],
        "providers": [provider],
        "tests": [{"vars": {"n": f"turn {n}"}} for n in range(TURNS)],
    }
    path, output = folder / "config.json", folder / "results.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    environment = {
        **os.environ,
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }
    quiet = ["--no-cache", "--no-table", "--no-progress-bar", "--no-share"]
    command = [promptfoo, "eval", "-c", str(path), "-o", str(output), "-j", str(jobs), *quiet]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
    results = json.loads(output.read_text(encoding="utf-8"))["results"]
    if results["stats"]["successes"] != TURNS:
        raise SystemExit(f"expected {TURNS} passed rows, got {results['stats']}")
    return float(results["stats"]["durationMs"]) / 1000


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
