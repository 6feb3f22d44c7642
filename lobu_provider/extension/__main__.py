"""``python -m lobu_provider.extension``: the hooks for the npm package's extension.js.

Reads ``{"hook": "beforeAll" | "afterAll", "context": ...}`` from stdin. The last line on stdout is
``{"done": true}``, or ``{"stop": REASON}`` for a run that cannot work. Exit code 0 in both cases.

A hook takes a few seconds at most, in which it deletes sessions: the first SIGINT, SIGTERM or
SIGHUP lets it end, and the same one again ends it at once.
"""

from __future__ import annotations

import json
import signal
import sys
import time


def main() -> None:
    """Run the hook that stdin names."""
    started_s = time.monotonic()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as by nohup
            signal.signal(number, _let_end)
    from lobu_provider.extension.hooks import StopRun, after_all, before_all

    asked = json.load(sys.stdin)
    answer: dict[str, object] = {"done": True}
    try:
        if asked["hook"] == "beforeAll":
            spent_s = time.monotonic() - started_s
            before_all(asked["context"], spent_s=spent_s, repairs=False)
        else:
            after_all(asked["context"])
    except StopRun as stop:
        answer = {"stop": str(stop)}
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


def _let_end(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
