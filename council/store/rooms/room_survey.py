"""One look at all channels of a workspace, without opening any.

As `survey` does for conversations: a channel of which a heartbeat has noted
that nothing is due before some instant is not opened as long as its document,
its journal and its message log look as they did then.

Source: XC-007, A-20, `architecture.md` section 4.
"""

from __future__ import annotations

from council.store.conversations.survey import Survey, listed
from council.store.rooms.channel_places import SUFFIX, channels_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class RoomSurvey(Survey):
    """What need not be opened of the channels; the id of a channel is its name."""

    def _file_parts(self) -> tuple[str, str] | None:
        return "", SUFFIX

    @property
    def _note_file(self) -> str:
        return self._workspace.room_deadlines

    def _others(self) -> set[str]:
        documents = listed(channels_folder(self._workspace))
        documents.difference_update([name + SUFFIX for name, _, _ in self.idle])
        return {one.removesuffix(SUFFIX) for one in documents if one.endswith(SUFFIX)}

    def _look_at(self, names: Sequence[str], ids: Sequence[str]) -> tuple[bytes, list[int]]:  # noqa: ARG002
        from council.store.looks import look_at_rooms

        return look_at_rooms(self._workspace.control, channels_folder(self._workspace), names)
