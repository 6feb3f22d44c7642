"""The file that promptfoo loads around a run::

    extensions: ['file://.../lobu_extension.py:beforeAll', 'file://.../lobu_extension.py:afterAll']

Like lobu_hook.py beside it, it imports nothing but the standard library while it is loaded, and a
copy of it works anywhere. ``afterAll`` never raises; ``beforeAll`` raises only to stop the run.

Ctrl-C reaches this process too, and it is promptfoo that ends the run on it. A hook takes a few
seconds at most, in which it deletes sessions, so the first signal lets it end, and the same one
again ends it at once.
"""

from __future__ import annotations

import sys

# promptfoo has put this folder first on the import path. For a copy of this file that is a folder
# of the user's, where a file called http.py or random.py would take the place of Python's own.
_FOLDER = __file__.replace("\\", "/").rpartition("/")[0]
sys.path[:] = [path for path in sys.path if str(path).replace("\\", "/").rstrip("/") != _FOLDER]

import os  # noqa: E402 - after the path is safe
import signal  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

_LOADED_S = time.monotonic()


def _let_end(signum: int, frame: object) -> None:
    signal.signal(signum, signal.SIG_DFL)


if threading.current_thread() is threading.main_thread():  # the only one that may set handlers
    for _name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        _signal = getattr(signal, _name, None)
        if _signal is not None and signal.getsignal(_signal) is not signal.SIG_IGN:  # as by nohup
            signal.signal(_signal, _let_end)


def beforeAll(context: object, info: object = None) -> object:  # noqa: N802 - promptfoo's name
    """Check the suite; returns it when it was changed, else ``None``.

    Raises:
        SystemExit: the run cannot work; the text says why.
    """
    try:
        if sys.version_info < (3, 10):  # noqa: UP036 - whatever Python promptfoo finds
            raise ImportError(f"Python 3.10 or newer is needed, not {sys.version.split()[0]}")
        _make_importable()
        from lobu_provider.extension import hooks

        return hooks.before_all(context, spent_s=time.monotonic() - _LOADED_S)
    except ImportError as exc:
        reason = (
            f"The run was stopped before its first test: lobu-provider could not run: {exc}. Set "
            "PROMPTFOO_PYTHON to the Python that has lobu-provider, or install it for the one "
            f"that promptfoo runs: {sys.executable} -m pip install lobu-provider"
        )
    except Exception as exc:  # noqa: BLE001 - a fault of ours must not cost the run
        if type(exc).__name__ != "StopRun":
            _tell(exc)
            return None
        reason = str(exc)
    return _stop(reason)


def afterAll(context: object, info: object = None) -> None:  # noqa: N802 - promptfoo's name
    """Delete the sessions that the run left."""
    try:
        _make_importable()
        from lobu_provider.extension.hooks import after_all

        after_all(context)
    except BaseException as exc:  # noqa: BLE001 - promptfoo would throw the results away
        _tell(exc)


def get_transform(hook: object, context: object = None) -> object:
    """Answer a config that names the file without a hook: it would run for each test, twice."""
    if hook == "beforeAll":
        return _stop(
            "Write the hook's name after the file in 'extensions': "
            "file://PATH:beforeAll and file://PATH:afterAll"
        )
    return None


def _make_importable() -> None:
    """Find the package that this file is part of when the interpreter does not have it."""
    import importlib.util

    if importlib.util.find_spec("lobu_provider") is None:
        packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path.append(packages)


def _stop(reason: str) -> object:
    """End this process with a reason: promptfoo then ends too, with exit code 1."""
    text = f"lobu-provider: {reason}"
    raise SystemExit(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _tell(exc: BaseException) -> None:
    # Where, and not what it says: that could hold a secret.
    trace, where = exc.__traceback__, ""
    while trace is not None:
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    name = type(exc).__name__
    text = f"lobu-provider: the extension failed at {where} ({name}). The run goes on.\n"
    sys.stderr.write(text.encode("utf-8", "backslashreplace").decode("utf-8"))
