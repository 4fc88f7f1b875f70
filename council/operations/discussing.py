"""Discussions: opened with a guide, reminded of when they fall idle, completed with a summary.

Source: DG-111 to DG-124, A-26.
"""

from __future__ import annotations

from council.core import discussions
from council.core.channels import Channel, ChannelStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.operations.place import Place


def remind(place: Place, channel: Channel, now: datetime) -> ChannelStep:
    """Leave the initiator of an idle discussion a word in its tasks (DG-119)."""
    from council.store import files

    about = channel.discussion
    assert about is not None
    folder = place.paths.tasks(about.initiator)
    text = (
        f"{discussions.REMINDER}\n\nDiscussion: {channel.name} ({channel.channel_id})\n\n"
        f"    council discussion complete {channel.channel_id} --as {about.initiator} "
        f"--summary memory/shared/discussion-summary/{channel.channel_id}.md\n"
    )
    files.make_folder(folder)
    files.replace(f"{folder}/{channel.channel_id}.{channel.cycle}.idle.md", text.encode())
    return discussions.reminded(channel, now)
