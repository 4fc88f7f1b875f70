"""Files of lines that are only ever added to: a line is added once, however often it is asked for.

What follows from a saved document is copied into such a file afterwards. A
process that is killed in between, or in the middle of the copy, is made up for
by the next writer: only what is missing since the place that the document
names is added. Writers do not wait for each other; each adds whole lines in one
write, and a torn line that a process left behind is closed and left alone.

Source: XC-001, XC-008, `store.md` section 2.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from council.store import files

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def size_of(path: str) -> int:
    """Return how long a file is, 0 when there is none.

    Raises:
        CouncilError: The system refuses.
    """
    with files.explaining("read", path):
        try:
            return os.lstat(path).st_size
        except FileNotFoundError:
            return 0


def add(
    path: str, lines: Sequence[bytes], *, since: int | None = None, durably: bool = False
) -> int:
    """Add lines in one write, those alone that do not stand in the file yet.

    Args:
        path: The file.
        lines: Lines without their ends; of two that are equal both are to stand there.
        since: The offset from which on they can stand there, None where none can. Beyond the
            end of a file that was begun anew, all of it is looked at.
        durably: Whether they are on the disk afterwards.

    Returns:
        Where those end that were added; 0 where there was nothing to add.

    Raises:
        CouncilError: The system refuses.
    """
    if not lines:
        return 0
    with files.explaining("write", path), files.closing(_opened(path)) as descriptor:
        missing = lines if since is None else _missing(descriptor, lines, since)
        files.add_lines(descriptor, b"".join(line + b"\n" for line in missing))
        if durably:
            files.sync(descriptor)
        return os.lseek(descriptor, 0, os.SEEK_CUR) if missing else 0


def _missing(descriptor: int, lines: Sequence[bytes], since: int) -> list[bytes]:
    size = os.fstat(descriptor).st_size
    start = since if since <= size else 0
    os.lseek(descriptor, start, os.SEEK_SET)
    standing = files.read_all(descriptor, size - start).split(b"\n")[:-1]
    missing = []
    for line in lines:
        if line in standing:
            standing.remove(line)
        else:
            missing.append(line)
    return missing


def _opened(path: str) -> int:
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        files.make_folder(folder)
        descriptor = files.opened(path, _FLAGS)
        files.sync_folder(folder)
    return files.regular(descriptor, path, "remove it: a new one is made")


def read_lines(path: str) -> list[bytes]:
    """Return the whole lines of a file, none when there is no file.

    Raises:
        CouncilError: The system refuses, or it is no regular file.
    """
    standing = files.read_stable(path)
    if standing is None:
        return []
    return standing.data[: standing.data.rfind(b"\n") + 1].split(b"\n")[:-1]
