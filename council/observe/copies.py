"""Copies that sync tools, editors and merges leave beside pages, minutes and journals.

What people typed into such a copy counts nowhere, so status and doctor name it. Whatever has been
added to a name, or put before it, makes a copy of it: each tool has a form of its own.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

from council.kernel import files

_BEGINS = re.compile(r"(copy of |#)?(council-.*-conversation|\d{4}-\d\d-\d\d-).*\.md", re.I)
_PAGE = "memory/shared/council-{}-conversation.md"
_OURS = re.compile(r"council-[a-z0-9_-]+-conversation\.md|\d{4}-\d\d-\d\d-[a-z0-9-]+\.md")


def conflict_copies(root: str, names: list[str]) -> list[str]:
    """Return the paths of copies of pages and minutes; `names` are open: other pages are copies."""
    folders, pages = ("memory/shared", "conseils"), {_PAGE.format(name) for name in names}
    found = [f"{one}/{name}" for one in folders for name in sorted(files.names(f"{root}/{one}"))]
    late = {one for one in found if fnmatch(one, _PAGE.format("*"))} - pages
    return [one for one in found if is_copy(os.path.basename(one)) or one in late]


def is_copy(name: str) -> bool:
    """Return whether a file's name is that of a copy."""
    return bool(_BEGINS.match(name)) and not _OURS.fullmatch(name)


def renamed(folder: str) -> dict[str, str]:
    """Return the files below `folder` that a sync tool renamed on both sides, and their names."""
    paths = [f"{inside}/{name}" for inside, _, names in os.walk(folder) for name in names]
    parts = {path: path.rpartition(".conflict") for path in sorted(paths)}
    return {path: name for path, (name, _, number) in parts.items() if name and number.isdigit()}
