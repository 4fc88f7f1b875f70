"""What happened since a reader has last asked, as anyone at the page may see it.

The log on the disk is the truth: events count in the order in which they stand there, the files
of the days one after the other. A `mark` is the place up to which the file of a day was read.

Source: DL-071, XC-008.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from council.core.errors import CouncilError, NotFoundError
from council.core.record import Any
from council.core.times import parse_instant
from council.operations.place import Place
from council.operations.reporting.story import Subject, belongs, subject, unknown
from council.store.conversations.views import standing_digest
from council.store.events import days, lines_from, parsed, tail
from council.store.purging.erasing import ERASED
from council.web.readings.hiding import Hiding

_MOST_MISSED = 2_000
_MOST_MISSED_BYTES = 1 << 20
_MOST_SEARCHED_BYTES = 64 << 20
_LINE_BYTES = 1 << 20
# One that a header can bear. Others are none of ours.
_ID = re.compile(rb'"eventId": ?"([!#-\[\]-~]{1,200})"')


def news(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return the events behind some marks, and the marks behind them.

    `given` has the `marks`, None at first. Then, and where a file of the log ends before its mark,
    there are only the marks and the id of the `last` event: all begins anew. `plain` is for
    `Hiding`. Where there is none, `newest` is the id of the last one that still stands: a purge
    may have been. Of the conversations `saved`, those come back that no command has taken in.
    """
    marks: dict[str, int] | None = given["marks"]
    sizes = {day: _size(place, day) for day in days(place.paths)}
    if marks is None or any(sizes.get(day, 0) < mark for day, mark in marks.items()):
        ends = {day: _whole(place, day, sizes[day]) for day in sizes}
        return {"marks": ends, "last": _newest(place, ends)}
    fresh: list[dict[str, Any]] = []
    ends = {day: marks.get(day, 0) for day in sizes}
    for day, size in sizes.items():
        if size > ends[day]:
            found, ends[day] = _events(place, day, ends[day], size)
            fresh += found
    # It looks at conversations only now: whatever has an event is certainly there.
    hiding = Hiding(place, given["plain"])
    return {
        "marks": ends,
        "newest": "" if fresh else _newest(place, ends),
        "events": [hiding.shown(one) for one in fresh],
        "plain": sorted(hiding.plain),
        "saved": [one for one in given["saved"] if _is_edited(place, one)],
    }


def joined(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a stream is `about`, and what its reader has missed.

    `given` has `wanted`, "" for everything; the `kind` that it must be, "" for any; the id of the
    `last` event that the reader had, "" for none; the `marks` up to which events count, and
    `plain` for `Hiding`. `events` is None where nothing certain can be said of what was missed.
    `is_ahead` says that the reader has had events behind the marks, up to the last.

    Raises:
        NotFoundError: Nothing is known of what is wanted.
    """
    about = _subject(place, given["wanted"], given["kind"]) if given["wanted"] else None
    record = None if about is None else {**about.as_json(_OF_SUBJECT)}
    if not given["last"]:
        return {"about": record, "events": []}
    missed = _missed(place, given["last"], given["marks"])
    if missed and missed[0]["eventId"] == given["last"]:
        return {"about": record, "events": [], "is_ahead": True}
    if missed is not None:
        hiding = Hiding(place, given["plain"])
        shown = map(hiding.shown, missed)
        missed = [one for one in shown if about is None or belongs(one, about)]
        if len(missed) > _MOST_MISSED or len(str(missed)) > _MOST_MISSED_BYTES:
            missed = None
    return {"about": record, "events": missed}


_OF_SUBJECT = "kind id name also owner agent tour trace"


def _subject(place: Place, wanted: str, kind: str) -> Subject:
    about = subject(place, wanted)
    if kind and about.kind != kind:
        raise NotFoundError(f"no {kind} is called {wanted!r}", "see /api/council/status")
    if not about.name and not any(belongs(one, about) for one in tail(place.paths)):
        raise unknown(wanted)
    return about


def _is_edited(place: Place, name: str) -> bool:
    """Return true if a conversation's file is not what its last revision says, or is gone."""
    try:
        return not standing_digest(place.paths, name)[0]
    except CouncilError:
        return True


# --- The files of the log


def _path(place: Place, day: str) -> str:
    return f"{place.paths.events}/{day}"


def _size(place: Place, day: str) -> int:
    with suppress(OSError):
        return os.stat(_path(place, day)).st_size
    return 0


def _whole(place: Place, day: str, size: int) -> int:
    """Return where the last whole line ends within the first `size` bytes."""
    start = max(0, size - _LINE_BYTES)
    lines, end = lines_from(_path(place, day), start)
    while end > size and len(lines) > 1:
        end -= len(lines[-2]) + 1
        del lines[-2]
    return end


def _newest(place: Place, ends: dict[str, int]) -> str:
    for day in sorted(ends, reverse=True):
        for line in reversed(lines_from(_path(place, day), max(0, ends[day] - _LINE_BYTES))[0]):
            if record := _event(line):
                return str(record["eventId"])
    return ""


def _events(place: Place, day: str, start: int, end: int) -> tuple[list[dict[str, Any]], int]:
    """Return the events of a day between two places, no copies, and where their last line ends."""
    data = _content(place, day, end)
    known = set(_ID.findall(data, 0, start))
    found = []
    for line in data[start:].split(b"\n"):
        record = _event(line)
        if record is not None and (name := record["eventId"].encode()) not in known:
            known.add(name)
            found.append(record)
    return found, len(data)


def _content(place: Place, day: str, end: int) -> bytes:
    """Return the whole lines within the first `end` bytes of the file of a day."""
    data = b"\n".join(lines_from(_path(place, day), 0)[0])[:end]
    return data[: data.rfind(b"\n") + 1]


def _event(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line, None where there is none that can be sent."""
    record = parsed(line)
    if record is None or not _ID.fullmatch(f'"eventId":"{record["eventId"]}"'.encode()):
        return None
    is_whole = isinstance(record.get("type"), str) and isinstance(record.get("at"), str)
    return record if is_whole and record["type"] != ERASED else None


def _missed(place: Place, last: str, marks: dict[str, int]) -> list[dict[str, Any]] | None:
    """Return the events after one, up to the marks; None where that cannot be known.

    It is itself the only one where it stands behind the marks.
    """
    searched, later = 0, days(place.paths)
    needle = f'"{last}"'.encode("utf-8", "replace")
    while later and searched <= _MOST_SEARCHED_BYTES:
        day = later.pop()
        data = _content(place, day, _size(place, day))
        searched += len(data)
        at = data.find(needle)
        while at >= 0:
            start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at) + 1
            record = _event(data[start:end])
            if record is not None and record["eventId"] == last:
                is_ahead = start >= marks.get(day, 0)
                return [record] if is_ahead else _after(place, record, day, end, marks)
            at = data.find(needle, at + 1)
    return None


def _after(
    place: Place, last: dict[str, Any], day: str, start: int, marks: dict[str, int]
) -> list[dict[str, Any]] | None:
    """Return what stands behind an event.

    Events that come late go to the file of their own day. Who has had an event of a later day may
    or may not have had these: nothing in the log says which came first, and only the time at
    which the file was written last shows that there may be such.
    """
    missed, _ = _events(place, day, start, marks[day])
    earlier = [_written_at(place, one) for one in marks if one < day]
    if max(earlier, default=0.0) > _said_at(last):
        return None
    for one in sorted(marks):
        if one > day:
            found, _ = _events(place, one, 0, marks[one])
            if found and _written_at(place, day) > _said_at(found[0]):
                return None
            missed += found
    return missed


def _written_at(place: Place, day: str) -> float:
    with suppress(OSError):
        return os.stat(_path(place, day)).st_mtime
    return 0.0


def _said_at(event: dict[str, Any]) -> float:
    """Return when an event happened, in seconds since 1970; 0 for what is no instant."""
    with suppress(CouncilError, ValueError):
        return parse_instant(event["at"]).timestamp()
    return 0.0
