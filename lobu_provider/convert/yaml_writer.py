"""Write a config as YAML that people like to read, and that promptfoo reads as we mean it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from lobu_provider.errors import config_error
from lobu_provider.json_safe import safe_text
from lobu_provider.structured_file import INSTALL_YAML

WIDTH: Final = 100

_NUMBER_LIKE: Final = re.compile(r"[-+.]?[\d.][\d._eExXoObBa-fA-F:+-]*")
"""Texts that YAML 1.2, which promptfoo reads, takes for numbers, and PyYAML's 1.1 does not."""

_OTHER_BREAKS: Final = re.compile("[\r\x85\u2028\u2029]")
"""Line ends that only the escapes of double quotes keep."""


def write_yaml(data: Mapping[str, Any], head: Iterable[str] = ()) -> str:
    """Return the document, with the lines of ``head`` as comments before it.

    Raises:
        ConfigError: PyYAML is missing.
    """
    try:
        import yaml
    except ImportError:
        raise config_error(f"writing YAML needs PyYAML: {INSTALL_YAML}") from None
    body = yaml.dump(
        data,
        Dumper=_dumper(),
        sort_keys=False,
        allow_unicode=True,
        width=WIDTH,
        default_flow_style=False,
    )
    comments = [f"# {_one_line(line)}".rstrip() for line in head]
    return "\n".join([*comments, "", body] if comments else [body])


def _one_line(text: str) -> str:
    return " ".join(safe_text(text).split())


@cache
def _dumper() -> type[Any]:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
            return super().increase_indent(flow, False)

    def text(dumper: Any, value: str) -> Any:
        style = None
        if _OTHER_BREAKS.search(value):
            style = '"'
        elif "\n" in value:
            style = "|"
        elif _NUMBER_LIKE.fullmatch(value):
            style = "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
