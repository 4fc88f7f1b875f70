"""Copies that sync tools, editors and merges leave beside pages, minutes and journals.

What people typed into such a copy counts nowhere, so status and doctor name it. The forms are those
that Syncthing, Dropbox, OneDrive, Nextcloud, unison, rclone, git and editors are known to write.
"""

from __future__ import annotations

import os

from council.kernel import files

_ENDS = ("~", "#", ".orig", ".bak", ".rej", ".tmp.md")
_PARTS = (
    *(".conflict", "sync-conflict", "conflicted", "sfconflict", "_conflict", "(conflict"),
    *("_backup_", "_base_", "_local_", "_remote_"),
)


def conflict_copies(root: str) -> list[str]:
    """Return the paths, below the workspace, of copies of pages and minutes."""
    found = []
    for folder in ("memory/shared", "conseils"):
        names = files.names(f"{root}/{folder}")
        found += [f"{folder}/{one}" for one in sorted(names) if is_copy(one, names)]
    return found


def is_copy(name: str, beside: list[str]) -> bool:
    """Return whether a file's name is that of a copy, given all names in its folder.

    A name with something added, such as the machine's name by OneDrive, ` (1)` or ` copy`, is one
    if the original is there. Our own names have no blanks.
    """
    low = name.lower().removeprefix("copy of ").removeprefix("#")
    if not (low.startswith("council-") or low[:4].isdigit()) or ".md" not in low:
        return False
    stem, is_page, suffix = name.partition("-conversation")
    original = f"{stem}-conversation.md" if is_page else name.partition(" ")[0] + ".md"
    is_more = (is_page and suffix not in ("", ".md")) or " " in low
    is_known = low.endswith(_ENDS) or any(one in low for one in _PARTS)
    return low != name.lower() or is_known or (is_more and original in beside)


def renamed(folder: str) -> dict[str, str]:
    """Return the files below `folder` that a sync tool renamed on both sides, and their names."""
    paths = [f"{inside}/{name}" for inside, _, names in os.walk(folder) for name in names]
    parts = {path: path.rpartition(".conflict") for path in sorted(paths)}
    return {path: name for path, (name, _, number) in parts.items() if name and number.isdigit()}
