"""Forgetting one channel for good: its document, what was said in it, its history, its minutes.

What the moderator said of it in other rooms, and the summary that somebody
wrote of a discussion, are others' files: they are only named.

Source: XC-018, DG-123, DG-124, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from council.core.errors import NotFoundError
from council.core.events import trace_of
from council.core.ids import is_name
from council.core.record import Any
from council.store import files
from council.store.conversations.minutes import read_minutes_head
from council.store.lock import Lock
from council.store.paths import Workspace
from council.store.purging.erasing import Scope
from council.store.purging.subjects import Subject, contains, files_below, note_path, remove
from council.store.rooms.channel_places import ChannelPlaces


class Channel(Subject):
    """A channel, by its id."""

    kind = "channel"
    hint = "see: council channel list"

    def __init__(self, workspace: Workspace, name: str) -> None:
        super().__init__(workspace, name)
        self._places = ChannelPlaces(workspace, name)
        self._minutes = list(_minutes(workspace, name))
        self._told = {str(_head(path).get("summary", "")) for path in self._minutes}

    def _place(self) -> str:
        """Return its document."""
        return self._places.live

    def _found(self) -> Scope:
        """Return its id and its trace.

        Raises:
            NotFoundError: There is nothing of it.
        """
        if not is_there(self.workspace, self.name):
            raise NotFoundError(f"no channel {self.name!r}", self.hint)
        return Scope(owners=(self.name,), traces=(trace_of(self.name),))

    def _sources(self) -> list[str]:
        """Return its document, its log, its minutes and its history."""
        history = files_below(self._places.folder)
        return [self._places.live, self._places.messages, *self._minutes, *history]

    def _shared(self) -> list[str]:
        """Return its journal, its log and its minutes."""
        return [self._places.journal, self._places.messages, *self._minutes]

    def _locks(self) -> list[str]:
        """Return its lock."""
        return [self._places.lock]

    def _take_away(self) -> None:
        """Take away the document, the log and the history, then the minutes."""
        places = self._places
        files.make_folder(places.folder)
        with Lock(places.lock):
            for path in (places.live, places.messages, places.signal):
                if os.path.lexists(path):
                    remove(path, self.done.files, self.done)
            if os.path.isdir(places.public):
                files.sync_folder(places.public)
            for path in files.paths_in(places.folder):
                if path == places.lock:
                    continue
                self.done.count_history(path)
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                else:
                    self.done.history += 1
                    os.unlink(path)
            # A process that waits for it sees that the lock has gone, and that the channel has.
            os.unlink(places.lock)
        for path in self._minutes:
            remove(path, self.done.minutes, self.done)

    def _close(self) -> None:
        """Take away its folder, unless a process has made the channel anew."""
        with Lock(self._places.lock):  # no process that makes it anew is half through it
            if not os.path.lexists(self._places.journal):
                shutil.rmtree(self._places.folder)

    def _mentions(self) -> Iterator[str]:
        """Yield the summaries of it, and the rooms in which it was mentioned."""
        for one in filter(None, self._told):
            path = os.path.join(self.workspace.root, one)
            if os.path.isfile(path):
                yield path
        for path in files.paths_in(self.workspace.channels):
            if path.endswith(".jsonl") and contains(path, (f'"summary {self.name}"'.encode(),)):
                yield path


def is_there(workspace: Workspace, wanted: str) -> bool:
    """Return true if anything is left of a channel."""
    if not is_name(wanted):
        return False
    places = ChannelPlaces(workspace, wanted)
    note = note_path(workspace, Channel.kind, wanted)
    own = (places.live, places.messages, places.folder, note)
    return any(map(os.path.lexists, own)) or any(_minutes(workspace, wanted))


def find(workspace: Workspace, path: str) -> str:
    """Return the channel that a file means, its document or its minutes; "" for none."""
    if os.path.dirname(os.path.abspath(path)) == workspace.channels:
        wanted = os.path.basename(path).partition(".")[0]
        return wanted if is_there(workspace, wanted) else ""
    return str(_head(path).get("channel", "")) if os.path.isfile(path) else ""


def _minutes(workspace: Workspace, channel_id: str) -> Iterator[str]:
    for path in files.paths_in(workspace.minutes):
        if path.endswith(".md") and _head(path).get("channel") == channel_id:
            yield path


def _head(path: str) -> dict[str, Any]:
    return read_minutes_head(files.content_of(path))
