"""What is loaded when: counted in a fresh process, by the names of the modules."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import lobu_provider

HOOK = Path(lobu_provider.__file__).parent / "hook" / "lobu_hook.py"
HEAVY = {"httpx", "httpx_sse", "httpcore", "pydantic", "pydantic_core", "click", "anyio"}


def loaded_by(code: str) -> set[str]:
    """Run ``code`` in a fresh process and return the top-level names that it loaded."""
    listing = (
        "import sys\nbefore = set(sys.modules)\n"
        "import atexit\n"
        "tell = lambda: sys.stderr.write('\\n@' + ' '.join(set(sys.modules) - before))\n"
        f"atexit.register(tell)\n{code}"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", listing], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.rpartition("@")[2].split()}


def test_the_measure_itself_sees_what_is_loaded() -> None:
    assert {"httpx", "pydantic", "anyio"} <= loaded_by("import lobu_provider.promptfoo.provider")


def test_importing_the_package_loads_nothing_of_weight() -> None:
    loaded = loaded_by("import lobu_provider")
    assert "lobu_provider" in loaded
    assert not loaded & {*HEAVY, "asyncio", "starlette", "uvicorn"}


@pytest.mark.parametrize("name", ["errors", "redaction", "json_safe", "abort", "events", "turn"])
def test_a_pure_layer_needs_no_other_package(name: str) -> None:
    assert not loaded_by(f"import lobu_provider.{name}") & {*HEAVY, "asyncio"}


def test_a_call_to_a_gateway_loads_no_server() -> None:
    loaded = loaded_by("import lobu_provider.promptfoo.provider")
    assert not loaded & {"starlette", "uvicorn"}


@pytest.mark.skipif(find_spec("lobu_provider.cli") is None, reason="no command line in this tree")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["path"], ["ask", "--help"]])
def test_what_the_command_line_only_tells_loads_no_client(arguments: list[str]) -> None:
    code = f"sys.argv[1:] = {arguments!r}\nfrom lobu_provider.cli.main import main\nmain()"
    assert not loaded_by(code) & {"httpx", "pydantic", "starlette", "uvicorn"}


def test_loading_the_hook_by_its_path_loads_the_standard_library_only() -> None:
    loaded = loaded_by(
        "import importlib.util\n"
        f"sys.path.insert(0, {str(HOOK.parent)!r})\n"
        f"spec = importlib.util.spec_from_file_location('lobu_hook', {str(HOOK)!r})\n"
        "module = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)\n"
    )
    assert loaded <= set(sys.stdlib_module_names)
    assert not loaded & {"asyncio", "ssl", "socket", "subprocess", "json"}
