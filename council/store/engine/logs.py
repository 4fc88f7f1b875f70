"""The logs that all machines have alike: each line that is added to one comes to the others.

A log is a union of lines: what was added here goes to the database, what came from elsewhere
is added here, each line once. Their order may differ from machine to machine. Events of
revisions take no part in it: they come with their revisions.

A mark says how far each file was sent, and how far what others sent was read. It is written
afterwards, so a process that dies on the way, or loses the mark, has things sent and
compared again, and no line stands anywhere twice. A database that is another one, or was put
back, is sent what it lacks.

Source: EN-001.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from council.core.errors import ConflictError
from council.core.record import Any
from council.store import added_lines, events, files
from council.store.engine.sessions import batches
from council.store.lock import try_lock
from council.store.paths import resolve_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.engine.joined import Engine

MARK = "engine-logs.json"
_EVENTS, _INBOX, _LOG = "events", "protocol/inbox", "protocol/log"
_SUFFIXES = {_EVENTS: ".jsonl", _INBOX: ".jsonl", _LOG: ".log"}
# Ids of events of calls and messages, which belong to no revision.
_DELEGATED = ("call.", "message:", "guard:", "repeat:")


def exchange(engine: Engine, *, is_anew: bool = False) -> bool:
    """Send what was added to logs here, and add what others sent; return true if that was any.

    While another process does so, nothing is done.

    Args:
        engine: Where.
        is_anew: Whether all lines are sent and compared again; then another process is in the way.

    Raises:
        ConflictError: One is.
        UnreachableError: The database is not reached; what was not done comes later.
        CouncilError: The system refuses.
    """
    files.make_folder(engine.control)
    path = f"{engine.control}/{MARK}"
    with files.explaining("write", path):
        descriptor = try_lock(path)
        if descriptor is None:
            if is_anew:
                raise ConflictError("another process brings what is new just now", "try again")
            return False
        with files.closing(descriptor):
            standing = files.read_all(descriptor, os.fstat(descriptor).st_size)
            mark = {} if is_anew else files.json_object(standing) or {}
            logs = _Logs(engine, dict(mark.get("sent") or {}), str(mark.get("read") or ""))
            try:
                logs.send()
                return logs.add()
            finally:
                said = json.dumps({"sent": logs.sent, "read": logs.read}).encode()
                if said != standing:
                    os.ftruncate(descriptor, 0)
                    files.write_all(descriptor, said, 0)


class _Logs:
    """The logs of a workspace while they are exchanged.

    Attributes:
        sent: Of each stream the inode of its file here, and where what was sent ends, in bytes.
        read: From where on the lines in the database are news.
    """

    def __init__(self, engine: Engine, sent: dict[str, list[int]], read: str) -> None:
        self._engine = engine
        workspace = engine.workspace
        self._folders = {
            _EVENTS: workspace.events,
            _INBOX: f"{workspace.protocol}/inbox",
            _LOG: f"{workspace.protocol}/log",
        }
        self._known: set[tuple[str, bytes]] = set()  # they stand here and there
        self._is_begun = bool(sent)
        self.sent, self.read = sent, read

    def send(self) -> None:
        """Send what was added to the files here since they were sent last."""
        for place, folder in self._folders.items():
            for name in files.names_in(folder):
                if name.endswith(_SUFFIXES[place]):
                    with suppress(FileNotFoundError):  # it was removed just now
                        self._send(f"{place}/{name}", f"{folder}/{name}")

    def _send(self, stream: str, path: str) -> None:
        facts = os.lstat(path)
        inode, end = self.sent.get(stream, (0, 0))
        if inode != facts.st_ino or end > facts.st_size:
            end = 0  # another file has its name
        if end == facts.st_size:
            return
        found, end = events.lines_from(path, end)
        lines = [one for one in found if one and (not stream.startswith(_EVENTS) or _is_loose(one))]
        lines = [one for one in lines if (stream, one) not in self._known]
        for part in batches(lines):
            self._engine.session.log(stream, lines[part])
        self._known.update((stream, one) for one in lines)
        self.sent[stream] = [facts.st_ino, end]

    def add(self) -> bool:
        """Add to the files here what others sent; return true if that was any."""
        found = self._engine.logged(self.read)
        by_stream: dict[str, list[bytes]] = {}
        for stream, line in found["lines"]:
            if (stream, line) not in self._known:
                by_stream.setdefault(stream, []).append(line)
        is_any = [self._add(stream, lines) for stream, lines in by_stream.items()]
        if found["anew"] and self._is_begun:  # what it was sent before it may lack
            self._known.update((stream, line) for stream, line in found["lines"])
            self.sent = {}
            self.send()
        self.read = found["next"]
        return any(is_any)

    def _add(self, stream: str, lines: list[bytes]) -> bool:
        place, _, name = stream.rpartition("/")
        if place not in self._folders or not name.endswith(_SUFFIXES[place]):
            return False  # a newer council has more logs
        path = resolve_inside(self._folders[place], name)
        standing = set(added_lines.read_lines(path))
        missing = [one for one in dict.fromkeys(lines) if one not in standing]
        if not missing:
            return False
        end = added_lines.add(path, missing, durably=place == _INBOX)
        inode, sent = self.sent.get(stream, (os.lstat(path).st_ino, 0))
        if end - sent == sum(len(one) + 1 for one in missing):
            self.sent[stream] = [inode, end]  # nothing of ours between: they need not be sent
        return True


def _is_loose(line: bytes) -> bool:
    record: dict[str, Any] | None = events.parsed(line)
    if record is None:
        return False
    return ":x" in record["eventId"] or record["eventId"].startswith(_DELEGATED)
