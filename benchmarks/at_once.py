"""Many answers started in the same moment, against as many programs that only write."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, milliseconds, tell
from benchmarks.workspaces import COUNCIL, Site

BOUND = 2.0
AT_ONCE = 32
STATE_SIZE = 30_000
BARE = str(Path(__file__).with_name("bare.py"))


def measure(folder: Path, rounds: int, at_once: int = AT_ONCE) -> Part:
    """Measure from the first start to the last end."""
    numbers = count()
    folder.mkdir(parents=True)

    def answers() -> float:
        site = _site(folder / f"w{next(numbers)}", at_once)
        return milliseconds(
            lambda: _all(
                site, at_once, lambda one: [COUNCIL, "respond", "--as", one, f"Yes, says {one}."]
            )
        )

    def bare() -> float:
        site = _site(folder / f"w{next(numbers)}", at_once)
        (site.root / "bare").mkdir()
        copy = str(site.root / "bare" / "file")
        shutil.copyfile(site.file("active"), copy)
        return milliseconds(
            lambda: _all(
                site, at_once, lambda one: [sys.executable, BARE, "--as", one, "--file", copy]
            )
        )

    tell(f"{at_once} at once: {rounds} rounds")
    found = in_turns({"answers": answers, "bare": bare}, rounds)
    row = Row(
        f"{at_once} council respond at once",
        found["answers"],
        f"{at_once} bare programs",
        found["bare"],
        BOUND,
    )
    return Part(
        f"{at_once} at once",
        f"Wall time from the first start to the last end of {at_once} processes that all write "
        "the same file of 30 KB. The bare program (`benchmarks/bare.py`) parses its options with "
        "`argparse`, locks, writes a temporary file with the bytes of the conversation, `fsync`, "
        "rename, `fsync` of the folder. "
        "An answer reads, checks and renders a conversation, and holds the lock for one sync "
        "where the program needs two. Started alone it already takes 1.6 times the processor time "
        "of the bare program, most of it imports; the bound leaves a quarter more for waiting.",
        [row],
    )


def _site(root: Path, at_once: int) -> Site:
    site = Site(root).with_agents()
    site.converse("active", STATE_SIZE, people=at_once + 1)
    return site


def _all(site: Site, at_once: int, argv: Callable[[str], list[str]]) -> None:
    running = [
        subprocess.Popen(
            argv(f"p{number}"),
            cwd=site.root,
            env=site.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in range(at_once)
    ]
    codes = [one.wait() for one in running]
    if any(codes):
        raise SystemExit("one of many that were started at once failed")
