"""The event log: one file a day, one JSON object a line, only ever added to.

The events of a revision stand in its journal line first and are copied here;
a copy that a dying process did not make is made by the next edit, so the same
event may stand here twice and readers tell by its id. Events without a
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
import stat

from council.core.errors import CouncilError, InvalidStateError
from council.core.events import Event, trace_of
from council.core.plain_text import read_json
from council.core.record import Record
from council.core.times import render_instant
from council.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from typing import Any

    from council.store.paths import Workspace


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
    folder = workspace.events
    for day, lines in by_day.items():
        path = f"{folder}/{day}.jsonl"
        with files.explaining("write", path):
            _append_lines(folder, path, b"".join(lines))


def _append_lines(folder: str, path: str, data: bytes) -> None:
    flags = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK
    try:
        descriptor = files.opened(path, flags)
    except FileNotFoundError:
        files.make_folder(folder)
        descriptor = files.opened(path, flags)
    try:
        size = _size_of(descriptor, path)
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data  # somebody died in the middle of a line: leave it alone
        files.write_all(descriptor, data)
    finally:
        os.close(descriptor)


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
            whether to look again. None stops at the end.
    """
    seen: set[str] = set()
    offsets: dict[str, int] = {}
    while True:
        for day in days(workspace, since):
            path = f"{workspace.events}/{day}"
            lines, offsets[day] = lines_from(path, offsets.get(day, 0))
            for line in lines:
                record = parsed(line)
                if record is not None and record["eventId"] not in seen:
                    seen.add(record["eventId"])
                    yield record
        if more is None or not more():
            return


def days(workspace: Workspace, since: str = "") -> list[str]:
    """Return the names of the files of the log, oldest first, from the day `since` on."""
    names = files.names_in(workspace.events)
    return [name for name in names if name.endswith(".jsonl") and name[:10] >= since[:10]]


def lines_from(path: str, offset: int) -> tuple[list[bytes], int]:
    """Return the whole lines after `offset` and where they end."""
    with files.explaining("read", path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return [], offset
        try:
            size = _size_of(descriptor, path)
            os.lseek(descriptor, offset, os.SEEK_SET)
            data = files.read_all(descriptor, max(0, size - offset))
        finally:
            os.close(descriptor)
    whole = data[: data.rfind(b"\n") + 1]
    return whole.split(b"\n"), offset + len(whole)


def _size_of(descriptor: int, path: str) -> int:
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        raise InvalidStateError(f"{path} is not a regular file", "remove it: a new one is begun")
    return facts.st_size


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, None when it is torn or none."""
    try:
        record = read_json(line)
    except ValueError:
        return None
    if isinstance(record, dict) and isinstance(record.get("eventId"), str):
        return record
    return None


_DAYS = 3
_IDS = 500


class Mark(Record):
    """What was read: the size of each day's file, and the ids of the newest events."""

    offsets: dict[str, int] = {}
    ids: list[str] = []


def read_mark(path: str) -> Mark | None:
    """Return what was read; None when nothing tells, or it cannot be understood."""
    try:
        reading = files.read_stable(path)
        if reading is None:
            return None
        record = read_json(reading.data)
        return Mark(
            offsets={str(day): int(size) for day, size in record["offsets"].items()},
            ids=[str(one) for one in record["ids"]],
        )
    except (CouncilError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_mark(path: str, mark: Mark) -> None:
    """Keep what was read.

    Raises:
        CouncilError: The system refuses.
    """
    record = {"offsets": mark.offsets, "ids": mark.ids[-_IDS:]}
    files.make_folder(os.path.dirname(path))
    files.replace(path, json.dumps(record).encode("ascii") + b"\n", mode=0o600)


def end_of_events(workspace: Workspace) -> dict[str, int]:
    """Return the sizes of the newest files, as offsets for a mark."""
    sizes = {}
    for day in days(workspace)[-_DAYS:]:
        try:
            sizes[day] = os.stat(f"{workspace.events}/{day}").st_size
        except OSError:
            continue
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
        lines, offsets[day] = lines_from(f"{workspace.events}/{day}", mark.offsets.get(day, 0))
        for line in lines:
            record = parsed(line)
            if record is not None and record["eventId"] not in known:
                known.add(record["eventId"])
                fresh.append(record)
    return fresh, offsets
