"""``lobu-provider serve``: a scripted gateway on a socket."""

from __future__ import annotations

import errno
import shlex
import signal
import sys

import click

from lobu_provider.cli.common import Command, ExitCode, say
from lobu_provider.errors import LobuError


@click.command(cls=Command, short_help="Serve a scripted gateway on a socket.")
@click.argument("script", default="demo")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8787,
    show_default=True,
    help="The port to listen on; 0 takes a free one.",
)
def serve(script: str, host: str, port: int) -> None:
    """Serve a scripted Lobu gateway until Ctrl-C or SIGTERM.

    SCRIPT is demo, or a JSON file that says what the agent answers to which message. Any program
    that speaks the Agent API can talk to it. The lines to export for lobu-provider and promptfoo
    are printed on stderr. Needs: pip install 'lobu-provider[gateway]'

    \b
    Example:
      lobu-provider serve demo --port 8787

    Exit codes: 0 stopped, 2 the script cannot be read, the port is taken, or the extra is missing.
    """
    from lobu_provider.scripted_gateway.gateway import ScriptedGateway
    from lobu_provider.scripted_gateway.script import Script, load_script

    loaded: Script = load_script(script.removeprefix("script:"))
    try:
        from lobu_provider.scripted_gateway.server import serve as serve_gateway
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in ("starlette", "uvicorn"):
            raise
        python = shlex.quote(sys.executable)
        say(f"serve needs {package}: {python} -m pip install 'lobu-provider[gateway]'")
        raise click.exceptions.Exit(ExitCode.USAGE) from None

    def announce(url: str) -> None:
        say(f"Serving the script {script!r} on {url}; Ctrl-C stops it. In another shell:")
        say(f"export LOBU_GATEWAY={shlex.quote(_reachable(url))}")
        agents = loaded.agents or ["any-agent"]
        say(f"export LOBU_AGENT={shlex.quote(agents[0])}")
        token = "any-token" if loaded.token is None else "THE_TOKEN_OF_THE_SCRIPT"
        say(f"export LOBU_TOKEN={token}")

    # The server has its own handlers while it runs, and raises the signal again when it has
    # stopped; SIGTERM's default would then kill the process instead of letting it end with 0.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve_gateway(ScriptedGateway(loaded), host, port, on_ready=announce)
    except LobuError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        say(_cannot_listen(host, port, error.__cause__))
        raise click.exceptions.Exit(ExitCode.USAGE) from None
    except KeyboardInterrupt:
        return  # before the server had its own handlers, or a second time while it stopped
    finally:
        signal.signal(signal.SIGTERM, before)


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        why = "the port is taken; --port 0 takes a free one"
    elif error.errno == errno.EACCES:
        why = "the port is not permitted; --port 0 takes a free one"
    else:
        why = f"{error.strerror or error}; give another --host or --port"
    return f"error: Cannot listen on {host}:{port}: {why}."


def _reachable(url: str) -> str:
    """An address to connect to: the wildcard address is only one to listen on."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:", 1)
