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
from datetime import timedelta
from pathlib import Path

from benchmarks.week.machine import CAPABILITIES, MONDAY, Machine
from benchmarks.week.people import People
from benchmarks.week.promises import BEAT, Promises, is_awake

KEPT = Path(__file__).parent.parent / "WEEK.md"
DAYS, COUNCILS, SEED = 7, 50, "1"
PROMISES = ("not ended", "unnamed", "lost", "double", "wrong")
_LONGEST_END = 3 * 48  # beats after the last day in which all has to end
_SHOWN = 12


class Week:
    """Plans a week and lives it, beat by beat."""

    def __init__(self, folder: Path, days: int, councils: int, seed: str) -> None:
        self.machine = Machine(folder, seed)
        self.people = People(self.machine)
        self.promises = Promises(self.machine, self.people)
        self.days = days
        self.no_clock = (MONDAY, MONDAY)
        self.growth: list[int] = []
        self._plan(councils)

    def _plan(self, councils: int) -> None:
        people, chance, hours = self.people, self.machine.chance, self.days * 24

        def at(hour: float) -> object:
            return MONDAY + timedelta(minutes=round(hour * 60))

        for number in range(1, councils + 1):
            when = at(chance.uniform(0.2, hours - 1))
            people.at(when, lambda n=f"c{number:02}": people.begin_council(n))
        for day in range(self.days):
            people.at(at(day * 24 + 9), lambda n=f"room{day}": people.begin_room(n))
            people.at(at(day * 24 + 13), lambda n=f"talk{day}": people.begin_discussion(n))
            for number in range(4):
                when = at(day * 24 + chance.uniform(1, 23))
                people.at(when, lambda n=day * 10 + number: people.ask(n))
        # Each fault has a day of its own; a week of one day has all of them in it.
        part = hours / 7
        machine = self.machine
        if machine.is_mounted:
            self._fault(at(part * 1.5), 1, "disk-full", machine.fill, machine.make_room)
        self._fault(at(part * 2.5), 1, "settings", self._spoil, self._mend)
        people.at(at(part * 3.5), machine.move)
        self._fault(at(part * 4.5), min(4, part), "halted", self._halt, self._resume)
        self.no_clock = (at(part * 5.5), at(part * 5.5 + min(12, part)))

    def _fault(self, when, hours: float, name: str, begin, end) -> None:
        def begins() -> None:
            begin()
            self.promises.fault = name

        def ends() -> None:
            self.promises.fault = ""
            end()

        self.people.at(when, begins)
        self.people.at(when + timedelta(hours=hours), ends)

    def _spoil(self) -> None:
        self.machine.write_settings(self.machine.settings + "max_runs = = 3\n")

    def _mend(self) -> None:
        self.machine.write_settings(self.machine.settings)

    def _halt(self) -> None:
        self.machine.do("halt", "--reason", "the bill")

    def _resume(self) -> None:
        self.machine.do("resume", "--all")

    def live(self) -> None:
        """Live all days, and then as long as it takes until everything has ended."""
        for agent in CAPABILITIES:
            self.machine.do("agent", "join", "--as", agent)
        beats = self.days * 48
        for number in range(1, beats + _LONGEST_END):
            if number > beats and not self.people.means_to() and not self._is_open():
                break
            self.people.live_until(MONDAY + number * BEAT)
            beaten = self._beat()
            status = self.promises.look_at_stalls(beaten=beaten)
            self.people.look_around(status)
            self.people.catch_up(self.machine.runs())
            if number % 48 == 0 or number == beats:
                self.promises.look_at_texts(at_the_end=False)
                self.growth.append(self.machine.kept_bytes())
                self._tell(number // 48)
        self.promises.look_at_the_end()

    def _is_open(self) -> bool:
        status = self.machine.look("status").json()
        rooms = [one for one in status["channels"] if is_awake(one)]
        return bool(status["conversations"] or rooms or status["tasks"])

    def _beat(self) -> bool:
        machine, promises = self.machine, self.promises
        if self.no_clock[0] <= machine.now < self.no_clock[1]:
            if machine.now - self.no_clock[0] > timedelta(hours=1):
                promises.fault = promises.fault or "old-heartbeat"
            return False
        if promises.fault == "old-heartbeat":
            promises.fault = ""
        machine.counts["beats"] += 1
        killed = machine.chance.random() < 0.12
        share = machine.chance.choice((0.3, 0.6, 1.0))
        if killed:
            machine.beat_and_kill(machine.chance.uniform(0.02, 0.6), share)
        else:
            machine.do("heartbeat")
        return not killed

    def _tell(self, day: int) -> None:
        broken = ", ".join(f"{len(self.promises.broken[one])} {one}" for one in PROMISES)
        counts = self.machine.counts
        line = f"week: day {day} of {self.days}: {len(self.people.councils)} councils, "
        line += f"{len(self.machine.runs())} runs, {counts['commands']} commands; {broken}\n"
        sys.stderr.write(line)
        sys.stderr.flush()

    def figures(self, took_s: float) -> list[tuple[str, str]]:
        """Return what was done and found, as rows of a table."""
        machine, people = self.machine, self.people
        verdicts: Counter[str] = Counter()
        for name in people.councils:
            shown = machine.look("show", name).json()
            verdicts[str(shown.get("closedReason") or shown.get("status"))] += 1
        does = Counter(one["does"] for one in machine.runs())
        counts = machine.counts
        growth = " → ".join(f"{one / 2**20:.1f}" for one in self.growth)
        disk = "" if machine.is_mounted else " (the full disk was left out: mounting needs root)"
        return [
            ("simulated days", f"{self.days}{disk}"),
            ("heartbeats", str(counts["beats"])),
            ("commands", str(counts["commands"])),
            ("runs of agents", ", ".join(f"{n} {one}" for one, n in sorted(does.items()))),
            ("processes killed", str(counts["processes killed"])),
            ("commands killed and repeated", str(counts["commands repeated"])),
            ("runs without an end", str(counts["runs without an end"])),
            ("councils", ", ".join(f"{n} {one}" for one, n in sorted(verdicts.items()))),
            ("rooms, requests", f"{len(people.rooms)}, {len(people.asked)}"),
            ("acknowledged texts of people", str(len(people.said))),
            ("stalls looked at", str(self.promises.counts["stalls"])),
            *((one, str(len(self.promises.broken[one]))) for one in PROMISES),
            ("MB in `.council` after each day", growth),
            ("largest process, MB", f"{machine.most_memory() / 2**20:.0f}"),
            ("wall time, s", f"{took_s:.0f}"),
        ]


def main(argv: list[str]) -> int:
    """Live the week, print the figures, keep them, return the exit code."""
    options = _options(argv)
    began_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="council-week-") as name:
        folder = Path(options.keep or name).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        week = Week(folder, options.days, options.councils, options.seed)
        try:
            week.live()
            rows = week.figures(time.monotonic() - began_at)
        finally:
            if not options.keep:
                week.machine.leave()
    width = max(len(key) for key, _ in rows)
    print("\n".join(f"{key:<{width}}  {value}" for key, value in rows))
    broken = week.promises.broken
    for promise in PROMISES:
        for where, what in list(broken[promise].items())[: 1000 if options.keep else _SHOWN]:
            print(f"{promise}: {where}: {what}")
    for line, times in sorted(week.people.refused.items()):
        print(f"refused {times} times: {line}")
    if (options.days, options.councils, options.seed) == (DAYS, COUNCILS, SEED):
        KEPT.write_text(_markdown(rows), encoding="utf-8")
    return 1 if any(broken.values()) else 0


def _markdown(rows: list[tuple[str, str]]) -> str:
    about = (__import__("benchmarks.week").week.__doc__ or "").partition("\n\n")[2].strip()
    where = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()}"
    table = "\n".join(f"| {key} | {value} |" for key, value in rows)
    head = f"# A simulated week\n\nMade by `make week`: {where}.\n\n{about}"
    return f"{head}\n\n| | |\n|---|---|\n{table}\n"


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.week", description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--councils", type=int, default=COUNCILS)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument(
        "--keep", metavar="DIR", help="live there, leave it, show all that is wrong"
    )
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
