"""The commands for a whole workspace: make it, serve it, remove something from it."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

from council.app import App, find_root
from council.cli.printing import Said, confirmed, say
from council.cli.quick import Given
from council.kernel.errors import NotFound, Refused, Usage
from council.kernel.ids import checked_name
from council.kernel.record import Any
from council.observe import forget as removal
from council.setup import init as setup


def init(app: App, given: Given) -> Said:
    """Set up a workspace, or complete the one that exists."""
    notes = []
    with suppress(NotFound):
        above = find_root(os.path.dirname(app.root), {})
        notes = [f"! this is inside another workspace, {above}: commands in it use the inner one"]
    made = setup.init(app.root, given.agents, given.lang, app.env)
    tops = {top + slash for top, slash, _ in (path.partition("/") for path in made["made"])}
    return Said(data=made, more={"tops": sorted(tops)}, notes=notes)


def forget(app: App, given: Given) -> Said:
    """Remove one conversation, one entry, or old logs everywhere."""
    plan = removal.plan(app, given.which, given.entry, given.older_than)
    if not given.dry_run and not given.yes and not confirmed("\n".join(plan["remove"])):
        raise Refused("not-confirmed", "nothing was removed", "confirm with --yes")
    if given.dry_run:
        return Said(data=plan, more={"word": "remove"})
    return Said(data=removal.carry_out(app, plan), more={"word": "removed"})


def extra(name: str, module: str) -> Any:
    """Return a module of an extra."""
    try:
        return import_module(module)  # late: an extra
    except ImportError as error:
        hint = f"install it: pip install 'council-files[{name}]'"
        raise Refused("no-extra", f"this needs the package {error.name}", hint) from None


def serve(app: App, given: Given) -> Said:
    """Serve the pages and HTTP until interrupted."""
    made, run = extra("web", "council.web.serving").start(app, given.host, given.port)
    say(Said(data=made, reply="serve"), as_json=given.json)
    run()
    return Said()


def mcp(app: App, given: Given) -> Said:
    """Serve programs that speak MCP until they are gone, or the process is ended."""
    agent = ""
    with suppress(Usage):  # without an agent it acts as a person
        agent = checked_name(app.who(given.as_), "agent id")
    if given.port is not None and not given.http:
        raise Usage("usage", "--port needs --http", "council mcp --http --port N")
    serving = extra("mcp", "council.mcp.serving")
    if given.http:
        serving.over_http(app, agent, serving.PORT if given.port is None else given.port)
    else:
        serving.over_stdio(app, agent)
    return Said()
