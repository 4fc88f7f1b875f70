"""Taking one conversation out of the event log, whose files others go on writing to.

Lines are overwritten in their place with a line of the same length that says
only that there was one. So nobody has to keep from appending, no event of
others is lost, and whoever follows the log keeps their place in it.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import json
import os
import stat

from council.core.telling.trace_context import trace_of
from council.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.paths import Workspace

ERASED = "event.erased"


def erase_events(workspace: Workspace, conversation_id: str) -> int:
    """Erase the events of a conversation; return how many there were.

    Raises:
        CouncilError: The system refuses.
    """
    try:
        names = sorted(os.listdir(workspace.events))
    except (FileNotFoundError, NotADirectoryError):
        return 0
    return sum(
        erase_lines(f"{workspace.events}/{name}", conversation_id)
        for name in names
        if name.endswith(".jsonl")
    )


def erase_lines(path: str, conversation_id: str) -> int:
    """Overwrite the lines of a file that are about a conversation; return how many were.

    Lines of others that only mention it stay, without its id.

    Raises:
        CouncilError: The system refuses.
    """
    marks = (conversation_id.encode(), trace_of(conversation_id).encode())
    count = 0
    with files.explaining("write", path):
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            return 0
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                return 0
            at, touched = 0, False
            for line in files.read_all(descriptor, facts.st_size).split(b"\n"):
                if any(mark in line for mark in marks):
                    own = _is_about(line, conversation_id)
                    count, touched = count + own, True
                    files.write_all(descriptor, _erased(line) if own else _masked(line, marks), at)
                at += len(line) + 1
            if touched:
                files.sync_data(descriptor)
        finally:
            os.close(descriptor)
    return count


def mask_mentions(path: str, conversation_id: str) -> None:
    """Overwrite the id of a conversation, wherever it stands in a file, in its place.

    Raises:
        CouncilError: The system refuses.
    """
    marks = (conversation_id.encode(), trace_of(conversation_id).encode())
    with files.explaining("write", path):
        reading = files.read_stable(path)
        if reading is None or not any(mark in reading.data for mark in marks):
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            for mark in marks:
                at = reading.data.find(mark)
                while at >= 0:
                    files.write_all(descriptor, b"x" * len(mark), at)
                    at = reading.data.find(mark, at + 1)
            files.sync_data(descriptor)
        finally:
            os.close(descriptor)


def _is_about(line: bytes, conversation_id: str) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b"{")  # torn: nobody can read it anyway
    return isinstance(record, dict) and (
        record.get("conversationId") == conversation_id
        or record.get("traceId") == trace_of(conversation_id)
        or str(record.get("eventId")).startswith(f"{conversation_id}:")
    )


def _erased(line: bytes) -> bytes:
    """Return a line of the same length that is an event without content."""
    try:
        at = str(json.loads(line)["at"])[:20]
    except (ValueError, KeyError, TypeError, RecursionError):
        at = "1970-01-01T00:00:00Z"
    record = {
        "schemaVersion": 1,
        "eventId": "erased",
        "traceId": "erased",
        "conversationId": "",
        "agentId": None,
        "type": ERASED,
        "at": at,
        "data": {},
    }
    told = json.dumps(record, separators=(",", ":")).encode("ascii")
    return told.ljust(len(line)) if len(told) <= len(line) else b" " * len(line)


def _masked(line: bytes, marks: tuple[bytes, ...]) -> bytes:
    for mark in marks:
        line = line.replace(mark, b"x" * len(mark))
    return line
