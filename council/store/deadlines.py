"""What the last heartbeat saw, so that the next one opens only what is due or has changed.

For each open conversation: how its files looked, what a heartbeat reports of
it, and when it is due at the earliest. It is a note and never the truth: a
file that looks different in any way is opened, a note that is lost or damaged
is written anew, and nothing is ever decided by it but not to look.

A file can be changed twice within one tick of the file system's clock without
looking different. So an entry counts only if its file was last changed well
before the note was last confirmed.

Source: XC-007, `store.md` section 7.
"""

from __future__ import annotations

import json
import os

from council.core.errors import CouncilError
from council.core.record import Record
from council.store.files import replace
from council.store.paths import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VERSION = 1
_TICK_NS = 1_000_000_000


class Noted(Record):
    """What is noted of one conversation.

    `due_at` is the earliest instant (as files write it) at which a heartbeat
    has anything to do, "" for never by itself. `seen` is what it reports.
    """

    looks: list[int]
    due_at: str
    seen: dict[str, Any]


class Deadlines:
    """The note of one workspace, as it was when this was made."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = workspace.deadlines
        self._shared = os.path.dirname(workspace.control)
        self._control = workspace.control
        self._confirmed_ns = 0
        self._before = b""
        self.noted: dict[str, Noted] = {}
        self._read()

    def _read(self) -> None:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        with open(descriptor, "rb") as file:
            self._confirmed_ns = os.fstat(descriptor).st_mtime_ns
            self._before = file.read()
        try:
            record = json.loads(self._before)
            if record["version"] == _VERSION:
                self.noted = {
                    name: Noted(looks=looks, due_at=due_at, seen=seen)
                    for name, (looks, due_at, seen) in record["noted"].items()
                }
        except (ValueError, KeyError, TypeError, RecursionError):
            self.noted = {}

    def looks_of(self, name: str, conversation_id: str) -> list[int]:
        """Return how the files of a conversation look now, [] when one is missing."""
        looks: list[int] = []
        for path in (
            self._workspace.conversation_file(name),
            f"{self._control}/{conversation_id}/journal.jsonl",
        ):
            try:
                found = os.lstat(path)
            except OSError:
                return []
            looks += [found.st_ino, found.st_size, found.st_mtime_ns]
        return looks

    def idle(self, name: str, now: str) -> Noted | None:
        """Return what is noted of a conversation in which nothing is due, None to look."""
        noted = self.noted.get(name)
        if noted is None or not noted.looks or (noted.due_at and noted.due_at <= now):
            return None
        looks = self.looks_of(name, str(noted.seen.get("conversationId")))
        newest_ns = max(looks[2::3], default=0)
        if looks != noted.looks or newest_ns > self._confirmed_ns - _TICK_NS:
            return None
        return noted

    def keep(self, noted: dict[str, Noted]) -> None:
        """Note what was seen; a note that says the same is only confirmed."""
        entries = {name: [one.looks, one.due_at, one.seen] for name, one in sorted(noted.items())}
        data = json.dumps({"version": _VERSION, "noted": entries}, separators=(",", ":")).encode()
        try:
            if data != self._before:
                replace(self._path, data)
            else:
                os.utime(self._path)
        except (OSError, CouncilError):  # the next heartbeat has to look, then
            return
