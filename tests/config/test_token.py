"""The token: where it may come from, what it may look like, and that nobody ever reads it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.config import token as token_module
from lobu_provider.config.settings import load_settings
from lobu_provider.config.token import check_token, find_token
from lobu_provider.errors import ConfigError

UNLIMITED = settings(deadline=None)

SECRET = "s3cret-Value.1234"
HOW = "lobu token --raw"


@pytest.fixture(autouse=True)
def no_remembered_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_module, "_command_tokens", {})


def find(env: Any = None, limit_s: Any = 10.0, **config: Any) -> str | None:
    options = {"config": {"agent": "a", **config}, "env": env or {}}
    return find_token(load_settings(options), limit_s=limit_s)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as caught:
        call()
    message = str(caught.value)
    assert "s3cret" not in message
    return message


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code]


# --- form


@pytest.mark.parametrize(
    "token", [SECRET, "owl_pat_abc", "ab:cd:ef", "a", "bearer_of_news", "x/y+z==", "bearertoken"]
)
@pytest.mark.parametrize("around", ["{}", " {}", "{}\n", "\r\n\t{} \n"])
def test_a_token_is_taken_without_the_white_space_around_it(token: str, around: str) -> None:
    assert check_token(around.format(token), "X") == token


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("", "blank"),
        (" \n", "blank"),
        (f"'{SECRET}'", "stands in quotes"),
        (f'"{SECRET}"', "stands in quotes"),
        (f"Bearer {SECRET}", "starts with 'Bearer'"),
        (f"bearer\t{SECRET}", "starts with 'Bearer'"),
        (f"BEARER: {SECRET}", "starts with 'Bearer'"),
        (f"Bearer:{SECRET}", "starts with 'Bearer'"),
        (f"Logged in as {SECRET}", HOW),
        (f"{SECRET}\nexpires tomorrow", HOW),
        (f"{SECRET}\u2028x", HOW),
        ("{{env.LOBU_TOKEN}}", "template"),
        (f"pre{{{{ env.X }}}}{SECRET}", "template"),
        (f"{SECRET}é", "characters that no token has"),
        (f"{SECRET}\x00", "characters that no token has"),
        (f"{SECRET}\u200b", "characters that no token has"),
    ],
)
def test_what_cannot_be_a_token_is_refused_with_its_source_and_a_fix(raw: str, said: str) -> None:
    message = refusal(lambda: check_token(raw, "The source"))
    assert message.startswith("[config] The source")
    assert said in message


@UNLIMITED
@given(st.text())
def test_whatever_is_accepted_can_stand_in_a_header(raw: str) -> None:
    try:
        token = check_token(raw, "X")
    except ConfigError:
        return
    assert token
    assert token.isascii()
    assert token.isprintable()
    assert " " not in token


# --- sources


def test_lobu_token_is_the_usual_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_TOKEN", f" {SECRET}\n")
    assert find() == SECRET
    assert find({"LOBU_TOKEN": "from-block"}) == "from-block"
    assert find({"LOBU_TOKEN": ""}) == SECRET


def test_a_token_in_the_config_beats_lobu_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_TOKEN", "from-environment")
    assert find(token=SECRET) == SECRET


def test_the_variable_may_have_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_TOKEN", "from-environment")
    monkeypatch.setenv("SECOND_ACCOUNT", SECRET)
    assert find(tokenEnv="SECOND_ACCOUNT") == SECRET
    assert find({"SECOND_ACCOUNT": "from-block"}, tokenEnv="SECOND_ACCOUNT") == "from-block"


@pytest.mark.parametrize("written", [SECRET, f"{SECRET}\n", f"\ufeff{SECRET}\r\n"])
def test_a_file_is_found_beside_the_config_file(tmp_path: Path, written: str) -> None:
    (tmp_path / "token.txt").write_text(written, encoding="utf-8")
    assert find(tokenFile="token.txt", basePath=str(tmp_path)) == SECRET
    assert find(tokenFile=str(tmp_path / "token.txt")) == SECRET


def test_a_file_may_be_below_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "token.txt").write_text(SECRET)
    assert find(tokenFile="~/token.txt") == SECRET


def test_a_command_prints_the_token(tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text(SECRET)
    command = python("print(open('token.txt').read())")
    assert find(tokenCommand=command, basePath=str(tmp_path)) == SECRET
    quoted = f'"{sys.executable}" -I -c "print(\'{SECRET}\')"'
    assert find(tokenCommand=quoted) == SECRET


def test_a_command_is_run_without_a_shell() -> None:
    code = "import sys; print('-'.join(sys.argv[1:]))"
    assert find(tokenCommand=[*python(code), "$HOME;*"]) == "$HOME;*"


def test_a_command_has_the_environment_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOR_THE_COMMAND", SECRET)
    assert find(tokenCommand=python("import os; print(os.environ['FOR_THE_COMMAND'])")) == SECRET


def test_a_command_gets_no_input_and_its_noise_stays_out_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Standard input may be promptfoo's control pipe.
    started, seen = subprocess.Popen, []

    def noting(*arguments: Any, **options: Any) -> Any:
        seen.append((options["stdin"], options["stderr"]))
        return started(*arguments, **options)

    monkeypatch.setattr("subprocess.Popen", noting)
    assert find(tokenCommand=python("import sys; print('got:' + sys.stdin.read())")) == "got:"
    assert seen == [(subprocess.DEVNULL, subprocess.DEVNULL)]


def test_a_child_that_a_command_leaves_behind_does_not_hold_the_call() -> None:
    code = (
        "import subprocess, sys; waiting = 'import threading; threading.Event().wait(20)';"
        f"subprocess.Popen([sys.executable, '-I', '-c', waiting]); print('{SECRET}')"
    )
    assert find(tokenCommand=python(code)) == SECRET


COUNTING = python(
    "import pathlib; p = pathlib.Path('n'); n = p.stat().st_size if p.exists() else 0;"
    "p.write_text('x' * (n + 1)); print(f'token-{n + 1}')"
)


def test_a_commands_token_is_reused_until_it_is_five_minutes_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    base = str(tmp_path)
    assert find(tokenCommand=COUNTING, basePath=base) == "token-1"
    now += 299
    assert find(tokenCommand=COUNTING, basePath=base) == "token-1"
    now += 2
    assert find(tokenCommand=COUNTING, basePath=base) == "token-2"


def test_the_same_command_in_another_folder_is_another_command(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token.txt").write_text(f"token-{name}")
    command = python("print(open('token.txt').read())")
    assert find(tokenCommand=command, basePath=str(tmp_path / "one")) == "token-one"
    assert find(tokenCommand=command, basePath=str(tmp_path / "two")) == "token-two"


def test_a_failed_command_is_not_remembered(tmp_path: Path) -> None:
    command = python("print(open('token.txt').read())")
    refusal(lambda: find(tokenCommand=command, basePath=str(tmp_path)))
    (tmp_path / "token.txt").write_text(SECRET)
    assert find(tokenCommand=command, basePath=str(tmp_path)) == SECRET


def test_the_embedded_gateway_needs_no_token_and_takes_one() -> None:
    assert find(gateway="script:demo") is None
    assert find(gateway="script:demo", token=SECRET) == SECRET


# --- sources that fail


def test_without_a_token_the_message_names_gateway_and_ways() -> None:
    message = refusal(lambda: find(gateway="http://h"))
    assert all(word in message for word in ("http://h/lobu", "LOBU_TOKEN", "tokenFile", HOW))


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"token": SECRET, "tokenEnv": "X"}, "token and tokenEnv"),
        ({"tokenFile": "s3cret.txt", "tokenCommand": "s3cret"}, "tokenFile and tokenCommand"),
        (
            {"token": SECRET, "tokenEnv": "X", "tokenFile": "f"},
            "token and tokenEnv and tokenFile",
        ),
    ],
)
def test_two_sources_are_refused_by_name(config: dict[str, Any], names: str) -> None:
    assert f"{names} are given; keep one" in refusal(lambda: find(**config))


def test_two_sources_are_refused_for_the_embedded_gateway_too() -> None:
    refusal(lambda: find(gateway="script:demo", token=SECRET, tokenEnv="X"))


@pytest.mark.parametrize("blank", [None, "", " "])
def test_a_variable_that_is_not_set_is_refused_by_name(
    blank: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOBU_TOKEN", SECRET)  # the other account's
    message = refusal(lambda: find({"SECOND_ACCOUNT": blank}, tokenEnv="SECOND_ACCOUNT"))
    assert "config.tokenEnv" in message
    assert "'SECOND_ACCOUNT' is not set" in message


def test_a_variable_that_cannot_be_called_that_is_not_set() -> None:
    message = refusal(lambda: find(tokenEnv="\ud800"))
    assert (
        "config.tokenEnv: the environment variable of that name (not shown) is not set" in message
    )


def test_a_command_without_a_folder_for_temporary_files_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    message = refusal(lambda: find(tokenCommand=["echo", SECRET]))
    assert "config.tokenCommand: no temporary file can be made" in message
    assert "No such file or directory. Set TMPDIR" in message


@pytest.mark.parametrize("key", ["tokenEnv", "tokenFile", "tokenCommand"])
def test_a_token_put_into_another_key_is_refused_without_being_shown(key: str) -> None:
    message = refusal(lambda: find(**{key: SECRET}))
    assert f"config.{key}" in message


@pytest.mark.parametrize("key", ["token", "tokenEnv"])
def test_a_bad_form_is_told_with_its_source(key: str) -> None:
    config = {"token": f"Bearer {SECRET}"} if key == "token" else {"tokenEnv": "NAME_OF_IT"}
    message = refusal(lambda: find({"NAME_OF_IT": f"Bearer {SECRET}"}, **config))
    assert f"config.{key}" in message
    if key == "tokenEnv":
        assert "NAME_OF_IT" in message


def test_a_bad_form_in_lobu_token_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOBU_TOKEN", f"Logged in: {SECRET}")
    assert refusal(find).startswith("[config] LOBU_TOKEN holds white space")


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "binary", "blank", "two lines"])
def test_a_file_that_holds_no_token_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "token.txt"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "missing":
        content = {"binary": b"\xff\xfe s3cret", "blank": b" \n", "two lines": b"s3cret\ns3cret"}
        path.write_bytes(content[kind])
    message = refusal(lambda: find(tokenFile="token.txt", basePath=str(tmp_path)))
    assert "config.tokenFile" in message


@pytest.mark.parametrize("name", ["~nobody-of-that-name/token", "to\x00ken"])
def test_a_file_name_that_cannot_be_one_is_refused(name: str) -> None:
    assert "config.tokenFile" in refusal(lambda: find(tokenFile=name))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-program-anywhere --flag", "cannot be started"),
        (["a\x00b"], "cannot be started"),
        ("unclosed 'quote", "cannot be split"),
        ([], "expected a command"),
        ([""], "expected a command"),
        (python("import sys; sys.exit('not logged in')"), "exit code 1"),
        (python("pass"), "is blank"),
        (python(f"print('Bearer {SECRET}')"), "starts with 'Bearer'"),
        (python("print('Logged in as s3cret')"), HOW),
    ],
)
def test_a_command_that_gives_no_token_is_refused_with_the_reason(command: Any, said: str) -> None:
    message = refusal(lambda: find(tokenCommand=command))
    assert "config.tokenCommand" in message
    assert said in message


@pytest.mark.parametrize(
    "code",
    [
        f"import sys; print('{SECRET}'); sys.exit('bad: {SECRET}')",
        "import sys; sys.exit(f'usage: {sys.argv[1]}')",
        f"import sys; sys.exit('x' * 100_000 + '{SECRET}')",
    ],
)
def test_what_a_failing_command_says_is_not_repeated(code: str) -> None:
    message = refusal(lambda: find(tokenCommand=[*python(code), SECRET]))
    assert "exit code 1" in message
    assert "Run it in a shell" in message
    assert len(message) < 600


def test_a_command_that_does_not_end_is_stopped_at_its_limit() -> None:
    waiting = python("import threading; threading.Event().wait()")
    message = refusal(lambda: find(tokenCommand=waiting, limit_s=0.2))
    assert "did not end within 0.2 s" in message


def test_many_calls_at_once_start_the_command_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = f"open({str(log)!r}, 'a').write('x'); print('{SECRET}')"
    threads = [
        threading.Thread(target=find, kwargs={"tokenCommand": python(code)}) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert log.read_text() == "x"
