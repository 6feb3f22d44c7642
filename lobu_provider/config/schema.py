"""Print the JSON schema of the config: ``python -m lobu_provider.config.schema``.

The packaged copy is ``config.schema.json`` beside this file (``make schema`` renews it).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from lobu_provider.config.model import json_schema

SCHEMA_FILE: Final = Path(__file__).with_name("config.schema.json")


def schema_text() -> str:
    """Return the schema as the packaged file holds it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
