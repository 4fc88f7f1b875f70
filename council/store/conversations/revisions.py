"""The history of a conversation, as its journal and its snapshots tell it.

Source: C0-078, `cli.md` section 2 (history, diff, restore).
"""

from __future__ import annotations

import os

from council.core.errors import NotFoundError
from council.core.record import Record
from council.store import files
from council.store.conversations import journal, naming, snapshots
from council.store.conversations.places import Places, decoded, foreign_folder
from council.store.paths import DEFAULT_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.store.paths import Workspace


class Revision(Record):
    """One line of the history of a conversation."""

    rev: int
    at: str
    actor: str
    op_id: str
    phase: str
    tour: int
    digest: str
    outcome: str
    events: list[dict[str, Any]]

    def to_record(self) -> dict[str, Any]:
        """Return the revision as the JSON object of `history --json`."""
        return {
            "rev": self.rev,
            "at": self.at,
            "actor": self.actor,
            "phase": self.phase,
            "tour": self.tour,
            "outcome": self.outcome or None,
            "digest": self.digest,
            "events": self.events,
        }


def history(workspace: Workspace, name: str) -> list[Revision]:
    """Return the revisions of an open conversation by its name, or of any by its id.

    Raises:
        NotFoundError: There is none.
    """
    places = _places(workspace, name)
    with files.explaining("read", places.journal):
        records = list(journal.records(places.journal))
    found: dict[int, Revision] = {}
    for record in records:
        if record["rev"] not in found:  # archiving adds lines that make no revision
            found[record["rev"]] = Revision(
                rev=record["rev"],
                at=record["at"],
                actor=record["actor"],
                op_id=record["opId"],
                phase=record["phase"],
                tour=record["tour"],
                digest=record["digest"],
                outcome=record["result"].get("outcome", ""),
                events=record["events"],
            )
    return list(found.values())


def text_at(workspace: Workspace, name: str, rev: int) -> str:
    """Return the text of one revision.

    Raises:
        NotFoundError: There is no such revision, or archiving pruned it.
        InvalidStateError: Its snapshot is damaged.
    """
    places = _places(workspace, name)
    for revision in history(workspace, name):
        if revision.rev == rev:
            with files.explaining("read", places.history):
                return decoded(snapshots.get(places.history, revision.digest))
    raise NotFoundError(f"{name} has no revision {rev}", f"see: council history --name {name}")


def foreign_text_at(workspace: Workspace, name: str, rev: int) -> str:
    """Return the file as somebody else saved it, which revision `rev` took in.

    Raises:
        NotFoundError: That revision took nothing in, or archiving pruned it.
    """
    places = _places(workspace, name)
    with files.explaining("read", places.journal):
        for record in journal.records(places.journal):
            if record["rev"] == rev and record["seen"] not in ("", record["parent"]):
                folder = foreign_folder(places, record["seen"])
                return decoded(snapshots.get(folder, record["seen"]))
    raise NotFoundError(f"revision {rev} of {name} took in no other text")


def _places(workspace: Workspace, name: str) -> Places:
    with files.explaining("read", workspace.open_names):
        conversation_id = naming.pointer_of(workspace, name)
    if conversation_id:
        places = Places(workspace, name, conversation_id)
    else:
        places = Places(workspace, DEFAULT_NAME, name)
    if not os.path.lexists(places.journal):
        raise NotFoundError(f"{name} has no history", "see: council list --archived")
    return places
