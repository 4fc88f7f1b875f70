"""The files of minutes in the order of their ends, the newest first.

What orders them is the instant at which the conversation ended. It is in the data file beside
the minutes, or in the state at the end of older ones. Where both are missing (a copy of the page
alone) the page itself says it to the minute. Other Markdown files with front matter have their
date, or the time of the file; `ended_by` says which it was.

A list reads the beginning of each file and no more, so ten thousand minutes stay bearable. The
rest is read for those that are shown.

Source: FW-010, C0-030, HR-027.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

from council.core.errors import (
    CouncilError,
    InvalidStateError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from council.core.record import Record
from council.core.times import parse_instant
from council.store import files
from council.store.conversations import minutes
from council.store.paths import DEFAULT_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Conversation
    from council.store.paths import Workspace

_DATE_CHARS = len("2026-02-08-")
RECORD, PAGE, DATE, FILE = "record", "page", "date", "file"

_DATA_HEAD_BYTES = 16 * 1024
_FIELD = re.compile(
    rb'^ ?"(conversationId|name|id|finishedAt)": ?"((?:[^"\\]|\\.)*)"', re.MULTILINE
)
_SPAN = re.compile(rb"^- \*\*(?:Duration|Dur\xc3\xa9e)\*\*.* (\d{4}-\d\d-\d\d) (\d\d:\d\d)Z", re.M)
_STATE = b"<!--council-state"


class Filed(Record):
    """A file of minutes at a glance.

    `name` is what the conversation was called while it was open, `session` the other id of a
    deliberation, "" where nothing says. `ended_by` is `record`, `page` (to the minute), `date`
    (the day alone) or `file` (the time of the file).
    """

    path: str
    title: str
    name: str
    conversation: str
    session: str
    ended_at: datetime
    ended_by: str

    @property
    def called(self) -> tuple[str, ...]:
        """What it may be called: its file name, with and without the day, its name and its ids."""
        return (self.stem, self.stem[_DATE_CHARS:], self.name, self.conversation, self.session)

    @property
    def stem(self) -> str:
        """The name of the file without its ending."""
        return os.path.basename(self.path).removesuffix(minutes.SUFFIX)


def newest_first(workspace: Workspace) -> list[Filed]:
    """Return all files with front matter in the folder of the minutes.

    Those that ended at the same instant are in the order of their names, the last one first.

    Raises:
        CouncilError: The folder cannot be read.
    """
    found = [one for path in minutes.minutes_files(workspace) if (one := filed(path))]
    return sorted(found, key=lambda one: (one.ended_at, one.path), reverse=True)


def filed(path: str) -> Filed | None:
    """Return what a file of minutes is at a glance, None where it has no front matter."""
    try:
        with files.closing(files.open_regular(path)) as descriptor:
            start = os.read(descriptor, minutes.HEAD_BYTES)
    except (OSError, CouncilError):
        return None
    front = minutes.plain_head(start)
    if not front:
        return None
    told = _data_facts(path, front)
    conversation = str(front.get("conversation", ""))
    if told.get("conversationId", conversation) != conversation:
        told = {}
    ended_at, ended_by = _end_of(path, start, str(front.get("date", "")), told)
    return Filed(
        path=path,
        title=str(front.get("title", "")).replace("''", "'"),
        name=told.get("name", "") or str(front.get("name", "")),
        conversation=conversation,
        session=told.get("id", "") or str(front.get("id", "")),
        ended_at=ended_at,
        ended_by=ended_by,
    )


def _data_facts(path: str, front: dict[str, str]) -> dict[str, str]:
    """Return what the record of a conversation says of it, `{}` where there is none.

    The data file beside the minutes, or the state at the end of older minutes.
    """
    name = front.get("data")
    beside = minutes.data_path(path)
    if name and os.path.basename(name) == name:
        beside = os.path.join(os.path.dirname(path), name)
    found = _fields(_beginning(beside))
    if "finishedAt" not in found and "conversation" in front:
        whole = minutes.read_data(files.content_of(beside).decode("utf-8", "replace"))
        found = {key: one for key, one in whole.items() if isinstance(one, str)}
    if "finishedAt" not in found and "conversation" in front:
        found = _fields(files.content_of(path).rpartition(_STATE)[2])
    return found


def _fields(text: bytes) -> dict[str, str]:
    fields: dict[str, str] = {}
    for key, value in _FIELD.findall(text):
        fields.setdefault(key.decode(), value.decode("utf-8", "replace"))
    return fields


def _beginning(path: str) -> bytes:
    try:
        with files.closing(files.open_regular(path)) as descriptor:
            return os.read(descriptor, _DATA_HEAD_BYTES)
    except (OSError, CouncilError):
        return b""


def _end_of(path: str, start: bytes, date: str, told: dict[str, str]) -> tuple[datetime, str]:
    """Return when the conversation of a file ended, and what says so."""
    if (at := _instant(told.get("finishedAt", ""))) is not None:
        return at, RECORD
    spans = _SPAN.findall(start) or (_SPAN.findall(files.content_of(path)) if date else [])
    if spans and (at := _instant("{}T{}:00Z".format(*(one.decode() for one in spans[-1])))):
        return at, PAGE
    try:
        changed = datetime.fromtimestamp(os.stat(path).st_mtime, UTC).replace(microsecond=0)
    except (OSError, OverflowError, ValueError):
        changed = datetime.fromtimestamp(0, UTC)
    at = _instant(date)
    if at is None or at.date() == changed.date():
        return changed, FILE
    return at, RECORD if "T" in date else DATE


def _instant(text: str) -> datetime | None:
    try:
        return parse_instant(text)
    except UsageError:
        return None


def find_minutes(workspace: Workspace, wanted: str) -> str:
    """Return the path of the minutes that a name, a slug, a file name, a path or an id means.

    Of several the newest; `active`, or nothing, means the newest of all.

    Raises:
        NotFoundError: There are none.
        RefusedError: A path leads out of the folder of the minutes.
    """
    if "/" in wanted or wanted.endswith(minutes.SUFFIX):
        return _at_path(workspace, wanted)
    for one in newest_first(workspace):
        if one.conversation if wanted in ("", DEFAULT_NAME) else wanted in one.called:
            return one.path
    called = f" called {wanted!r}" if wanted else ""
    raise NotFoundError(
        f"there are no minutes{called} in {workspace.minutes}", "see: council list --archived"
    )


def _at_path(workspace: Workspace, wanted: str) -> str:
    folder = os.path.realpath(workspace.minutes)
    bases = (os.getcwd(), workspace.root, workspace.minutes)
    endings = ("",) if wanted.endswith(minutes.SUFFIX) else ("", minutes.SUFFIX)
    places = [
        os.path.join(base, os.path.expanduser(wanted)) + ending
        for ending in endings
        for base in bases
    ]
    path = next((one for one in places if os.path.lexists(one)), "")
    if not path:
        raise NotFoundError(f"no such file: {wanted}", "see: council list --archived")
    if os.path.dirname(os.path.realpath(path)) != folder:
        raise RefusedError(
            f"{wanted} does not lie in {workspace.minutes}", "name minutes of this workspace"
        )
    return os.path.realpath(path)


def archived_conversation(workspace: Workspace, wanted: str) -> tuple[Conversation, str]:
    """Return a conversation as its minutes keep it, and their path.

    Raises:
        NotFoundError: There are no such minutes.
        InvalidStateError: What they keep of it cannot be read.
    """
    path = find_minutes(workspace, wanted)
    try:
        return minutes.archived_at(path), path
    except InvalidStateError as error:
        raise InvalidStateError(f"{path}: {error.message}", error.hint) from None
