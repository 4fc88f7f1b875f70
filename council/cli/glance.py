"""Many councils at a glance: one line each, and what is wrong grouped by what to do.

Source: `cli.md` section 2 (`status`).
"""

from __future__ import annotations

import os
import textwrap

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from council.cli.views import ago, beside_councils, console, left, overview_view
from council.core.plain_text import plain_text
from council.core.times import render_instant
from council.operations.examining.problems import KINDS, Problem, Problems
from council.operations.view import Overview, Standing

_FEW = 6
_DETAILED = 8
_HEADINGS = {
    "halted": "halted",
    "heartbeat": "the heartbeat",
    "clock": "the clock",
    "limit": "limits",
    "resting": "agents that rest",
    "call": "calls that were left",
    "silent": "agents that fell silent",
    "registry": "the registry of the protocol is broken",
    "file": "files",
    "failed": "failed runs",
    "floor": "failed runs in rooms",
    "overdue": "overdue",
    "waits": "rooms whose speaker nobody wakes",
    "idle": "discussions without their summary",
    "calmed": "rooms that were calmed",
    "paused": "paused",
    "counts": "counts",
    "work": "detached work",
}


def glance(overview: Overview, *, verbose: bool = False) -> RenderableType:
    """Return everything that is open: a table each while they are few, else a line each."""
    view = overview_view(overview, verbose=verbose)
    parts: list[RenderableType] = list(_notices(overview))
    if len(overview.standings) <= _FEW:
        return Group(*parts, view) if parts else view
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("", "name", "phase", "left", "waiting for"):
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    for one in overview.standings:
        mark, style = _mark(one, overview)
        phase = f"{one.state.phase.lower()} {one.state.tour}"
        waits = ", ".join(_with_mark(one, agent) for agent in one.owing)
        time_left = left(one, overview.now)
        cells = (mark, one.state.name, phase, time_left.removesuffix(" left"), waits)
        table.add_row(*(Text(cell, style=style) for cell in cells))
    count = Text(_count(overview), style="bold")
    return Group(*parts, count, table, *beside_councils(overview))


def _notices(overview: Overview) -> list[Text]:
    found = []
    if overview.halt is not None:
        why = f" ({overview.halt.reason})" if overview.halt.reason else ""
        said = f"HALTED: no run is started{why}; go on with: council resume --all"
        found.append(Text(said, style="bold red"))
    for agent, lapse in overview.resting.items():
        until = render_instant(lapse.until)[11:16] if lapse.until else ""
        said = f"{agent} rests until {until}Z: failed {lapse.failures} times in a row"
        found.append(Text(said, style="yellow"))
    found += [
        Text(f"limit reached: {cap}; no run is started", style="red") for cap in overview.reached
    ]
    return found


def _mark(one: Standing, overview: Overview) -> tuple[str, str]:
    if one.state.paused_at is not None:
        return "‖", "dim"
    if any(agent not in one.running for agent in one.failures):
        return "✗", "red"
    if one.state.timeout_at <= overview.now and not one.queued:
        return "!", "yellow"
    return "", ""


def _with_mark(one: Standing, agent: str) -> str:
    return f"{agent} ✗" if agent in one.failures and agent not in one.running else agent


def _count(overview: Overview) -> str:
    marks = [_mark(one, overview)[0] for one in overview.standings]
    said = [f"{len(overview.standings) + len(overview.errors)} open"]
    named = (("✗", "with failed runs ✗"), ("!", "overdue !"), ("‖", "paused ‖"))
    said += [f"{marks.count(mark)} {words}" for mark, words in named if mark in marks]
    said += [f"{len(overview.errors)} broken"] if overview.errors else []
    return " · ".join(said)


def problems_text(problems: Problems) -> str:
    """Return what is wrong, grouped by kind, each group with what to do."""
    last = ago(problems.now, problems.last_beat) if problems.last_beat else "never"
    said = f"{problems.open} open · last heartbeat: {last}"
    if not problems.found:
        return f"nothing is wrong · {said}"
    lines = [f"{len(problems.found)} problem{'s' * (len(problems.found) > 1)} · {said}"]
    for kind, fix in KINDS.items():
        group = [one for one in problems.found if one.kind == kind]
        if group:
            count = f" ({len(group)})" if len(group) > 1 else ""
            lines += ["", f"{_HEADINGS[kind]}{count}"]
            lines += _group(group)
            lines += _folded(f"→ {fix}", "  ", "    ")
    return plain_text("\n".join(lines))


def _group(group: list[Problem]) -> list[str]:
    """Return the lines of one kind; what is said of many alike is said once."""
    alike: dict[str, list[Problem]] = {}
    for one in group:
        alike.setdefault(one.said, []).append(one)
    lines = []
    for said, ones in list(alike.items())[:_DETAILED]:
        names = ", ".join(one.where for one in ones if one.where)
        few = len(ones) == 1
        lines += _folded(f"{names}: {said}" if few and names else said, "  ", "      ")
        lines += _folded(names, "    ", "    ") if names and not few else []
        lines += [f"    {os.path.relpath(one.log)}" for one in ones if one.log]
    rest = [one.where for ones in list(alike.values())[_DETAILED:] for one in ones]
    if rest:
        lines += _folded(f"and {len(rest)} more: {', '.join(rest)}", "  ", "    ")
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
