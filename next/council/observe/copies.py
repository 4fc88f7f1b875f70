"""Copies of pages that sync tools, editors and merges leave beside the original.

What people typed into such a copy counts nowhere, so status and doctor name it. The forms are those
that Syncthing, Dropbox, OneDrive, Nextcloud, unison, rclone, git and editors are known to write.
"""

from __future__ import annotations

import os

FIX = "copy what is missing into the page or give it with council respond, then delete the copy"
_ENDS = ("~", ".orig", ".bak", ".rej", ".swp.md", ".tmp.md")
_PARTS = (".conflict", ".sync-conflict", "conflicted copy", "_conflict", "(conflict")
_GIT = ("_BACKUP_", "_BASE_", "_LOCAL_", "_REMOTE_")


def conflict_copies(root: str) -> list[str]:
    """Return the paths, below the workspace, of copies of pages and minutes."""
    found = []
    for folder in ("memory/shared", "conseils"):
        try:
            names = sorted(os.listdir(f"{root}/{folder}"))
        except OSError:
            continue
        pages = [one for one in names if one.endswith(".md")]
        found += [f"{folder}/{one}" for one in names if is_copy(one, pages)]
    return found


def is_copy(name: str, pages: list[str]) -> bool:
    """Return whether a file's name is that of a copy; `pages` are the names beside it.

    A page with a suffix, as OneDrive adds the machine's name, is one if its original is there.
    """
    low = name.lower()
    is_ours = low.startswith("council-") or low[:4].isdigit()
    if not is_ours or ".md" not in low:
        return False
    if low.endswith(_ENDS) or any(one in low for one in _PARTS) or any(g in name for g in _GIT):
        return True
    stem = name.partition("-conversation")
    return bool(stem[1]) and stem[2] not in ("", ".md") and f"{stem[0]}{stem[1]}.md" in pages


def renamed(folder: str) -> list[str]:
    """Return files below `folder` that a sync tool renamed so that no original is left."""
    found = []
    for inside, _, names in os.walk(folder):
        for name in sorted(names):
            original, is_copy, number = name.rpartition(".conflict")
            if is_copy and number.isdigit() and original not in names:
                found.append(f"{inside}/{name}")
    return found
