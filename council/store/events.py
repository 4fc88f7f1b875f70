"""The event log: one file a day, one JSON object a line, only ever added to.

The events of a revision stand in its journal line first and are copied here;
a copy that a dying process did not make is made by the next edit, so the same
event may stand here twice and readers know it by its id. Events without a
revision stand here only.

A `Mark` says up to where one who must miss none has read them. Its offsets say which
lines were dealt with as a whole; the ids, which events have been since, and guard
against the copies of an event that the log may hold. Only the newest days are looked
at.

Source: XC-008, `store.md` section 2, `cli.md` section 4, `cli.md` section 5 (hooks).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from council.core.events import Event, trace_of
from council.core.reading import read_json
from council.core.record import Any, Record
from council.core.times import render_instant
from council.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.paths import Workspace

_FIX = "remove it: a new one is begun"


def revision_records(
    events: list[Event],
    conversation_id: str,
    rev: int,
    digest: str,
    now: datetime,
    trace: str = "",
) -> list[dict[str, Any]]:
    """Return the records of the events of one revision; their ids follow from it.

    The digest of its text is part of the id: when history is lost, numbers of
    revisions come again. `trace` is "" where the owner's id names it.
    """
    return [
        event.to_line(
            f"{conversation_id}:{rev}-{digest[:8]}:{number}",
            trace or trace_of(conversation_id),
            conversation_id,
            render_instant(now),
        )
        for number, event in enumerate(events)
    ]


def loose_records(
    events: list[Event], conversation_id: str, now: datetime, trace: str = ""
) -> list[dict[str, Any]]:
    """Return the records of events that belong to no revision; their ids are drawn.

    `conversation_id` is the id of what they are about: a conversation, a channel,
    a context; "" for the workspace. An event may name a trace of its own.
    """
    owner = conversation_id or "workspace"
    return [
        event.to_line(
            f"{owner}:x{os.urandom(8).hex()}",
            trace or trace_of(conversation_id) or os.urandom(16).hex(),
            conversation_id,
            render_instant(now),
        )
        for event in events
    ]


def append(workspace: Workspace, records: list[dict[str, Any]]) -> None:
    """Add events to the files of their days, each file in one write.

    Raises:
        CouncilError: The system refuses.
    """
    append_lines(workspace, encode(records))


def encode(records: list[dict[str, Any]]) -> dict[str, list[bytes]]:
    """Return the lines of events, by the day whose file they go to."""
    by_day: dict[str, list[bytes]] = {}
    for record in records:
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode("ascii")
        by_day.setdefault(record["at"][:10], []).append(line + b"\n")
    return by_day


def append_lines(workspace: Workspace, by_day: dict[str, list[bytes]]) -> None:
    """Do what `append` does with the lines that `encode` made.

    Raises:
        CouncilError: The system refuses.
    """
    if not by_day:
        return
    folder, flags = workspace.events, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK
    for day, lines in by_day.items():
        path = f"{folder}/{day}.jsonl"
        with files.explaining("write", path):
            try:
                descriptor = files.opened(path, flags)
            except FileNotFoundError:
                files.make_folder(folder)
                descriptor = files.opened(path, flags)
            with files.closing(files.regular(descriptor, path, _FIX)):
                files.add_lines(descriptor, b"".join(lines))


def tail(
    workspace: Workspace,
    *,
    since: str = "",
    more: Callable[[], bool] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the events in the order in which they were written, each once.

    Args:
        workspace: Whose events.
        since: The first day wanted (`2026-02-08`), "" for all.
        more: Called whenever everything was yielded; it may wait, and returns
            whether to read again. None stops at the end.
    """
    seen: set[str] = set()
    offsets: dict[str, int] = {}
    while True:
        for day in days(workspace, since):
            fresh, offsets[day] = _unseen(workspace, day, offsets.get(day, 0), seen)
            veil = workspace.veil
            yield from map(veil.shown, fresh) if veil else fresh
        if more is None or not more():
            return


def _unseen(
    workspace: Workspace, day: str, offset: int, seen: set[str]
) -> tuple[list[dict[str, Any]], int]:
    """Return the events of a day that were not seen yet, which they are then, and their end."""
    lines, end = lines_from(f"{workspace.events}/{day}", offset)
    fresh = []
    for line in lines:
        record = parsed(line)
        if record is not None and record["eventId"] not in seen:
            seen.add(record["eventId"])
            fresh.append(record)
    return fresh, end


def holding(workspace: Workspace, *words: str, since: str = "") -> Iterator[dict[str, Any]]:
    """Yield the events in whose lines all of some words stand, from the day `since` on."""
    wanted = [one.encode() for one in words]
    for day in days(workspace, since):
        for line in lines_from(f"{workspace.events}/{day}", 0)[0]:
            record = parsed(line) if all(one in line for one in wanted) else None
            if record is not None:
                yield record


def days(workspace: Workspace, since: str = "") -> list[str]:
    """Return the names of the files of the log, oldest first, from the day `since` on."""
    names = files.names_in(workspace.events)
    return [name for name in names if name.endswith(".jsonl") and name[:10] >= since[:10]]


def lines_from(path: str, offset: int) -> tuple[list[bytes], int]:
    """Return the whole lines after `offset` and where they end."""
    with files.explaining("read", path):
        try:
            descriptor = files.open_regular(path, hint=_FIX)
        except FileNotFoundError:
            return [], offset
        with files.closing(descriptor):
            size = os.lseek(descriptor, 0, os.SEEK_END)
            os.lseek(descriptor, offset, os.SEEK_SET)
            data = files.read_all(descriptor, max(0, size - offset))
    whole = data[: data.rfind(b"\n") + 1]
    return whole.split(b"\n"), offset + len(whole)


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, None when it is torn or none."""
    record = files.json_object(line)
    return record if record and isinstance(record.get("eventId"), str) else None


_DAYS = 3
_IDS = 500


class Mark(Record):
    """What was read: the size of each day's file, and the ids of the newest events.

    `failed` has for each command that failed with its last event why, and when.
    """

    offsets: dict[str, int] = {}
    ids: list[str] = []
    failed: dict[str, list[str]] = {}


def read_mark(path: str) -> Mark | None:
    """Return what was read; None when nothing is noted, or it cannot be understood."""
    try:
        record = read_json(files.content_of(path))
        return Mark(
            offsets={str(day): int(size) for day, size in record["offsets"].items()},
            ids=[str(one) for one in record["ids"]],
            failed={str(one): list(map(str, why)) for one, why in record.get("failed", {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def write_mark(path: str, mark: Mark) -> None:
    """Keep what was read.

    Raises:
        CouncilError: The system refuses.
    """
    record = {"offsets": mark.offsets, "ids": mark.ids[-_IDS:], "failed": mark.failed}
    files.make_folder(os.path.dirname(path))
    files.replace(path, json.dumps(record).encode("ascii") + b"\n", mode=0o600)


def end_of_events(workspace: Workspace) -> dict[str, int]:
    """Return the sizes of the newest files, as offsets for a mark."""
    sizes = {}
    for day in days(workspace)[-_DAYS:]:
        with suppress(OSError):
            sizes[day] = os.stat(f"{workspace.events}/{day}").st_size
    return sizes


def news(workspace: Workspace, mark: Mark) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the events that were not read yet, and the offsets behind them.

    Raises:
        CouncilError: The system refuses.
    """
    known = set(mark.ids)
    fresh: list[dict[str, Any]] = []
    offsets = {}
    for day in days(workspace)[-_DAYS:]:
        found, offsets[day] = _unseen(workspace, day, mark.offsets.get(day, 0), known)
        fresh += found
    return fresh, offsets
