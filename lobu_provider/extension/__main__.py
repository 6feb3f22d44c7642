"""``python -m lobu_provider.extension``: the hooks for the npm package's extension.js.

Reads ``{"hook": "beforeAll" | "afterAll", "context": ...}`` from stdin. The last line on stdout is
``{"done": true}``, or ``{"stop": REASON}`` for a run that cannot work. Exit code 0 in both cases.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    """Run the hook that stdin names."""
    started_s = time.monotonic()
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


if __name__ == "__main__":
    main()
