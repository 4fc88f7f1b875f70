"""The live view of `council watch`.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from rich.live import Live

from council.cli.views import as_text, console, overview_view
from council.operations.place import Place
from council.operations.watch import watch


def show_live(
    place: Place, *, advance: bool, interval: timedelta, active_interval: timedelta
) -> None:
    """Show everything that is open until the user stops; a pipe gets a view at each change."""
    overviews = watch(place, advance=advance, interval=interval, active_interval=active_interval)
    if not sys.stdout.isatty():
        last = ""
        for overview in overviews:
            phases = [(one.state.name, one.state.rev) for one in overview.standings]
            if repr(phases) != last:
                last = repr(phases)
                sys.stdout.write(as_text(overview_view(overview)) + "\n")
                sys.stdout.flush()
        return
    with Live(console=console(), auto_refresh=False, screen=True) as live:
        for overview in overviews:
            live.update(overview_view(overview), refresh=True)
