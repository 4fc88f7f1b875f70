"""What may go of an archived conversation, and taking it away.

The heads of the journal stay, and with them who did what and when; so do the minutes and
whatever could not be merged. What goes is what nobody asks for any more:
earlier texts, displaced files, kept prompts, logs of runs.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import stat

from council.core.errors import CouncilError
from council.core.ids import split_task_id
from council.core.record import Record
from council.core.times import parse_instant
from council.store import files
from council.store.conversations.places import Places, is_closed
from council.store.documents import journal, lines, live
from council.store.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from council.store.paths import Workspace

_PRUNED = "gc"
CLOSED_COPY = "closed.md"
KINDS = ("texts", "displaced", "prompts", "copies", "runs")


class Archived(Record):
    """A conversation that is archived and still has its folder."""

    conversation_id: str
    name: str
    closed_at: datetime


class Files(Record):
    """Files that may go, by kind, with their sizes in bytes."""

    files: dict[str, list[tuple[str, int]]]

    @property
    def total_bytes(self) -> int:
        """How much room they take."""
        return sum(size for found in self.files.values() for _, size in found)

    @property
    def count(self) -> int:
        """How many they are."""
        return sum(len(found) for found in self.files.values())


class Prunable(Files):
    """The files of one conversation that may go, by kind, with their sizes in bytes.

    `unmerged` are files that hold what was never taken in; they stay.
    """

    conversation_id: str
    name: str
    unmerged: list[str]


def folders(workspace: Workspace) -> Iterator[tuple[str, journal.Tail]]:
    """Yield the id and the last journal line of every conversation that has a folder."""
    for entry in files.names_in(workspace.control):
        try:
            path = workspace.conversation_folder(entry)
            tail = journal.read_tail(f"{path}/{journal.FILE}") if os.path.isdir(path) else None
        except (CouncilError, OSError):
            continue  # no conversation of ours, or one that `doctor` has to look at
        if tail is not None:
            yield entry, tail


def archived(workspace: Workspace) -> list[Archived]:
    """Return the archived conversations, the oldest end first."""
    found = [
        Archived(
            conversation_id=conversation_id,
            name=str(tail.head["name"]),
            closed_at=parse_instant(tail.head["at"]),
        )
        for conversation_id, tail in folders(workspace)
        if is_closed(tail)
    ]
    return sorted(found, key=lambda one: (one.closed_at, one.conversation_id))


def prunable(workspace: Workspace, one: Archived) -> Prunable:
    """Look up what may go of an archived conversation. Changes nothing.

    Raises:
        CouncilError: The system refuses.
    """
    places = Places(workspace, one.name, one.conversation_id)
    with files.explaining("read", places.folder):
        found: dict[str, list[tuple[str, int]]] = {kind: [] for kind in KINDS}
        unmerged = []
        past = journal.Past(places.journal)
        found["texts"] = [
            (places.journal, len(line.body) - len(lines.hole(_PRUNED)))
            for line in past.lines
            if not lines.is_bare(line.body)
        ]
        for path, size in _files(places.displaced):
            if _holds_nothing_new(path, past):
                found["displaced"].append((path, size))
            else:
                unmerged.append(path)
        found["prompts"] = list(_files(places.prompts))
        copy = f"{places.folder}/{CLOSED_COPY}"
        if os.path.lexists(copy):
            if _holds_nothing_new(copy, past):
                found["copies"].append((copy, os.lstat(copy).st_size))
            else:
                unmerged.append(copy)
        found["runs"] = list(_files(workspace.runs, f"{one.conversation_id}."))
    return Prunable(
        conversation_id=one.conversation_id, name=one.name, files=found, unmerged=unmerged
    )


def prune(workspace: Workspace, one: Archived) -> Prunable:
    """Take away what may go of an archived conversation; return what it was.

    Raises:
        LockTimeoutError: Somebody works on it for too long.
        CouncilError: The system refuses.
    """
    places = Places(workspace, one.name, one.conversation_id)
    with files.explaining("prune", places.folder), Lock(places.lock):
        found = prunable(workspace, one)
        if found.files["texts"]:
            if not os.path.lexists(places.journal):
                from council.store.documents.version_one import bring_over

                bring_over(places.folder, places.journal)
            journal.thinned(places.journal, _PRUNED, set())
        for kind, paths in found.files.items():
            for path, _ in paths if kind != "texts" else ():
                os.unlink(path)
        if os.path.isdir(places.prompts) and not files.names_in(places.prompts):
            os.rmdir(places.prompts)
    return found


def _holds_nothing_new(path: str, past: journal.Past) -> bool:
    """Tell whether a file is one of the texts that were committed or taken in, or empty."""
    reading = files.read_stable(path)
    if reading is None or not reading.data:
        return True
    return past.knows(reading.digest) or live.was_never_published(path, reading.digest)


def orphaned_runs(workspace: Workspace, before_s: float) -> list[tuple[str, int]]:
    """Return the run files of conversations that are there no more.

    Args:
        workspace: Where.
        before_s: Only those last written before this POSIX time.
    """
    found = []
    for path, size in _files(workspace.runs):
        task = split_task_id(os.path.basename(path).removesuffix(".log").removesuffix(".prompt.md"))
        if task is None or os.path.isdir(f"{workspace.control}/{task[0]}"):
            continue
        if os.lstat(path).st_mtime < before_s:
            found.append((path, size))
    return found


def _files(folder: str, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name in files.names_in(folder):
        facts = os.lstat(f"{folder}/{name}")
        if name.startswith(prefix) and stat.S_ISREG(facts.st_mode):
            yield f"{folder}/{name}", facts.st_size
