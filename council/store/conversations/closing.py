"""The end of a conversation: its minutes are written once, its files cleared away.

Each step can be repeated. The journal first names the file that the minutes
will have, then says that they are there; a process that finds the first line without
the second goes on from it, so that one conversation never has two minutes.

Then what is not needed any more may go: earlier texts, displaced files, kept
prompts, logs of runs. The heads of the journal stay, and with them who did what
and when; so do the minutes and whatever could not be merged.

Source: C0-030, C0-031, XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from council.core.errors import CouncilError
from council.core.events import Event
from council.core.ids import sha256_hex, split_task_id
from council.core.record import Record
from council.core.times import parse_instant
from council.store import events as event_log
from council.store import files, shared
from council.store.conversations.naming import Places, closing_path, is_closed, pointer_of
from council.store.conversations.session import Session, sealed_names
from council.store.documents import journal, lines, live
from council.store.lock import Lock, engine_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.paths import Workspace


_NUMBERS = 1000


def write_minutes(session: Session, wanted: str, text: str, data: str = "") -> str:
    """Write the minutes under the wanted path or the next free one, and mark the end.

    What programs read is written first: minutes that are there have their data.

    Args:
        session: The conversation, settled.
        wanted: The path without `-2` and `.md`.
        text: The minutes.
        data: The file for programs that lies beside them, "" for none.

    Returns:
        The path they have.
    """
    planned = session.last.get("closing", {})
    own = closing_path(session.workspace, session.last)
    if planned:
        _bring(own)  # its writer may have been on another machine
    if planned and _is_ours(own, planned["digest"], session.conversation_id):
        path, digest = own, str(planned["digest"])
        with files.explaining("write", path):
            files.sync_folder(os.path.dirname(path))  # its writer may have died before this
    else:
        path, digest = _write_first_free(session, wanted.removesuffix(".md"), text, data, own)
    shown = _named(session.workspace, path)
    done = {"path": shown, "digest": digest, "done": True}
    session.note_closing(done, [Event(type="conversation.archived", data={"path": shown})])
    folder = os.path.dirname(path)
    for name in os.listdir(folder):  # of others who died before their minutes had a name
        if files.is_temporary(name) and files.is_abandoned(f"{folder}/{name}"):
            files.remove(f"{folder}/{name}")
    return path


def _write_first_free(
    session: Session, stem: str, text: str, data: str, planned: str
) -> tuple[str, str]:
    """Write both files under the first name that is free for both; return path and digest.

    A data file at the `planned` path is that of an attempt that died before its
    minutes: it is written anew.
    """
    from council.store.conversations.minutes import data_of, data_path, with_data  # at an end

    with files.explaining("write", stem):
        files.make_folder(os.path.dirname(stem))
    left = planned if data_of(data_path(planned), session.conversation_id) else ""
    numbered = (f"{stem}.md" if one == 1 else f"{stem}-{one}.md" for one in range(1, _NUMBERS))
    for path in (*([left] if left else ()), *numbered):
        beside = data_path(path)
        _bring(path)
        if os.path.lexists(path) or (data and path != left and os.path.lexists(beside)):
            continue
        minutes = with_data(text, os.path.basename(beside)) if data else text
        named = _named(session.workspace, path)
        plan = {"path": named, "digest": sha256_hex(minutes.encode()), "done": False}
        session.note_closing(plan, [])
        if data and not shared.publish(beside, data.encode()):
            continue  # another machine took the name meanwhile
        if path == left:
            files.replace(beside, data.encode())
        elif data and not _is_written(beside, data.encode()):
            continue
        if shared.publish(path, minutes.encode()) and _is_written(path, minutes.encode()):
            return path, str(plan["digest"])
        if data:
            files.remove(beside)  # another process took the name meanwhile
    raise FileExistsError(17, "all names are taken", f"{stem}.md")


def _is_written(path: str, data: bytes) -> bool:
    """Write a file that is not there; one that `council link` has just brought is the same."""
    return files.write_new(path, data) or files.content_of(path) == data


def _bring(path: str) -> None:
    """Bring minutes that another machine has written, and their data."""
    from council.store.conversations.minutes import data_path

    for one in (data_path(path), path):
        shared.bring(one)


def _named(workspace: Workspace, path: str) -> str:
    """Return a path from the root, so that the workspace can be moved; whole if it lies outside.

    Of one outside that other machines read, the name alone: their folder has another path.
    """
    named = os.path.relpath(path, workspace.root)
    if not named.startswith(".."):
        return named
    return path if engine_of(path) is None else os.path.basename(path)


def _is_ours(path: str, digest: str, conversation_id: str) -> bool:
    """Return true if minutes at a planned path are of this conversation, edited since or not."""
    standing = files.read_stable(path)
    return standing is not None and (
        sha256_hex(standing.data) == digest or conversation_id.encode("utf-8") in standing.data
    )


def finish(session: Session) -> None:
    """Clear away what an archived conversation needs no more. Repeatable.

    The journal stays, with the last text of each phase, and what could not be merged.
    """
    places = session.places
    event_log.append(session.workspace, session.last["events"])
    _bring(closing_path(session.workspace, session.last))
    reading = files.read_stable(places.live)
    if reading is not None and session.conversation_id.encode("utf-8") in reading.data:
        target = f"{places.folder}/closed.md"
        if os.path.lexists(target):
            target = f"{places.conflicts}/saved-after-the-end-{os.urandom(4).hex()}.md"
        os.rename(places.live, target)
        files.sync_folder(os.path.dirname(places.live))
        files.sync_folder(os.path.dirname(target))
    _prune(session)
    # The name goes last: as long as it is there, a process comes and finishes this.
    if pointer_of(session.workspace, session.name) == session.conversation_id:
        files.remove(f"{session.workspace.open_names}/{session.name}")
        files.sync_folder(session.workspace.open_names)


def _prune(session: Session) -> None:
    import shutil  # only an ending conversation needs it

    places = session.places
    shutil.rmtree(places.prompts, ignore_errors=True)
    spared = {path for folder in places.aside for path, _ in live.late_writes(folder, session.past)}
    if hasattr(session, "state"):
        spared |= {f"{places.sealed}/{name}" for name in sealed_names(session.state)}
    for path, _ in (one for folder in places.aside for one in _files(folder)):
        if path not in spared:
            files.remove(path)
    by_phase = {line.head["phase"]: line.head["rev"] for line in session.past.lines}
    journal.thinned(places.journal, "archived", {*by_phase.values(), session.last["rev"]})


def minutes_path(workspace: Workspace, conversation_id: str) -> str:
    """Return where the minutes of an archived conversation were written, "" if it is not."""
    tail = journal.read_tail(Places(workspace, "active", conversation_id).journal)
    return closing_path(workspace, tail.head) if tail is not None and is_closed(tail) else ""


_PRUNED = "gc"
CLOSED_COPY = "closed.md"
KINDS = ("texts", "displaced", "prompts", "copies", "runs")


class Files(Record):
    """Files that may go, by kind, with their sizes in bytes."""

    files: dict[str, list[tuple[str, int]]] = {}

    @property
    def total_bytes(self) -> int:
        """How much room they take."""
        return sum(size for found in self.files.values() for _, size in found)

    @property
    def count(self) -> int:
        """How many they are."""
        return sum(len(found) for found in self.files.values())


class Archived(Files):
    """A conversation that is archived and still has its folder, with those of its files.

    `unmerged` are files that hold what was never taken in; they stay.
    """

    conversation_id: str
    name: str
    closed_at: datetime
    unmerged: list[str] = []


def folders(workspace: Workspace) -> Iterator[tuple[str, journal.Tail]]:
    """Yield the id and the last journal line of every conversation that has a folder."""
    for entry in files.names_in(workspace.control):
        try:
            path = workspace.conversation_folder(entry)
            tail = journal.read_tail(f"{path}/{journal.FILE}") if os.path.isdir(path) else None
        except (CouncilError, OSError):
            continue  # no conversation of ours, or one that `doctor` has to examine
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


def prunable(workspace: Workspace, one: Archived) -> Archived:
    """Find what may go of an archived conversation. Changes nothing.

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
        copies = _files(places.folder, CLOSED_COPY)
        for kind, paths in (("displaced", _files(places.displaced)), ("copies", copies)):
            for path, size in paths:
                if _holds_nothing_new(path, past):
                    found[kind].append((path, size))
                else:
                    unmerged.append(path)
        found["prompts"] = list(_files(places.prompts))
        found["runs"] = list(_files(workspace.runs, f"{one.conversation_id}."))
    return one.copy(files=found, unmerged=unmerged)


def prune(workspace: Workspace, one: Archived) -> Archived:
    """Take away what may go of an archived conversation; return what it was.

    Raises:
        LockTimeoutError: Another process works on it for too long.
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
    """Return true if a file is one of the texts that were committed or taken in, or empty."""
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
