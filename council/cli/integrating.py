"""What joins council to other programs: `mcp`, which they talk to, and `integrate`.

Source: CL-007, `cli.md` section 2.
"""

from __future__ import annotations

import sys

from council.cli.edge import shown
from council.core.errors import NotFoundError, RefusedError, UsageError
from council.core.times import render_instant
from council.operations.place import Place, speaker


def mcp(place: Place, as_: str, http: bool, port: int) -> None:
    """Serve programs that speak the Model Context Protocol."""
    try:
        from council.mcp.transports import over_http, over_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("council"):
            raise
        raise NotFoundError(
            f"the server needs the package {error.name}, which is not installed",
            "install it: pip install 'council[mcp]'",
        ) from None
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
