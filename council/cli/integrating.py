"""What joins council to the programs that people use: `mcp`, which they talk to, and `integrate`.

Source: CL-006, CL-007, `cli.md` section 2.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from council.cli.edge import Output, shown
from council.core.errors import InvalidStateError, NotFoundError, RefusedError, UsageError
from council.core.times import render_instant
from council.operations.integrating.mcp_clients import CLIENTS, add, joining, remove
from council.operations.place import Place, speaker

OPENCLAW = "openclaw"


def mcp(place: Place, as_: str, http: bool, port: int) -> None:
    """Serve programs that speak the Model Context Protocol."""
    _require_sdk()
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


def _require_sdk() -> None:
    if find_spec("mcp") is None:
        raise NotFoundError(
            "the server needs the package mcp, which is not installed",
            "install it beside council: pip install mcp (or: pipx inject council mcp)",
        )


def _acting(place: Place, given: str) -> str:
    """Return which agent acts, "" for a person."""
    try:
        return speaker(place, given)
    except UsageError:
        if given:
            raise
        return ""


def integrate(
    place: Place,
    client: str,
    install: bool,
    uninstall: bool,
    untried: bool,
    as_: str,
    scope: str,
) -> Output:
    """Put council into a program, take it out again, or say what would be run for that."""
    known = (OPENCLAW, *CLIENTS)
    if client not in known:
        raise UsageError(f"no client {client!r}", f"choose one of: {', '.join(known)}")
    if install and uninstall:
        raise UsageError("one of the two", "give --install or --uninstall")
    if client == OPENCLAW:
        from council.operations.integrating import openclaw

        if not (install or uninstall):
            raise UsageError("one of the two", "give --install or --uninstall")
        done = openclaw.install(place, tries=not untried) if install else openclaw.uninstall(place)
        code = 0 if done.ok else InvalidStateError.exit_code
        return Output(record=done, text="\n".join(done.steps), code=code)
    how = joining(place, client, agent=as_, scope=scope)
    if uninstall:
        done = remove(place, how)
    elif install:
        _require_sdk()
        done = add(place, how)
    else:
        note = f"this would be run; to run it: council integrate {client} --install"
        return Output(record=how, text=how.to_text(), notes=[note])
    return Output(record=done, text="\n".join(done.steps))
