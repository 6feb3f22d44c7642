"""A tool call as a config wants it, and which of the calls made are such calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lobu_provider.assertions.arguments import ArgumentRules, differences
from lobu_provider.assertions.evidence import Call
from lobu_provider.assertions.names import bare_name, same_name
from lobu_provider.assertions.pattern_search import Search
from lobu_provider.assertions.patterns import compile_pattern
from lobu_provider.assertions.values import show, show_list, times

MAX_DIFFERENCES: Final = 5


def list_of(value: str | list[str]) -> list[str]:
    """Return what a config may give as one text or as several."""
    return [value] if isinstance(value, str) else value


@dataclass(frozen=True)
class Wanted:
    """One tool, or all tools of a pattern, perhaps with arguments."""

    name: str | None
    """``None`` for any tool, or with a pattern."""
    pattern: Search | None
    label: str
    """The tool for a message, without arguments."""
    exact_name: bool
    arguments: Mapping[str, Any] | None
    rules: ArgumentRules
    kinds_count: bool
    """``text: equal`` is written: a text is never a number."""

    @property
    def full_label(self) -> str:
        """The tool and its arguments for a message."""
        return self.label if self.arguments is None else f"{self.label} {show(self.arguments)}"

    def has_name(self, called: str) -> bool:
        """Return whether a called tool's name is the wanted one."""
        if self.pattern is not None:
            return any(self.pattern.found_in(name) for name in (called, bare_name(called)))
        return self.name is None or same_name(self.name, called, exact=self.exact_name)

    def differences(self, call: Call) -> list[str]:
        """Return where the arguments of a call differ from the wanted ones."""
        if self.arguments is None:
            return []
        return differences(self.arguments, call.arguments, self.rules)

    def fits(self, call: Call) -> bool:
        """Return whether a call is known to be a wanted one."""
        if not self.has_name(call.name):
            return False
        known = self.arguments is None or call.input_state != "not sent"
        return known and not self.differences(call)

    def fits_in_any_kind(self, call: Call) -> bool:
        """Return whether numbers and booleans, taken for texts, make a call a wanted one."""
        if self.arguments is None or self.kinds_count or call.input_state != "known":
            return False
        rules = replace(self.rules, any_kind=True)
        return not differences(self.arguments, call.arguments, rules)


@dataclass(frozen=True)
class Matches:
    """The calls of a wanted tool."""

    named: Sequence[Call]
    """All with its name."""
    matched: Sequence[Call]
    """Those that also have the arguments."""
    unknown: Sequence[Call]
    """Those whose arguments are not known."""
    alike: Sequence[Call]
    """Those whose arguments differ only in being numbers, booleans or texts."""


def wanted_tools(options: Mapping[str, Any]) -> list[Wanted]:
    """Return what checked options want: one for each name, or one for a pattern or any tool."""
    names = options.get("tool")
    if names is None:
        return [_wanted(options, None)]
    return [_wanted(options, name) for name in list_of(names)]


def wanted_steps(options: Mapping[str, Any]) -> list[Wanted]:
    """Return the steps of ``toolOrder``."""
    exact = options.get("exactName", False)
    steps = [{"tool": step} if isinstance(step, str) else step for step in options["tools"]]
    found = [wanted_tools(step)[0] for step in steps]
    return [
        one if "exactName" in step else replace(one, exact_name=exact)
        for one, step in zip(found, steps, strict=True)
    ]


def _wanted(options: Mapping[str, Any], name: str | None) -> Wanted:
    pattern, flags = options.get("pattern"), options.get("flags", "")
    label = name if name is not None else "any tool"
    return Wanted(
        name=name,
        pattern=None if pattern is None else compile_pattern(pattern, flags),
        label=label if pattern is None else f"/{pattern}/{flags}",
        exact_name=options.get("exactName", False),
        arguments=options.get("args"),
        rules=ArgumentRules(
            exact=options.get("argsMode") == "exact",
            text_contains=options.get("text") == "contains",
            ignore=list_of(options.get("ignore", [])),
        ),
        kinds_count=options.get("text") == "equal",
    )


def match(calls: Iterable[Call], wanted: Wanted) -> Matches:
    """Return which calls are wanted ones."""
    named = [call for call in calls if wanted.has_name(call.name)]
    matched = [call for call in named if wanted.fits(call)]
    unknown = [
        call
        for call in named
        if wanted.arguments is not None and call.input_state != "known" and call not in matched
    ]
    alike = [c for c in named if c not in matched and wanted.fits_in_any_kind(c)]
    return Matches(named, matched, unknown, alike)


def tools_called(calls: Sequence[Call], where: str = "") -> str:
    """Return a sentence part that lists the tools of some calls."""
    if not calls:
        return f"no tool was called{where}"
    return f"tools called{where} were {show_list([call.name for call in calls])}"


def closest_call(named: Sequence[Call], wanted: Wanted) -> str:
    """Return where the call that differs least differs from the wanted one."""
    known = [call for call in named if call.input_state != "not sent"]
    call = min(known, key=lambda one: len(wanted.differences(one)))
    found = wanted.differences(call)
    shown = "; ".join(found[:MAX_DIFFERENCES])
    more = f"; and {len(found) - MAX_DIFFERENCES} more" if len(found) > MAX_DIFFERENCES else ""
    return f"the closest call (call {call.number}, turn {call.turn}) differs in {shown}{more}"


def alike_calls(matches: Matches, wanted: Wanted) -> list[str]:
    """Return what makes calls doubtful that only the kinds of their arguments keep apart."""
    return [
        f"{wanted.full_label}: call {call.number} (turn {call.turn}) has {show(call.arguments)}, "
        "which differs only in that a number or boolean is a text there or here; write it as the "
        "agent sends it, {$regex: ...} for both, or text: equal where that counts"
        for call in matches.alike
    ]


def unknown_arguments(matches: Matches) -> str:
    """Return why the arguments of some calls are not known."""
    cut = [call for call in matches.unknown if call.input_state == "cut"]
    unsent = len(matches.unknown) - len(cut)
    parts = []
    if unsent:
        parts.append(
            f"the gateway did not send inputs for {unsent} of {times(len(matches.named), 'call')}"
        )
    if cut:
        parts.append(
            f"the inputs of {times(len(cut), 'call')} were cut to keep the row small "
            "(raise maxMetadataKb)"
        )
    return f"{' and '.join(parts)}, so the arguments cannot be judged"
