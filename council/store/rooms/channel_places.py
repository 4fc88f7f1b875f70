"""The files of one channel.

Source: `store.md` section 1, `cli.md` section 4, A-20.
"""

from __future__ import annotations

import os

from council.core.errors import NotFoundError
from council.core.ids import checked_name, is_name
from council.store import files
from council.store.documents.journal import FILE
from council.store.paths import Workspace, resolve_inside

SUFFIX = ".md"
_PARTS = ("displaced", "conflicts")


class ChannelPlaces:
    """The files of one channel.

    Raises:
        InvalidInputError: The id is no legal name.
    """

    def __init__(self, workspace: Workspace, channel_id: str) -> None:
        checked_name(channel_id, "channel id")
        self.strict = workspace.strict
        self.public = workspace.channels
        self.live = resolve_inside(self.public, channel_id + SUFFIX)
        self.messages = resolve_inside(self.public, f"{channel_id}.jsonl")
        self.signal = resolve_inside(self.public, f"{channel_id}.signal")
        self.folder = resolve_inside(workspace.control, f"channels/{channel_id}")
        self.lock = f"{self.folder}/lock"
        self.journal = f"{self.folder}/{FILE}"
        self.counted = f"{self.folder}/counted"
        self.displaced = f"{self.folder}/displaced"
        self.conflicts = f"{self.folder}/conflicts"

    def make(self) -> None:
        """Make the folders that are missing."""
        for path in (self.public, *(f"{self.folder}/{part}" for part in _PARTS)):
            if not os.path.isdir(path):
                files.make_folder(path)


def channel_ids(workspace: Workspace) -> list[str]:
    """Return the ids of all channels that have a state document, sorted."""
    names = files.names_in(workspace.channels)
    ids = (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))
    return sorted(one for one in ids if is_name(one))


def unknown_channel(channel_id: str) -> NotFoundError:
    """Return the error of who names a channel that there is not."""
    return NotFoundError(
        f"no channel {channel_id!r}", "see: council channel list; council channel create"
    )
