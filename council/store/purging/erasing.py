"""Taking one subject out of the event log and its like, whose files others go on writing to.

Lines are overwritten in their place with a line of the same length that says
only that there was one. So no process has to keep from appending, no event of
others is lost, and one who follows the log keeps their place in it.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable

from council.core.events import Event, trace_of
from council.core.reading import read_json
from council.core.record import Record
from council.store import events, files
from council.store.paths import Workspace

ERASED = "event.erased"


class Scope(Record):
    """What is to be forgotten: a conversation, a channel, or contexts that go on in each other.

    Args:
        owners: The ids under which its events, runs and letters are kept.
        traces: The traces that hold nothing else.
        marks: What is so long that it means nothing else wherever it stands, and is masked there.
        calls: Calls that were made for it in traces of others, each as `call.<trace>.<number>`.
    """

    owners: tuple[str, ...]
    traces: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()
    calls: tuple[str, ...] = ()

    @property
    def needles(self) -> tuple[bytes, ...]:
        """What a line of JSON that is about it cannot do without."""
        names = (*self.owners, *self.traces, *self.calls)
        return (*self.marks, *(f'"{one}'.encode() for one in names))

    def is_about(self, record: object) -> bool:
        """Return true if a line, an event or a letter, belongs to it."""
        if not isinstance(record, dict):
            return False
        name = str(record.get("eventId") or record.get("id"))
        owner, _, number = name.rpartition(":")
        data = record.get("data")
        return (
            record.get("conversationId") in self.owners
            or record.get("traceId") in self.traces
            or record.get("context") in self.owners
            or (bool(number) and owner.partition(":")[0] in self.owners)
            or any(name.startswith(f"{one}.") for one in self.calls)
            or (isinstance(data, dict) and data.get("ctx") in self.owners)
        )


def scope_of(conversation_id: str) -> Scope:
    """Return what goes with a conversation."""
    trace = trace_of(conversation_id)
    return Scope(
        owners=(conversation_id,),
        traces=(trace,),
        marks=(conversation_id.encode(), trace.encode()),
    )


def erase_events(workspace: Workspace, scope: Scope) -> int:
    """Erase the events of a scope; return how many there were.

    Raises:
        CouncilError: The system refuses.
    """
    return sum(erase_lines(f"{workspace.events}/{day}", scope) for day in events.days(workspace))


def erase_lines(path: str, scope: Scope) -> int:
    """Overwrite the lines of a file that are about a scope; return how many were.

    Lines of others that only mention it stay, without its marks.

    Raises:
        CouncilError: The system refuses.
    """
    needles = scope.needles

    def instead(line: bytes) -> tuple[bytes, bool] | None:
        if not any(one in line for one in needles):
            return None
        if is_line_about(line, scope):
            return _erased(line), True
        return _masked(line, scope.marks), False

    return overwrite_lines(path, instead)


def overwrite_lines(path: str, instead: Callable[[bytes], tuple[bytes, bool] | None]) -> int:
    """Overwrite lines of a file in their place, each with one as long as it is.

    Args:
        path: The file; where there is none, or no regular one, nothing is done.
        instead: Gives for a line what is to stand there and whether that counts, or
            None where it stays.

    Returns:
        How many counted.

    Raises:
        CouncilError: The system refuses.
    """
    count = 0
    with files.explaining("write", path):
        try:
            descriptor = os.open(path, files.READ | os.O_RDWR)
        except FileNotFoundError:
            return 0
        with files.closing(descriptor):
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                return 0
            at, touched = 0, False
            for line in files.read_all(descriptor, facts.st_size).split(b"\n"):
                other = instead(line)
                if other is not None and (other[1] or other[0] != line):
                    count, touched = count + other[1], True
                    files.write_all(descriptor, other[0], at)
                at += len(line) + 1
            if touched:
                files.sync_data(descriptor)
    return count


def mask_mentions(path: str, marks: tuple[bytes, ...]) -> None:
    """Overwrite marks of a scope, wherever they stand in a file, in their place.

    Raises:
        CouncilError: The system refuses.
    """
    with files.explaining("write", path):
        reading = files.read_stable(path)
    if reading is not None and any(mark in reading.data for mark in marks):
        overwrite_lines(path, lambda line: (_masked(line, marks), False))


def is_line_about(line: bytes, scope: Scope) -> bool:
    """Return true if a line of a log belongs to a scope."""
    if not any(one in line for one in scope.needles):
        return False
    try:
        record = read_json(line)
    except ValueError:
        return line.startswith(b"{")  # torn: it cannot be read anyway
    return scope.is_about(record)


def _erased(line: bytes) -> bytes:
    """Return a line of the same length that is an event without content."""
    try:
        at = str(read_json(line)["at"])[:20]
    except (ValueError, KeyError, TypeError):
        at = "1970-01-01T00:00:00Z"
    record = Event(type=ERASED).to_line("erased", "erased", "", at)
    told = json.dumps(record, separators=(",", ":")).encode("ascii")
    return told.ljust(len(line)) if len(told) <= len(line) else b" " * len(line)


def _masked(line: bytes, marks: tuple[bytes, ...]) -> bytes:
    for mark in marks:
        line = line.replace(mark, b"x" * len(mark))
    return line
