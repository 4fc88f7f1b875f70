"""Which conversation an open name stands for.

`.council/open/<name>` holds the id. It is made by a link, so of many who
convene under one name exactly one succeeds, and removed under the lock of the
conversation it names. Where it is missing (the folder `.council` is gone, a
file was written by hand) the id in the live file counts.

`Places` are the files that belong to one conversation.

Source: C0-002, `cli.md` section 4, `store.md` section 5, `store.md` section 1.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError
from council.core.ids import is_conversation_name, is_name
from council.core.record import Any
from council.store import files
from council.store.documents import journal
from council.store.documents.journal import FILE, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.paths import Workspace


class DocumentPlaces:
    """The files of one document: its live file, and in a folder all that belongs to it.

    `aside` are the folders that may hold files which gave way to a newer text.
    """

    def __init__(self, live: str, folder: str) -> None:
        self.live, self.folder = live, folder
        self.lock = f"{folder}/lock"
        self.journal = f"{folder}/{FILE}"
        self.pulled = f"{folder}/pulled"
        self.displaced = f"{folder}/displaced"
        self.conflicts = f"{folder}/conflicts"
        self.aside: tuple[str, ...] = (self.displaced,)
        self._made = {self.displaced: 0o777, self.conflicts: 0o777}

    def aside_for(self, _: str) -> str:
        """Return the folder into which a file goes that gives way, by the digest of its text."""
        return self.displaced

    def make(self) -> None:
        """Make the folders that are missing."""
        for path, mode in self._made.items():
            if not os.path.isdir(path):
                files.make_folder(path, mode)


class Places(DocumentPlaces):
    """The files of one conversation."""

    def __init__(self, workspace: Workspace, name: str, conversation_id: str) -> None:
        live = workspace.conversation_file(name)
        super().__init__(live, workspace.conversation_folder(conversation_id))
        self.strict = workspace.strict
        self.sealed = f"{self.folder}/sealed"
        self.prompts = f"{self.folder}/prompts"
        self.aside = (self.displaced, self.sealed)
        self._made[self.sealed] = 0o700

    def aside_for(self, digest: str) -> str:
        """Return the folder into which a file goes that gives way, by the digest of its text."""
        return self.sealed if os.path.lexists(f"{self.sealed}/{digest}") else self.displaced


def is_closed(tail: Tail | None) -> bool:
    """Return true if a conversation is archived, by the last line of its journal."""
    return tail is not None and bool(tail.head.get("closing", {}).get("done"))


def closing_path(workspace: Workspace, head: dict[str, Any]) -> str:
    """Return the absolute path of the minutes that a line of a journal names, "" for none.

    Lines hold it from the root of the workspace, which may be moved, or its name alone; older
    ones have it whole.
    """
    path = str(head.get("closing", {}).get("path", ""))
    if os.path.isabs(path) and not os.path.lexists(path):
        moved = f"{workspace.minutes}/{os.path.basename(path)}"
        return moved if os.path.lexists(moved) else path
    if path and "/" not in path:
        return f"{workspace.minutes}/{path}"
    return os.path.join(workspace.root, path) if path else ""


def decoded(data: bytes) -> str:
    """Return the text of a file that a person may have saved in any encoding."""
    return data.decode("utf-8", "replace")


_README = """This folder belongs to the command `council`.

It keeps, for each conversation beside it, a lock, the journal of all changes
(with every version of the file), and edits that could not be merged. Do not edit
anything here. When it is removed, open conversations go on from their files
alone; only their history is lost.
"""


def pointer_of(workspace: Workspace, name: str) -> str:
    """Return the id that an open name stands for, "" when nothing says."""
    pointer = files.read_stable(f"{workspace.open_names}/{name}")
    text = "" if pointer is None else pointer.data.decode("utf-8", "replace").strip()
    return text if is_name(text.lower()) else ""


def claim(workspace: Workspace, name: str, conversation_id: str) -> bool:
    """Let a name stand for a conversation, durably; False when it stands for one already."""
    files.make_folder(workspace.open_names)
    return files.write_new(
        f"{workspace.open_names}/{name}", conversation_id.encode("ascii") + b"\n"
    )


def id_in_file(workspace: Workspace, name: str, now: datetime | None) -> str:
    """Return the id of a live file that nothing points to, "" when there is no file.

    Raises:
        InvalidStateError: The file holds no conversation.
    """
    reading = files.read_stable(workspace.conversation_file(name))
    if reading is None:
        return ""
    from council.store.statefile import statefile  # only where nothing points to the file

    text = reading.data.decode("utf-8", "replace")
    said = (statefile.outline(text).record or {}).get("conversationId")
    if isinstance(said, str) and is_name(said.lower()):
        return said
    from council.store.statefile import handwritten  # for a file that no command has seen yet

    return handwritten.import_page(text, name, now)[0].conversation_id


def open_names(workspace: Workspace) -> list[str]:
    """Return the names of the open conversations, sorted."""
    live = map(workspace.conversation_name, files.names_in(os.path.dirname(workspace.control)))
    names = {*live, *files.names_in(workspace.open_names)}
    return sorted(one for one in names if is_conversation_name(one) and is_open(workspace, one))


def is_open(workspace: Workspace, name: str) -> bool:
    """Return true if a name stands for an open conversation, one that cannot be read included."""
    return not standing_of(workspace, name)[1]


def standing_of(workspace: Workspace, name: str) -> tuple[str, bool]:
    """Return the id behind a name, "" when nothing can say, and whether it has ended.

    It has ended when it is archived and only not cleared away yet, or when no
    file is there any more.
    """
    try:
        conversation_id = pointer_of(workspace, name) or id_in_file(workspace, name, None)
        if not conversation_id:
            return "", True  # its file went between two reads
        tail = journal.read_tail(Places(workspace, name, conversation_id).journal)
        return conversation_id, is_closed(tail)
    except CouncilError:
        return "", False  # a command that works on it says what is wrong


def prepare_control(workspace: Workspace, *, any_disk: bool = True) -> None:
    """Make the folder `.council`, with a word for strangers in it, and keep it out of git.

    Raises:
        RefusedError: It lies on a network file system, and not `any_disk` will do.
    """
    files.make_folder(workspace.control)
    path = f"{workspace.control}/README"
    if not os.path.lexists(path) or not os.path.lexists(f"{workspace.control}/.gitignore"):
        from council.store.gitignore import lay  # once in the life of a workspace

        files.write_new(path, _README.encode("ascii"))
        lay(workspace)
    if not any_disk:
        from council.store.sharing import refuse_network

        refuse_network(workspace.control)
