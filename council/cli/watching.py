"""The live view of `council watch`.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from rich.console import RenderableType
from rich.live import Live
from rich.text import Text

from council.cli.edge import shown
from council.cli.glance import glance, problems_text
from council.cli.views import as_text, console
from council.operations.examining.problems import find_problems
from council.operations.place import Place
from council.operations.schedule import clocks
from council.operations.view import Overview
from council.operations.watch import watch


def show_live(
    place: Place,
    *,
    advance: bool,
    interval: timedelta,
    active_interval: timedelta,
    problems: bool = False,
) -> None:
    """Show everything that is open until the user stops; a pipe gets a view at each change.

    Args:
        place: The workspace.
        advance: Run the heartbeat, too.
        interval: The time between heartbeats when nothing is open.
        active_interval: The same while something is.
        problems: Show only what is wrong.
    """
    known_clocks = clocks(place)

    def view(overview: Overview) -> RenderableType:
        found = find_problems(place, overview, known_clocks)
        return Text(problems_text(found)) if problems else glance(overview, found)

    overviews = watch(place, advance=advance, interval=interval, active_interval=active_interval)
    if not sys.stdout.isatty():
        last = ""
        for overview in overviews:
            phases = [(one.state.name, one.state.rev) for one in overview.standings]
            phases += [(one.channel.channel_id, one.channel.rev) for one in overview.rooms]
            if repr(phases) != last:
                last = repr(phases)
                sys.stdout.write(shown(as_text(view(overview))) + "\n")
                sys.stdout.flush()
        return
    with Live(console=console(), auto_refresh=False, screen=True) as live:
        for overview in overviews:
            live.update(view(overview), refresh=True)
