"""Check ``config.caFile``, the certificates of a private authority, before it is needed."""

from __future__ import annotations

import ssl
import stat
from functools import lru_cache
from pathlib import Path
from typing import Final

from lobu_provider.errors import ConfigError, config_error

_MAX_BYTES: Final = 10_000_000
"""All public authorities together take 300 kB."""


def find_ca_file(base_dir: Path, name: str) -> Path:
    """Return the path of a PEM file that holds at least one certificate.

    Args:
        base_dir: where a relative path starts: the config file's folder.
        name: as written in the config.

    Raises:
        ConfigError: there is no such file, it cannot be read, or holds no certificate.
    """
    if "\n" in name or name.lstrip().startswith("-----BEGIN"):
        # promptfoo puts a file's content in the place of "file://ca.txt".
        raise config_error(
            "config.caFile: expected the path of a PEM file; got the content of one. Write the "
            "path without 'file://' in front."
        )
    try:
        path = base_dir / Path(name).expanduser()
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):  # a pipe would hold the call for ever
            raise _unusable(name, base_dir, "it is not a regular file")
        if facts.st_size > _MAX_BYTES:
            raise _unusable(name, base_dir, "it is larger than 10 MB")
        fault = _fault_of(path, facts.st_mtime_ns, facts.st_size)
    except (OSError, ValueError, RuntimeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise _unusable(name, base_dir, reason or type(exc).__name__) from None
    if fault is not None:
        raise _unusable(name, base_dir, fault)
    return path


@lru_cache(maxsize=16)
def _fault_of(path: Path, modified_ns: int, size: int) -> str | None:
    """Return what is wrong with the content; asked again only when the file has changed."""
    del modified_ns, size
    text = path.read_bytes().decode("ascii", "replace")
    if "-----BEGIN CERTIFICATE-----" not in text and "-----BEGIN TRUSTED CERT" not in text:
        return "it holds no '-----BEGIN CERTIFICATE-----', so it is not a PEM file of certificates"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError as exc:
        return f"its certificates cannot be read ({exc.reason or 'damaged'})"
    return None


def _unusable(name: str, base_dir: Path, reason: str) -> ConfigError:
    shown = name if len(name) <= 200 else f"{name[:200]}..."
    return config_error(
        f"config.caFile: {shown!r} cannot be used: {reason}. Expected a PEM file with the "
        f"certificate of your authority; a relative path starts from {str(base_dir.absolute())!r}."
    )
