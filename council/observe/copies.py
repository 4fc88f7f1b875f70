"""Copies that sync tools, editors and merges leave beside pages, minutes and journals.

What people typed into such a copy counts nowhere, so status and doctor name it. Whatever has been
added to a name, or put before it, makes a copy of it: each tool has a form of its own.
"""

from __future__ import annotations

import os
import re

from council.kernel import files
from council.kernel.record import TYPE_CHECKING

if TYPE_CHECKING:
    from council.app import App

_BEGINS = re.compile(r"(copy of |#)?(council-.*-conversation|\d{4}-\d\d-\d\d-).*\.md", re.I)
_OURS = re.compile(r"council-[a-z0-9_-]+-conversation\.md|\d{4}-\d\d-\d\d-[a-z0-9-]+\.md")


def conflict_copies(app: App) -> list[str]:
    """Return the paths, below the workspace, of copies of pages and minutes.

    A page that an editor saved after the end of its conversation is one of them.
    """
    pages = [os.path.basename(app.page_of(name)) for name in app.conversations()]
    shared = [n for n in sorted(files.names(f"{app.root}/memory/shared")) if n not in pages]
    late = [f"memory/shared/{n}" for n in shared if is_copy(n) or _OURS.fullmatch(n)]
    minutes = sorted(files.names(f"{app.root}/conseils"))
    return late + [f"conseils/{name}" for name in minutes if is_copy(name)]


def is_copy(name: str) -> bool:
    """Return whether a file's name is that of a copy."""
    return bool(_BEGINS.match(name)) and not _OURS.fullmatch(name)


def renamed(folder: str) -> dict[str, str]:
    """Return the files below `folder` that a sync tool renamed on both sides, and their names."""
    paths = [f"{inside}/{name}" for inside, _, names in os.walk(folder) for name in names]
    parts = {path: path.rpartition(".conflict") for path in sorted(paths)}
    return {path: name for path, (name, _, number) in parts.items() if name and number.isdigit()}
