"""The files that belong to one conversation, and what its journal says of it.

Source: `store.md` section 1.
"""

from __future__ import annotations

import os

from council.store import files
from council.store.documents.journal import FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.store.documents.journal import Tail
    from council.store.paths import Workspace

_PARTS = {"displaced": 0o777, "conflicts": 0o777, "sealed": 0o700}


class Places:
    """The files of one conversation."""

    def __init__(self, workspace: Workspace, name: str, conversation_id: str) -> None:
        self.strict = workspace.strict
        self.live = workspace.conversation_file(name)
        self.folder = workspace.conversation_folder(conversation_id)
        self.lock = f"{self.folder}/lock"
        self.journal = f"{self.folder}/{FILE}"
        self.displaced = f"{self.folder}/displaced"
        self.conflicts = f"{self.folder}/conflicts"
        self.sealed = f"{self.folder}/sealed"
        self.prompts = f"{self.folder}/prompts"

    def make(self) -> None:
        """Make the folders that are missing."""
        for part, mode in _PARTS.items():
            path = f"{self.folder}/{part}"
            if not os.path.isdir(path):
                files.make_folder(path, mode)


def is_closed(tail: Tail | None) -> bool:
    """Tell whether a conversation is archived, by the last line of its journal."""
    return tail is not None and bool(tail.head.get("closing", {}).get("done"))


def closing_path(workspace: Workspace, head: dict[str, Any]) -> str:
    """Return the absolute path of the minutes that a line of a journal names, "" for none.

    Lines hold it from the root of the workspace, which may be moved; older ones have it whole.
    """
    path = str(head.get("closing", {}).get("path", ""))
    if os.path.isabs(path) and not os.path.lexists(path):
        moved = f"{workspace.minutes}/{os.path.basename(path)}"
        return moved if os.path.lexists(moved) else path
    return os.path.join(workspace.root, path) if path else ""


def decoded(data: bytes) -> str:
    """Return the text of a file that a person may have saved in any encoding."""
    return data.decode("utf-8", "replace")
