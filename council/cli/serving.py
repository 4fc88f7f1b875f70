"""The commands that serve pages and HTTP, or MCP; both need an extra."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given
from council.kernel.errors import Refused, Usage
from council.kernel.ids import checked_name
from council.kernel.record import Any


def _extra(name: str, module: str) -> Any:
    """Return a module of an extra."""
    try:
        return import_module(module)  # late: an extra
    except ImportError as error:
        hint = f"install it: pip install 'council-files[{name}]'"
        raise Refused("no-extra", f"this needs the package {error.name}", hint) from None


def serve(app: App, given: Given) -> Said:
    """Serve the pages and HTTP until interrupted."""
    port = None if given.port in ("", None) else given.port
    made, run = _extra("web", "council.web.serving").start(app, given.host, port)
    return Said(data=made, then=run)


def mcp(app: App, given: Given) -> Said:
    """Serve programs that speak MCP until they are gone, or the process is ended."""
    from council.councils import service  # late: `serve` needs no agent

    agent = ""
    with suppress(Usage):  # without an agent it acts as a person
        agent = checked_name(service.who(app, given.as_), "agent id")
    if given.port not in ("", None) and not given.http:
        raise Usage("usage", "--port needs --http", "council mcp --http --port N")
    transports = _extra("mcp", "council.mcp.transports")
    if given.http:
        transports.over_http(
            app, agent, given.port if given.port not in ("", None) else transports.PORT
        )
    else:
        transports.over_stdio(app, agent)
    return Said()
