"""Read ``vars.transcript``: the user turns of a multi-turn test.

promptfoo reshapes variables before a provider sees them: it splits a list of strings into one test
per element unless ``disableVarExpansion`` is set, and hands a ``file://`` list over as JSON text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from lobu_provider.blank import is_blank
from lobu_provider.errors import ConfigError, config_error
from lobu_provider.json_safe import json_safe, parse_json

_SHAPES: Final = "Expected a list of strings, of {role: user, content: TEXT} or of {user: TEXT}."


class Transcript(NamedTuple):
    """User turns, in order, and what was left out of them."""

    turns: list[str]
    warnings: list[str]


def read_transcript(
    value: Any,
    prompt: str,
    *,
    string_means_prompt: bool,
    is_in_template: bool = True,
    variables: Mapping[str, Any] | None = None,
) -> Transcript | None:
    """Return the turns, or ``None`` when the rendered prompt is to be sent instead.

    ``None`` comes for an unset or null variable, an empty list, a list of blanks, and anything
    that is neither a list nor text.

    Args:
        value: ``vars.transcript`` as promptfoo passes it.
        prompt: the rendered prompt.
        string_means_prompt: take a plain string for a variable that is not meant for us.
        is_in_template: the prompt's template may name the variable. A text that it does not name
            can stand in the prompt all the same, as the last turn of a split list does in
            ``query``.
        variables: what to fill ``{{name}}`` and ``{{name.key}}`` in the turns from; ``None`` to
            leave braces as they are. A turn that is blank once filled in counts as blank.

    Raises:
        ConfigError: a plain string that the prompt does not hold as words of its own, an item that
            is not text, or a turn that cannot be filled in.
    """
    items = as_list(value)
    if items is None:
        if isinstance(value, str) and not string_means_prompt:
            is_meant = not value.strip() or (is_in_template and _is_in(prompt, value))
            if not is_meant:
                raise _split(value)
        return None
    turns = [_text_of(item, index) for index, item in enumerate(items)]
    if variables is not None:
        turns = [_render(turn, index, variables) for index, turn in enumerate(turns)]
    kept = [turn for turn in turns if not is_blank(turn)]
    dropped = len(turns) - len(kept)
    what = "1 blank entry was" if dropped == 1 else f"{dropped} blank entries were"
    warnings = [f"{what} dropped from vars.transcript."] if dropped else []
    if variables is None:
        warnings += _unfilled_templates(kept)
    return Transcript(kept, warnings) if kept else None


def _is_in(prompt: str, value: str) -> bool:
    """Return whether the prompt was made with a text: not only of letters inside its words."""
    return re.search(rf"(?<!\w){re.escape(value.strip())}(?!\w)", prompt) is not None


def _unfilled_templates(turns: list[str]) -> list[str]:
    found = [(number, _TEMPLATE.search(turn)) for number, turn in enumerate(turns, start=1)]
    return [
        f"Turn {number} holds {match.group()!r}, which was sent as it is: promptfoo does not fill "
        "templates inside lists. Set renderTurns: true to have it filled."
        for number, match in found
        if match is not None
    ]


def as_list(value: Any) -> list[Any] | None:
    """Return the entries of a list, also of one as JSON text; ``None`` for anything else."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return None
    if not isinstance(value, list):
        return None
    if value and all(isinstance(item, list) for item in value):
        return [inner for item in value for inner in item]
    return value


def _text_of(item: Any, index: int) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, Mapping):
        if set(item) == {"user"} and isinstance(item["user"], str):
            return str(item["user"])
        role, content = item.get("role"), item.get("content")
        if role == "user" and isinstance(content, str):
            return content
        if isinstance(role, str) and role != "user":
            raise _not_text(
                item, index, f"The gateway takes user messages only, not role {role!r}."
            )
    if item == {}:
        raise _not_text(item, index, "An unquoted date arrives like this; put it in quotes.")
    raise _not_text(item, index, "Put numbers and words like null or true in quotes.")


def _not_text(item: Any, index: int, advice: str) -> ConfigError:
    shown = json.dumps(json_safe(item))
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return config_error(f"vars.transcript[{index}] is not text: {shown}. {_SHAPES} {advice}")


def _split(value: str) -> ConfigError:
    shown = value if len(value) <= 80 else f"{value[:77]}..."
    return config_error(
        f"vars.transcript is the single string {shown!r}, not a list: promptfoo splits a list of "
        "strings into one test per entry. Add to the test (or to defaultTest):\n"
        "  options:\n    disableVarExpansion: true\n"
        "or put the list in a list:\n"
        '  transcript: [["first turn", "second turn"]]\n'
        "If the variable is not meant as a conversation, set stringTranscript: prompt in the "
        "provider's config."
    )


_TEMPLATE: Final = re.compile(r"\{\{([^{}]{0,200})\}\}")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


def _render(turn: str, index: int, variables: Mapping[str, Any]) -> str:
    def value_of(match: re.Match[str]) -> str:
        name = match.group(1).strip()
        if not _NAME.fullmatch(name):
            raise config_error(
                f"renderTurns: vars.transcript[{index}] holds {match.group()!r}; only plain names "
                "such as {{name}} or {{name.key}} can be filled in."
            )
        value: Any = variables
        for key in name.split("."):
            if not isinstance(value, Mapping) or key not in value:
                known = ", ".join(sorted(k for k in map(str, variables) if k[:1] != "_"))
                raise config_error(
                    f"renderTurns: vars.transcript[{index}] uses {match.group()!r}, which vars "
                    f"does not have. Known: {known or '(none)'}."
                )
            value = value[key]
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return _TEMPLATE.sub(value_of, turn)
