"""The hint `.council/due`: which documents a heartbeat need not open, and until when.

A row has the stamps (inode, size, mtime, ctime) of a document's page, newest segment and folder as
they were when it was read, and the instant from which something can be due. A row that fits skips
the document. A missing, old or damaged hint costs time, never truth: the first line has stamps of
what all documents depend on, and the last line is a digest of the others.
"""

from __future__ import annotations

import os
import time

from council.kernel import files, times
from council.kernel.errors import Refusal
from council.kernel.ids import digest
from council.kernel.journal import Journal
from council.kernel.times import datetime

_NEVER = "9999"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Hint:
    """The hint, as one heartbeat of the workspace `root` reads and writes it.

    Folders and pages are paths from `.council` on, which are found faster than whole ones.
    """

    quiet_ns = 2_000_000_000  # no row for what changed since: clocks of file systems are coarse

    def __init__(self, root: str, now: datetime) -> None:
        self._state = state = f"{root}/memory/shared/.council"
        self._path, self._now = f"{state}/due", times.text(now)
        self._rows: dict[str, list[str]] = {}
        self._new: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}
        self._at = -1
        try:
            self._at = os.open(state, _FOLDER)
            found = files.read(self._path)
            text = found[0].decode() if found else ""
        except (OSError, ValueError, Refusal):  # a hint that cannot be read is none
            text = ""
        heads = (f"{root}/council.toml", __file__, *Journal(f"{state}/registry").segments()[-1:])
        self._head = self._stamps(*heads)
        body, _, last = text.rpartition("\n")
        if last == digest(body) and body.split("\n", 1)[0] == self._head:
            rows = [line.split("\t") for line in body.split("\n")[1:]]
            self._rows = {row[0]: row for row in rows if len(row) == 4}

    def __del__(self) -> None:
        if self._at >= 0:
            os.close(self._at)

    def skips(self, folder: str, page: str) -> bool:
        """Return whether a document is as it was and nothing in it can be due now."""
        row = self._rows.get(folder, ["", "", "", ""])
        if self._now < row[3] and row[2] == self._stamps(page, f"{folder}/{row[1]}", folder):
            self._new[folder] = row
            return True
        self._before[folder] = self._row(folder, page)
        return False

    def note(self, folder: str, page: str, wake: str | None) -> None:
        """Remember that a document, not skipped, was read and has nothing due before `wake`.

        Not if it changed meanwhile or just before, or if a page that was put aside is there, which
        a program may still write to.
        """
        row = self._row(folder, page)
        changed = [int(one.rpartition(":")[2]) for one in row[2].split() if one != "-"]
        is_quiet = max(changed, default=0) < time.time_ns() - self.quiet_ns
        old = any(name.startswith("old-") for name in files.names(f"{self._state}/{folder}"))
        if changed and is_quiet and not old and self._before.get(folder) == row:
            self._new[folder] = [*row, wake or _NEVER]

    def lacks(self) -> bool:
        """Return whether a document of the hint was not met: it is gone."""
        return not self._rows.keys() <= self._new.keys() | self._before.keys()

    def save(self) -> None:
        """Write the rows that were used or noted; an error of the disk is ignored.

        One that was only met gets a row that never fits, by which `lacks` knows when it is gone.
        """
        self._new = {one: [one, "-", "-", "0"] for one in self._before} | self._new
        if self._rows and self._new == self._rows:
            return
        body = "\n".join([self._head, *map("\t".join, self._new.values())])
        try:
            files.replace(self._path, f"{body}\n{digest(body)}".encode(), 0o600)
        except OSError:
            return

    def _row(self, folder: str, page: str) -> list[str]:
        newest = Journal(f"{self._state}/{folder}").segments()[-1:]
        name = "".join(map(os.path.basename, newest))
        return [folder, name, self._stamps(page, f"{folder}/{name}", folder)]

    def _stamps(self, *paths: str) -> str:
        made = []
        for path in paths:
            try:
                at = os.lstat(path, dir_fd=self._at)
                made.append(f"{at.st_ino}:{at.st_size}:{at.st_mtime_ns}:{at.st_ctime_ns}")
            except OSError:
                made.append("-")
        return " ".join(made)
