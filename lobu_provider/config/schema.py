"""Print the JSON schema of the config: ``python -m lobu_provider.config.schema``.

The packaged copy is ``config.schema.json`` beside this file (``make schema`` renews it).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from lobu_provider.config.model import PROMPTFOO_KEYS, ProviderConfig

SCHEMA_FILE: Final = Path(__file__).with_name("config.schema.json")


def schema_text() -> str:
    """Return the schema as the packaged file holds it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the config block (draft 2020-12).

    promptfoo's own keys are allowed, everything else unknown is not; ``null`` and blank strings
    mean not given.
    """
    schema = ProviderConfig.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["description"] = "The config block of a Lobu provider in promptfooconfig.yaml."
    properties: dict[str, Any] = schema["properties"]
    for name, rules in properties.items():
        properties[name] = _or_not_given(rules)
    for key in sorted(PROMPTFOO_KEYS):
        properties[key] = {"description": "Read by promptfoo, not by this provider."}
    return schema


_BLANK: Final = {"type": "string", "pattern": r"^\s*$"}


def _or_not_given(rules: dict[str, Any]) -> dict[str, Any]:
    about: dict[str, Any] = {key: rules[key] for key in ("description", "default") if key in rules}
    one = {key: value for key, value in rules.items() if key not in (*about, "title")}
    choices = list(rules.get("anyOf", [one]))
    for nothing in ({"type": "null"}, _BLANK):
        if nothing not in choices and not (nothing is _BLANK and {"type": "string"} in choices):
            choices.append(nothing)
    return {**about, "anyOf": choices}


if __name__ == "__main__":
    sys.stdout.write(schema_text())
