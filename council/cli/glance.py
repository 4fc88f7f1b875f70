"""Many councils at a glance, live if wanted: one line each, and what is wrong by what to do.

Source: `cli.md` section 2 (`status`).
"""

from __future__ import annotations

import sys
import textwrap
from datetime import timedelta

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from council.cli.edge import shown
from council.cli.views import ago, as_text, beside_councils, console, left, overview_view
from council.core.errors import NotFoundError
from council.core.ids import folded
from council.core.plain_text import plain_text
from council.operations.conversations.recalling import explained
from council.operations.examining.cause_words import OVERDUE
from council.operations.examining.causes import Cause, Problems, find_problems
from council.operations.place import Place
from council.operations.schedule import clocks
from council.operations.view import Overview, Standing
from council.operations.watch import watch

_FEW = 6
_DETAILED = 8
_FEW_FIXES = 4


def glance(overview: Overview, problems: Problems, *, verbose: bool = False) -> RenderableType:
    """Return everything that is open: a table each while they are few, else a line each.

    What is in the way stands first.
    """
    view = overview_view(overview, verbose=verbose)
    said = "\n".join(_groups(problems.found)).strip()
    parts: list[RenderableType] = [Text(f"{plain_text(said)}\n", style="yellow")] if said else []
    if len(overview.standings) <= _FEW:
        return Group(*parts, view) if parts else view
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("", "name", "phase", "left", "waiting for"):
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    for one in overview.standings:
        mark, style = _mark(one, problems)
        phase = f"{one.state.phase.lower()} {one.state.tour}"
        waits = ", ".join(_with_mark(one, agent) for agent in one.owing)
        time_left = left(one, overview.now)
        cells = (mark, one.state.name, phase, time_left.removesuffix(" left"), waits)
        table.add_row(*(Text(cell, style=style) for cell in cells))
    count = Text(_count(overview, problems), style="bold")
    return Group(*parts, count, table, *beside_councils(overview))


def only(
    place: Place, name: str, overview: Overview, problems: Problems
) -> tuple[Overview, Problems]:
    """Return how one conversation or room stands, and what is wrong with it; "" means all.

    Raises:
        NotFoundError: Nothing that is open is called so.
    """
    if not name:
        return overview, problems
    wanted = folded(name)
    overview.standings = [one for one in overview.standings if one.state.name == wanted]
    overview.errors = [one for one in overview.errors if one[0] == wanted]
    overview.rooms = [one for one in overview.rooms if one.channel.channel_id == wanted]
    overview.tasks = []
    problems.found = [one for one in problems.found if one.where in ("", wanted)]
    if not (overview.standings or overview.errors or overview.rooms):
        unknown = NotFoundError(f"nothing open is called {name!r}", "see: council status")
        raise explained(place, wanted, unknown)
    return overview, problems


def show_live(
    place: Place,
    name: str,
    interval: timedelta,
    active_interval: timedelta,
    *,
    advance: bool,
    problems: bool,
) -> None:
    """Show what is open until the user stops; a pipe gets a view at each change.

    Args:
        place: The workspace.
        name: The conversation or room, "" for all.
        interval: The time between heartbeats when nothing is open.
        active_interval: The same while something is.
        advance: Run the heartbeat, too.
        problems: Show only what is wrong.
    """
    known_clocks = clocks(place)

    def drawn(overview: Overview) -> str:
        found = find_problems(place, overview, known_clocks)
        overview, found = only(place, name, overview, found)
        return shown(problems_text(found) if problems else as_text(glance(overview, found)))

    overviews = watch(place, advance=advance, interval=interval, active_interval=active_interval)
    if not sys.stdout.isatty():
        last = ""
        for overview in overviews:
            phases = [(one.state.name, one.state.rev) for one in overview.standings]
            phases += [(one.channel.channel_id, one.channel.rev) for one in overview.rooms]
            if repr(phases) != last:
                last = repr(phases)
                sys.stdout.write(drawn(overview) + "\n")
                sys.stdout.flush()
        return
    with Live(console=console(), auto_refresh=False, screen=True) as live:
        for overview in overviews:
            # Folded, as what is too wide for a live view is cut: paths of logs must be whole.
            view = Text.from_ansi(drawn(overview), overflow="fold")
            live.update(view, refresh=True)


def _mark(one: Standing, problems: Problems) -> tuple[str, str]:
    if one.state.paused_at is not None:
        return "‖", "dim"
    codes = {found.code for found in problems.found if found.where == one.state.name}
    if any(agent not in one.running for agent in one.failures):
        return "✗", "red"
    return ("!", "yellow") if codes & OVERDUE else ("", "")


def _with_mark(one: Standing, agent: str) -> str:
    return f"{agent} ✗" if agent in one.failures and agent not in one.running else agent


def _count(overview: Overview, problems: Problems) -> str:
    marks = [_mark(one, problems)[0] for one in overview.standings]
    said = [f"{len(overview.standings) + len(overview.errors)} open"]
    named = (("✗", "with failed runs ✗"), ("!", "overdue !"), ("‖", "paused ‖"))
    said += [f"{marks.count(mark)} {words}" for mark, words in named if mark in marks]
    said += [f"{len(overview.errors)} broken"] if overview.errors else []
    return " · ".join(said)


def problems_text(problems: Problems) -> str:
    """Return what is wrong, grouped by cause, each group with what to do."""
    last = ago(problems.now, problems.last_beat) if problems.last_beat else "never"
    said = f"{problems.open} open · last heartbeat: {last}"
    if not problems.found:
        return f"nothing is wrong · {said}"
    count = f"{len(problems.found)} problem{'s' * (len(problems.found) > 1)}"
    return plain_text("\n".join([f"{count} · {said}", *_groups(problems.found)]))


def _groups(found: list[Cause]) -> list[str]:
    lines = []
    for code in dict.fromkeys(one.code for one in found):
        group = [one for one in found if one.code == code]
        lines += ["", f"{code} ({len(group)})" if len(group) > 1 else code, *_group(group)]
    return lines


def _group(group: list[Cause]) -> list[str]:
    """Return the lines of one cause; what is said of many alike is said once."""
    alike: dict[str, list[Cause]] = {}
    for one in group:
        alike.setdefault(one.said(), []).append(one)
    lines = []
    for said, ones in list(alike.items())[:_DETAILED]:
        names = ", ".join(one.where for one in ones if one.where)
        few = len(ones) == 1
        lines += _folded(f"{names}: {said}" if few and names else said, "  ", "      ")
        lines += _folded(names, "    ", "    ") if names and not few else []
        lines += [f"    {one.log}" for one in ones if one.log]
    rest = [one.where for ones in list(alike.values())[_DETAILED:] for one in ones]
    if rest:
        lines += _folded(f"and {len(rest)} more: {', '.join(rest)}", "  ", "    ")
    fixes = list(dict.fromkeys(one.fix() for one in group))
    for fix in fixes[: 1 if len(fixes) > _FEW_FIXES else _FEW_FIXES]:
        lines += _folded(f"→ {fix}", "  ", "    ")
    if len(fixes) > _FEW_FIXES:
        lines += _folded(f"→ and so for the {len(group) - 1} others", "  ", "    ")
    return lines


def _folded(text: str, first: str, other: str) -> list[str]:
    """Return the lines of a text at the width of the terminal; paths stay whole."""
    return textwrap.wrap(
        text,
        width=max(40, console().width),
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )
