"""The hint `.council/due`: which documents a heartbeat need not open, and until when.

A row has the stamps (inode, size, mtime, ctime) of a document's page, newest segment and folder as
they were when it was read, and the instant from which something can be due. A row that fits skips
the document. A missing, old or damaged hint costs time, never truth: the first line has stamps of
what all documents depend on, and the last line is a digest of the others.
"""

from __future__ import annotations

import os
import time
from datetime import datetime

from council.kernel import files, times
from council.kernel.errors import Refusal
from council.kernel.ids import digest
from council.kernel.journal import Journal

_NEVER = "9999"


class Hint:
    """The hint, as one heartbeat of the workspace `root` reads and writes it."""

    quiet_ns = 2_000_000_000  # no row for what changed since: clocks of file systems are coarse

    def __init__(self, root: str) -> None:
        state = f"{root}/memory/shared/.council"
        self._path = f"{state}/due"
        heads = [f"{root}/council.toml", __file__, *Journal(f"{state}/registry").segments()[-1:]]
        self._head = " ".join(map(_stamp, heads))
        self._rows: dict[str, list[str]] = {}
        self._new: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}
        try:
            found = files.read(self._path)
            text = found[0].decode() if found else ""
        except (OSError, ValueError, Refusal):  # a hint that cannot be read is none
            text = ""
        body, _, last = text.rpartition("\n")
        if last == digest(body) and body.split("\n", 1)[0] == self._head:
            rows = [line.split("\t") for line in body.split("\n")[1:]]
            self._rows = {row[0]: row for row in rows if len(row) == 4}

    def skips(self, folder: str, page: str | None, now: datetime) -> bool:
        """Return whether a document is as it was and nothing in it can be due at `now`."""
        row = self._rows.get(folder)
        if row and times.text(now) < row[3] and row[2] == _stamps(folder, page, row[1]):
            self._new[folder] = row
            return True
        self._before[folder] = _row(folder, page)
        return False

    def note(self, folder: str, page: str | None, wake: datetime | None) -> None:
        """Remember that a document, not skipped, was read and has nothing due before `wake`.

        Not if it changed meanwhile or just before, or if a page that was put aside is there, which
        a program may still write to.
        """
        row = _row(folder, page)
        changed = [int(one.rpartition(":")[2]) for one in row[2].split() if one != "-"]
        is_quiet = max(changed, default=0) < time.time_ns() - self.quiet_ns
        old = any(name.startswith("old-") for name in files.names(folder))
        if changed and is_quiet and not old and self._before.get(folder) == row:
            self._new[folder] = [*row, times.text(wake) if wake else _NEVER]

    def save(self) -> None:
        """Write the rows that were used or noted; an error of the disk is ignored."""
        if self._new == self._rows:
            return
        body = "\n".join([self._head, *map("\t".join, self._new.values())])
        own = f"{self._path}.{os.getpid()}"
        try:
            files.fill(own, f"{body}\n{digest(body)}".encode(), 0o600, durable=False)
            os.rename(own, self._path)
        except OSError:
            return


def _stamp(path: str) -> str:
    try:
        facts = os.lstat(path)
    except OSError:
        return "-"
    return f"{facts.st_ino}:{facts.st_size}:{facts.st_mtime_ns}:{facts.st_ctime_ns}"


def _row(folder: str, page: str | None) -> list[str]:
    newest = "".join(map(os.path.basename, Journal(folder).segments()[-1:]))
    return [folder, newest, _stamps(folder, page, newest)]


def _stamps(folder: str, page: str | None, newest: str) -> str:
    return " ".join(map(_stamp, (page or "", f"{folder}/{newest}", folder)))
