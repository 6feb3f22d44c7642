"""``lobu-provider doctor``: connection, interpreter, promptfoo, exit codes."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.cli.checks import gateway as gateway_check
from lobu_provider.cli.checks.examination import LIMIT_S
from lobu_provider.cli.checks.promptfoo_tool import NODES, fitting_promptfoo, in_range
from lobu_provider.probe import gateway as gateway_probe

from .conftest import AGENT, CANARY, RunCli, Serve, Served, StartCli

Connected = Callable[..., Served]
PACKAGE = "package:@lobu/promptfoo-provider:LobuProvider"
DEMO = ("--gateway", "script:demo", "--agent", AGENT)
needs_posix = pytest.mark.skipif(os.name == "nt", reason="programs made of shell scripts")


class Report:
    """What the doctor said."""

    def __init__(self, code: int, output: str) -> None:
        self.code = code
        self.rows: list[dict[str, Any]] = json.loads(output)

    def of(self, check: str) -> list[tuple[str, str]]:
        return [(row["status"], row["detail"]) for row in self.rows if row["check"] == check]

    def status(self, check: str) -> str:
        """Return the worst status of a check."""
        found = [status for status, _ in self.of(check)]
        return max(found, key=["ok", "warn", "fail"].index)

    def fix(self, check: str) -> str | None:
        """Return the fix of the first row of a check that is not ok."""
        rows = [row for row in self.rows if row["check"] == check and row["status"] != "ok"]
        fix: str | None = rows[0]["fix"]
        return fix

    def text(self) -> str:
        return "\n".join(f"{row['detail']} {row['fix']}" for row in self.rows)


Examine = Callable[..., Report]


@pytest.fixture
def examine(run_cli: RunCli) -> Examine:
    def run(*arguments: str) -> Report:
        result = run_cli("doctor", "--json", *arguments)
        assert result.stderr == ""
        return Report(result.exit_code, result.stdout)

    return run


@pytest.fixture(autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but this interpreter and what a test puts there."""
    folder = tmp_path_factory.mktemp("programs")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{Path(sys.executable).parent}")
    return folder


def program(path: Path, output: str, code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{output}'\nexit {code}\n", "utf-8")
    path.chmod(0o755)
    return path


def installed_promptfoo(folder: Path, version: str, node: str | None = None) -> None:
    package = folder / "node_modules" / "promptfoo"
    main = program(package / "dist" / "main.js", "never run", 1)
    manifest = {"name": "promptfoo", "version": version}
    if node is not None:
        manifest["engines"] = {"node": node}  # type: ignore[assignment]
    (package / "package.json").write_text(json.dumps(manifest), "utf-8")
    link = folder / "node_modules" / ".bin" / "promptfoo"
    link.parent.mkdir(parents=True)
    link.symlink_to(main)


def test_a_working_gateway_token_and_agent_are_ok_and_the_session_is_deleted(
    examine: Examine, connected: Connected
) -> None:
    served = connected(token=CANARY, agents=[AGENT])
    report = examine()
    assert report.code == 0
    assert [report.status(c) for c in ("config", "gateway", "token", "agent")] == ["ok"] * 4
    assert served.gateway.sessions == {}
    assert [r.method for r in served.gateway.requests] == ["GET", "POST", "DELETE"]


def test_the_embedded_gateway_is_checked_without_network_or_token(examine: Examine) -> None:
    report = examine(*DEMO)
    assert report.code == 0
    assert report.of("token") == [("ok", "from the options and LOBU_* variables: none needed")]


def test_people_get_a_line_for_each_check_and_its_fix(run_cli: RunCli) -> None:
    result = run_cli("doctor")
    assert result.exit_code == 1
    assert "fail  config: from LOBU_* variables: config.agent is missing" in result.stdout
    assert "      fix: export LOBU_AGENT=" in result.stdout
    assert "warn  gateway: not checked" in result.stdout


def test_every_failure_has_a_fix_and_every_row_the_four_keys(examine: Examine) -> None:
    report = examine()
    assert all(list(row) == ["check", "status", "detail", "fix"] for row in report.rows)
    assert all(row["fix"] for row in report.rows if row["status"] == "fail")


def test_a_refused_token_is_exit_code_3(examine: Examine, connected: Connected) -> None:
    connected(token="owl_pat_another")
    report = examine()
    assert report.code == 3
    assert [report.status(c) for c in ("gateway", "token", "agent")] == ["ok", "fail", "warn"]
    assert report.fix("token") == 'export LOBU_TOKEN="$(lobu token --raw)"'


EXPORT = 'export LOBU_TOKEN="$(lobu token --raw)"'


@pytest.mark.parametrize("value", [None, "abc def", "Bearer abcdef", "{{env.X}}"])
def test_the_fix_of_a_token_fault_sets_the_variable_in_quotes(
    examine: Examine, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv("LOBU_TOKEN", value)
    report = examine("--agent", AGENT)
    assert report.status("config") == "fail"
    assert report.fix("config") == EXPORT


@pytest.mark.parametrize(
    ("keys", "fix"),
    [
        ({"tokenEnv": "STAGING_TOKEN"}, 'export STAGING_TOKEN="$(lobu token --raw)"'),
        (
            {"tokenFile": "gone.txt"},
            f"{EXPORT}  (and remove 'tokenFile', which is taken first)",
        ),
        (
            {"tokenEnv": "A", "tokenFile": "gone.txt"},
            "Remove all but one of: tokenEnv, tokenFile",
        ),
        ({"timeoutMs": -1}, "Correct it; see the table of config keys in the README."),
        ({"tokn": "x"}, "Correct it; see the table of config keys in the README."),
    ],
)
def test_the_fix_of_a_config_fault_fits_the_source_of_the_token(
    examine: Examine, folder: Path, keys: dict[str, Any], fix: str
) -> None:
    provider = {"id": PACKAGE, "config": {"agent": AGENT, **keys}}
    (folder / "promptfooconfig.json").write_text(json.dumps({"providers": [provider]}), "utf-8")
    assert examine().fix("config") == fix


def test_a_403_names_both_causes_and_is_exit_code_3(examine: Examine, connected: Connected) -> None:
    connected(agents=["someone-else"])
    report = examine()
    assert report.code == 3
    assert [report.status(c) for c in ("gateway", "token", "agent")] == ["ok", "ok", "fail"]
    ((_, detail),) = report.of("agent")
    assert f"there is no agent '{AGENT}'" in detail
    assert "belongs to an organisation or person" in detail


def test_a_session_that_cannot_be_deleted_is_a_warning(
    examine: Examine, connected: Connected
) -> None:
    connected(delete={"status": 500})
    report = examine()
    assert (report.code, report.status("agent")) == (0, "warn")


def test_an_unreachable_gateway_is_exit_code_3_and_the_rest_is_not_checked(
    examine: Examine, connected: Connected
) -> None:
    connected()
    report = examine("--gateway", "http://127.0.0.1:9")
    assert report.code == 3
    assert [report.status(c) for c in ("gateway", "token", "agent")] == ["fail", "warn", "warn"]


def test_a_fault_on_this_side_beside_a_dead_gateway_is_exit_code_1(
    examine: Examine, connected: Connected, folder: Path
) -> None:
    connected()
    config = {"providers": [{"id": "file://gone.py", "config": {"agent": AGENT}}]}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
    report = examine("--gateway", "http://127.0.0.1:9")
    assert (report.code, report.status("hook"), report.status("gateway")) == (1, "fail", "fail")


def test_the_old_port_is_tried_without_the_token_when_nothing_is_at_the_new_one(
    examine: Examine, connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = connected()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        free = closed.getsockname()[1]
    monkeypatch.setattr(gateway_probe, "_DEFAULT_PORT", free)
    monkeypatch.setattr(gateway_probe, "_OLD_PORT", int(served.url.rpartition(":")[2]))
    report = examine("--gateway", f"http://127.0.0.1:{free}")
    assert report.code == 3
    assert f"one answers at {served.url}/lobu, the port of older gateways" in report.text()
    assert f"export LOBU_GATEWAY={served.url}" in report.text()
    assert [r.headers.get("authorization") for r in served.gateway.requests] == [None]


def test_a_host_that_accepts_and_never_answers_ends_at_the_limit(
    examine: Examine, connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected()
    short = replace(gateway_check.LIMITS, request_s=0.2)
    monkeypatch.setattr(gateway_check, "LIMITS", short)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        report = examine("--gateway", f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert (report.code, report.status("gateway")) == (3, "fail")


def test_all_time_limits_together_stay_under_half_a_minute() -> None:
    assert LIMIT_S + gateway_check.LIMITS.delete_s < 30


def test_a_name_that_is_not_looked_up_in_time_is_told(
    examine: Examine, connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    connected()
    monkeypatch.setattr(gateway_check, "_DNS_LIMIT_S", 0.05)
    monkeypatch.setattr(gateway_probe, "_look_up", lambda host: stop.wait(30))
    report = examine("--gateway", "http://gateway.invalid:8787")
    stop.set()
    assert "not resolved in time" in report.text()
    assert report.code == 3


def test_something_that_is_no_gateway_is_told(examine: Examine, connected: Connected) -> None:
    connected(create={"status": 200, "body": "<html>Sign in</html>"})
    report = examine()
    assert (report.code, report.status("agent")) == (3, "fail")
    assert "not a JSON object" in report.text()


def test_no_token_is_ever_printed(
    examine: Examine, run_cli: RunCli, connected: Connected, folder: Path
) -> None:
    connected(create={"status": 500, "body": {"error": f"bad token {CANARY}"}})
    config = {
        "providers": [
            {"id": "package:@lobu/promptfoo-provider:LobuProvider", "config": config}
            for config in (
                {"agent": AGENT, "token": CANARY},
                {"agent": AGENT, "token": f"Bearer {CANARY}"},
                {"agent": AGENT, "headers": {"x-key": CANARY}},
                {"agent": AGENT, "tokn": CANARY},
                {"agent": AGENT, "tokenEnv": CANARY},
            )
        ]
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
    assert "canary" not in examine().text()
    assert "canary" not in run_cli("doctor").output


def test_options_take_the_place_of_the_file_s_keys(
    examine: Examine, serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    monkeypatch.setenv("LOBU_TOKEN", CANARY)
    provider = {"id": "package:@lobu/promptfoo-provider:LobuProvider", "config": {"agent": "a"}}
    (folder / "promptfooconfig.json").write_text(json.dumps({"providers": [provider]}), "utf-8")
    assert examine("--gateway", served.url, "--agent", "b").code == 0
    assert served.gateway.requests[1].fields["agentId"] == "b"


@needs_posix
def test_an_interpreter_without_lobu_provider_is_named_with_the_fix(
    examine: Examine, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = program(programs / "other-python", "no module", 1)
    monkeypatch.setenv("PROMPTFOO_PYTHON", str(other))
    report = examine(*DEMO)
    assert (report.code, report.status("interpreter")) == (1, "fail")
    assert f"PROMPTFOO_PYTHON is {other}, which cannot import lobu_provider" in report.text()
    assert f"export PROMPTFOO_PYTHON={sys.executable}" in report.text()


@needs_posix
def test_a_python_on_path_without_lobu_provider_is_a_fault_only_where_a_config_needs_it(
    examine: Examine, programs: Path, folder: Path
) -> None:
    program(programs / "python", "no module", 1)
    assert (examine(*DEMO).code, examine(*DEMO).status("interpreter")) == (0, "warn")
    config = {"agent": AGENT, "gateway": "script:demo"}
    (folder / "lobu_hook.py").touch()
    (folder / "promptfooconfig.json").write_text(
        json.dumps({"providers": [{"id": "file://lobu_hook.py", "config": config}]}), "utf-8"
    )
    assert (examine().code, examine().status("interpreter")) == (1, "fail")


def test_an_interpreter_that_is_not_there_is_told(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTFOO_PYTHON", "no-such-python")
    report = examine(*DEMO)
    assert report.code == 1
    assert "PROMPTFOO_PYTHON names 'no-such-python', which is not there" in report.text()


def test_this_interpreter_named_outright_is_ok(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTFOO_PYTHON", sys.executable)
    assert examine(*DEMO).status("interpreter") == "ok"


def test_no_promptfoo_and_no_node_are_warnings(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    report = examine(*DEMO)
    assert (report.status("promptfoo"), report.status("node")) == ("warn", "warn")
    assert report.code == 0


@needs_posix
@pytest.mark.parametrize(
    ("promptfoo", "node", "statuses", "code"),
    [
        ("0.121.20", "v20.20.2", ("ok", "ok"), 0),
        ("0.121.12", "v20.20.2", ("fail", "ok"), 1),
        ("0.123.1", "v20.20.2", ("ok", "fail"), 1),
        ("0.123.1", "v24.1.0", ("ok", "ok"), 0),
        ("0.121.20", "v18.0.0", ("ok", "fail"), 1),
    ],
)
def test_promptfoo_in_node_modules_and_its_node_are_checked_by_version(
    examine: Examine,
    folder: Path,
    programs: Path,
    promptfoo: str,
    node: str,
    statuses: tuple[str, str],
    code: int,
) -> None:
    installed_promptfoo(folder, promptfoo, ">=22.22.0" if promptfoo > "0.122" else None)
    program(programs / "node", node)
    report = examine(*DEMO)
    assert (report.status("promptfoo"), report.status("node")) == statuses
    assert report.code == code


NEEDS_NODE = "Install Node >=22.22.0 from https://nodejs.org, then: npx promptfoo@latest"


@pytest.mark.parametrize(
    ("node", "fix"),
    [
        ((20, 20, 2), "npx promptfoo@0.121.20"),
        ((22, 22, 0), "npx promptfoo@latest"),
        ((24, 1, 0), "npx promptfoo@latest"),
        ((18, 0, 0), NEEDS_NODE),
        ((22, 21, 0), NEEDS_NODE),
        (None, NEEDS_NODE),
    ],
)
def test_the_promptfoo_to_take_is_one_that_the_node_runs(
    node: tuple[int, ...] | None, fix: str
) -> None:
    assert fitting_promptfoo(node).partition("  ")[0] == fix


@needs_posix
def test_without_or_with_an_old_promptfoo_the_one_that_fits_node_is_named(
    examine: Examine, folder: Path, programs: Path
) -> None:
    program(programs / "node", "v20.20.2")
    assert str(examine(*DEMO).fix("promptfoo")).startswith("npx promptfoo@0.121.20 ")
    installed_promptfoo(folder, "0.121.12")
    assert str(examine(*DEMO).fix("promptfoo")).startswith("npx promptfoo@0.121.20 ")


@needs_posix
def test_a_promptfoo_too_new_for_node_can_be_taken_older(
    examine: Examine, folder: Path, programs: Path
) -> None:
    program(programs / "node", "v20.20.2")
    installed_promptfoo(folder, "0.123.1", ">=22.22.0")
    fix = str(examine(*DEMO).fix("node"))
    assert fix.startswith("npx promptfoo@0.121.20 ")
    assert fix.endswith("or: Install Node >=22.22.0 from https://nodejs.org")


@needs_posix
def test_a_program_that_does_not_answer_in_time_is_told_as_that(
    examine: Examine, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("promptfoo_tool._LIMIT_S", "interpreter._PROBE_LIMIT_S"):
        monkeypatch.setattr(f"lobu_provider.cli.checks.{module}", 0.2)
    for name in ("promptfoo", "node", "slow-python"):
        hangs = program(programs / name, "")
        hangs.write_text("#!/bin/sh\nexec /usr/bin/env tail -f /dev/null\n", "utf-8")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("PROMPTFOO_PYTHON", str(programs / "slow-python"))
    text = examine(*DEMO).text()
    for name in ("promptfoo", "node"):
        assert f"{programs / name} did not answer within 0.2 s" in text
    assert f"{programs / 'slow-python'}, which did not answer within 0.2 s" in text


@needs_posix
def test_a_promptfoo_on_path_that_is_a_script_is_asked_for_its_version(
    examine: Examine, programs: Path
) -> None:
    program(programs / "promptfoo", "promptfoo 0.123.1")
    program(programs / "node", "v24.0.0")
    assert examine(*DEMO).of("promptfoo") == [("ok", f"{programs / 'promptfoo'} is 0.123.1")]


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ((20, 19, 9), False),
        ((20, 20, 0), True),
        ((21, 9, 0), False),
        ((22, 21, 0), False),
        ((22, 22, 0), True),
        ((24, 0, 0), True),
    ],
)
def test_the_range_of_nodes(version: tuple[int, ...], fits: bool) -> None:
    assert in_range(version, NODES) is fits


def test_a_range_in_another_notation_is_not_judged() -> None:
    assert in_range((1, 0, 0), "20.x")


@pytest.mark.skipif(
    sys.platform == "win32" or signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    reason="no signals to one child process, or the tests themselves were started to ignore it",
)
def test_ctrl_c_is_exit_code_130(start_cli: StartCli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_TOKEN", CANARY)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        doctor = start_cli("doctor", "--agent", "a", "--gateway", f"http://127.0.0.1:{port}")
        silent.settimeout(30)
        accepted, _ = silent.accept()
        with accepted:
            accepted.settimeout(30)
            assert accepted.recv(10) != b""
            doctor.process.send_signal(signal.SIGINT)
            assert doctor.end() == 130
    assert "Traceback" not in doctor.stderr.text
