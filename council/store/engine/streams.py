"""What the database calls what lies in a workspace.

Nothing there names a path: a stream is the place of a journal, or of a file, in any workspace.
What is of one machine alone has no stream.

Source: EN-001, EN-007.
"""

from __future__ import annotations

import os

from council.store.documents import journal
from council.store.paths import resolve_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.paths import Workspace

CONVERSATION, ROOM, CONTEXT, RECORD = "conversation", "room", "context", "record"
FILE, PREFIX = "file", "files/"
# What lies in `.council` and is of this machine alone.
_LOCAL = (
    *("heartbeat.lock", "settings.lock", "souls.lock", "duty.lock", "web.lock", "link.lock"),
    *("maintenance.lock", "artifacts.lock", "runs/", "outbox/", "brought/", "machine"),
)
_CLOSED = "contexts/closed/"
# All that machines share besides conversations, by its folder and how its name ends.
_JOURNALS = {
    "channels": ROOM,
    "protocol/contexts": CONTEXT,
    **dict.fromkeys(("control", "protocol"), RECORD),
    **dict.fromkeys(("control/delegation", "control/delegation/traces"), RECORD),
}
_FILES = {"minutes": (".md", ".json"), "briefs": (".json",), "artifacts": (".meta.json",)}
_FILES_ALONE = ("identities", "control/halted", "protocol/.told/next")


class Streams:
    """The streams of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        folder, name = os.path.split(workspace.identities)
        self._places = (
            (f"{workspace.control}/", "control/"),
            (f"{workspace.channels}/", "channels/"),
            (f"{workspace.protocol}/", "protocol/"),
            (f"{workspace.minutes}/", "minutes/"),
            (f"{workspace.artifacts}/", "artifacts/"),
            (f"{workspace.briefs}/", "briefs/"),
            (workspace.identities, "identities"),
            (f"{folder}/.{name}.lock", "identities.lock"),
        )

    def stream_of(self, path: str) -> str:
        """Return what the database calls a journal, or a lock; "" for one of this machine alone."""
        for folder, name in self._places:
            if path.startswith(folder):
                inside = path[len(folder) :].replace(_CLOSED, "contexts/")
                is_local = name == "control/" and inside.startswith(_LOCAL)
                return "" if is_local else name + inside
        return ""

    def path_of(self, stream: str) -> str:
        """Return where a stream lies here; "" for one that machines do not share.

        Raises:
            RefusedError: It is a link, or lies behind one.
        """
        if not kind_of(stream)[0]:
            return ""
        place = stream.removeprefix(PREFIX)
        folder, name = next(one for one in self._places if place.startswith(one[1]))
        root, _, begins = folder.rpartition("/")
        path = resolve_inside(root, begins + place.removeprefix(name))
        return path if self.stream_of(path) == place else ""


def kind_of(stream: str) -> tuple[str, str]:
    """Return what a stream is of, with the id; twice "" for what machines do not share."""
    folder, _, name = stream.removeprefix(PREFIX).rpartition("/")
    stem = name.removesuffix(".jsonl")
    if stream.startswith(PREFIX):
        is_one = name[:1] != "." and name.endswith(_FILES.get(folder, ()))
        return (FILE, name) if is_one or stream.removeprefix(PREFIX) in _FILES_ALONE else ("", "")
    if name != journal.FILE:
        kind = _JOURNALS.get(folder, "") if stem != name else ""
        return (kind, stem) if kind else ("", "")
    above, _, owner = folder.rpartition("/")
    kind = {"control": CONVERSATION, "control/channels": ROOM}.get(above, "")
    return (kind, owner) if kind else ("", "")
