"""Texts that promptfoo would take for a template, a file or a package, kept as they are.

promptfoo fills in ``{{...}}`` in assertions and variables, and loads a value that begins with
``file://`` or ``package:``. None of the source formats has templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

VARIABLE: Final = "literals"
"""The variable with texts for our assertions: strings in a list are not filled in."""

_TEMPLATE: Final = re.compile(r"\{\{|\{%|\{#")
_LOADED: Final = ("file://", "package:")


class Literals:
    """The texts of one test that must not be filled in."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    @staticmethod
    def is_plain(text: str) -> bool:
        """Return whether promptfoo takes a text for nothing but a text."""
        return not _TEMPLATE.search(text) and not text.startswith(_LOADED)

    @staticmethod
    def fits_own(text: str) -> bool:
        """Return whether a text can be a value of promptfoo's own assertions."""
        return not text.startswith(_LOADED)

    @staticmethod
    def raw(text: str) -> str:
        """Return a text so that it is not loaded, and comes out of one filling in as it is."""
        if Literals.is_plain(text):
            return text
        if "endraw" in text:
            quoted = text.replace("\\", "\\\\").replace('"', '\\"')
            return f'{{{{ "{quoted}" }}}}'
        return f"{{% raw %}}{text}{{% endraw %}}"

    def in_config(self, value: Any) -> Any:
        """Return a value for the config of ours, which fill in ``{{name}}`` themselves."""
        if isinstance(value, Mapping):
            return {key: self.in_config(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.in_config(item) for item in value]
        if not isinstance(value, str) or not ("{{" in value or "{%" in value):
            return value
        if value not in self.texts:
            self.texts.append(value)
        return f"{{{{{VARIABLE}.{self.texts.index(value)}}}}}"
