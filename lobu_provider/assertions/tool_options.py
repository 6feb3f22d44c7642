"""What is wrong with the options that say which calls are meant: names, patterns, arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lobu_provider.assertions.lookalikes import argument_doubts, empty_texts
from lobu_provider.assertions.name_problems import Place, name_problem, tool_pattern_problem
from lobu_provider.assertions.option_values import is_text, is_texts
from lobu_provider.assertions.patterns import pattern_problems


def check_tool(
    config: Mapping[str, Any],
    place: str = "",
    *,
    required: bool = True,
    step: bool = False,
    exact: bool = False,
) -> list[str]:
    """Return what is wrong with the options that name a tool and its arguments together.

    Args:
        config: the options.
        place: what stands before their names in a message.
        required: whether a tool has to be named.
        step: whether they are a step of ``toolOrder``.
        exact: ``exactName`` where the options do not have it.
    """
    problems = []
    if "tool" in config and "pattern" in config:
        problems.append(f"{place}write tool or pattern, not both")
    if required and not ("tool" in config or "pattern" in config):
        problems.append(f"{place}tool or pattern is missing")
    problems += check_names(config, "tool", place, step=step, exact=exact)
    in_pattern = check_pattern(config, "pattern", place)
    if not in_pattern and is_text(config.get("pattern")):
        problem = tool_pattern_problem(config["pattern"])
        in_pattern = [] if problem is None else [f"{place}pattern: {problem}"]
    problems += in_pattern
    if "args" not in config:
        problems += [
            f"{place}{key} does nothing without args"
            for key in ("argsMode", "text", "ignore")
            if key in config
        ]
    elif config["args"] == {} and config.get("argsMode") != "exact":
        problems.append(f"{place}args is empty: leave it out, or set argsMode: exact")
    elif config.get("text") == "contains":
        problems += empty_texts(config["args"], f"{place}args")
    if "exactName" in config and "pattern" in config and "except" not in config:
        problems.append(f"{place}exactName does nothing with pattern")
    return problems


def check_names(
    config: Mapping[str, Any], key: str, place: str = "", *, step: bool = False, exact: bool = False
) -> list[str]:
    """Return which names under a key are none."""
    names = config.get(key)
    if not is_texts(names):
        return []  # told already
    kind: Place = "except" if key == "except" else "step" if step else "tool"
    exact = config.get("exactName", exact) is True
    if isinstance(names, str):
        found = [(f"{place}{key}", name_problem(names, kind, exact=exact))]
    else:
        one: Place = "item" if kind == "tool" and len(names) > 1 else kind
        found = [
            (f"{place}{key}[{index}]", name_problem(name, one, exact=exact))
            for index, name in enumerate(names)
        ]
    return [f"{at}: {problem}" for at, problem in found if problem is not None]


def check_absent(config: Mapping[str, Any]) -> list[str]:
    """Return which arguments are probably those of no call, where no call is to have them."""
    args = config.get("args")
    if not isinstance(args, Mapping) or not args:
        return []
    return argument_doubts(args, "args", texts=config.get("text") != "equal")


def check_pattern(config: Mapping[str, Any], key: str, place: str = "") -> list[str]:
    """Return what is wrong with a pattern and its flags."""
    if key not in config:
        return [f"{place}flags does nothing without {key}"] if "flags" in config else []
    if not is_text(config[key]) or config.get("flags", "") not in ("", "i"):
        return []  # told already
    found = pattern_problems(config[key], config.get("flags", ""))
    return [f"{place}{key}: {problem}" for problem in found]
