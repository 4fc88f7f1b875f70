"""Many who answer at once from several machines, and what became of what they said.

Source: EN-008.
"""

from __future__ import annotations

import threading
import time
from collections import Counter

from tests.conftest import Ran
from tests.engine.machines import Machine, Machines
from tests.faults.invariants import acknowledged

# Nothing was recorded: another went on while the connection was lost; nothing is reached.
_AGAIN = (4, 7)
_PATIENCE_S = 120.0
_PAUSE_S = 0.05


def text_of(seat: str) -> str:
    return f"said by {seat} once"


class Writers:
    """Each writer answers for its own seats, one after the other, and asks again until it stands.

    Attributes:
        stands: Who said what is acknowledged, with how many tries.
        waits: How long each try took, in seconds.
        refused: How many tries ended with which code.
    """

    def __init__(self, machines: Machines, writers: int, seats: int) -> None:
        self.machines = machines
        self.seats = [[f"w{one}s{seat}" for seat in range(seats)] for one in range(writers)]
        self.stands: dict[str, int] = {}
        self.waits: list[float] = []
        self.failed: list[str] = []
        self.refused: Counter[int] = Counter()
        self._moved = threading.Condition()
        self._threads: list[threading.Thread] = []

    def convene(self) -> None:
        people = ",".join([*(seat for mine in self.seats for seat in mine), "last"])
        self.machines[0].do("convene", "Shall we?", "--people", people, "--open")
        self.machines.quiet()

    def begin(self) -> None:
        for at, mine in enumerate(self.seats):
            machine = self.machines[at % len(self.machines)]
            self._threads.append(threading.Thread(target=self._answer, args=(machine, mine)))
            self._threads[-1].start()

    def _answer(self, machine: Machine, seats: list[str]) -> None:
        for seat in seats:
            until, tries = time.monotonic() + _PATIENCE_S, 0
            while True:
                began, tries = time.monotonic(), tries + 1
                ran = machine("respond", text_of(seat), "--as", seat, "--json")
                with self._moved:
                    self.waits.append(time.monotonic() - began)
                    if acknowledged(ran.out):
                        self.stands[seat] = tries
                        self._moved.notify_all()
                        break
                    self.refused[ran.code] += 1
                    if ran.code not in _AGAIN or time.monotonic() > until:
                        self.failed.append(_told(seat, ran))
                        break
                time.sleep(_PAUSE_S)  # as one does who was told that it is unreachable

    def wait_for(self, answers: int) -> bool:
        """Wait until so many answers are acknowledged; return false when all writers ended."""
        with self._moved:
            while len(self.stands) < answers and any(one.is_alive() for one in self._threads):
                self._moved.wait(1)
            return len(self.stands) >= answers

    def end(self) -> None:
        for one in self._threads:
            one.join()

    def wrong(self) -> list[str]:
        """Return what failed, and each acknowledged answer that does not stand exactly once."""
        wrong = list(self.failed)
        for machine in self.machines:
            found: Counter[str] = Counter()
            for (_, text), times in machine.watched().texts().items():
                found[text] += times
            for mine in self.seats:
                for seat in mine:
                    times = found[text_of(seat)]
                    if times > 1 or (not times and seat in self.stands):
                        wrong.append(f"{machine.name}: {text_of(seat)!r} stands {times} times")
        return wrong


def _told(seat: str, ran: Ran) -> str:
    return f"{seat} fails: {ran.code} {ran.err.strip()[-400:]}"
