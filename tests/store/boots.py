"""A machine that was started just now, as far as the store can see."""

from __future__ import annotations

import time
from pathlib import Path

from council.store.documents import live


def boot(folder: Path) -> None:
    """Let the machine have been started now: what stands in files until now is from before.

    The clock of files goes in ticks; this returns when it has gone on, so that
    whatever is written from here on is from after. Forked children inherit it.
    """
    started = time.time_ns()
    live.started_ns = lambda: started
    clock = folder / ".clock"
    while True:
        clock.touch()
        is_on = clock.stat().st_ctime_ns > started
        clock.unlink()
        if is_on:
            return
