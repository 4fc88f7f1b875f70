"""How things look on a terminal: tables and minutes, with rich, or plain.

Source: `cli.md` section 1 (rich when a terminal, plain when not), DG-137.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markdown import Markdown
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from council.cli.edge import DRAWN
from council.core.conversations.conversation import Conversation, ParticipantStatus
from council.core.conversations.owed import (
    current_phase,
    is_asked_again,
    passed_over,
    round_number,
    takes_turns,
)
from council.core.events import context_of
from council.core.plain_text import plain_line, plain_text
from council.core.rooms.due import asked
from council.core.times import render_duration
from council.operations.conversations.convene import DEFAULT_NAME
from council.operations.examining.causes import Finding
from council.operations.rooms.showing import RoomStanding
from council.operations.view import Overview, Standing

# --- Rooms at a glance: who has the floor, since when, and which rooms sleep

_NAMED = 8


def rooms_view(rooms: list[RoomStanding], now: datetime) -> list[RenderableType]:
    """Return the rooms in which turns are taken: those awake in a table, the others in a line."""
    awake = [one for one in rooms if one.has_turns and one.channel.speaker]
    told = [one for one in rooms if one.has_turns and _word_of_sleep(one)]
    asleep = [one for one in rooms if one.has_turns and not one.channel.speaker]
    quiet = [one.channel.channel_id for one in asleep if one not in told]
    parts: list[RenderableType] = []
    if awake or told:
        rows = [_row(one, now) for one in awake + told]
        whole = ("room", "floor", "since")
        parts.append(rows_view((*whole, "note"), rows, whole))
        parts += [log for one in awake for log in _logs(one.logs)]
    if quiet:
        more = f" and {len(quiet) - _NAMED} more" if len(quiet) > _NAMED else ""
        parts.append(Text(f"asleep: {', '.join(quiet[:_NAMED])}{more}", style="dim"))
    return [*parts, Text()] if parts else []


def _logs(logs: dict[str, str]) -> list[Text]:
    """Return where the logs of failed runs lie; a path is never broken in two."""
    named = [f"log of {agent}: {os.path.relpath(path)}" for agent, path in logs.items()]
    return [Text(one, style="dim", overflow="ignore", no_wrap=True) for one in named]


def _row(one: RoomStanding, now: datetime) -> tuple[Text, Text, Text, Text]:
    channel = one.channel
    since = channel.turn_at if channel.speaker else channel.dormant_at
    style = "yellow" if one.is_at_work else "dim"
    return (
        Text(channel.channel_id),
        Text(plain_line(channel.speaker) or "asleep", style=style),
        Text(render_duration(now - since) if since and now > since else "now", style="dim"),
        Text(plain_line(_note_of(one)), style="red" if one.failures and not one.running else "dim"),
    )


def _note_of(one: RoomStanding) -> str:
    channel = one.channel
    if not channel.speaker:
        return _word_of_sleep(one)
    if channel.delivery is not None:
        return "has spoken; its text is awaited"
    if one.queued or one.running:
        return _of_run(one)
    if one.failures:
        return "; ".join(f"failed: {reason}" for reason in one.failures.values())
    if channel.began_at is not None:
        return "is speaking"
    return "is to be woken" if one.is_at_work else "nobody has said anything yet"


def _of_run(one: RoomStanding) -> str:
    if one.queued:
        return "waits for a place"
    tasks = [task for task in one.channel.tasks.values() if task.state == "R"]
    by_hand = any(task.driver == "manual" for task in tasks)
    return "prompt is written" if by_hand else "is speaking"


def _word_of_sleep(one: RoomStanding) -> str:
    """Say of a room that sleeps what somebody should know of it, "" for nothing."""
    channel = one.channel
    if channel.speaker:
        return ""
    if one.waits_for_summary:
        told = "; ".join(f"failed: {reason}" for reason in one.failures.values())
        told = "waits for a place" if one.queued else "its run is at work" if one.running else told
        return f"idle: waits for the summary of {asked(channel)}" + (f"; {told}" if told else "")
    if channel.calmed:
        return f"calmed: {channel.calmed}; a word from a person wakes it"
    return ""


_MARKS = {
    ParticipantStatus.WAITING: ("…", "yellow"),
    ParticipantStatus.RESPONDED: ("✓", "green"),
    ParticipantStatus.AGREED: ("✓✓", "bold green"),
    ParticipantStatus.DONE: ("■", "dim"),
}

# A pipe has no edge: rows are read by grep, which a wrapped line would fool.
_PIPE_WIDTH = 1000
_MOST_TASKS = 20


class PlainConsole(Console):
    """A console that prints no sign which a terminal obeys but its own (SC-005)."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what `renderable` comes to, its texts without control characters."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else plain_text(text), style, control)


def console() -> Console:
    """Return the console of standard output; it knows `NO_COLOR` and pipes."""
    if sys.stdout.isatty():
        return PlainConsole(highlight=False)
    return PlainConsole(highlight=False, width=_PIPE_WIDTH)


def as_text(shown: RenderableType) -> str:
    """Return what rich would print on the terminal, without colours when it is none."""
    if isinstance(shown, Text) and not sys.stdout.isatty():
        return plain_text(shown.plain)  # a text of megabytes keeps rich busy for a minute
    target = console()
    with target.capture() as captured:
        target.print(shown)
    drawn = captured.get().replace("\x1b", DRAWN)
    return "\n".join(line.rstrip() for line in drawn.split("\n"))


def standing_view(one: Standing, now: datetime, *, verbose: bool = False) -> RenderableType:
    """Return the table of one open conversation: who has answered, who is to; ids if `verbose`."""
    state = one.state
    stands = f"{state.phase} · {_round(state)} · {left(one, now)}"
    verdict = next((one.verdict for one in reversed(state.rounds) if one.verdict), None)
    heard = len(verdict["towards"]) - len(verdict.get("silent", ())) if verdict else 0
    if verdict and heard > 1:  # of one alone nothing is judged
        kind = {"strong": "strong consensus", "soft": "soft consensus"}.get(verdict["type"])
        agree = f"{verdict['agree']} of {len(verdict['towards'])} agree"
        stands += f" · {kind or 'no consensus'} so far ({agree})"
    if state.name != DEFAULT_NAME:
        stands = f"{state.name} · {stands}"
    rows: list[tuple[Any, ...]] = []
    for participant in state.participants.values():
        mark, style = _MARKS[participant.status]
        status = Text(f"{mark} {participant.status.lower()}", style=style)
        note = Text(_note(one, participant.id), style="dim")
        rows.append((Text(participant.label), status, note))
    writes = Text("… writes the synthesis", style="yellow")
    rows += [(agent, writes, "") for agent in one.owing if agent not in state.participants]
    table = rows_view(("agent", "status", "note"), rows)
    asked = [Text(plain_line(f"{ask.asker} asks a person: {ask.text}")) for ask in one.asked]
    if asked:
        asked.append(Text(f'→ council say "…" --to {state.name}', style="yellow"))
    ids: list[Text] = []
    if verbose:
        names = f"id {state.conversation_id}  ctx {context_of(state.conversation_id)}"
        ids = [Text(one, style="dim") for one in (names, f"trace {state.trace}")]
    heading = (Text(state.topic, style="bold"), Text(stands, style="italic"))
    return Group(*heading, table, *asked, *ids, *_logs(one.logs))


def _round(state: Conversation) -> str:
    """Say which round it is; of a phase that may have several, out of how many at most."""
    if current_phase(state).max_rounds > 1 and state.rules is not None:
        return f"round {round_number(state)} of {state.rules.max_rounds}"
    return f"round {state.tour}"


def left(one: Standing, now: datetime) -> str:
    """Say how much time a phase has left."""
    state = one.state
    if state.paused_at is not None:
        return "paused"
    if state.timeout_at <= now:
        return "time is up"
    return f"{render_duration(state.timeout_at - now)} left"


def _note(one: Standing, agent: str) -> str:
    said = [_progress(one, agent)]
    if takes_turns(one.state) and agent in one.owing:
        said.insert(0, "has the floor")
    if is_asked_again(one.state, agent):
        said.insert(0, "is asked once more")
    if agent in passed_over(one.state):
        said.insert(0, "was passed over")
    return "; ".join(part for part in said if part)


def _progress(one: Standing, agent: str) -> str:
    if agent in one.running:
        task = next(t for t in one.state.tasks.values() if t.agent == agent and t.state == "R")
        said = "prompt is written" if task.driver == "manual" else "is thinking"
        return f"{said} (attempt {task.attempt})" if task.attempt > 1 else said
    if agent in one.queued:
        return "waits for a place"
    if agent in one.failures:
        reason = one.failures[agent]
        return reason if reason.startswith("not started") else f"failed: {reason}"
    if agent in one.owing and one.state.phase == one.state.phases[-1]:
        return "writes the synthesis"
    return ""


def overview_view(overview: Overview, *, verbose: bool = False) -> RenderableType:
    """Return everything that is open, for `status`."""
    parts: list[RenderableType] = []
    for one in overview.standings:
        parts += [standing_view(one, overview.now, verbose=verbose), Text()]
    return Group(*parts, *beside_councils(overview))


def beside_councils(overview: Overview) -> list[RenderableType]:
    """Return what `status` shows besides conversations: rooms, the last beat."""
    parts: list[RenderableType] = []
    rooms = rooms_view(overview.rooms, overview.now)
    if not (overview.standings or overview.errors or overview.tasks or rooms):
        parts.append(Text('nothing is open; start with: council convene "…"'))
    parts += rooms
    if overview.tasks:
        from council.cli.tasks import list_page

        parts += [Text(list_page(overview.tasks[:_MOST_TASKS], overview.now)), Text()]
        if len(overview.tasks) > _MOST_TASKS:
            more = len(overview.tasks) - _MOST_TASKS
            parts.append(Text(f"and {more} more tasks; see: council task list", style="dim"))
    last = "never" if overview.last_beat is None else ago(overview.now, overview.last_beat)
    runs = f"{overview.runs} of {overview.max_runs} places taken"
    parts.append(Text(f"last heartbeat: {last} · {runs}", style="dim"))
    return parts


def ago(now: datetime, then: datetime) -> str:
    """Say how long ago something was."""
    return f"{render_duration(now - then)} ago" if now > then else "just now"


def findings_view(findings: list[Finding]) -> RenderableType:
    """Return what `doctor` found, each fault with its fix."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for one in findings:
        mark = Text("✓", style="green") if one.ok else Text("✗", style="bold red")
        found = Text(one.found)
        if one.fix:
            found.append(f"\n→ {one.fix}", style="yellow")
        table.add_row(mark, Text(one.what), found)
    return table


def rows_view(
    columns: tuple[str, ...], rows: list[tuple[Any, ...]], whole: tuple[str, ...] = ()
) -> RenderableType:
    """Return a plain table with a header; cells of the columns `whole` keep to one line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in whole)
    for row in rows:
        table.add_row(*(one if isinstance(one, Text) else Text(_plain(one)) for one in row))
    return table


def _plain(cell: Any) -> str:
    return "" if cell is None else plain_line(str(cell))


def rows_text(
    columns: tuple[str, ...], rows: list[tuple[Any, ...]], whole: tuple[str, ...] = ()
) -> str:
    """Return the same as a text."""
    return as_text(rows_view(columns, rows, whole))


def minutes_view(rows: list[tuple[Any, ...]]) -> RenderableType:
    """Return the list of minutes; where a row does not fit, each path has a line of its own."""
    shown = [[plain_line(str(cell or "")) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) <= console().width:
        return rows_view(("date", "outcome", "title", "minutes"), rows)
    lines: list[Text] = []
    for date, outcome, title, path in shown:
        lines.append(Text(f"{date}  {outcome}  {title}"))
        # Whoever copies a path wants it in one piece, wherever the terminal breaks it.
        lines.append(Text(f"  {path}", style="dim", no_wrap=True, overflow="ignore"))
    return Group(*lines)


def markdown_view(text: str) -> RenderableType:
    """Return Markdown as the terminal can show it, or as it is when there is none."""
    return Markdown(plain_text(text), hyperlinks=False) if sys.stdout.isatty() else Text(text)
