"""Which module may import which: the layers, as a table that the imports are held against."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import lobu_provider

ROOT = Path(lobu_provider.__file__).parent

LAYERS = [
    # Lowest first. A module may import from lower layers and, where one entry is a folder, from
    # its own folder. Modules named in one line do not know each other.
    {"secret_forms"},
    {"secret_names"},
    {"secrets_in_markup"},
    {"secrets_in_text"},
    {
        "errors",
        "json_safe",
        "redaction",
        "event_loop",
        "abort",
        "blank",
        "ci",
        "assertions",
        "structured_file",
        "plain_file",
    },
    {
        "changed_keys",
        "json_starts",
        "process_mark",
        "ledger_files",
        "ledger_folder",
        "said_failure",
    },
    {"ledger"},
    {"config"},
    {"session_notes"},
    {"events"},
    {"turn_failures", "turn_events", "turn_story", "tool_calls"},
    {"turn_verdict"},
    {"turn"},
    {"http_replies", "wire_log", "http_exchange", "http_cookies", "repeating", "turn_clock"},
    {"http_faults", "http_over_httpx", "http_over_aiohttp"},
    {"sse", "gateway_http", "replay", "outage"},
    {"cassettes"},
    {"gateway_requests"},
    {"gateway_client"},
    {"event_stream", "exchange"},
    {"conversation"},
    {"session_life"},
    {"scripted_gateway"},
    {"spans"},
    {"connect"},
    {"promptfoo", "probe", "results", "drift"},
    {"extension", "convert", "new_project"},
    {"hook", "cli", "stdio_bridge"},
    {"__main__"},
]

NARROWER = {
    # What a layer is allowed beside its own modules, where that is less than all below it.
    "scripted_gateway": {"errors"},  # the double must not share the client's misunderstandings
    "assertions": set(),  # loaded anew for each assertion of a run, and has a twin in JavaScript
    "hook": {
        "abort",
        "assertions.judge",
        "assertions.transforms",
        "assertions.yes_or_no",
        "event_loop",
        "extension.hooks",
        "promptfoo.host_limit",
        "promptfoo.provider",
    },
    "__main__": {"cli.main"},
    "turn_failures": {"errors", "blank"},
    "sse": {"errors", "events"},
    "convert": {"assertions", "errors", "json_safe", "structured_file"},
    "new_project": {"errors"},
    "results": {"assertions.model_graded", "changed_keys", "json_safe", "redaction"},
    "spans": {"errors", "json_safe", "redaction", "turn"},
}

THIRD_PARTY = {
    "pydantic": {"config.connection_keys", "config.cassette_keys", "config.model",
                 "config.faults", "config.settings",
                 "scripted_gateway.cards", "scripted_gateway.script",
                 "scripted_gateway.steps"},
    "httpx": {"sse", "http_cookies", "http_faults", "http_over_httpx", "http_over_aiohttp",
              "gateway_http", "gateway_client", "connect", "cassettes.network_faults",
              "cassettes.replaying", "promptfoo.provider", "promptfoo.case",
              "scripted_gateway.transport", "spans.otlp"},
    "aiohttp": {"http_over_aiohttp"},
    "httpx_sse": {"sse"},
    "anyio": {"repeating", "gateway_client", "gateway_http", "gateway_requests", "event_stream",
              "conversation", "session_life", "promptfoo.provider", "promptfoo.case",
              "promptfoo.attempts", "promptfoo.admission",
              "promptfoo.time_limit", "promptfoo.tracing", "spans.otlp",
              "promptfoo.replayed_case",
              "cli.asking", "cli.checks.gateway",
              "probe.gateway", "extension.preflight", "extension.sweep",
              "scripted_gateway.gateway", "scripted_gateway.streams",
              "scripted_gateway.transport", "scripted_gateway.server"},
    "starlette": {"scripted_gateway.server"},
    "uvicorn": {"scripted_gateway.server"},
    "click": {"cli"},
    "ijson": {"results.streaming"},
}  # fmt: skip

LOADED_BY_PATH = [
    "hook.lobu_hook",
    "hook.lobu_extension",
    "hook.lobu_assertions",
    "hook.lobu_transforms",
]

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
    if path.name != "__init__.py" or path.parent != ROOT  # the front door names everything
}


def imports_of(path: Path) -> Iterator[str]:
    """Yield the full name of everything imported anywhere in a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            # "from package import module" imports the module, not a name in the package.
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full.removeprefix("lobu_provider.") in MODULES else node.module


def layer_of(module: str) -> int:
    top = module.partition(".")[0]
    found = next((index for index, layer in enumerate(LAYERS) if top in layer), None)
    assert found is not None, f"{module} has no place in LAYERS"
    return found


def is_in(module: str, names: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_knows_only_what_lies_below_it(module: str) -> None:
    top = module.partition(".")[0]
    for name in imports_of(MODULES[module]):
        if not name.startswith("lobu_provider."):
            continue
        other = name.removeprefix("lobu_provider.")
        if other.partition(".")[0] == top and (ROOT / top).is_dir():
            continue
        assert layer_of(other) < layer_of(module), f"{module} imports {other}"
        if top in NARROWER:
            assert is_in(other, NARROWER[top]), f"{module} imports {other}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_only_the_packages_of_its_layer(module: str) -> None:
    for name in imports_of(MODULES[module]):
        package = name.partition(".")[0]
        if package in THIRD_PARTY:
            assert is_in(module, THIRD_PARTY[package]), f"{module} imports {package}"


@pytest.mark.parametrize("hook", LOADED_BY_PATH)
def test_the_hook_imports_nothing_outside_a_function_but_the_standard_library(hook: str) -> None:
    tree = ast.parse(MODULES[hook].read_text(encoding="utf-8"))
    outside = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    names = {a.name for n in outside if isinstance(n, ast.Import) for a in n.names}
    names |= {str(n.module) for n in outside if isinstance(n, ast.ImportFrom)}
    assert names <= {
        "__future__", "atexit", "collections.abc", "os", "select", "signal", "sys", "threading",
        "time", "typing",
    }  # fmt: skip


@pytest.mark.parametrize("hook", LOADED_BY_PATH)
def test_the_hook_loads_in_pythons_older_than_our_floor_and_says_what_is_missing_there(
    hook: str,
) -> None:
    # promptfoo takes whatever "python" is; a TypeError while loading costs minutes and is hidden.
    tree = ast.parse(MODULES[hook].read_text(encoding="utf-8"), feature_version=(3, 7))
    values = [n.value for n in tree.body if isinstance(n, (ast.Assign, ast.AnnAssign)) and n.value]
    evaluated = [
        ast.unparse(n) for v in values for n in ast.walk(v) if isinstance(n, ast.Subscript)
    ]
    assert not [text for text in evaluated if text.startswith(("dict[", "list[", "Callable["))]


def test_the_hook_stands_alone_in_its_folder() -> None:
    # promptfoo puts the folder first on the import path: a neighbour would shadow a module.
    names = {path.name for path in (ROOT / "hook").iterdir()}
    assert names - {"__pycache__"} == {
        "lobu_hook.py", "lobu_extension.py", "lobu_assertions.py", "lobu_transforms.py"
    }  # fmt: skip
