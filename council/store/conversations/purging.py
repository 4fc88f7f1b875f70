"""Forgetting one conversation everywhere: which one is meant, where it is, taking it away.

Each step can be repeated. First the file and the name go, so that nobody
opens it any more, then its folder is set aside; whoever finds it set aside
goes on from there. What others wrote is left alone: it is only named.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import shutil
import stat

from council.core.errors import ConflictError, CouncilError, NotFoundError, UsageError
from council.core.ids import folded, is_conversation_name, is_name, is_uuid4, split_task_id
from council.core.record import Record
from council.core.reporting.trace_context import trace_of
from council.store import files, tally
from council.store.conversations import naming
from council.store.conversations.closing import folders
from council.store.conversations.erasing import erase_events, mask_mentions, matter_of
from council.store.conversations.minutes import (
    DATA_SUFFIX,
    data_path,
    is_of,
    minutes_head,
    read_data,
)
from council.store.conversations.naming import closing_path
from council.store.delegation.artifact_care import forget
from council.store.delegation.forgotten_calls import call_runs, forget_calls, with_calls
from council.store.documents import journal
from council.store.lock import Lock
from council.store.paths import OWN_FOLDERS
from council.store.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from council.store.conversations.erasing import Matter
    from council.store.paths import Workspace

SET_ASIDE = ".purging-"


class Purged(Record):
    """What was taken away: paths (or numbers of events) by kind, and what still mentions it."""

    conversation_id: str
    files: list[str] = []
    minutes: list[str] = []
    tasks: list[str] = []
    runs: list[str] = []
    calls: list[str] = []
    artifacts: list[str] = []
    history: int = 0
    events: int = 0
    size_bytes: int = 0
    begun: bool = False
    left: list[str] = []

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing of it, nor of a purge of it that was cut off."""
        lists = (self.files, self.minutes, self.tasks, self.runs, self.calls, self.artifacts)
        return not any((*lists, self.history, self.events, self.begun))


def find(workspace: Workspace, wanted: str) -> str:
    """Return the id of the conversation that a name or an id means.

    A name means the open conversation, else the archived one that had it.

    Raises:
        NotFoundError: There is none.
        UsageError: Several archived ones had that name.
    """
    name = folded(wanted)
    if not is_conversation_name(name):
        raise UsageError(f"neither a name nor an id: {wanted!r}", "see: council list --archived")
    if is_uuid4(wanted):
        return wanted
    found = naming.pointer_of(workspace, name)
    try:
        found = found or naming.id_in_file(workspace, name, None)
    except CouncilError:
        found = ""  # the file holds nothing that can be read; its folder may still be known
    if found:
        return found
    had = [one for one, tail in folders(workspace) if tail.head["name"] == name]
    if len(had) > 1:
        raise UsageError(
            f"{len(had)} conversations had the name {wanted!r}",
            f"say which, by the file of its minutes or by its id: {', '.join(had)}",
        )
    if had:
        return had[0]
    if os.path.isdir(f"{workspace.control}/{wanted}") and wanted.lower() not in OWN_FOLDERS:
        return wanted
    raise NotFoundError(
        f"no conversation {wanted!r}",
        "give its name, its id or the file of its minutes: council list --archived",
    )


def name_of(workspace: Workspace, conversation_id: str) -> str:
    """Return the name that a conversation has or had, "" when its journal is gone."""
    folder = workspace.conversation_folder(conversation_id)
    tail = journal.read_tail(f"{folder}/{journal.FILE}")
    return "" if tail is None else str(tail.head["name"])


def purge(workspace: Workspace, conversation_id: str, max_runs: int) -> Purged:
    """Take away everything that is kept of a conversation.

    Raises:
        ConflictError: A run for it is under way.
        LockTimeoutError: Somebody works on it for too long.
        CouncilError: The system refuses; repeated, it goes on.
    """
    matter = matter_of(conversation_id)
    refuse_running(workspace, matter, max_runs)
    done = Purged(conversation_id=conversation_id)
    folder = workspace.conversation_folder(conversation_id)
    aside = f"{workspace.control}/{SET_ASIDE}{conversation_id}"
    with files.explaining("purge", folder):
        if os.path.isdir(folder):
            with Lock(f"{folder}/lock"):
                _close_doors(workspace, conversation_id, done)
                _merge_into(folder, aside)
        else:
            _close_doors(workspace, conversation_id, done)
        _remove_minutes(workspace, conversation_id, aside, done)
        for path in tasks_of(workspace, conversation_id):
            remove(path, done.tasks, done)
        for path in files.paths_in(workspace.runs, f"{conversation_id}."):
            remove(path, done.runs, done)
        done.calls = forget_calls(workspace, matter)
        done.events = erase_events(workspace, matter)
        tally.forget(workspace, matter.owners)
        for path in files.paths_in(workspace.control):
            if os.path.isfile(path) and not os.path.islink(path):
                mask_mentions(path, matter.marks)  # notes of heartbeats, counts, failures
        remove_torn(workspace, matter.marks)
        for within, _, names in os.walk(aside):
            done.history += len(names)
            done.size_bytes += sum(os.lstat(f"{within}/{name}").st_size for name in names)
        if os.path.lexists(aside):
            shutil.rmtree(aside)
        if os.path.isdir(folder):  # somebody who waited for the lock made it anew, empty
            shutil.rmtree(folder)
        for path in (workspace.board, f"{workspace.control}/board.json"):
            files.remove(path)  # they hold topics, and are made anew
        files.sync_folder(workspace.control)
        for path, size in forget(workspace, trace_of(conversation_id)):
            done.artifacts.append(path)
            done.size_bytes += size
    done.left = sorted(_mentions(workspace, conversation_id))
    return done


def refuse_running(workspace: Workspace, matter: Matter, max_runs: int) -> None:
    """Refuse while a run for a matter, or for a call in its traces, is under way.

    Raises:
        ConflictError: One is.
    """
    running = Slots(workspace.places, max_runs).running_agents()
    own = [path for one in matter.owners for path in files.paths_in(workspace.runs, f"{one}.")]
    for path in (*own, *call_runs(workspace, with_calls(workspace, matter))):
        task = split_task_id(os.path.basename(path).removesuffix(".log"))
        if task is None or task[2] not in running:
            continue
        reading = files.read_stable(path)
        if reading is not None and b"\nexit: " not in reading.data:
            raise ConflictError(
                f"a run of {task[2]} for this is under way",
                "wait until it has ended: council status",
            )


def _close_doors(workspace: Workspace, conversation_id: str, done: Purged) -> None:
    """Take away the live file, copies of it, and the name: nobody opens it any more."""
    for path, name in _live_files(workspace):
        pointed = naming.pointer_of(workspace, name)
        if pointed == conversation_id or _holds(path, conversation_id, workspace, name):
            remove(path, done.files, done)
    for path in files.paths_in(workspace.open_names):
        if naming.pointer_of(workspace, os.path.basename(path)) == conversation_id:
            remove(path, [], done)
    if os.path.isdir(workspace.open_names):
        files.sync_folder(workspace.open_names)


def _live_files(workspace: Workspace) -> Iterator[tuple[str, str]]:
    for path in files.paths_in(os.path.dirname(workspace.control)):
        name = workspace.conversation_name(os.path.basename(path))
        if name:
            yield path, name


def _holds(path: str, conversation_id: str, workspace: Workspace, name: str) -> bool:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return False
    try:
        return naming.id_in_file(workspace, name, None) == conversation_id
    except CouncilError:
        return contains(path, (conversation_id.encode(),))


def _merge_into(folder: str, aside: str) -> None:
    """Set a folder aside; one that an earlier attempt left there is done away with."""
    if os.path.lexists(aside):
        shutil.rmtree(aside)
    os.rename(folder, aside)
    files.sync_folder(os.path.dirname(folder))


def _remove_minutes(workspace: Workspace, conversation_id: str, aside: str, done: Purged) -> None:
    """Take away the minutes; their data are told of only where the minutes were gone already."""
    for path in minutes_of(workspace, conversation_id, journal.Past(f"{aside}/{journal.FILE}")):
        is_data = path.endswith(DATA_SUFFIX)
        known = is_data and f"{path.removesuffix(DATA_SUFFIX)}.md" in done.minutes
        remove(path, [] if known else done.minutes, done)


def minutes_of(workspace: Workspace, conversation_id: str, past: journal.Past) -> list[str]:
    """Return the minutes of a conversation, then what lies beside them for programs.

    They are found under whatever names they have now.
    """
    told = {closing_path(workspace, line.head) for line in past.lines if "closing" in line.head}
    mark, beside = (conversation_id.encode(),), {data_path(path) for path in told}
    pages, data = [], []
    for path in sorted(told | beside | set(files.paths_in(workspace.minutes))):
        if not os.path.isfile(path) or os.path.islink(path):
            continue
        named = path in (told | beside) and contains(path, mark)
        if path.endswith(".md"):
            if named or minutes_head(path).get("conversation") == conversation_id:
                pages.append(path)
        elif path.endswith(DATA_SUFFIX) and (named or _is_data(path, conversation_id)):
            data.append(path)
    return [*pages, *data]


def _is_data(path: str, conversation_id: str) -> bool:
    text = files.content_of(path).decode("utf-8", "replace")
    return conversation_id in text and is_of(read_data(text), conversation_id)


def tasks_of(workspace: Workspace, conversation_id: str) -> Iterator[str]:
    """Yield what lies in the folders of agents for the tasks of a conversation."""
    for folder in files.paths_in(workspace.agents):
        if is_name(os.path.basename(folder)):
            yield from files.paths_in(f"{folder}/tasks", f"{conversation_id}.")


def remove(path: str, told: list[str], done: Purged) -> None:
    """Take a file or folder away and write down that it is gone."""
    facts = os.lstat(path)
    if stat.S_ISDIR(facts.st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    done.size_bytes += facts.st_size
    told.append(path)


def remove_torn(workspace: Workspace, marks: tuple[bytes, ...]) -> None:
    """Take away what writers left who died before their file had its name.

    One that bears no mark of what is forgotten may still hold words of it, an
    answer for instance: it goes as soon as nobody can be about to name it.

    Raises:
        CouncilError: The system refuses.
    """
    # A publisher may wait for a long time for what comes next: `artifact gc` knows of those.
    for path in walked(workspace, {workspace.artifacts}):
        if files.is_temporary(path) and (files.is_abandoned(path) or contains(path, marks)):
            files.remove(path)


def walked(workspace: Workspace, apart: Container[str] = ()) -> Iterator[str]:
    """Yield every file of the workspace, those in some folders left out."""
    for top in dict.fromkeys((workspace.shared, workspace.minutes, workspace.agents)):
        for within, inner, names in os.walk(top):
            inner[:] = [one for one in inner if f"{within}/{one}" not in apart]
            yield from (f"{within}/{one}" for one in names)


def _mentions(workspace: Workspace, conversation_id: str) -> list[str]:
    """Return the files of the workspace that name it, histories of other conversations left out."""
    marks = (conversation_id.encode(), trace_of(conversation_id).encode())
    own = files.paths_in(workspace.control)
    others = {path for path in own if os.path.basename(path) not in OWN_FOLDERS}
    return [path for path in walked(workspace, others) if contains(path, marks)]


def contains(path: str, marks: tuple[bytes, ...]) -> bool:
    """Tell whether any of the marks stands in a file."""
    data = files.content_of(path)
    return any(mark in data for mark in marks)


def leftovers(workspace: Workspace) -> list[str]:
    """Return the folders that a purge set aside and did not come to remove."""
    return [one for one in files.paths_in(workspace.control, SET_ASIDE) if os.path.isdir(one)]


def topic_of(workspace: Workspace, conversation_id: str) -> str:
    """Return what people know a conversation by, "" when nothing says."""
    for path, name in _live_files(workspace):
        if _holds(path, conversation_id, workspace, name):
            from council.store.statefile.statefile import parse

            reading = files.read_stable(path)
            return "" if reading is None else parse(reading.data.decode("utf-8", "replace")).topic
    for path in files.paths_in(workspace.minutes):
        if path.endswith(".md") and os.path.isfile(path):
            head = minutes_head(path)
            if head.get("conversation") == conversation_id:
                return str(head.get("title", ""))
    return ""
