"""How much a conversation keeps of its past as it grows by answers, each a revision."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measuring import Part, Row, tell
from benchmarks.workspaces import Site, said
from council.operations.conversations.answer import respond

BOUND = 4.0
ANSWERS = 1_000
_ANSWER_CHARS = 9_000
_FROM_BYTES = 1_000_000
_MB = 1_000_000


def measure(folder: Path, answers: int = ANSWERS) -> Part:
    """Let a conversation grow, and measure `.council` beside the live file."""
    tell(f"growth: {answers} answers")
    site = Site(folder).with_agents()
    site.converse("active", 0, people=answers + 1)
    place = site.place()
    live = kept = most_live = most_kept = 0
    with _nothing_synced():
        for number in range(answers):
            respond(place, "active", f"p{number}", said(number, _ANSWER_CHARS))
            live, kept = site.file("active").stat().st_size, _bytes_in(site.shared / ".council")
            is_large = live >= min(_FROM_BYTES, answers * _ANSWER_CHARS // 2)
            if is_large and (not most_live or kept / live > most_kept / most_live):
                most_live, most_kept = live, kept
    return Part(
        "Growth",
        f"A conversation grows by {answers:,} answers, each a revision of its own, through the "
        "operation behind `respond`; nothing is brought to the disk meanwhile. The most is taken "
        "over all revisions from 1 MB on.",
        [
            Row("`.council` at the end", kept / _MB, "live file", live / _MB, BOUND),
            Row("`.council` at its most", most_kept / _MB, "live file", most_live / _MB, BOUND),
        ],
        unit="MB",
    )


def _bytes_in(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def _nothing_synced() -> Iterator[None]:
    kept = os.fsync, os.fdatasync
    os.fsync = os.fdatasync = lambda _: None  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync, os.fdatasync = kept
