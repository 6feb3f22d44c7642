"""The built package: what the archives hold, and that the wheel alone is enough to use it.

Nothing of the source tree is on the path of the installed copy, and none of its extras are there.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = ("lobu_provider", "tests", "examples", "docs", "scripts", "node_shim")
NOT_SOURCES = shutil.ignore_patterns("__pycache__", "node_modules", ".*_cache", ".hypothesis")

DATA_FILES = (
    "lobu_provider/py.typed",
    "lobu_provider/config/config.schema.json",
    "lobu_provider/scripted_gateway/scripts/demo.json",
    "lobu_provider/new_project/templates/agent-script.json",
    "lobu_provider/new_project/templates/promptfooconfig.yaml",
    "lobu_provider/new_project/templates/workflow.yml",
    "lobu_provider/new_project/templates/workflow-sharded.yml",
    "lobu_provider/hook/lobu_hook.py",
    "lobu_provider/hook/lobu_extension.py",
    "lobu_provider/hook/lobu_assertions.py",
    "lobu_provider/hook/lobu_transforms.py",
)

CALL_THE_HOOK = """
import importlib.util, json, sys
from pathlib import Path

hook, reply = sys.argv[1:]
sys.path[0] = str(Path(hook).parent)
spec = importlib.util.spec_from_file_location("lobu_hook", hook)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
options = {
    "id": "file://lobu_hook.py",
    "config": {"agent": "support-agent", "gateway": "script:demo", "basePath": ""},
}
context = {"vars": {}, "prompt": {"raw": "hello", "label": "hello"}, "test": {"vars": {}}}
Path(reply).write_text(json.dumps(module.call_api("hello", options, context)))
"""
"""What promptfoo's wrapper does with a Python provider: load the file by its path, call it."""


class Archives(NamedTuple):
    """The two files that a release uploads."""

    wheel: Path
    sdist: Path


class Installed(NamedTuple):
    """A virtual environment that holds the wheel, and an empty folder to run in."""

    root: Path
    work: Path

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, away from the source tree."""
        return subprocess.run(
            [self.root / "bin" / command[0], *command[1:]],
            cwd=self.work,
            env=_clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def hook(self) -> Path:
        """Where ``lobu-provider path`` says the file for promptfoo is."""
        result = self.run("lobu-provider", "path")
        assert result.returncode == 0, result.stderr
        return Path(result.stdout.strip())


def _clean_environment() -> dict[str, str]:
    ours = ("LOBU_", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _checked(command: Sequence[str | Path], cwd: Path) -> None:
    result = subprocess.run(
        command,
        cwd=cwd,
        env=_clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.returncode == 0, f"{command} failed:\n{result.stdout}\n{result.stderr}"


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Archives:
    """Wheel and sdist, built from a copy so that the source tree stays as it is."""
    source = tmp_path_factory.mktemp("source")
    for path in REPOSITORY.iterdir():
        if path.is_file():
            shutil.copy(path, source)
        elif path.name in SOURCES:
            shutil.copytree(path, source / path.name, ignore=NOT_SOURCES)
    out = tmp_path_factory.mktemp("dist")
    _checked([sys.executable, "-m", "build", "--outdir", out, source], cwd=out)
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return Archives(wheel, sdist)


@pytest.fixture(scope="session")
def wheel_files(archives: Archives) -> set[str]:
    """The names in the wheel."""
    with zipfile.ZipFile(archives.wheel) as wheel:
        return set(wheel.namelist())


@pytest.fixture(scope="session")
def sdist_files(archives: Archives) -> set[str]:
    """The names in the sdist, without its top folder."""
    with tarfile.open(archives.sdist) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


@pytest.fixture(scope="session")
def installed(archives: Archives, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an empty virtual environment, with its dependencies and no extras."""
    root = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(root, with_pip=True)
    python = root / "bin" / "python"
    _checked([python, "-m", "pip", "--quiet", "install", archives.wheel], cwd=root)
    return Installed(root, tmp_path_factory.mktemp("work"))


def _modules() -> set[str]:
    package = REPOSITORY / "lobu_provider"
    return {path.relative_to(REPOSITORY).as_posix() for path in package.rglob("*.py")}


def test_the_wheel_holds_every_module(wheel_files: set[str]) -> None:
    assert _modules() <= wheel_files


@pytest.mark.parametrize("name", DATA_FILES)
def test_the_wheel_holds_the_data_file(name: str, wheel_files: set[str]) -> None:
    assert name in wheel_files


def test_the_wheel_holds_the_assertions_of_the_npm_package(wheel_files: set[str]) -> None:
    names = [path.name for path in (REPOSITORY / "node_shim" / "assertions").iterdir()]
    assert {f"lobu_provider/node_shim/assertions/{name}" for name in names} <= wheel_files


def test_the_wheel_holds_the_licence(wheel_files: set[str]) -> None:
    assert [name for name in wheel_files if name.endswith(".dist-info/licenses/LICENSE")]


def test_the_wheel_holds_the_package_and_nothing_else(wheel_files: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel_files}
    assert "lobu_provider" in tops
    assert all(top == "lobu_provider" or top.endswith(".dist-info") for top in tops)
    assert not [name for name in wheel_files if "test_" in name or "conftest" in name]


def test_the_sdist_holds_every_module_and_data_file(sdist_files: set[str]) -> None:
    assert _modules() | set(DATA_FILES) <= sdist_files


@pytest.mark.parametrize(
    "name",
    [
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "examples/promptfooconfig.yaml",
        "pyproject.toml",
        "scripts/test.sh",
        "tests/packaging/test_packaging.py",
    ],
)
def test_the_sdist_holds_what_a_packager_needs_to_test_it(name: str, sdist_files: set[str]) -> None:
    assert name in sdist_files


def test_the_installed_command_tells_the_version_of_its_metadata(
    archives: Archives, installed: Installed
) -> None:
    (metadata,) = importlib.metadata.distributions(
        name="lobu-provider", path=[str(next(installed.root.glob("lib/python*/site-packages")))]
    )
    result = installed.run("lobu-provider", "--version")
    assert result.returncode == 0, result.stderr
    assert metadata.version in result.stdout.split()
    assert archives.wheel.name.startswith(f"lobu_provider-{metadata.version}-")


def test_the_installed_command_tells_where_the_hook_file_is(installed: Installed) -> None:
    hook = installed.hook()
    assert hook.is_file()
    assert hook.resolve().is_relative_to(installed.root.resolve())


def test_a_call_through_the_hook_file_answers_without_any_extra(installed: Installed) -> None:
    reply = installed.work / "reply.json"
    result = installed.run("python", "-c", CALL_THE_HOOK, installed.hook(), reply)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    response = json.loads(reply.read_text())
    assert "error" not in response
    assert isinstance(response["output"], str)
    assert response["output"]


def test_serving_without_the_extra_names_the_install_that_is_missing(installed: Installed) -> None:
    result = installed.run("lobu-provider", "serve")
    assert result.returncode != 0
    assert "pip install 'lobu-provider[gateway]'" in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_a_first_evaluation_is_written_without_any_extra(installed: Installed) -> None:
    result = installed.run("lobu-provider", "init", "--ci")
    assert result.returncode == 0, result.stderr
    assert (installed.work / "promptfooconfig.yaml").is_file()
