"""``python -m lobu_provider.stdio_bridge``: serve until stdin ends."""

from __future__ import annotations

from typing import NoReturn

from lobu_provider.stdio_bridge.pipes import take_over_stdio


def main() -> NoReturn:
    """Serve on what were stdin and stdout."""
    pipes = take_over_stdio()
    # Only now: whatever a package prints while it is imported must not get into the protocol.
    from lobu_provider.stdio_bridge.server import serve

    serve(*pipes)


if __name__ == "__main__":
    main()
