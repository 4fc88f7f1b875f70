"""Rooms at a glance: who has the floor, since when, and which rooms sleep.

Source: `cli.md` section 2 (`status`), DG-137.
"""

from __future__ import annotations

import os
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from council.core.plain_text import plain_line
from council.core.times import render_duration
from council.operations.rooms.room_standings import RoomStanding

_NAMED = 8


def rooms_view(rooms: list[RoomStanding], now: datetime) -> list[RenderableType]:
    """Return the rooms in which turns are taken: those awake in a table, the others in a line."""
    awake = [one for one in rooms if one.has_turns and one.channel.speaker]
    told = [one for one in rooms if one.has_turns and _word_of_sleep(one)]
    asleep = [one for one in rooms if one.has_turns and not one.channel.speaker]
    quiet = [one.channel.channel_id for one in asleep if one not in told]
    parts: list[RenderableType] = []
    if awake or told:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column in ("room", "floor", "since"):
            table.add_column(column, no_wrap=True)
        table.add_column("note", overflow="fold")
        for one in awake + told:
            table.add_row(*_row(one, now))
        parts.append(table)
        parts += [
            Text(
                f"log of {agent}: {os.path.relpath(path)}",
                style="dim",
                overflow="ignore",
                no_wrap=True,
            )
            for one in awake
            for agent, path in one.logs.items()
        ]
    if quiet:
        more = f" and {len(quiet) - _NAMED} more" if len(quiet) > _NAMED else ""
        parts.append(Text(f"asleep: {', '.join(quiet[:_NAMED])}{more}", style="dim"))
    return [*parts, Text()] if parts else []


def _row(one: RoomStanding, now: datetime) -> tuple[Text, Text, Text, Text]:
    channel = one.channel
    since = channel.turn_at if channel.speaker else channel.dormant_at
    style = "yellow" if one.is_at_work else "dim"
    return (
        Text(channel.channel_id),
        Text(plain_line(channel.speaker) or "asleep", style=style),
        Text(render_duration(now - since) if since and now > since else "now", style="dim"),
        Text(plain_line(_note(one)), style="red" if one.failures and not one.running else "dim"),
    )


def _note(one: RoomStanding) -> str:
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
    if one.waits_for_summary and channel.discussion is not None:
        return f"idle: waits for the summary of {channel.discussion.initiator}"
    if channel.calmed:
        return f"calmed: {channel.calmed}; a word from a person wakes it"
    return ""
