"""Forgetting one conversation everywhere: which one is meant, where it is, taking it away.

First the file and the name go, so that no process opens it any more, then its folder is set
aside.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator

from council.core.errors import CouncilError, NotFoundError, UsageError
from council.core.ids import folded, is_conversation_name, is_uuid4
from council.store import files, slots
from council.store.conversations import naming
from council.store.conversations.closing import folders
from council.store.conversations.minutes import (
    DATA_SUFFIX,
    data_path,
    is_of,
    minutes_head,
    read_data,
)
from council.store.conversations.naming import closing_path
from council.store.documents import journal
from council.store.lock import Lock
from council.store.paths import OWN_FOLDERS, Workspace
from council.store.purging.erasing import Scope, mask_mentions, scope_of
from council.store.purging.subjects import SET_ASIDE, Subject, contains, remove, walked


class Conversation(Subject):
    """A conversation, by its id."""

    kind = "conversation"
    hint = "see: council list --archived"

    def _place(self) -> str:
        """Return its folder."""
        return self.workspace.conversation_folder(self.name)

    def _found(self) -> Scope:
        """Return its id and its trace."""
        return scope_of(self.name)

    def _sources(self) -> None:
        """Return None: the artifacts that were published in it go, others that it names stay."""

    def _shared(self) -> list[str]:
        """Return its journal and its minutes."""
        path = f"{self._place()}/{journal.FILE}"
        return [path, *minutes_of(self.workspace, self.name, journal.Past(path))]

    def _locks(self) -> list[str]:
        """Return its lock."""
        return [f"{self._place()}/lock"]

    def _take_away(self) -> None:
        """Take away live file and name, set the folder aside, take away minutes and history."""
        folder, aside = self._place(), f"{self.workspace.control}/{SET_ASIDE}{self.name}"
        if os.path.isdir(folder):
            with Lock(f"{folder}/lock"):
                self._close_doors()
                if os.path.lexists(aside):  # an earlier attempt left it
                    shutil.rmtree(aside)
                os.rename(folder, aside)
                files.sync_folder(os.path.dirname(folder))
        else:
            self._close_doors()
        past = journal.Past(f"{aside}/{journal.FILE}")
        for path in minutes_of(self.workspace, self.name, past):
            # Their data are named only where the minutes were gone already.
            is_data = path.endswith(DATA_SUFFIX)
            known = is_data and f"{path.removesuffix(DATA_SUFFIX)}.md" in self.done.minutes
            remove(path, [] if known else self.done.minutes, self.done)
        for path in slots.marks(self.workspace.places):
            slots.blot_mark(path, self.scope.owners)
        self.done.count_history(aside)
        if os.path.lexists(aside):
            shutil.rmtree(aside)

    def _close_doors(self) -> None:
        """Take away the live file, copies of it, and the name: no process opens it any more."""
        workspace, own = self.workspace, self.name
        for path, name in _live_files(workspace):
            if naming.pointer_of(workspace, name) == own or _holds(path, own, workspace, name):
                remove(path, self.done.files, self.done)
        for path in files.paths_in(workspace.open_names):
            if naming.pointer_of(workspace, os.path.basename(path)) == own:
                remove(path, [], self.done)
        if os.path.isdir(workspace.open_names):
            files.sync_folder(workspace.open_names)

    def _close(self) -> None:
        """Mask what notes of heartbeats, counts and failures say of it.

        Then take away a folder that a process that waited for the lock made anew, empty.
        """
        for path in files.paths_in(self.workspace.control):
            is_note = os.path.basename(path).startswith(SET_ASIDE)
            if os.path.isfile(path) and not os.path.islink(path) and not is_note:
                mask_mentions(path, self.scope.marks)
        if os.path.isdir(self._place()):
            shutil.rmtree(self._place())

    def _mentions(self) -> Iterable[str]:
        """Return the files that name it, histories of other conversations left out."""
        own = files.paths_in(self.workspace.control)
        others = {path for path in own if os.path.basename(path) not in OWN_FOLDERS}
        marks = self.scope.marks
        return (path for path in walked(self.workspace, others) if contains(path, marks))


def leftovers(workspace: Workspace) -> list[str]:
    """Return the ids of conversations whose folder was set aside and is still there.

    An earlier version of this program wrote no note of them.
    """
    found = files.paths_in(workspace.control, SET_ASIDE)
    return [os.path.basename(one).removeprefix(SET_ASIDE) for one in found if os.path.isdir(one)]


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
    tail = journal.read_tail(f"{workspace.conversation_folder(conversation_id)}/{journal.FILE}")
    return "" if tail is None else str(tail.head["name"])


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
