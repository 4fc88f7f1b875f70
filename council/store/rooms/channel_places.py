"""The files of one channel.

Source: `store.md` section 1, `cli.md` section 4, A-20.
"""

from __future__ import annotations

from council.core.errors import NotFoundError
from council.core.ids import checked_name, is_name
from council.store import files
from council.store.conversations.naming import DocumentPlaces
from council.store.paths import Workspace, resolve_inside

SUFFIX = ".md"


class ChannelPlaces(DocumentPlaces):
    """The files of one channel.

    Raises:
        InvalidInputError: The id is no legal name.
    """

    def __init__(self, workspace: Workspace, channel_id: str) -> None:
        checked_name(channel_id, "channel id")
        self.public = workspace.channels
        live = resolve_inside(self.public, channel_id + SUFFIX)
        super().__init__(live, resolve_inside(workspace.control, f"channels/{channel_id}"))
        self.messages = resolve_inside(self.public, f"{channel_id}.jsonl")
        self.signal = resolve_inside(self.public, f"{channel_id}.signal")
        self.counted = f"{self.folder}/counted"
        self._made = {self.public: 0o777, **self._made}


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
