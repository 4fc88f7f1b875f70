"""The commands that start servers: for programs that speak MCP, and for browsers.

Source: IO-004, CL-007, DL-066, `cli.md` section 2.
"""

from __future__ import annotations

import sys

from council.commands.integrating import require
from council.commands.output import shown
from council.core.errors import RefusedError, UsageError
from council.core.times import render_instant
from council.operations.place import Place, speaker


def serve(place: Place, host: str, port: int | None, link: bool, advance: bool) -> None:
    """Serve the pages and the HTTP interface of this machine, or print a fresh link."""
    if place.is_in_run:
        raise RefusedError("a run opens no port", "leave it to people")
    require("web", "the page")
    from council.web import starting

    def tell(line: str) -> None:
        print(shown(line), flush=True)

    if link:
        tell(starting.fresh_link(place))
    else:
        starting.serve(place, tell, host=host, port=port, advance=advance)


def mcp(place: Place, as_: str, http: bool, port: int) -> None:
    """Serve programs that speak the Model Context Protocol."""
    require("mcp", "the server")
    from council.mcp.transports import over_http, over_stdio

    agent = _acting(place, as_)
    if not place.is_in_run:
        # Every call is made with this environment, so no argument can change who acts, and where.
        fixed = {"COUNCIL_ROOT": place.root, "COUNCIL_AGENT": agent}
        if place.fixed_now is not None:
            fixed["COUNCIL_NOW"] = render_instant(place.fixed_now)
        place.environ = {**place.environ, **{name: one for name, one in fixed.items() if one}}
    if not http:
        over_stdio(place, agent)
    elif place.is_in_run:
        raise RefusedError("a run opens no port", "leave --http out")
    else:
        over_http(place, agent, port, lambda line: print(shown(line), file=sys.stderr, flush=True))


def _acting(place: Place, given: str) -> str:
    """Return which agent acts, "" for a person."""
    try:
        return speaker(place, given)
    except UsageError:
        if given:
            raise
        return ""
