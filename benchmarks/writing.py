"""What a durable answer costs in a warm process, against the least a durable write can be."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, milliseconds, tell
from benchmarks.start_up import PASS
from benchmarks.workspaces import COUNCIL, Site
from council.operations.conversations.answer import respond

BOUND, BLIND_BOUND = 2.0, 3.0
SIZES = {"10 KB": 10_000, "100 KB": 100_000}
ROUNDS = 100
SYNCS = 2  # of the bare write
# The share of a start of Python that the work between two syncs may take: 0.6 of 11 ms.
START_SHARE = 1 / 20


def measure(folder: Path, rounds: int) -> list[Part]:
    """Measure answers to conversations of two sizes, and count their syncs."""
    rows = []
    for label, size in SIZES.items():
        for what, bound in {"answer": BOUND, "blind answer": BLIND_BOUND}.items():
            tell(f"warm: {what}, {label}, {max(rounds, ROUNDS)} rounds")
            place = folder / f"{what}{label}".replace(" ", "")
            rows.append(_row(place, f"{what}, {label}", size, max(rounds, ROUNDS), bound))
    warm = Part(
        "A durable answer in a warm process",
        "The operation behind `respond`, called in a process that has the workspace open and has "
        "answered in that conversation before, and after each answer the bare write of the same "
        "bytes beside it on the same file system: open the lock file, `flock`, open a new "
        "temporary file, write, `fsync`, rename over the old file, `fsync` the folder, close the "
        "lock. The answer also keeps the revision in the journal, writes its event, and checks "
        "what others may have written. It needs one sync, a blind answer needs those of its sealed "
        "text too, and both need about a millisecond of Python. On a disk that syncs in 0.2 ms "
        "that millisecond is more than the whole write, so a twentieth of `python -c pass` is "
        "added to the baseline: the ratio depends on the program, not on the disk. At least "
        f"{ROUNDS} rounds, whatever the other parts have.",
        rows,
    )
    return [warm, *_counted(folder / "syncs")]


def _row(folder: Path, label: str, size: int, rounds: int, bound: float) -> Row:
    site = Site(folder).with_agents()
    seats = site.seats(size, 2 * (rounds + 1), blind=bound == BLIND_BOUND)
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

    medians = in_turns(
        {"answer": answer, "write": write, "start": lambda: site.timed(PASS)}, rounds
    )
    least = medians["write"] + START_SHARE * medians["start"]
    return Row(label, medians["answer"], "bare write + 1/20 python -c pass", least, bound)


def _counted(folder: Path) -> list[Part]:
    """Return how often each kind of answer waits for the disk; nothing without `strace`."""
    if shutil.which("strace") is None:
        return []
    site = Site(folder).with_agents()
    for name in ("open", "edited", "blind"):
        site.converse(name, SIZES["10 KB"], blind=name == "blind")
        site.printed("respond", "--name", name, "--as", "p0", "The first makes the folders.")
    live = site.file("edited")
    live.write_text(live.read_text(encoding="utf-8") + "A line of a person.\n", encoding="utf-8")
    rows = []
    for name, bound in {"open": 1 / SYNCS, "edited": 1.0, "blind": None}.items():
        log = folder / f"{name}.strace"
        trace = ("strace", "-f", "-e", "trace=fsync,fdatasync", "-o", str(log))
        site.timed((*trace, COUNCIL, "respond", "--name", name, "--as", "p1", "Yes, says p1."))
        lines = log.read_text(encoding="utf-8").splitlines()
        count = sum("sync(" in line for line in lines)
        label = {"edited": "answer over an edit"}.get(name, f"{name} answer")
        rows.append(Row(label, count, "bare write", SYNCS, bound))
    return [
        Part(
            "How often an answer waits for the disk",
            "Calls of `fsync` and `fdatasync`, counted by `strace` of `council respond` in a "
            "conversation that has been answered before. The edit of a person is a line of its own "
            "in the same sync as the answer; the other one is for the line before it, which is "
            "written again because the live file is not that line's text.",
            rows,
            unit="syncs",
        )
    ]


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
