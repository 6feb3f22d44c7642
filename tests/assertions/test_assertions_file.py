"""The file that promptfoo loads by its path for an assertion."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lobu_provider
from lobu_provider.assertions.options import CHECKS

FILE = Path(lobu_provider.__file__).parent / "hook" / "lobu_assertions.py"
GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))

LOAD = """
import importlib.util, json, sys
from pathlib import Path

file, name, context = sys.argv[1:]
sys.path.insert(0, str(Path(file).parent))
spec = importlib.util.spec_from_file_location("lobu_assertions", file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
if name == "names":
    print(json.dumps([n for n in vars(module) if callable(getattr(module, n)) and n[0] != "_"]))
else:
    print(json.dumps(getattr(module, name)("", json.loads(context))))
"""
"""What promptfoo's wrapper does with a Python assertion."""


def load(file: Path, name: str, context: Any = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOAD, str(file), name, json.dumps(context)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_has_a_function_for_each_check_under_the_check_s_name() -> None:
    assert set(json.loads(load(FILE, "names").stdout)) == {
        *CHECKS,
        "countYesOrNo",
        "get_assert",
    }


@pytest.mark.parametrize("check", CHECKS)
def test_each_function_is_its_check(check: str) -> None:
    cases = [case for case in GOLDEN["cases"] if case["check"] == check and "row" in case]
    context = {key: cases[0][key] for key in ("config", "vars") if key in cases[0]}
    context["providerResponse"] = GOLDEN["rows"][cases[0]["row"]]
    assert json.loads(load(FILE, check, context).stdout) == cases[0]["expect"]


def test_a_copy_works_beside_files_that_are_called_as_pythons_own(tmp_path: Path) -> None:
    copy = Path(shutil.copy(FILE, tmp_path))
    for name in ("json.py", "re.py", "dataclasses.py"):
        (tmp_path / name).write_text("raise RuntimeError('shadowed')")
    code = LOAD.replace(
        "import importlib.util, json, sys", "import importlib.util, json, sys, pathlib"
    )
    context = {"config": {"tool": "x"}, "providerResponse": GOLDEN["rows"]["refund"]}
    done = subprocess.run(
        [sys.executable, "-c", code, str(copy), "toolNotCalled", json.dumps(context)],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["pass"] is True


def test_the_file_without_a_check_says_how_to_write_it() -> None:
    assert "file://PATH:toolCalled" in load(FILE, "get_assert").stderr


def test_without_the_package_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    copy = Path(shutil.copy(FILE, tmp_path))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOAD, str(copy), "toolNotCalled", "{}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "-m pip install lobu-provider" in done.stderr


def test_an_assertion_loads_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; from lobu_provider.assertions.judge import judge; judge('toolCalled', {});"
        "print([n for n in ('httpx', 'pydantic', 'anyio', 'click') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
