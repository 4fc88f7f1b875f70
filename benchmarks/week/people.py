"""What the two people of the week do: ada gives commands, bea edits files as vim does."""

from __future__ import annotations

import heapq
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from benchmarks.week.machine import AGENTS, CAPABILITIES, Machine

PEOPLE = ("ada", "bea")

_NEVER, _GUIDES = 0.25, 0.3  # how often a person never answers; how often ada adds guidance
_TRIES = 4
_SHAPES = (
    ("--phases", "collect,synthesize"),
    ("--phases", "collect,challenge,synthesize", "--open"),
    ("--phases", "collect,challenge,resolve,synthesize"),
    ("--mode", "review", "--order", "rotate", "--phases", "collect,resolve,synthesize"),
    ("--procedure", "deliberation", "--max-rounds", "2"),
    ("--procedure", "deliberation", "--order", "fixed", "--anonymous", "--max-rounds", "3"),
)

Json = dict[str, Any]


class People:
    """Two people, what they have said, and what they still mean to do.

    Attributes:
        said: What was acknowledged: its mark, its author, where it was said.
        councils, rooms, asked: What was acknowledged to be open, by name.
        refused: What commands said that were refused, with how often.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine, self.chance = machine, machine.chance
        self.said: list[tuple[str, str, str]] = []
        self.councils: list[str] = []
        self.rooms: list[str] = []
        self.asked: set[str] = set()
        self.refused: Counter[str] = Counter()
        self._later: list[tuple[datetime, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._met: set[tuple[object, ...]] = set()

    def at(self, when: datetime, what: Callable[[], None]) -> None:
        """Mean to do something."""
        heapq.heappush(self._later, (when, next(self._order), what))

    def live_until(self, end: datetime) -> None:
        """Do all that was meant to be done until `end`, each at its time."""
        while self._later and self._later[0][0] <= end:
            when, _, what = heapq.heappop(self._later)
            self.machine.now = max(when, self.machine.now)
            try:
                what()
            except OSError:  # an editor has no room either
                self.at(when + timedelta(hours=1), what)
        self.machine.now = end

    @property
    def has_plans(self) -> bool:
        """Whether anything is still meant to be done."""
        return bool(self._later)

    def _in(self, least_h: float, most_h: float) -> datetime:
        minutes = int(self.chance.uniform(least_h, most_h) * 60)
        return self.machine.now + timedelta(minutes=minutes)

    def _is_new(self, *what: object) -> bool:
        is_new = what not in self._met
        self._met.add(what)
        return is_new

    def _try(self, words: list[str], taken: Callable[[Json], object], left: int = _TRIES) -> None:
        """Give a command; where the machine is not well, again in an hour."""
        ran = self.machine.surely(*words, "--json")
        if ran.code == 0 or ran.json().get("outcome") == "late":
            taken(ran.json())
            return
        said = (ran.err.strip() or ran.out.strip()).partition("\n")[0]
        self.refused[f"{words[0]}: exit {ran.code}: {re.sub(r'[0-9/].*', '…', said)}"] += 1
        if ran.code in (1, 3) and left > 1:
            self.at(self._in(1, 1), lambda: self._try(words, taken, left - 1))

    def _say(self, words: list[str], text: str, who: str, where: str) -> None:
        mark = f"{who}-{where}-{self.chance.getrandbits(32):08x}"
        words = [*words, f"{text} [k:{mark}]", "--as", who]
        self._try(words, lambda _: self.said.append((mark, who, where)))

    # What they begin

    def begin_council(self, name: str) -> None:
        """Convene one of several shapes, with two to six who take part."""
        shape = self.chance.choice(_SHAPES)
        agents = self.chance.sample(AGENTS, self.chance.randint(2, 4))
        people = self.chance.sample(PEOPLE, self.chance.choice((0, 1, 1, 2)))
        if "deliberation" in shape and "bea" in people:
            people.remove("bea")  # she writes prose
        words = ["convene", f"Shall we do {name}?", "--name", name, "--agents", ",".join(agents)]
        words += ["--people", ",".join(people)] if people else []
        words += [*shape, "--timeout", self.chance.choice(("1h", "2h", "4h"))]
        self._try(words, lambda _: self.councils.append(name))

    def begin_room(self, name: str) -> None:
        """Make a room; something is said there a few times in the next hours."""
        members = ",".join([*self.chance.sample(AGENTS, 3), "ada"])

        def made(_: Json) -> None:
            self.rooms.append(name)
            words = ["channel", "post", name]
            for _ in range(3):
                self.at(self._in(0, 8), lambda: self._say(words, "What about rain?", "ada", name))

        words = ["channel", "create", "chat", name, "--participants", members, "--as", "ada"]
        self._try(words, made)

    def begin_discussion(self, name: str) -> None:
        """Open a discussion of agents; ada is to sum it up."""
        guide = self.machine.folder / "guide.md"
        guide.write_text("# Topic\nRain.\n\n# Goals\nA plan.\n\n# Completion criteria\nAgreed.\n")
        words = ["discussion", "create", name, "--as", "ada", "--guide", str(guide)]
        words += ["--participants", ",".join(self.chance.sample(AGENTS, 3))]
        self._try(words, lambda _: self.rooms.append(name))

    def ask(self, number: int) -> None:
        """Request something of the workers."""
        capability = self.chance.choice(list(CAPABILITIES.values()))
        words = ["msg", "send", "--user", f"{capability}: look at request {number}, please"]
        self._try(words, lambda answer: self.asked.add(answer["context"]))

    # What they do when they find that something waits for them

    def look_around(self, status: Json, runs: list[Json]) -> None:
        """See what waits for somebody, who means to do it hours later, or never."""
        for one in status.get("conversations", []):
            name, tour = one["name"], one["tour"]
            if "ada" in one["waiting"] and self._is_new(name, tour, "ada"):
                task = f"{one['conversationId']}.{tour}.ada.1"
                form = one["procedure"] == "deliberation"
                self._perhaps(lambda n=name, t=task, f=form: self._respond("ada", n, t, f))
            if "bea" in one["waiting"] and self._is_new(name, tour, "bea"):
                self._perhaps(lambda n=name, t=tour: self._edit(n, t))
            if self._is_new(name, "guidance") and self.chance.random() < _GUIDES:
                words = ["say", "--to", name]
                guide = lambda w=words, n=name: self._say(w, "Mind the budget.", "ada", n)  # noqa: E731
                self.at(self._in(0, 3), guide)
        for one in status.get("tasks", []):
            where = f"{one['context']}/{one['task']}"
            if one["waitsFor"] == "User" and self._is_new(where):
                words = ["msg", "answer", where, "red"]
                self._perhaps(lambda w=words: self._try(w, lambda _: None))
        for one in status.get("channels", []):
            if one["waitsForSummaryOf"] and self._is_new(one["channelId"]):
                self._perhaps(lambda n=one["channelId"]: self._sum_up(n))
        for one in runs:  # the agent that is always late answers by a command, too
            if one["does"] == "late" and self._is_new(one["task"]):
                of, form = (one["name"], one["task"]), one["phase"] in ("DELIBERATE", "VOTE")
                self.at(self._in(0.2, 5), lambda o=of, f=form: self._respond("late", *o, f))

    def _perhaps(self, what: Callable[[], None]) -> None:
        if self.chance.random() >= _NEVER:
            self.at(self._in(0.1, 5), what)

    def _respond(self, who: str, name: str, task: str, is_form: bool) -> None:
        words = ["respond", "--name", name, "--task", task]
        words += ["--position", "We should do it.", "--confidence", "4"] if is_form else []
        self._say(words, "I have thought about it.", who, name)

    def _edit(self, name: str, tour: int) -> None:
        """Write below bea's name and save: a new file takes the place of the old one."""
        live = self.machine.root / "memory" / "shared" / f"council-{name}-conversation.md"
        if not live.exists() or self.machine.look("show", name).json().get("tour") != tour:
            return  # it has gone on without her
        mark = f"bea-{name}-{self.chance.getrandbits(32):08x}"
        text = live.read_text(encoding="utf-8")
        end = [one.end() for one in re.finditer(r"^### .*Bea\n", text, re.MULTILINE)][-1]
        text = f"{text[:end]}It seems right to me. [k:{mark}]\n{text[end:]}"
        text = text.replace("(agent:bea): WAITING", "(agent:bea): RESPONDED")
        beside = live.with_name(f".{live.name}.swp")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, live)
        self.said.append((mark, "bea", name))

    def _sum_up(self, room: str) -> None:
        folder = self.machine.root / "memory" / "shared" / "discussion-summary"
        folder.mkdir(exist_ok=True)
        (folder / f"{room}.md").write_text("# Summary\nIt will rain.\n")
        words = ["discussion", "complete", room, "--as", "ada", "--summary"]
        self._try([*words, str(folder / f"{room}.md")], lambda _: None)
