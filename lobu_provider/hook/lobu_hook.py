"""The file that promptfoo loads by path: ``id: 'file://.../lobu_hook.py'``.

It stands alone in its folder, because promptfoo puts that folder first on the import path, and
imports nothing but the standard library, because a failing import here costs promptfoo minutes
per test and hides the reason. A copy of this file works anywhere.

It prints nothing, reads nothing from stdin (promptfoo's control pipe) and never raises. Ctrl-C
sets a flag instead of killing the worker, which would crash promptfoo; the running call then
deletes its session and returns what it has. SIGTERM, and SIGHUP from a terminal that is closed, end
the worker, but not before that.
"""

from __future__ import annotations

import sys

# promptfoo has put this folder first on the import path. For a copy of this file that is a folder
# of the user's, where a file called http.py or random.py would take the place of Python's own.
_FOLDER = __file__.replace("\\", "/").rpartition("/")[0]
sys.path[:] = [path for path in sys.path if str(path).replace("\\", "/").rstrip("/") != _FOLDER]

import atexit  # noqa: E402 - after the path is safe
import os  # noqa: E402
import select  # noqa: E402
import signal  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

_stop_running_calls: list[Callable[[], object]] = []
_interrupted = False
_terminated_by = 0


def _on_interrupt(signum: int, frame: object) -> None:
    global _interrupted
    _interrupted = True
    for stop in list(_stop_running_calls):
        stop()


def _on_terminate(signum: int, frame: object) -> None:
    global _terminated_by
    _terminated_by = signum
    if not _stop_running_calls:
        _end()
    _on_interrupt(signum, frame)


_STAY_S = 2.0


def _stay() -> None:
    """After Ctrl-C, live until promptfoo closes the pipe: it may write its shutdown twice, and
    crashes when nobody is there to read the second one."""
    until_s = time.monotonic() + _STAY_S
    while _interrupted and os.name == "posix" and time.monotonic() < until_s:
        ready, _, _ = select.select([0], [], [], until_s - time.monotonic())
        if not ready or not os.read(0, 4096):
            return


def _end() -> None:
    """End the process as the signal does where nobody handles it."""
    signal.signal(_terminated_by, signal.SIG_DFL)
    os.kill(os.getpid(), _terminated_by)


if threading.current_thread() is threading.main_thread():  # the only one that may set handlers
    signal.signal(signal.SIGINT, _on_interrupt)
    signal.signal(signal.SIGTERM, _on_terminate)
    # Windows has no SIGHUP, and under nohup it is to be ignored.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _on_terminate)
    atexit.register(_stay)


def call_api(
    prompt: str, options: dict[str, object], context: dict[str, object]
) -> dict[str, object]:
    """Answer one call of promptfoo's Python worker; a plain function, as promptfoo runs one call
    at a time in a process."""
    try:
        return _call(prompt, options, context)
    except BaseException as exc:  # noqa: BLE001 - SystemExit and the like would kill the worker
        return _failed(exc)


def _call(prompt: str, options: dict[str, object], context: dict[str, object]) -> dict[str, object]:
    if sys.version_info < (3, 10):  # noqa: UP036 - whatever Python promptfoo finds
        return _row(
            "config",
            f"lobu-provider needs Python 3.10 or newer, and {sys.executable} is Python "
            f"{sys.version.split()[0]}. Set PROMPTFOO_PYTHON to a newer one that has "
            "lobu-provider.",
        )
    began_s = time.monotonic()
    _make_importable()
    from lobu_provider.abort import Abort
    from lobu_provider.event_loop import run
    from lobu_provider.promptfoo.host_limit import host_limit_s
    from lobu_provider.promptfoo.provider import LobuProvider

    abort = Abort()
    _stop_running_calls.append(abort.set)
    try:
        if _interrupted:
            abort.set()
        # promptfoo's clock has run while the package was imported.
        limit_s = max(host_limit_s(options) - (time.monotonic() - began_s), 0.1)
        provider = LobuProvider(options, host_limit_s=limit_s)
        return run(provider.call_api(prompt, context, abort=abort))
    finally:
        _stop_running_calls.remove(abort.set)
        if _terminated_by:
            _end()


def _make_importable() -> None:
    """Find the package that this file is part of when the interpreter does not have it."""
    import importlib.util

    if importlib.util.find_spec("lobu_provider") is None:
        packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path.append(packages)


def _failed(exc: BaseException) -> dict[str, object]:
    code, advice = "internal", "Please report this."
    if isinstance(exc, ImportError):
        code = "config"
        advice = (
            "Set PROMPTFOO_PYTHON to the Python that has lobu-provider, or install it for the one "
            f"that promptfoo runs: {sys.executable} -m pip install lobu-provider"
        )
    return _row(code, f"lobu-provider could not run: {type(exc).__name__}: {exc}. {advice}")


def _row(code: str, message: str) -> dict[str, object]:
    error_class = "config" if code == "config" else "infrastructure"
    failure = {"code": code, "class": error_class, "phase": "config", "retryable": False}
    error = f"[{code}] {message}"
    return {
        "output": "",
        "error": error.encode("utf-8", "backslashreplace").decode("utf-8"),  # no lone surrogates
        "metadata": {"error": failure, "rateLimitKind": "quota", "toolCalls": [], "warnings": []},
    }
