"""The history of a conversation, as its journal tells it.

Source: C0-078, `cli.md` section 2 (history, diff, restore).
"""

from __future__ import annotations

from council.core.errors import NotFoundError
from council.core.record import Record
from council.store import files
from council.store.conversations import naming
from council.store.conversations.places import Places, decoded
from council.store.documents import journal, lines
from council.store.paths import DEFAULT_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.store.paths import Workspace


class Revision(Record):
    """One line of the history of a conversation: `seq` counts the lines of the journal.

    `hole` says why the text of the revision is not there any more, "" where it is.
    """

    _keys = "op_id:- outcome? hole?"

    seq: int
    rev: int
    at: str
    actor: str
    op_id: str
    phase: str
    tour: int
    outcome: str
    digest: str
    hole: str = ""
    events: list[dict[str, Any]]


def history(workspace: Workspace, name: str) -> list[Revision]:
    """Return the revisions of an open conversation by its name, or of any by its id.

    Raises:
        NotFoundError: There is none.
    """
    places = _places(workspace, name)
    with files.explaining("read", places.journal):
        found_lines = list(journal.read(places.journal))
    found: dict[int, Revision] = {}
    for line in found_lines:
        record = line.head
        if record["rev"] not in found:  # archiving adds lines that make no revision
            found[record["rev"]] = Revision(
                seq=record["seq"],
                rev=record["rev"],
                at=record["at"],
                actor=record["by"],
                op_id=record["op"],
                phase=record["phase"],
                tour=record["tour"],
                digest=record["digest"],
                outcome=record["result"].get("outcome", ""),
                events=record["events"],
            )
        found[record["rev"]].hole = str(line.change["hole"]) if lines.is_bare(line.body) else ""
    return list(found.values())


def text_at(workspace: Workspace, name: str, rev: int) -> str:
    """Return the text of one revision.

    Raises:
        NotFoundError: There is no such revision, or archiving took its text out.
        InvalidStateError: The journal is damaged.
    """
    past = journal.Past(_places(workspace, name).journal)
    for at in range(len(past.lines) - 1, -1, -1):
        if past.lines[at].head["rev"] == rev:
            return decoded(past.text_at(at))
    raise NotFoundError(f"{name} has no revision {rev}", f"see: council history --name {name}")


def foreign_text_at(workspace: Workspace, name: str, rev: int) -> str:
    """Return the file as somebody else saved it, which revision `rev` took in.

    Raises:
        NotFoundError: That revision took nothing in, or archiving took it out.
    """
    from council.store.statefile.merging import saved_text

    places = _places(workspace, name)
    past = journal.Past(places.journal)
    for line in past.lines:
        if line.head["rev"] == rev and line.head.get("seen"):
            text = saved_text(places, past, line.head["seen"])
            if text is not None:
                return decoded(text)
    raise NotFoundError(f"revision {rev} of {name} took in no other text")


def _places(workspace: Workspace, name: str) -> Places:
    with files.explaining("read", workspace.open_names):
        conversation_id = naming.pointer_of(workspace, name)
    if conversation_id:
        places = Places(workspace, name, conversation_id)
    else:
        places = Places(workspace, DEFAULT_NAME, name)
    with files.explaining("read", places.journal):
        is_kept = journal.read_tail(places.journal) is not None
    if not is_kept:
        raise NotFoundError(f"{name} has no history", "see: council list --archived")
    return places
