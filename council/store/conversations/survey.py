"""One look at all conversations of a workspace, without opening any.

It decides which of them need not be opened: those of which a heartbeat has
noted (`deadlines`) that nothing is due before some instant, whose files still
look as they did then. A *look* is what the system says of live file and
journal: inode, size, time of writing, time of change.

A look proves nothing about a file that was changed just before it was taken,
because a second change within the same tick of the clock looks the same. The
note says when its looks were taken, so such a file is opened once more, and
then only the time stamp of the note moves.

Source: XC-007, `architecture.md` section 4.
"""

from __future__ import annotations

import os
import time

from council.core.ids import is_conversation_name
from council.core.times import render_instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from council.store.conversations.deadlines import Note
    from council.store.paths import Workspace

# A few conversations are opened as fast as a note of them is read: none is written.
CROWD = 32
# The coarsest clock of a file system that we know counts two seconds.
_TICK_NS = 2_000_000_000


class Survey:
    """What need not be opened, what must be, and what is noted for the next heartbeat.

    Args:
        workspace: Where the conversations lie.
        rules: What else decides when something is due; a note made under other rules is not used.
        now: The time of the heartbeat.
        trusting: Whether the system that keeps the files can be trusted with their looks.

    Attributes:
        idle: Name, id and what was noted of each that need not be opened, sorted.
        doubtful: The names of all others, sorted; their files may be gone by now.
        is_kept: Whether it pays to note anything here.

    Raises:
        OSError: The system refuses to list them.
    """

    def __init__(
        self, workspace: Workspace, rules: list[Any], now: datetime, *, trusting: bool = True
    ) -> None:
        self._taken_ns = time.time_ns()
        self._workspace = workspace
        self._rules = rules
        self._now = render_instant(now)
        self._parts = self._file_parts() if trusting else None
        self._taken: dict[str, tuple[str, bytes]] = {}
        self._fresh: dict[str, tuple[str, str, Any, bytes]] = {}
        self._note = self._read()
        self._held: Sequence[int] = () if self._note is None else self._holding(self._note)
        self.idle: list[tuple[str, str, Any]] = self._idle()
        self.doubtful = sorted(name for name in self._others() if is_conversation_name(name))
        many = len(self.idle) + len(self.doubtful) >= CROWD
        self.is_kept = many and self._parts is not None

    def _file_parts(self) -> tuple[str, str] | None:
        """Return what stands before and after the name in the name of a live file."""
        return self._workspace.live_file_parts()

    @property
    def _note_file(self) -> str:
        return self._workspace.deadlines

    def _read(self) -> Note | None:
        if self._parts is None or not os.path.lexists(self._note_file):
            return None
        from council.store.conversations.deadlines import read_note

        return read_note(self._note_file, self._all_rules(), self._now)

    def _all_rules(self) -> list[Any]:
        return [*(self._parts or ()), *self._rules]

    def _holding(self, note: Note) -> Sequence[int]:
        """Return which lines hold: not due, unchanged, and not changed just before the look."""
        looks, changed_ns = self._look_at(note.names, note.ids)
        settled_ns = note.taken_ns - _TICK_NS
        everything = range(len(note.names))
        if (
            looks == note.looks
            and max(changed_ns, default=0) < settled_ns
            and min(note.due, default="~") > self._now
        ):
            return everything
        size = len(looks) // max(len(everything), 1)
        return [
            at
            for at in everything
            if note.due[at] > self._now
            and changed_ns[at] < settled_ns
            and looks[at * size : (at + 1) * size] == note.looks[at * size : (at + 1) * size]
        ]

    def _idle(self) -> list[tuple[str, str, Any]]:
        note = self._note
        if note is None:
            return []
        if len(self._held) == len(note.names):
            return list(zip(note.names, note.ids, note.found, strict=True))
        return [(note.names[at], note.ids[at], note.found[at]) for at in self._held]

    def _others(self) -> set[str]:
        """Return every name that a live file or a pointer bears and that is not idle."""
        idle = [name for name, _, _ in self.idle]
        pointers = listed(self._workspace.open_names)
        pointers.difference_update(idle)
        live = listed(os.path.dirname(self._workspace.control))
        if self._parts is None:
            return pointers | {self._workspace.conversation_name(one) for one in live}
        before, after = self._parts
        # Of ten thousand files nearly all are idle: only the names of the others are parsed.
        live.difference_update([before + name + after for name in idle])
        return pointers | {
            one[len(before) : len(one) - len(after)]
            for one in live
            if one.startswith(before) and one.endswith(after)
        }

    def _look_at(self, names: Sequence[str], ids: Sequence[str]) -> tuple[bytes, list[int]]:
        from council.store.looks import look_at

        before, after = self._parts or ("", "")
        return look_at(self._workspace.control, before, after, names, ids)

    def look(self, name: str, conversation_id: str) -> None:
        """Take the look of a conversation that is about to be read, for `note`."""
        if self.is_kept and conversation_id:
            self._taken[name] = (conversation_id, self._look_at([name], [conversation_id])[0])

    def note(self, name: str, conversation_id: str, due_at: datetime | None, found: Any) -> None:
        """Note a conversation in which nothing was due when it was read.

        Args:
            name: Its name, of which `look` was called before it was read.
            conversation_id: Its id, as read.
            due_at: When time alone makes something due, None for never.
            found: What `idle` shall give to the next heartbeat; JSON.
        """
        looked_for, look = self._taken.get(name, ("", b""))
        if any(look) and looked_for == conversation_id:
            due = "never" if due_at is None else render_instant(due_at)
            self._fresh[name] = (conversation_id, due, found, look)

    def keep(self) -> None:
        """Keep the notes for the next heartbeat; what says the same is not written again."""
        note = self._note
        held_before = 0 if note is None else len(note.names)
        if not self.is_kept or (not self._fresh and len(self._held) == held_before):
            return
        from council.store.conversations.deadlines import Note, keep_note

        lines = dict(self._fresh)
        if note is not None:
            lines.update((note.names[at], note.line(at)) for at in self._held)
        fresh = Note.of(lines, since=self._now, taken_ns=self._taken_ns)
        keep_note(self._note_file, self._all_rules(), fresh, before=note)


def listed(folder: str) -> set[str]:
    """Return the names in a folder, none where there is no such folder."""
    try:
        return set(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return set()
