"""Live a simulated week: `python -m benchmarks.week`.

Prints what was done and what was found, and keeps it as `benchmarks/WEEK.md`, but for weeks
that are shortened. The exit code is 1 where a promise was broken. Progress goes to standard
error. The same seed makes the same plans; how processes interleave is up to the machine.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import benchmarks.week
from benchmarks.week.machine import CAPABILITIES, MONDAY, Machine
from benchmarks.week.people import People
from benchmarks.week.promises import BEAT, PROMISES, Promises, is_awake

KEPT = Path(__file__).parent.parent / "WEEK.md"
USUAL = (7, 50, "1")
_BEATS_A_DAY = 48
_LONGEST_END = 3 * _BEATS_A_DAY  # after the last day, until all has ended
_KILLED_BEATS = 0.12


class Week:
    """Plans a week and lives it, beat by beat."""

    def __init__(self, folder: Path, days: int, councils: int, seed: str) -> None:
        self.machine = Machine(folder, seed)
        self.people = People(self.machine)
        self.promises = Promises(self.machine, self.people)
        self.days, self.growth = days, [0.0]
        people, machine, chance = self.people, self.machine, self.machine.chance
        for number in range(1, councils + 1):
            when = self._at(chance.uniform(0, days - 0.1))
            people.at(when, lambda n=f"c{number:02}": people.begin_council(n))
        for day in range(days):
            people.at(self._at(day + 0.4), lambda n=f"room{day}": people.begin_room(n))
            people.at(self._at(day + 0.6), lambda n=f"talk{day}": people.begin_discussion(n))
            for number in range(4):
                when = self._at(day + chance.random())
                people.at(when, lambda n=day * 4 + number: people.ask(n))
        # Each fault has a day of its own; a week of one day has all of them in it.
        if machine.is_mounted:
            self._fault(1, 1, "disk-full", machine.fill, machine.make_room)
        bad = machine.settings + "max_runs = = 3\n"
        write, good = machine.write_settings, machine.settings
        self._fault(2, 1, "settings", lambda: write(bad), lambda: write(good))
        people.at(self._at(3.5 * days / 7), machine.move)
        self._fault(
            4, 3, "halted", lambda: machine.do("halt"), lambda: machine.do("resume", "--all")
        )
        self._fault(5, 12, "no clock", lambda: None, lambda: None)

    def _at(self, day: float) -> datetime:
        return MONDAY + timedelta(minutes=round(day * 24 * 60))

    def _fault(
        self,
        day: int,
        hours: int,
        name: str,
        begin: Callable[[], object],
        end: Callable[[], object],
    ) -> None:
        def becomes(fault: str, what: Callable[[], object]) -> None:
            self.promises.fault = fault
            what()

        first = self._at((day + 0.5) * self.days / 7)
        last = first + timedelta(hours=min(hours, 24 * self.days / 7))
        self.people.at(first, lambda: becomes(name, begin))
        self.people.at(last, lambda: becomes("", end))

    def live(self) -> None:
        """Live all days, and then as long as it takes until everything has ended."""
        machine, people, promises = self.machine, self.people, self.promises
        for agent in CAPABILITIES:
            machine.do("agent", "join", "--as", agent)
        last = self.days * _BEATS_A_DAY
        for number in range(1, last + _LONGEST_END):
            people.live_until(MONDAY + number * BEAT)
            beaten = promises.fault != "no clock" and self._beat()
            people.look_around(promises.look_at_stalls(beaten=beaten), machine.runs())
            if number % _BEATS_A_DAY == 0:
                promises.look_at_texts(at_the_end=False)
                self._tell(number // _BEATS_A_DAY)
            if number >= last and not people.has_plans and not self._is_open():
                break
        promises.look_at_the_end()

    def _beat(self) -> bool:
        """Let cron beat; return true if nothing was killed meanwhile."""
        chance = self.machine.chance
        self.machine.counts["beats"] += 1
        if chance.random() >= _KILLED_BEATS:
            self.machine.do("heartbeat")
            return True
        share = chance.choice((0.3, 0.6, 1.0))
        self.machine.do("heartbeat", kill_in=chance.uniform(0.02, 0.6), share=share)
        return False

    def _is_open(self) -> bool:
        status = self.machine.look("status").json()
        rooms = [o for o in status["channels"] if is_awake(o) and not o["waitsForSummaryOf"]]
        tasks = [one for one in status["tasks"] if one["waitsFor"] != "User"]
        return bool(status["conversations"] or rooms or tasks)  # but for who never answers

    def _tell(self, day: int) -> None:
        self.growth.append(self.machine.kept_mb())
        broken = ", ".join(f"{len(self.promises.broken[one])} {one}" for one in PROMISES)
        line = f"week: day {day}: {len(self.people.councils)} councils, "
        sys.stderr.write(f"{line}{len(self.machine.runs())} runs: {broken}\n")

    def figures(self, took_s: float) -> list[tuple[str, str]]:
        """Return what was done and found, as rows of a table."""
        machine, people, counts = self.machine, self.people, self.machine.counts
        shown = [machine.look("show", name).json() for name in people.councils]
        verdicts = Counter(str(one.get("closedReason") or "open") for one in shown)
        no_disk = "" if machine.is_mounted else ", no full disk: mounting needs root"
        return [
            ("simulated days", f"{self.days}{no_disk}"),
            ("heartbeats, commands in all", f"{counts['beats']}, {counts['commands']}"),
            ("what runs of agents did", _counted(Counter(one["does"] for one in machine.runs()))),
            ("processes killed", str(counts["processes killed"])),
            ("commands killed and given again", str(counts["commands repeated"])),
            ("runs that had no end", str(counts["runs without an end"])),
            ("councils, how they closed", _counted(verdicts)),
            ("rooms, requests", f"{len(people.rooms)}, {len(people.asked)}"),
            ("texts that were acknowledged", str(len(people.said))),
            ("stalls", str(len(self.promises.stalls))),
            *((f"**{one}**", str(len(self.promises.broken[one]))) for one in PROMISES),
            ("MB in `.council`, day by day", " ".join(f"{one:.1f}" for one in self.growth)),
            ("largest process, MB", f"{machine.most_memory_mb():.0f}"),
            ("wall time, s", f"{took_s:.0f}"),
        ]


def main(argv: list[str]) -> int:
    """Live the week, print the figures, keep them, return the exit code."""
    options = _options(argv)
    began_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="council-week-") as name:
        folder = Path(options.keep or name).resolve()
        week = Week(folder, options.days, options.councils, options.seed)
        try:
            week.live()
            rows = week.figures(time.monotonic() - began_at)
        finally:
            if not options.keep:
                week.machine.leave()
    for key, value in rows:
        print(f"{key:<34}{value}")
    for line, times in sorted(week.people.refused.items()):
        print(f"refused {times} times: {line}")
    if (options.days, options.councils, options.seed) == USUAL:
        table = "\n".join(f"| {key} | {value} |" for key, value in rows)
        where = f"Python {platform.python_version()} · {platform.system()}"
        about = f"# A simulated week\n\n{benchmarks.week.__doc__}\n{where}\n\n"
        KEPT.write_text(f"{about}| | |\n|---|---|\n{table}\n", encoding="utf-8")
    return 1 if any(week.promises.broken.values()) else 0


def _counted(what: Counter[str]) -> str:
    return ", ".join(f"{times} {one}" for one, times in sorted(what.items()))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.week", description=__doc__)
    parser.add_argument("--days", type=int, default=USUAL[0])
    parser.add_argument("--councils", type=int, default=USUAL[1])
    parser.add_argument("--seed", default=USUAL[2])
    parser.add_argument("--keep", metavar="DIR", help="live in this new folder, and leave it")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
