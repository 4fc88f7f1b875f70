"""Many councils at a glance: one line each, and what is wrong grouped by what to do.

Source: `cli.md` section 2 (`status`).
"""

from __future__ import annotations

import textwrap

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from council.cli.views import ago, beside_councils, console, left, overview_view
from council.core.plain_text import plain_text
from council.operations.examining.cause_words import OVERDUE
from council.operations.examining.causes import Cause
from council.operations.examining.problems import Problems
from council.operations.view import Overview, Standing

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
