"""Write the README's tables of config keys and error codes from the code.

python scripts/readme_tables.py          rewrites README.md
python scripts/readme_tables.py --check  exits 1 if it would change
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lobu_provider.config.model import ProviderConfig
from lobu_provider.errors import CODES

README = Path(__file__).resolve().parents[1] / "README.md"


def config_rows() -> list[str]:
    """Return one table row for each config key."""
    rows = []
    for field in ProviderConfig.model_fields.values():
        default = field.get_default(call_default_factory=True)
        shown = "" if default is None else f"`{json.dumps(default)}`"
        description = (field.description or "").replace("|", "\\|")
        rows.append(f"| `{field.alias}` | {shown} | {description} |")
    return rows


def error_rows() -> list[str]:
    """Return one table row for each error code."""
    return [
        f"| `{code}` | {facts.error_class} | {'yes' if facts.retryable else 'no'} | "
        f"{facts.meaning} |"
        for code, facts in CODES.items()
    ]


def rewritten(text: str) -> str:
    """Return the README with both tables as they should be."""
    for marker, rows in (("table", config_rows()), ("errors", error_rows())):
        begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
        before, _, rest = text.partition(begin)
        table, _, after = rest.partition(end)
        head = table.strip().splitlines()[:2]
        text = "\n".join([before + begin, *head, *rows, end + after])
    return text


def main(arguments: list[str]) -> int:
    """Rewrite or check; returns the exit code."""
    text = README.read_text(encoding="utf-8")
    wanted = rewritten(text)
    if arguments == ["--check"]:
        return int(text != wanted)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
