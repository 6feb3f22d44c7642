"""``python -m lobu_provider``: the command line."""

from __future__ import annotations

from lobu_provider.cli.main import main

if __name__ == "__main__":
    main()
