"""An embedded Lobu gateway that answers from a script.

The same :class:`ScriptedGateway` is used in process (:mod:`.transport`), on a socket
(:mod:`.server`, needs the ``gateway`` extra) and as the double in tests. The script format is
documented in :mod:`.script` and :mod:`.steps`::

    gateway = ScriptedGateway(load_script("demo"))
    client = httpx.AsyncClient(transport=ScriptedTransport(gateway), base_url="http://script")
"""

from __future__ import annotations

from lobu_provider.scripted_gateway.gateway import ScriptedGateway
from lobu_provider.scripted_gateway.script import Script, load_script, parse_script
from lobu_provider.scripted_gateway.transport import ScriptedTransport

__all__ = ["Script", "ScriptedGateway", "ScriptedTransport", "load_script", "parse_script"]
