"""From the last answer of a round to the first program of the next one."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measuring import Part, Row, tell
from benchmarks.workspaces import PASS, Site

LIMIT_MS = 200.0
_PATIENCE_S = 60


def measure(folder: Path, rounds: int) -> Part:
    """Measure whole turns: the interpreter, a durable commit, a prompt, a process."""
    site, starts = Site(folder), folder / "starts"
    (site.root / "council.toml").write_text(program(starts))
    played = Played(site, starts)
    from_answer, bare = [], []
    for number in range(rounds + 1):
        tell(f"turn {number} of {rounds}")
        answer = played.turn(f"bench{number}")
        if number:
            from_answer.append(answer)
            bare.append(site.timed(PASS))
    against, against_ms = "python -c pass", statistics.median(bare)
    return Part(
        "Last answer to next start",
        "From the moment at which the process of the last `council respond` of a round begins "
        "to the moment at which the first program of the next round runs. It holds the start of "
        "one interpreter, a durable write, the heartbeat that makes the prompt, and the start of "
        "the program; on a machine that is busy with other work all of it waits for a core.",
        [
            Row(
                "last answer → next start",
                statistics.median(from_answer),
                against,
                against_ms,
                limit_ms=LIMIT_MS,
            )
        ],
    )


def program(starts: Path) -> str:
    """Return the settings of an agent that writes down when it starts."""
    argv = json.dumps(["/bin/sh", "-c", f"date +%s%N >> '{starts}'; echo Yes."])
    return f"[agents.sage]\nargv = {argv}\n"


class Played:
    """A workspace with such an agent; it may run on another machine."""

    def __init__(self, site: Site, starts: Path) -> None:
        self.site = site
        self.starts = starts

    def turn(self, name: str) -> float:
        """Return the milliseconds from the last answer of a round to the next start."""
        self.starts.write_text("")
        self.site.printed("convene", name, "--name", name, "--people", "henry,sage")
        until(partial(self._has_answered, name))
        begun = time.time_ns()
        self.site.printed("respond", "--name", name, "--as", "henry", "Yes.")
        until(lambda: len(self._started()) == 2)
        start = self._started()[1]
        until(partial(self._has_answered, name))
        self.site.printed("cancel", "--name", name)
        return (start - begun) / 1e6

    def _started(self) -> list[int]:
        """Return when the program was started each time, in nanoseconds of the epoch."""
        return [int(line) for line in self.starts.read_text().split()]

    def _has_answered(self, name: str) -> bool:
        """Return true if the program has answered the round under way."""
        return '"sage": {"status": "RESPONDED"' in self.site.file(name).read_text(encoding="utf-8")


def until(done: Callable[[], bool]) -> None:
    """Wait for what must come."""
    ends_at = time.monotonic() + _PATIENCE_S
    while not done():
        if time.monotonic() > ends_at:
            raise SystemExit("nothing happens any more; is the machine too busy?")
        time.sleep(0.002)
