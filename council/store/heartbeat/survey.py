"""One scan of all things of a kind in a workspace, without opening any.

It decides which of them need not be opened: those of which a heartbeat has
noted (`note`) that nothing is due before some instant, whose files still
are as they were then. A *stamp* is what the system says of a file that is not
opened: inode, size, time of writing, time of change.

A stamp proves nothing about a file that was changed just before it was taken,
because a second change within the same tick of the clock leaves it the same. The
note says when its stamps were taken, so such a file is opened once more, and
then only the time stamp of the note moves.

Source: XC-007, XC-016, A-20, `architecture.md` section 4.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterable, Sequence

from council.core.ids import is_conversation_name
from council.core.record import Any
from council.core.times import render_instant
from council.store import files
from council.store.paths import Workspace, record_names, resolve_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.heartbeat.note import Line, Note

# A few things are opened as fast as a note of them is read: none is written.
CROWD = 32
# The coarsest clock of a file system that we know counts two seconds.
TICK_NS = 2_000_000_000
_STAMP = struct.Struct("=QQqq")
STAMP_BYTES = _STAMP.size
_NEVER_SETTLED_NS = 2**63


def stamps_of(
    folder: str, things: Iterable[Sequence[str]], most: int = 1, needed: int = 1
) -> tuple[bytes, list[int]]:
    """Take the stamps of the files of many things.

    Args:
        folder: Where they lie.
        things: The files of each, as paths from there.
        most: How many files a thing has.
        needed: How many of them must be there, the first ones.

    Returns:
        As many stamps for each thing, joined, zeros for what cannot be seen; and when any
        of its files was last changed, in nanoseconds.
    """
    stamps, changed_ns = [], []
    take, pack, size = os.lstat, _STAMP.pack, most * STAMP_BYTES
    at = -1
    try:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        needed = most + 1
    # All of the time of an idle heartbeat goes by in here.
    for paths in things:
        stamp, newest_ns = b"", 0
        try:
            for path in paths if at >= 0 else ():
                seen = take(path, dir_fd=at)
                stamp += pack(seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
                newest_ns = max(newest_ns, seen.st_ctime_ns)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, struct.error):
            stamp = b""
        if len(stamp) < needed * STAMP_BYTES:
            stamp, newest_ns = b"", _NEVER_SETTLED_NS
        stamps.append(stamp.ljust(size, b"\0"))
        changed_ns.append(newest_ns)
    if at >= 0:
        os.close(at)
    return b"".join(stamps), changed_ns


class Survey:
    """What need not be opened, what must be, and what is noted for the next heartbeat.

    Args:
        workspace: Where the conversations lie.
        rules: What else decides when something is due; a note made under other rules is not used.
        now: The time of the heartbeat.
        trusting: Whether the system that keeps the files can be trusted with their stamps.

    Attributes:
        idle: Name, id and what was noted of each that need not be opened, in order.
        doubtful: The names of all others, in order; their files may be gone by now.
        is_quiet: Whether one stamp has shown that nothing has changed.
        is_kept: Whether it pays to note anything here.

    Raises:
        OSError: The system refuses to list them.
    """

    # How many files each has, and how many of those must be there.
    _files = (2, 2)
    _by_number = False
    # The place of the workspace that is its note.
    _noted_in = "deadlines"

    def __init__(
        self, workspace: Workspace, rules: list[Any], now: datetime, *, trusting: bool = True
    ) -> None:
        self._taken_ns = time.time_ns()
        self._workspace = workspace
        self._shared = os.path.dirname(workspace.control)
        self._now = render_instant(now)
        self._parts = self._file_parts() if trusting else None
        self._rules = [*(self._parts or ()), *rules]
        self._taken: dict[str, tuple[str, bytes]] = {}
        self._fresh: dict[str, Line] = {}
        self._folder = self._stamp_of_folder()
        note = self._note = self._read()
        self.is_quiet = self._folder is None or (note is not None and self._is_unchanged(note))
        self._held: Sequence[int] = ()
        self.idle: list[tuple[str, str, Any]] = []
        if note is not None:
            self._held = range(len(note.names)) if self.is_quiet else self._holding(note)
            if len(self._held) == len(note.names):
                self.idle = list(zip(note.names, note.ids, note.found, strict=True))
            else:
                self.idle = [(note.names[at], note.ids[at], note.found[at]) for at in self._held]
        self.doubtful: list[str] = [] if self.is_quiet else self._others()
        self._are = len(self.idle) + len(self.doubtful)
        self.is_kept = self._are >= CROWD and self._parts is not None

    # What differs between conversations, channels and contexts.

    def _file_parts(self) -> tuple[str, str] | None:
        """Return what stands before and after the name in the name of a live file."""
        return self._workspace.live_file_parts()

    def _paths(self, name: str, identity: str) -> tuple[str, ...]:
        """Return the files that show that something has changed, from the shared folder."""
        before, after = self._parts or ("", "")
        return before + name + after, f".council/{identity}/revisions.jsonl"

    def _stamp_of_folder(self) -> bytes | None:
        """Return the stamp of a folder in which every change shows, None where it is not there."""
        return b""

    def _others(self) -> list[str]:
        """Return every name that a live file or a pointer bears and that is not idle, in order."""
        idle = [name for name, _, _ in self.idle]
        found = listed(self._workspace.open_names)
        found.difference_update(idle)
        live = listed(self._shared)
        if self._parts is None:
            found |= {self._workspace.conversation_name(one) for one in live}
        else:
            before, after = self._parts
            # Of ten thousand files nearly all are idle: only the names of the others are parsed.
            live.difference_update([before + name + after for name in idle])
            found |= {
                one[len(before) : len(one) - len(after)]
                for one in live
                if one.startswith(before) and one.endswith(after)
            }
        return sorted(name for name in found if is_conversation_name(name))

    # What they have in common.

    def _read(self) -> Note | None:
        if self._parts is None or self._folder is None:
            return None
        path = getattr(self._workspace, self._noted_in)
        if not os.path.lexists(path):
            return None
        from council.store.heartbeat.note import read_note

        return read_note(path, self._rules, self._now)

    def _is_unchanged(self, note: Note) -> bool:
        """Return true if the folder alone shows that the note holds as a whole."""
        if not note.folder or note.folder != self._folder:
            return False
        changed_ns: int = _STAMP.unpack(note.folder)[3]
        return changed_ns < note.taken_ns - TICK_NS and min(note.due, default="~") > self._now

    def _holding(self, note: Note) -> Sequence[int]:
        """Return which lines hold: not due, unchanged, and not changed just before the scan."""
        stamps, changed_ns = self._stamps(note.names, note.ids)
        settled_ns = note.taken_ns - TICK_NS
        everything = range(len(note.names))
        if (
            stamps == note.stamps
            and max(changed_ns, default=0) < settled_ns
            and min(note.due, default="~") > self._now
        ):
            return everything
        size = len(stamps) // max(len(everything), 1)
        return [
            at
            for at in everything
            if note.due[at] > self._now
            and changed_ns[at] < settled_ns
            and stamps[at * size : (at + 1) * size] == note.stamps[at * size : (at + 1) * size]
        ]

    def _stamps(self, names: Sequence[str], ids: Sequence[str]) -> tuple[bytes, list[int]]:
        return stamps_of(self._shared, map(self._paths, names, ids), *self._files)

    def look(self, name: str, identity: str) -> None:
        """Take the stamps of what is about to be read, for `note`."""
        if self.is_kept and identity:
            self._taken[name] = (identity, self._stamps([name], [identity])[0])

    def note(self, name: str, identity: str, due_at: datetime | None, found: Any) -> None:
        """Note a thing in which nothing was due when it was read.

        Args:
            name: Its name, of which `look` was called before it was read.
            identity: Its id, as read.
            due_at: When time alone makes something due, None for never.
            found: What `idle` shall give to the next heartbeat; JSON.
        """
        looked_for, stamps = self._taken.get(name, ("", b""))
        if any(stamps) and looked_for == identity:
            due = "never" if due_at is None else render_instant(due_at)
            self._fresh[name] = (identity, due, found, stamps)

    def keep(self) -> None:
        """Keep the notes for the next heartbeat; what says the same is not written again."""
        note = self._note
        lines = {} if note is None else {note.names[at]: note.line(at) for at in self._held}
        holds = self.is_quiet or not (self._folder or (note and len(lines) < len(note.names)))
        if not self.is_kept or (holds and not self._fresh):
            return
        from council.store.heartbeat.note import Note, keep_note

        lines.update(self._fresh)
        # The folder vouches for those alone that are noted.
        folder = (self._folder or b"") if len(lines) >= self._are else b""
        fresh = Note.of(
            lines,
            since=self._now,
            taken_ns=self._taken_ns,
            folder=folder,
            by_number=self._by_number,
        )
        path = getattr(self._workspace, self._noted_in)
        keep_note(path, self._rules, fresh, before=note)


class RoomSurvey(Survey):
    """The same of the channels: of each the document, the journal, and the log if it has one."""

    _files = (3, 2)
    _noted_in = "room_deadlines"

    def _file_parts(self) -> tuple[str, str] | None:
        return "", ".md"

    def _paths(self, name: str, identity: str) -> tuple[str, ...]:
        journal = f".council/channels/{identity}/revisions.jsonl"
        return f"channels/{name}.md", journal, f"channels/{name}.jsonl"

    def _others(self) -> list[str]:
        found = listed(self._workspace.channels)
        found.difference_update([name + ".md" for name, _, _ in self.idle])
        names = (one.removesuffix(".md") for one in found if one.endswith(".md"))
        return sorted(name for name in names if is_conversation_name(name))


class ContextSurvey(Survey):
    """The same of the contexts of tasks, each one file.

    A process that changes one replaces its file, so the stamp of the folder shows if any has
    changed. What is noted of each are the runs that wait for a place: priority, instant, agent.
    """

    _files = (1, 1)
    _by_number = True
    _noted_in = "context_deadlines"

    def _file_parts(self) -> tuple[str, str] | None:
        return "", ".jsonl"

    def _paths(self, name: str, identity: str) -> tuple[str, ...]:  # noqa: ARG002
        here = f"protocol/contexts/{name}.jsonl"
        return (here if os.path.lexists(f"{self._shared}/{here}") else here.removesuffix("l"),)

    def _stamp_of_folder(self) -> bytes | None:
        stamp = stamps_of(self._workspace.protocol, [("contexts",)])[0]
        return stamp if any(stamp) else None

    def _others(self) -> list[str]:
        from council.core.protocol.protocol_ids import is_context

        found = record_names(listed(resolve_inside(self._workspace.protocol, "contexts")))
        idle = {name for name, _, _ in self.idle}
        others = (one for one in found if is_context(one) and one not in idle)
        return sorted(others, key=lambda one: (len(one), one))

    def waiting(self) -> list[tuple[str, str, str, str]]:
        """Return who waits for a place in those that need not be opened, who is first served first.

        Returns:
            For each run its priority, since when it is due, its agent and its context.
        """
        return sorted(
            (priority, since, agent, name)
            for name, _, waits in self.idle
            for priority, since, agent in waits
        )

    def open_again(self, name: str) -> None:
        """Take a context out of those that need not be opened."""
        note = self._note
        self._held = [at for at in self._held if note is not None and note.names[at] != name]
        self.idle = [one for one in self.idle if one[0] != name]


def doubt_contexts(workspace: Workspace) -> None:
    """Let the next heartbeat open every context: something changed that none of them shows.

    Raises:
        CouncilError: The system refuses.
    """
    files.remove(workspace.context_deadlines)


def listed(folder: str) -> set[str]:
    """Return the names in a folder, none where there is no such folder."""
    try:
        return set(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return set()
