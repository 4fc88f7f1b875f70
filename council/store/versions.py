"""Which schema version each file of a workspace has, and the steps from one to the next.

Journals have come to version 2. Of all else version 1 is the first: a file of
an older version can only have been made by something else, and is named, not
guessed at.

Source: XC-013, `trust.md` (over time).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from council.core import events
from council.core.conversations import conversation
from council.core.errors import CouncilError
from council.core.record import Record
from council.store import files, settings
from council.store.conversations.minutes import minutes_head
from council.store.documents import journal, lines, version_one
from council.store.events import days
from council.store.lock import Lock
from council.store.paths import Workspace
from council.store.settings_reading import read_settings_file
from council.store.statefile import statefile

KNOWN = {
    "conversation": conversation.SCHEMA_VERSION,
    "settings": settings.SCHEMA_VERSION,
    "events": events.SCHEMA_VERSION,
    "minutes": conversation.SCHEMA_VERSION,
    "journal": lines.VERSION,
}


def _bring_over(path: str) -> None:
    """Write a journal of version 1 as one of version 2, under the lock of its document."""
    folder = os.path.dirname(path)
    with Lock(f"{folder}/lock"):
        if version_one.files_of(folder):  # else a command that wrote has done so meanwhile
            version_one.bring_over(folder, f"{folder}/{journal.FILE}")


# By kind and version: what makes a file of that version one of the next. Repeatable.
STEPS: dict[str, dict[int, Callable[[str], None]]] = {
    **{kind: {} for kind in KNOWN},
    "journal": {1: _bring_over},
}


class Dated(Record):
    """A file and the version it has; None when it says none that can be understood.

    `fault` says why a file cannot be read, "" when it can. `size_bytes` is how much room it
    takes with what belongs to it, `after_bytes` how much it will, where there is a step.
    """

    path: str
    kind: str
    version: int | None
    fault: str = ""
    size_bytes: int = 0
    after_bytes: int = 0

    @property
    def standing(self) -> str:
        """How it stands to what we know: current, newer, older, unmarked or unreadable."""
        if self.fault:
            return "unreadable"
        if self.version is None:
            return "unmarked"
        known = KNOWN[self.kind]
        if self.version == known:
            return "current"
        return "newer" if self.version > known else "older"

    @property
    def missing_step(self) -> int | None:
        """The first version on the way to ours from which there is no step; None for none."""
        if self.version is None:
            return None
        way = range(self.version, KNOWN[self.kind])
        return next((one for one in way if one not in STEPS[self.kind]), None)


def dated_files(workspace: Workspace) -> Iterator[Dated]:
    """Yield every file that has a version: settings, conversations, journals, events, minutes."""
    if os.path.lexists(workspace.settings):
        yield _dated(workspace.settings, "settings", _of_settings)
    folder = os.path.dirname(workspace.control)
    for name in files.names_in(folder):
        if workspace.conversation_name(name):
            yield _dated(f"{folder}/{name}", "conversation", _of_conversation)
    for above in (workspace.control, f"{workspace.control}/channels"):
        for name in files.names_in(above):
            yield from _journals(f"{above}/{name}")
    for day in days(workspace):
        yield _dated(f"{workspace.events}/{day}", "events", _of_events)
    for name in files.names_in(workspace.minutes):
        path = f"{workspace.minutes}/{name}"
        if name.endswith(".md") and os.path.isfile(path):
            head = minutes_head(path)
            if head.get("conversation"):
                yield Dated(path=path, kind="minutes", version=_number(head.get("schemaVersion")))


def _dated(path: str, kind: str, version_of: Callable[[str], int | None]) -> Dated:
    try:
        return Dated(path=path, kind=kind, version=version_of(path))
    except CouncilError as error:
        return Dated(path=path, kind=kind, version=None, fault=error.message)


def _journals(folder: str) -> Iterator[Dated]:
    """Yield the journal in a folder; one of version 1 also where only its removal is left to do."""
    path = f"{folder}/{journal.FILE}"
    try:
        old = version_one.files_of(folder)
        if old:
            before = sum(os.lstat(one).st_size for one in old)
            after = 0 if os.path.lexists(path) else len(version_one.content(folder))
            yield Dated(
                path=old[0], kind="journal", version=1, size_bytes=before, after_bytes=after
            )
        elif os.path.lexists(path):
            size = os.lstat(path).st_size
            yield Dated(path=path, kind="journal", version=lines.VERSION, size_bytes=size)
    except (CouncilError, OSError) as error:
        yield Dated(path=path, kind="journal", version=None, fault=str(error))


def _of_settings(path: str) -> int | None:
    document = read_settings_file(os.path.dirname(path)) or {}
    return _number(document.get("schemaVersion", settings.SCHEMA_VERSION))


def _of_conversation(path: str) -> int | None:
    reading = files.read_stable(path)
    text = "" if reading is None else reading.data.decode("utf-8", "replace")
    return _number((statefile.outline(text).record or {}).get("schemaVersion"))


def _of_events(path: str) -> int | None:
    """Return the version of a day's events: the newest if one is newer, else the oldest."""
    reading = files.read_stable(path)
    lines_in = [] if reading is None else reading.data.split(b"\n")
    said = (_number((files.json_object(one) or {}).get("schemaVersion")) for one in lines_in)
    found = {number for number in said if number is not None}
    if not found:
        return None
    return max(found) if max(found) > events.SCHEMA_VERSION else min(found)


def _number(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
