"""`status`: everything that is open at a glance, live if wanted, and what is wrong by what to do.

Source: `cli.md` section 2 (`status`), DG-137.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta

from council.commands.drawing import Table, drawn, folded_lines, page_width
from council.commands.output import Output, shown
from council.core.conversations.activity import ASKED, IN_TROUBLE
from council.core.conversations.conversation import Conversation
from council.core.conversations.due import (
    counted_round,
    is_asked_again,
    passed_over,
    takes_turns,
)
from council.core.errors import NotFoundError, UsageError
from council.core.events import context_of
from council.core.ids import folded
from council.core.plain_text import plain_line, plain_text
from council.core.record import Any
from council.core.rooms.due import asked
from council.core.times import parse_duration, render_duration
from council.core.trust import permit
from council.operations.activity import activity_words
from council.operations.examining.causes import OVERDUE, Cause
from council.operations.place import Place
from council.operations.reporting.explaining import Problems, find_problems
from council.operations.view import Overview, Standing
from council.operations.view import status as look
from council.store.paths import DEFAULT_NAME
from council.store.reason_words import reason_words
from council.store.settings import language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.commands.drawing import Line, Part
    from council.operations.rooms.showing import RoomStanding


def status(place: Place, problems: bool, watch: bool, name: str, values: dict[str, Any]) -> Any:
    """Show everything that is open, who is to answer, and what failed; or only what is named."""
    if watch:
        if values["json"]:
            raise UsageError("--watch is for people", "programs: council events tail --follow")
        if values["advance"]:
            permit("watch", in_run=place.is_in_run)
            place.begin_writing()
        every = [parse_duration(values[one]) for one in ("interval", "active_interval")]
        return show_live(place, name, *every, advance=values["advance"], problems=problems)
    if values["advance"]:
        raise UsageError("--advance goes with --watch", "once: council heartbeat")
    overview = look(place)
    overview, found = only(place, name, overview, find_problems(place, overview, thorough=problems))
    lang = language(place.settings, "", place.environ)
    if problems:
        return Output(record=found, text=problems_text(found, lang))
    record = {**overview.to_record(), "problems": found.to_record()["problems"]}
    view = glance(overview, found, lang, verbose=values["verbose"])
    return Output(record=record, text=drawn(*view))


_FEW = 6
_DETAILED = 8
_FEW_FIXES = 4


def glance(
    overview: Overview, problems: Problems, lang: str, *, verbose: bool = False
) -> list[Part]:
    """Return everything that is open: a table each while they are few, else a line each.

    What is in the way stands first, in the language `lang`.
    """
    said = "\n".join(_groups(problems.found, lang)).strip()
    parts: list[Part] = [(f"{plain_text(said)}\n", "yellow")] if said else []
    if len(overview.standings) <= _FEW:
        for one in overview.standings:
            parts += [*standing_view(one, overview.now, verbose=verbose), ("", "")]
    else:
        columns = ("", "name", "phase", "left", "waiting for")
        rows = [_row_of(one, problems, overview.now) for one in overview.standings]
        parts.append((_count(overview, problems), "bold"))
        parts.append(Table(columns=columns, rows=rows, whole=columns, overflow="ellipsis"))
    return [*parts, *beside_councils(overview)]


def _row_of(one: Standing, problems: Problems, now: datetime) -> list[Line]:
    mark, style = _mark(one, problems)
    phase = f"{one.state.phase.lower()} {one.state.tour}"
    waits = ", ".join(_with_mark(one, agent) for agent in one.due_agents)
    time_left = left(one, now).removesuffix(" left")
    return [(cell, style) for cell in (mark, one.state.name, phase, time_left, waits)]


def _open_name(place: Place, name: str, overview: Overview) -> str:
    """Return the name of what is open that a word means; a word that means nothing stays."""
    wanted = folded(name)
    named = {one.state.name for one in overview.standings} | {one for one, _ in overview.errors}
    named |= {one.channel.channel_id for one in overview.rooms}
    if wanted in named or place.is_in_run:
        return wanted
    from council.operations.conversations.finding import find  # an exact name is usual

    found = find(place, name, archived_too=False)
    return wanted if found is None else found.candidate.name


def only(
    place: Place, name: str, overview: Overview, problems: Problems
) -> tuple[Overview, Problems]:
    """Return how one conversation or room stands, and what is wrong with it; "" means all.

    Raises:
        NotFoundError: Nothing that is open is called so.
    """
    if not name:
        return overview, problems
    wanted = _open_name(place, name, overview)
    overview.standings = [one for one in overview.standings if one.state.name == wanted]
    overview.errors = [one for one in overview.errors if one[0] == wanted]
    overview.rooms = [one for one in overview.rooms if one.channel.channel_id == wanted]
    overview.tasks = []
    problems.found = [one for one in problems.found if one.where in ("", wanted)]
    if not (overview.standings or overview.errors or overview.rooms):
        from council.operations.conversations.recalling import explained

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
    from council.operations.clocks import clocks_of
    from council.operations.watch import watch

    known_clocks = clocks_of(place)
    lang = language(place.settings, "", place.environ)

    def page(overview: Overview) -> str:
        found = find_problems(place, overview, known_clocks)
        overview, found = only(place, name, overview, found)
        if problems:
            return shown(problems_text(found, lang))
        return shown(drawn(*glance(overview, found, lang)))

    overviews = watch(place, advance=advance, interval=interval, active_interval=active_interval)
    if not sys.stdout.isatty():
        last = ""
        for overview in overviews:
            phases = [(one.state.name, one.state.rev) for one in overview.standings]
            phases += [(one.channel.channel_id, one.channel.rev) for one in overview.rooms]
            if repr(phases) != last:
                last = repr(phases)
                sys.stdout.write(page(overview) + "\n")
                sys.stdout.flush()
        return
    from rich.live import Live
    from rich.text import Text

    from council.commands.screens import console

    with Live(console=console(), auto_refresh=False, screen=True) as live:
        for overview in overviews:
            # Folded, as what is too wide for a live view is cut: paths of logs must be whole.
            view = Text.from_ansi(page(overview), overflow="fold")
            live.update(view, refresh=True)


def _mark(one: Standing, problems: Problems) -> tuple[str, str]:
    if one.state.paused_at is not None:
        return "‖", "dim"
    codes = {found.code for found in problems.found if found.where == one.state.name}
    if any(_is_in_trouble(one, agent) for agent in one.due_agents):
        return "✗", "red"
    return ("!", "yellow") if codes & OVERDUE else ("", "")


def _with_mark(one: Standing, agent: str) -> str:
    return f"{agent} ✗" if _is_in_trouble(one, agent) else agent


def _is_in_trouble(one: Standing, agent: str) -> bool:
    return one.activities[agent].code in IN_TROUBLE


def _count(overview: Overview, problems: Problems) -> str:
    marks = [_mark(one, problems)[0] for one in overview.standings]
    said = [f"{len(overview.standings) + len(overview.errors)} open"]
    named = (("✗", "with failed runs ✗"), ("!", "overdue !"), ("‖", "paused ‖"))
    said += [f"{marks.count(mark)} {words}" for mark, words in named if mark in marks]
    said += [f"{len(overview.errors)} broken"] if overview.errors else []
    return " · ".join(said)


def problems_text(problems: Problems, lang: str) -> str:
    """Return what is wrong, grouped by cause, each group with what to do."""
    last = ago(problems.now, problems.last_beat) if problems.last_beat else "never"
    said = f"{problems.open} open · last heartbeat: {last}"
    if not problems.found:
        return f"nothing is wrong · {said}"
    count = f"{len(problems.found)} problem{'s' * (len(problems.found) > 1)}"
    return plain_text("\n".join([f"{count} · {said}", *_groups(problems.found, lang)]))


def _groups(found: list[Cause], lang: str) -> list[str]:
    lines = []
    for code in dict.fromkeys(one.code for one in found):
        lines += ["", *_group([one for one in found if one.code == code], lang)]
    return lines


def _group(group: list[Cause], lang: str) -> list[str]:
    """Return the lines of one cause; what is said of many alike is said once."""
    alike: dict[str, list[Cause]] = {}
    for one in group:
        alike.setdefault(one.said(lang), []).append(one)
    lines = []
    for said, ones in list(alike.items())[:_DETAILED]:
        names = ", ".join(one.where for one in ones if one.where)
        few = len(ones) == 1
        lines += _folded(f"{names}: {said}" if few and names else said, "! ", "  ")
        lines += _folded(names, "    ", "    ") if names and not few else []
        lines += [f"    {one.log}" for one in ones if one.log]
    rest = [one.where for ones in list(alike.values())[_DETAILED:] for one in ones]
    if rest:
        lines += _folded(f"and {len(rest)} more: {', '.join(rest)}", "  ", "    ")
    fixes = list(dict.fromkeys(one.fix(lang) for one in group))
    for fix in fixes[: 1 if len(fixes) > _FEW_FIXES else _FEW_FIXES]:
        lines += _folded(f"→ {fix}", "  ", "    ")
    if len(fixes) > _FEW_FIXES:
        lines += _folded(f"→ and so for the {len(group) - 1} others", "  ", "    ")
    return lines


def _folded(text: str, first: str, other: str) -> list[str]:
    """Return the lines of a text at the width of the terminal."""
    return folded_lines(text, max(40, page_width()), first, other)


# --- Rooms at a glance: who has the floor, since when, and which rooms sleep

_NAMED = 8


def rooms_view(rooms: list[RoomStanding], now: datetime) -> list[Part]:
    """Return the rooms in which turns are taken: those awake in a table, the others in a line."""
    awake = [one for one in rooms if one.has_turns and one.channel.speaker]
    told = [one for one in rooms if one.has_turns and _word_of_sleep(one)]
    asleep = [one for one in rooms if one.has_turns and not one.channel.speaker]
    quiet = [one.channel.channel_id for one in asleep if one not in told]
    parts: list[Part] = []
    if awake or told:
        rows = [_row(one, now) for one in awake + told]
        whole = ("room", "floor", "since")
        parts.append(Table(columns=(*whole, "note"), rows=rows, whole=whole))
        parts += [log for one in awake for log in _logs(one.logs)]
    if quiet:
        more = f" and {len(quiet) - _NAMED} more" if len(quiet) > _NAMED else ""
        parts.append((f"asleep: {', '.join(quiet[:_NAMED])}{more}", "dim"))
    return [*parts, ("", "")] if parts else []


def _logs(logs: dict[str, str]) -> list[Line]:
    """Return where the logs of failed runs lie; a path is never broken in two."""
    return [(f"log of {agent}: {os.path.relpath(path)}", "path") for agent, path in logs.items()]


def _row(one: RoomStanding, now: datetime) -> tuple[Line, ...]:
    channel = one.channel
    since = channel.turn_at if channel.speaker else channel.dormant_at
    style = "yellow" if one.is_at_work else "dim"
    return (
        (channel.channel_id, ""),
        (plain_line(channel.speaker) or "asleep", style),
        (render_duration(now - since) if since and now > since else "now", "dim"),
        (plain_line(_note_of(one)), "red" if one.failures and not one.running else "dim"),
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
        return _failed(one)
    if channel.began_at is not None:
        return "is speaking"
    return "is to be woken" if one.is_at_work else "nobody has said anything yet"


def _failed(one: RoomStanding) -> str:
    return "; ".join(f"failed: {reason_words(reason)}" for reason in one.failures.values())


def _of_run(one: RoomStanding) -> str:
    if one.queued:
        return "waiting for a place"
    tasks = [task for task in one.channel.tasks.values() if task.state == "R"]
    by_hand = any(task.driver == "manual" for task in tasks)
    return "answering by hand" if by_hand else "is speaking"


def _word_of_sleep(one: RoomStanding) -> str:
    """Say of a room that sleeps what a person should know of it, "" for nothing."""
    channel = one.channel
    if channel.speaker:
        return ""
    if one.waits_for_summary:
        told = _failed(one)
        told = "its run is at work" if one.running else told
        told = "waiting for a place" if one.queued else told
        return f"idle: waits for the summary of {asked(channel)}" + (f"; {told}" if told else "")
    return f"calmed: {channel.calmed}; a word from a person wakes it" if channel.calmed else ""


_MOST_TASKS = 20
# How an agent stood to the position with most support when the last round was judged.
_STANDS = {"agree": "✓ agrees", "partial": "≈ agrees in part", "disagree": "✗ disagrees"}


def standing_view(one: Standing, now: datetime, *, verbose: bool = False) -> list[Part]:
    """Return the table of one open conversation: who has answered, who is to; ids if `verbose`."""
    state = one.state
    stands = f"{state.phase} · {_round(state)} · {left(one, now)}"
    verdict = next((one.verdict for one in reversed(state.rounds) if one.verdict), None)
    heard = len(verdict["towards"]) - len(verdict.get("silent", ())) if verdict else 0
    if verdict and heard > 1:  # of one alone nothing is judged
        kind = {"strong": "strong consensus", "soft": "soft consensus"}.get(verdict["type"])
        agree = f"{verdict['agree']} of {len(verdict['towards'])} agree"
        stands += f" · {kind or 'no consensus'} so far ({agree})"
    towards = verdict["towards"] if verdict and heard > 1 else {}
    if state.name != DEFAULT_NAME:
        stands = f"{state.name} · {stands}"
    rows: list[tuple[Any, ...]] = []
    for participant in state.participants.values():
        standing = participant.status
        status = (f"{standing.mark} {standing.lower()}", standing.style)
        note = filter(
            None, (_STANDS.get(towards.get(participant.id, "")), _note(one, participant.id))
        )
        rows.append(((participant.label, ""), status, ("; ".join(note), "dim")))
    rows += [
        (agent, ("… synthesizer", "yellow"), (_progress(one, agent), "dim"))
        for agent in one.due_agents
        if agent not in state.participants
    ]
    parts: list[Part] = [(state.topic, "bold"), (stands, "italic")]
    parts.append(Table(columns=("agent", "status", "note"), rows=rows))
    parts += [(plain_line(f"{ask.asker} asks a person: {ask.text}"), "") for ask in one.asked]
    parts += [(f'→ council say "…" --to {state.name}', "yellow")] if one.asked else []
    if verbose:
        ctx = context_of(state.conversation_id)
        parts.append((f"id {state.conversation_id}  ctx {ctx}", "dim"))
        parts.append((f"trace {state.trace}", "dim"))
    return [*parts, *_logs(one.logs)]


def _round(state: Conversation) -> str:
    """Say which round it is; of a phase that may have several, out of how many at most."""
    number, most = counted_round(state)
    return f"round {number} of {most}" if most else f"round {number}"


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
    if takes_turns(one.state) and agent in one.due_agents:
        said.insert(0, "has the floor")
    if is_asked_again(one.state, agent):
        said.insert(0, "is asked once more")
    if agent in passed_over(one.state):
        said.insert(0, "was passed over")
    return "; ".join(part for part in said if part)


def _progress(one: Standing, agent: str) -> str:
    doing = one.activities[agent]
    # That its answer is due, the column beside says.
    return activity_words(doing) if agent in one.due_agents and doing.code != ASKED else ""


def beside_councils(overview: Overview) -> list[Part]:
    """Return what `status` shows besides conversations: rooms, the last beat."""
    parts: list[Part] = []
    rooms = rooms_view(overview.rooms, overview.now)
    if not (overview.standings or overview.errors or overview.tasks or rooms):
        parts.append(('nothing is open; start with: council convene "…"', ""))
    parts += rooms
    if overview.tasks:
        from council.commands.tasks import list_page

        parts += [(list_page(overview.tasks[:_MOST_TASKS], overview.now), ""), ("", "")]
        if len(overview.tasks) > _MOST_TASKS:
            more = len(overview.tasks) - _MOST_TASKS
            parts.append((f"and {more} more tasks; see: council task list", "dim"))
    last = "never" if overview.last_beat is None else ago(overview.now, overview.last_beat)
    runs = f"{overview.runs} of {overview.max_runs} places taken"
    parts.append((f"last heartbeat: {last} · {runs}", "dim"))
    if overview.page:
        parts.append((f"page: {overview.page} (a link: council serve --link)", "dim"))
    return parts


def ago(now: datetime, then: datetime) -> str:
    """Say how long ago something was."""
    return f"{render_duration(now - then)} ago" if now > then else "just now"
