"""The folder of the minutes: which files there are minutes, and which one is meant.

People keep other files there, rename minutes and edit them. What is no
minutes is passed over; nothing outside the folder is ever opened.

Source: C0-030, DL-104, XC-009, `cli.md` sections 2 and 4.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, InvalidStateError, NotFoundError, RefusedError
from council.store import files
from council.store.minutes.minutes import (
    conversation_in,
    conversation_of,
    data_path,
    facts_in,
    is_of,
    minutes_head,
    read_data,
)
from council.store.paths import DEFAULT_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.conversations.conversation import Conversation
    from council.store.paths import Workspace

SUFFIX = ".md"
_DATE_CHARS = len("2026-02-08-")


def minutes_files(workspace: Workspace) -> list[str]:
    """Return the paths of all files that may be minutes, sorted."""
    folder = workspace.minutes
    with files.explaining("read", folder):
        names = files.names_in(folder)
    return [f"{folder}/{name}" for name in names if name.endswith(SUFFIX) and name[0] != "."]


def minutes_text(path: str) -> str:
    """Return the text of a file of minutes.

    Raises:
        NotFoundError: It is not there any more.
        InvalidStateError: It is no regular file, or not UTF-8.
    """
    reading = files.read_stable(path)
    if reading is None:
        raise NotFoundError(f"no such file: {path}", "see: council list --archived")
    try:
        return reading.data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidStateError(f"{path} is not UTF-8", "save it as UTF-8") from None


def find_minutes(workspace: Workspace, wanted: str) -> str:
    """Return the path of the minutes that a name, a slug, a file name, a path or an id means.

    Of several the newest; `active`, or nothing, means the newest of all.

    Raises:
        NotFoundError: There are none.
        RefusedError: A path leads out of the folder of the minutes.
    """
    if "/" in wanted or wanted.endswith(SUFFIX):
        return _at_path(workspace, wanted)
    found = [
        (str(front.get("date", "")), path)
        for path in minutes_files(workspace)
        if (front := facts(path)) and _is_meant(path, front, wanted)
    ]
    if not found:
        called = f" called {wanted!r}" if wanted else ""
        raise NotFoundError(
            f"there are no minutes{called} in {workspace.minutes}", "see: council list --archived"
        )
    newest = max(day for day, _ in found)
    latest = [path for day, path in found if day == newest]
    return max(latest, key=_ended_at) if len(latest) > 1 else latest[0]


def _at_path(workspace: Workspace, wanted: str) -> str:
    folder = os.path.realpath(workspace.minutes)
    bases = (os.getcwd(), workspace.root, workspace.minutes)
    places = [os.path.join(base, os.path.expanduser(wanted)) for base in bases]
    path = next((one for one in places if os.path.lexists(one)), "")
    if not path:
        raise NotFoundError(f"no such file: {wanted}", "see: council list --archived")
    if os.path.dirname(os.path.realpath(path)) != folder:
        raise RefusedError(
            f"{wanted} does not lie in {workspace.minutes}", "name minutes of this workspace"
        )
    return os.path.realpath(path)


def _is_meant(path: str, front: dict[str, Any], wanted: str) -> bool:
    stem = os.path.basename(path).removesuffix(SUFFIX)
    if wanted in ("", DEFAULT_NAME):
        return "conversation" in front
    ids = (front.get("name"), front.get("conversation"), front.get("id"))
    return wanted in (stem, stem[_DATE_CHARS:], *ids)


def front_matter(path: str) -> dict[str, Any]:
    """Return the beginning of the front matter of a file, `{}` where it has none we can read."""
    try:
        return minutes_head(path)
    except CouncilError:
        return {}


def facts(path: str) -> dict[str, Any]:
    """Return what is known of minutes without their texts: front matter, and data beside it.

    `{}` where a file has no front matter that we can read. Minutes written before
    HR-027 have all of it in their front matter.
    """
    front = front_matter(path)
    return {**facts_in(_data(path, front)), **front} if front else {}


def _beside(path: str, front: dict[str, Any]) -> str:
    name = front.get("data")
    if not isinstance(name, str) or not name or os.path.basename(name) != name:
        return ""
    return os.path.join(os.path.dirname(path), name)


def _data(path: str, front: dict[str, Any]) -> dict[str, Any]:
    """Return what the data file of minutes holds, `{}` where it is none of theirs."""
    beside = _beside(path, front) or data_path(path)
    data = read_data(files.content_of(beside).decode("utf-8", "replace"))
    return data if is_of(data, str(front.get("conversation"))) else {}


def archived_at(path: str) -> Conversation:
    """Return the conversation that minutes of any age keep.

    Raises:
        NotFoundError: They are not there any more.
        InvalidStateError: What they keep of it cannot be read, or is not there.
    """
    text = minutes_text(path)
    front = front_matter(path)
    if data := _data(path, front):
        return conversation_of(data)
    if name := front.get("data"):
        raise InvalidStateError(
            f"its data file {name} is not there, or not of this conversation",
            "put it back beside the minutes",
        )
    return conversation_in(text)


def _ended_at(path: str) -> str:
    """Return when the conversation of some minutes ended, "" where nothing says."""
    try:
        state = archived_at(path)
    except (InvalidStateError, NotFoundError):
        return ""
    return state.finished_at.isoformat() if state.finished_at else ""


def archived_conversation(workspace: Workspace, wanted: str) -> tuple[Conversation, str]:
    """Return a conversation as its minutes keep it, and their path.

    Raises:
        NotFoundError: There are no such minutes.
        InvalidStateError: What they keep of it cannot be read.
    """
    path = find_minutes(workspace, wanted)
    try:
        return archived_at(path), path
    except InvalidStateError as error:
        raise InvalidStateError(f"{path}: {error.message}", error.hint) from None
