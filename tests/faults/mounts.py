"""File systems of our own for a test: small ones in memory, images on a loop device.

Needs root. A context manager mounts, and always takes down again.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

_SHUTDOWN, _WITHOUT_LOG = 0x8004587D, 2
_SIZES = {"ext4": 48 * 2**20, "xfs": 320 * 2**20}
_TRIES = 100


def missing(*programs: str) -> str:
    """Return why nothing can be mounted here, "" when it can."""
    if os.geteuid() != 0:
        return "mounting needs root"
    absent = [one for one in ("mount", "umount", *programs) if not shutil.which(one)]
    return f"not installed: {', '.join(absent)}" if absent else ""


def command(*words: object) -> None:
    """Run a program; what it says goes into the error.

    Raises:
        OSError: It failed.
    """
    done = subprocess.run([str(one) for one in words], capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise OSError(f"{' '.join(str(one) for one in words)}: {said}")


@contextlib.contextmanager
def in_memory(place: Path, options: str) -> Iterator[Path]:
    """Mount a small file system in memory.

    Raises:
        OSError: This machine does not let us.
    """
    place.mkdir(parents=True, exist_ok=True)
    command("mount", "-t", "tmpfs", "-o", options, "tmpfs", place)
    try:
        yield place
    finally:
        take_down(place)


def take_down(place: Path) -> None:
    """Unmount, also while a process is just leaving."""
    for attempt in range(_TRIES):
        try:
            command("umount", place)
            return
        except OSError:
            if attempt + 1 == _TRIES:
                raise
            time.sleep(0.02)


class Image:
    """A disk in a file, whose power can be cut.

    Args:
        folder: Where the file and the mount point go.
        kind: `ext4` or `xfs`.

    Raises:
        OSError: This machine does not let us.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        self.file = folder / f"{kind}.img"
        self.place = folder / f"{kind}.mount"
        self.place.mkdir()
        with self.file.open("wb") as made:
            made.truncate(_SIZES[kind])
        force = "-F" if kind == "ext4" else "-f"
        command(f"mkfs.{kind}", "-q", force, self.file)

    def __enter__(self) -> Image:
        self.mount()
        return self

    def __exit__(self, *_: object) -> None:
        if os.path.ismount(self.place):
            take_down(self.place)

    def mount(self) -> None:
        command("mount", "-o", "loop", self.file, self.place)

    def cut_the_power(self) -> None:
        """Let the file system forget at once whatever is not on its disk."""
        descriptor = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, array.array("I", [_WITHOUT_LOG]))
        finally:
            os.close(descriptor)

    def come_back(self) -> None:
        """Mount again what the disk has kept."""
        take_down(self.place)
        self.mount()
