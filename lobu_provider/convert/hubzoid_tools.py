"""The tool checks of a Hubzoid case, and what is left of its fake tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from lobu_provider.convert.fields import Fields, plain
from lobu_provider.convert.suite import ToolCheck

_FAKE_KEYS: Final = ("tool", "args", "output", "error")
_OWN_PREFIX: Final = "mcp__hubzoid__"


class Notes(Protocol):
    """Where notes are written."""

    def add(self, kind: Any, field: str, text: str) -> None:
        """Add one note."""


def tool_checks(fields: Fields) -> list[ToolCheck]:
    """Return the checks of ``expect_tools``, ``expect_tool_args`` and ``forbid_tools``."""
    found = []
    expected = _names(fields, "expect_tools")
    if expected:
        found.append(ToolCheck("toolCalled", {"tool": expected}))
    found += [
        ToolCheck("toolCalled", {"tool": _bare(tool), "args": args, "text": "contains"})
        if args
        else ToolCheck("toolCalled", {"tool": _bare(tool)})
        for tool, args in _arguments(fields).items()
    ]
    forbidden = _names(fields, "forbid_tools")
    if forbidden:
        found.append(ToolCheck("toolNotCalled", {"tool": forbidden}))
    return found


def _names(fields: Fields, key: str) -> list[str]:
    return [_bare(name) for name in fields.texts(key, single=False)]


def _bare(name: str) -> str:
    return name[len(_OWN_PREFIX) :] if name.lower().startswith(_OWN_PREFIX) else name


def _arguments(fields: Fields) -> dict[str, Any]:
    wanted = fields.mapping("expect_tool_args")
    found = {}
    for tool in wanted.keys():  # noqa: SIM118 - no mapping
        args = wanted.raw(tool)
        if isinstance(args, Mapping):
            found[tool] = plain(args)
        else:
            wanted.problem(tool, "expected arguments by name")
    return found


def fake_checks(fields: Fields, notes: Notes) -> list[ToolCheck]:
    """Return the check that no other tool was called, which a case with fake tools had."""
    fakes = [_fake(entry) for entry in fields.entries("fake_tools")]
    real = _names(fields, "real_tools")
    allow_mcp = fields.flag("allow_real_mcp", False)
    if "fake_tools" not in fields:
        for key in ("real_tools", "allow_real_mcp"):
            if key in fields:
                notes.add("lost", key, "does nothing without fake_tools")
        return []
    names = ", ".join(dict.fromkeys(str(fake.get("tool")) for fake in fakes)) or "none"
    notes.add(
        "lost",
        "fake_tools",
        f"a gateway takes no fake results, so the tools RUN FOR REAL ({names}): point the agent "
        "at test tools before you run this, or leave the test out with --filter-pattern; the fakes "
        "are kept in the test's metadata",
    )
    if allow_mcp:
        notes.add(
            "lost",
            "allow_real_mcp",
            "true: calls of other tools are not checked, since tools of MCP servers, which it "
            "allowed, cannot be told from the Hub's own",
        )
        return []
    return [ToolCheck("toolOrder", {"mode": "subset", "tools": [*fakes, *real]})] if fakes else []


def _fake(entry: Fields) -> dict[str, Any]:
    entry.refuse_unknown(_FAKE_KEYS)
    if "output" in entry and "error" in entry:
        entry.problem("error", "a fake has an output or an error, not both")
    step: dict[str, Any] = {"tool": _bare(entry.text("tool", required=True) or "")}
    args = entry.mapping("args")
    given = {key: plain(args.raw(key)) for key in args.keys()}  # noqa: SIM118 - no mapping
    return {**step, "args": given, "text": "contains"} if given else step
