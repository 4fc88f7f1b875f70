"""Forgetting one channel for good: its document, what was said in it, its history, its minutes.

What the moderator told of it in other rooms, and the summary that somebody
wrote of a discussion, are others' files: they are only named.

Source: XC-018, DG-123, DG-124, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import shutil

from council.core.errors import NotFoundError
from council.core.ids import is_name
from council.core.reporting.trace_context import trace_of
from council.store import files, forgetting
from council.store.conversations.minutes import read_minutes_head
from council.store.conversations.purging import Purged, contains, refuse_running, remove
from council.store.forgetting import CHANNEL
from council.store.lock import Lock
from council.store.rooms.channel_places import ChannelPlaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from council.store.paths import Workspace


def is_there(workspace: Workspace, wanted: str) -> bool:
    """Tell whether anything is left of a channel."""
    if not is_name(wanted):
        return False
    places = ChannelPlaces(workspace, wanted)
    own = (places.live, places.messages, places.folder)
    note = forgetting.note_path(workspace, CHANNEL, wanted)
    return any(map(os.path.lexists, (*own, note))) or any(_minutes(workspace, wanted))


def find(workspace: Workspace, path: str) -> str:
    """Return the channel that a file means, its document or its minutes; "" for none."""
    if os.path.dirname(os.path.abspath(path)) == workspace.channels:
        wanted = os.path.basename(path).partition(".")[0]
        return wanted if is_there(workspace, wanted) else ""
    return str(_head(path).get("channel", "")) if os.path.isfile(path) else ""


def purge(workspace: Workspace, channel_id: str, max_runs: int) -> Purged:
    """Take away everything that is kept of a channel. Repeatable, wherever it was cut off.

    Raises:
        NotFoundError: There is nothing of it.
        ConflictError: A run for it is under way.
        LockTimeoutError: Somebody works on it for too long.
        CouncilError: The system refuses; repeated, it goes on.
    """
    if not is_there(workspace, channel_id):
        raise NotFoundError(f"no channel {channel_id!r}", "see: council channel list")
    matter = forgetting.matter((channel_id,), (trace_of(channel_id),))
    refuse_running(workspace, matter, max_runs)
    places = ChannelPlaces(workspace, channel_id)
    doom = forgetting.read_note(workspace, CHANNEL, channel_id)
    done = Purged(conversation_id=channel_id, begun=doom is not None)
    minutes = list(_minutes(workspace, channel_id))
    told = {str(_head(path).get("summary", "")) for path in minutes}
    with files.explaining("purge", places.live):
        if doom is None:
            history = [
                f"{within}/{name}" for within, _, all_ in os.walk(places.folder) for name in all_
            ]
            sources = [places.live, places.messages, *minutes, *history]
            doom = forgetting.write_note(workspace, CHANNEL, channel_id, matter, sources)
        _close_doors(places, done)
        for path in minutes:
            remove(path, done.minutes, done)
        forgetting.sweep(workspace, doom, done)
        with Lock(places.lock):  # nobody who makes the channel anew is half through it
            if not os.path.lexists(places.journal):
                shutil.rmtree(places.folder)
        forgetting.end_note(workspace, CHANNEL, channel_id)
    done.left = sorted({*_summaries(workspace, told), *_told_elsewhere(workspace, channel_id)})
    return done


def _close_doors(places: ChannelPlaces, done: Purged) -> None:
    """Take away the document, the log and the history: nobody opens it any more."""
    files.make_folder(places.folder)
    with Lock(places.lock):
        for path in (places.live, places.messages, places.signal):
            if os.path.lexists(path):
                remove(path, done.files, done)
        if os.path.isdir(places.public):
            files.sync_folder(places.public)
        for path in files.paths_in(places.folder):
            if path == places.lock:
                continue
            for within, _, names in os.walk(path):
                done.history += len(names)
                done.size_bytes += sum(os.lstat(f"{within}/{name}").st_size for name in names)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                done.history += 1
                os.unlink(path)
        # Whoever waits for it sees that the lock has gone, and that the channel has.
        os.unlink(places.lock)


def _minutes(workspace: Workspace, channel_id: str) -> Iterator[str]:
    for path in files.paths_in(workspace.minutes):
        if path.endswith(".md") and _head(path).get("channel") == channel_id:
            yield path


def _head(path: str) -> dict[str, Any]:
    return read_minutes_head(files.content_of(path))


def _summaries(workspace: Workspace, told: set[str]) -> Iterator[str]:
    for one in filter(None, told):
        path = os.path.join(workspace.root, one)
        if os.path.isfile(path):
            yield path


def _told_elsewhere(workspace: Workspace, channel_id: str) -> Iterator[str]:
    for path in files.paths_in(workspace.channels):
        if path.endswith(".jsonl") and contains(path, (f'"summary {channel_id}"'.encode(),)):
            yield path
