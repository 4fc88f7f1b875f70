"""One look at all open contexts, without opening those in which nothing can be due.

As `survey` does it for conversations: of each context it is noted until when
nothing is due in it, how its document looked before it was read, and what
there is to report of it. A process that changes one touches the folder that
holds it, so one look shows if any has changed; the head of the note says how
the folder was and when the first of them is due. An idle look reads that head
and nothing else. Who waits for a place is noted with the rest: they are opened,
oldest first, as places become free.

The note is a cache. Whatever leaves a doubt is opened: another boot (so what a
power cut took back is found), another version, other rules, a clock that went
backwards, a look taken within the same tick as a change.

Source: XC-007, XC-016, `architecture.md` section 4.
"""

from __future__ import annotations

import json
import os
import struct
import time
from binascii import crc32

from council import __version__
from council.core.nesting import read_json
from council.core.protocol.protocol_ids import is_context
from council.core.record import Record
from council.core.times import render_instant
from council.store import files
from council.store.notes import boot as _boot
from council.store.paths import record_files, record_names, resolve_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from council.store.paths import Workspace

# Below it, opening them all costs no more than a note of them.
CROWD = 32
NEVER = "never"
_FORMAT = 1
_HEAD_BYTES = 1024
_LOOK = struct.Struct("=QQqq")
# The coarsest clock of a file system that we know counts two seconds.
_TICK_NS = 2_000_000_000


class Noted(Record):
    """What is noted of one context.

    Args:
        context: Its id.
        due: The instant, as text, before which time alone changes nothing; `never` after all.
        found: What there is to report of it; JSON.
        waits: The runs that wait for a place, each priority, instant and agent; JSON.
        look: How its document looked before it was read.
    """

    context: str
    due: str
    found: Any
    waits: list[list[str]] = []
    look: bytes = b""


class ContextSurvey:
    """What need not be opened, what must be, and what is noted for the next heartbeat.

    Args:
        workspace: Where the contexts lie.
        rules: What else decides when something is due; JSON.
        now: The time of the heartbeat.
        trusting: Whether the times of files can be trusted.

    Attributes:
        is_quiet: Whether nothing has changed and nothing is due; the rest is then not read.

    Raises:
        CouncilError: The system refuses to list them.
    """

    def __init__(
        self, workspace: Workspace, rules: list[Any], now: datetime, *, trusting: bool = True
    ) -> None:
        self._taken_ns = time.time_ns()
        self._folder = resolve_inside(workspace.protocol, "contexts")
        self._path = _note_path(workspace)
        self._rules = [_FORMAT, __version__, _boot(), *rules]
        self._now = render_instant(now)
        self._trusting = trusting
        self._folder_look = _look_of(self._folder)
        self._head, self._body = self._read() if trusting else ({}, b"")
        self._taken_before_ns: int = self._head.get("taken", 0)
        self._held: dict[str, Noted] = {}
        self._fresh: dict[str, Noted] = {}
        self._taken: dict[str, bytes] = {}
        self._are = 0
        self.is_quiet = self._folder_look is None or (
            bool(self._head)
            and self._head["due"] > self._now
            and self._is_settled(bytes.fromhex(self._head["folder"]), self._folder_look)
        )

    def doubtful(self) -> list[str]:
        """Return the ids of those that must be opened, in order."""
        if self.is_quiet:
            return []
        standing = self._standing()
        self._held = {
            one.context: one
            for one in self._noted()
            if one.due > self._now
            and one.context in standing
            and self._is_settled(one.look, standing[one.context])
        }
        self._are = len(standing)
        return sorted(set(standing) - set(self._held), key=_order)

    def idle(self) -> list[Noted]:
        """Return what was noted of those that need not be opened, in order."""
        self._hold_all()
        return sorted(self._held.values(), key=lambda one: _order(one.context))

    def waiting(self) -> list[tuple[str, str, str, str]]:
        """Return who waits for a place in those that need not be opened, who is first served first.

        Returns:
            For each run its priority, since when it is due, its agent and its context.
        """
        if not self._head.get("waits"):
            return []
        self._hold_all()
        return sorted(
            (priority, since, agent, one.context)
            for one in self._held.values()
            for priority, since, agent in one.waits
        )

    def open_again(self, context: str) -> None:
        """Take a context out of those that need not be opened."""
        self._held.pop(context, None)

    def _hold_all(self) -> None:
        """Read the body of a note that holds as a whole."""
        if self.is_quiet and not self._are:
            self._held = {one.context: one for one in self._noted()}
            self._are = len(self._held)

    def look(self, context: str) -> None:
        """Take the look of a document that is about to be read, for `note`."""
        path = (*record_files(f"{self._folder}/{context}.jsonl"), "")[0]
        self._taken[context] = _look_of(path) or b""

    def note(
        self, context: str, due_at: datetime | None, found: Any, waits: list[list[str]]
    ) -> None:
        """Note a context in which nothing is due, of which `look` was called before it was read.

        Args:
            context: Its id.
            due_at: When time alone makes something due, None for never.
            found: What `idle` shall give to the next heartbeat; JSON.
            waits: Who waits for a place in it.
        """
        look = self._taken.get(context)
        if look:
            due = NEVER if due_at is None else render_instant(due_at)
            self._fresh[context] = Noted(
                context=context, due=due, found=found, waits=waits, look=look
            )

    def keep(self) -> None:
        """Keep the note for the next heartbeat; one that would say the same is not written."""
        if not self._trusting or (self.is_quiet and not self._fresh):
            return
        self._hold_all()
        lines = sorted({**self._held, **self._fresh}.values(), key=lambda one: _order(one.context))
        if len(lines) < CROWD:
            if self._head:
                files.remove(self._path)
            return
        columns = [
            [one.context for one in lines],
            [one.due for one in lines],
            [one.found for one in lines],
            [one.waits for one in lines],
            b"".join(one.look for one in lines).hex(),
        ]
        body = json.dumps(columns, separators=(",", ":")).encode("ascii")
        head = {
            "of": self._rules,
            "since": self._now,
            "taken": self._taken_ns,
            "folder": (self._folder_look or b"").hex(),
            "due": min(one.due for one in lines),
            "waits": any(one.waits for one in lines),
            "sum": crc32(body),
        }
        # Somebody who was opened and is not noted leaves the folder in doubt.
        if len(lines) < self._are:
            head["due"] = ""
        self._write(json.dumps(head).encode("ascii"), body)

    def _write(self, head: bytes, body: bytes) -> None:
        try:
            folder = os.path.dirname(self._path)
            data = head.ljust(_HEAD_BYTES - 1) + b"\n" + body
            temporary, descriptor = files.open_temporary(folder, data, like=None)
            os.close(descriptor)
            os.rename(temporary, self._path)
        except OSError:
            return  # the next heartbeat looks again

    def _read(self) -> tuple[dict[str, Any], bytes]:
        """Return head and body of the note, nothing when there is none that can be used."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return {}, b""
        try:
            data = files.read_all(descriptor, os.fstat(descriptor).st_size)
            head = read_json(data[:_HEAD_BYTES])
            usable = head["of"] == self._rules and head["since"] <= self._now
            texts = (head["due"], head["folder"])
            numbers = (head["taken"], head["sum"])
            of_kind = all(isinstance(one, str) for one in texts)
            of_kind = of_kind and all(isinstance(one, int) for one in numbers)
            if not usable or not of_kind or crc32(data[_HEAD_BYTES:]) != head["sum"]:
                return {}, b""
        except (OSError, ValueError, TypeError, LookupError):
            return {}, b""
        finally:
            os.close(descriptor)
        return head, data[_HEAD_BYTES:]

    def _noted(self) -> list[Noted]:
        if not self._head:
            return []
        contexts, due, found, waits, looks = read_json(self._body)
        data, size = bytes.fromhex(looks), _LOOK.size
        return [
            Noted(
                context=one,
                due=due[at],
                found=found[at],
                waits=waits[at],
                look=data[at * size : (at + 1) * size],
            )
            for at, one in enumerate(contexts)
        ]

    def _standing(self) -> dict[str, bytes]:
        """Return how each document looks now."""
        with files.explaining("list", self._folder):
            names = files.names_in(self._folder)
        # Of a journal and the file of version 1 beside it, the journal comes last and counts.
        return {
            context: _look_of(f"{self._folder}/{one}") or b""
            for one in names
            for context in record_names([one])
            if is_context(context)
        }

    def _is_settled(self, noted: bytes, look: bytes | None) -> bool:
        """Tell whether something still looks as noted, and had stood a while when it was."""
        if not noted or noted != look:
            return False
        changed_ns: int = _LOOK.unpack(noted)[3]
        return changed_ns < self._taken_before_ns - _TICK_NS


def doubt_all(workspace: Workspace) -> None:
    """Let the next heartbeat open every context: something changed that none of them shows.

    Raises:
        CouncilError: The system refuses.
    """
    files.remove(_note_path(workspace))


def _note_path(workspace: Workspace) -> str:
    return resolve_inside(workspace.protocol, ".due")


def _look_of(path: str) -> bytes | None:
    """Return how a file or folder looks, None when it cannot be seen."""
    try:
        facts = os.lstat(path)
        return _LOOK.pack(facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    except (OSError, struct.error):
        return None


def _order(context: str) -> tuple[int, str]:
    return len(context), context
