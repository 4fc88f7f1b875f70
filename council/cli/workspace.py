"""The commands for a workspace that need more than their service."""

from __future__ import annotations

import os
from contextlib import suppress

from council.app import App, find_root
from council.cli.printing import Said, confirmed
from council.cli.values import Given
from council.kernel.errors import NotFound, Refused
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
