"""The files that belong to one conversation, and what its journal says of it.

Source: `store.md` section 1.
"""

from __future__ import annotations

import os

from council.store import files
from council.store.conversations import snapshots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.conversations.journal import Tail
    from council.store.paths import Workspace
    from council.store.rooms.channel_places import ChannelPlaces

_PARTS = {"obj": 0o777, "displaced": 0o777, "conflicts": 0o777, "sealed": 0o700}


class Places:
    """The files of one conversation."""

    def __init__(self, workspace: Workspace, name: str, conversation_id: str) -> None:
        self.strict = workspace.strict
        self.live = workspace.conversation_file(name)
        self.folder = workspace.conversation_folder(conversation_id)
        self.lock = f"{self.folder}/lock"
        self.journal = f"{self.folder}/journal.jsonl"
        self.history = f"{self.folder}/obj"
        self.displaced = f"{self.folder}/displaced"
        self.conflicts = f"{self.folder}/conflicts"
        self.sealed = f"{self.folder}/sealed"
        self.prompts = f"{self.folder}/prompts"

    def make(self) -> None:
        """Make the folders that are missing."""
        for part, mode in _PARTS.items():
            path = f"{self.folder}/{part}"
            if not os.path.isdir(path):
                files.make_folder(path, mode)


def foreign_folder(places: Places, digest: str) -> str:
    """Return the folder of the text that somebody saved, if it is kept, by its digest.

    One that held an answer of a blind phase lies beside the sealed texts.
    """
    found = snapshots.has(places.sealed, digest)
    return places.sealed if found else places.history


def is_closed(tail: Tail | None) -> bool:
    """Tell whether a conversation is archived, by the last line of its journal."""
    return tail is not None and bool(tail.record.get("closing", {}).get("done"))


def snapshot_of(places: Places | ChannelPlaces, tail: Tail) -> bytes:
    """Return the text of the last revision."""
    return snapshots.get(places.history, tail.record["digest"])


def decoded(data: bytes) -> str:
    """Return the text of a file that a person may have saved in any encoding."""
    return data.decode("utf-8", "replace")


def is_lost_revision(places: Places, tail: Tail, data: bytes) -> bool:
    """Tell whether a text is a revision of ours whose line the journal has lost."""
    digest = snapshots.digest_of(data)
    if not snapshots.is_kept(places.history, digest, data):
        return False
    from council.store.statefile import statefile  # only a journal that lost its end needs it

    record = statefile.parse(decoded(data)).record or {}
    rev, last = record.get("rev"), tail.record["rev"]
    return isinstance(rev, int) and rev > last
