"""What a durable answer costs in a warm process, against the least a durable write can be."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, milliseconds, tell
from benchmarks.workspaces import Site
from council.operations.conversations.answer import respond

BOUND = 3.0
SIZES = {"10 KB": 10_000, "100 KB": 100_000}
ROUNDS = 100


def measure(folder: Path, rounds: int) -> Part:
    """Measure answers to conversations of two sizes."""
    rows = []
    for label, size in SIZES.items():
        tell(f"warm answers: {label}, {max(rounds, ROUNDS)} rounds")
        many = max(rounds, ROUNDS)  # each takes some milliseconds, and the disk is fickle
        rows.append(_one_size(folder / label.replace(" ", ""), label, size, many))
    return Part(
        "A durable answer in a warm process",
        "The operation behind `respond`, called in a process that has the workspace open and has "
        "answered in that conversation before, and after each answer the bare write of the same "
        "bytes beside it on the same file system: open the lock file, `flock`, open a new "
        "temporary file, write, `fsync`, rename over the old file, `fsync` the folder, close the "
        "lock. The answer besides keeps the revision in the history, writes its journal line and "
        "its event, and checks what others may have written. That is four syncs instead of two, "
        "all of which `store.md` asks for: the snapshot and its name must lie on the disk before "
        "the journal speaks of them, the text that goes live (it shares the way there) must be "
        "whole after a power cut, and the journal line is the commit. These and a millisecond of "
        "Python stand against a write that is over in less than one, so the ratio moves with how "
        f"fast the disk syncs at that moment. At least {ROUNDS} rounds, whatever the others have.",
        rows,
    )


def _one_size(folder: Path, label: str, size: int, rounds: int) -> Row:
    site = Site(folder).with_agents()
    seats = site.seats(size, 2 * (rounds + 1))
    place = site.place()
    bare = folder / "bare"
    bare.mkdir()
    answered = [""]

    def answer() -> float:
        name, agent = next(seats)
        if name != answered[0]:
            respond(place, name, agent, "The first answer reads the conversation.")
            answered[0], agent = next(seats)
        return milliseconds(lambda: respond(place, answered[0], agent, f"Yes, says {agent}."))

    def write() -> float:
        data = site.file(answered[0]).read_bytes()
        return milliseconds(lambda: write_bare(str(bare), data))

    found = in_turns({"answer": answer, "write": write}, rounds)
    return Row(f"answer, {label}", found["answer"], "bare write", found["write"], BOUND)


def write_bare(folder: str, data: bytes) -> None:
    """Replace a file under a lock so that a power cut leaves the old one or the new one."""
    lock = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        temporary = f"{folder}/new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o666)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, f"{folder}/file")
        names = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(names)
        finally:
            os.close(names)
    finally:
        os.close(lock)
