"""What the people of the week do: ada gives commands, bea edits files as vim does."""

from __future__ import annotations

import heapq
import itertools
import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from benchmarks.week.machine import AGENTS, CAPABILITIES, Machine

PEOPLE = ("ada", "bea")
_NEVER = 0.25
_TRIES = 4
_SHAPES = (
    ("--phases", "collect,synthesize"),
    ("--phases", "collect,challenge,synthesize", "--open"),
    ("--phases", "collect,challenge,resolve,synthesize"),
    ("--mode", "review", "--order", "rotate", "--phases", "collect,resolve,synthesize"),
    ("--procedure", "deliberation", "--max-rounds", "2"),
    ("--procedure", "deliberation", "--order", "fixed", "--anonymous", "--max-rounds", "3"),
)


class Said(NamedTuple):
    """Something that was acknowledged: its mark, its author, where it was said, and how."""

    mark: str
    who: str
    where: str
    how: str


class People:
    """Two people, and what they still mean to do.

    Attributes:
        said: What was acknowledged.
        asked: The contexts of requests that were taken.
        refused: The last words of commands that were refused, with how often.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine, self.chance = machine, machine.chance
        self.said: list[Said] = []
        self.asked: set[str] = set()
        self.refused: dict[str, int] = {}
        self.councils: list[str] = []
        self.rooms: list[str] = []
        self._later: list[tuple[datetime, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._met: set[tuple[object, ...]] = set()

    def at(self, when: datetime, what: Callable[[], None]) -> None:
        """Mean to do something."""
        heapq.heappush(self._later, (when, next(self._order), what))

    def live_until(self, end: datetime) -> None:
        """Do all that was meant to be done before `end`, each at its time."""
        while self._later and self._later[0][0] <= end:
            when, _, what = heapq.heappop(self._later)
            self.machine.now = max(when, self.machine.now)
            try:
                what()
            except OSError:  # their own programs have no room either
                self.at(when + timedelta(hours=1), what)
        self.machine.now = end

    def means_to(self) -> bool:
        """Return true if anything is still to be done."""
        return bool(self._later)

    def _in(self, least_h: float, most_h: float) -> datetime:
        hours = self.chance.uniform(least_h, most_h)
        return self.machine.now + timedelta(minutes=int(hours * 60))

    def _mark(self, *of: object) -> str:
        return f"{'-'.join(map(str, of))}-{self.chance.getrandbits(32):08x}"

    def _try(self, words: list[str], taken: Callable[[dict[str, Any]], None], left: int = _TRIES):
        """Give a command; where the machine refuses it, again in an hour."""
        ran = self.machine.surely(*words, "--json")
        if ran.code == 0 or ran.json().get("outcome") == "late":
            taken(ran.json())
            return
        why = re.sub(r"[\d'].*", "…", (ran.err.strip() or ran.out.strip()).partition("\n")[0])
        self.refused[f"{words[0]}: exit {ran.code}: {why[:90]}"] = (
            self.refused.get(f"{words[0]}: exit {ran.code}: {why[:90]}", 0) + 1
        )
        if ran.code in (1, 3) and left > 1:  # not for what was said: the machine is not well
            self.at(
                self.machine.now + timedelta(hours=1), lambda: self._try(words, taken, left - 1)
            )

    # What they begin

    def begin_council(self, name: str) -> None:
        """Convene one of several shapes, with three to five who take part."""
        shape = self.chance.choice(_SHAPES)
        agents = self.chance.sample(AGENTS, self.chance.randint(2, 4))
        agents += self.chance.sample(PEOPLE, self.chance.choice((0, 1, 1, 2)))
        if "deliberation" in shape and "bea" in agents:
            agents.remove("bea")  # she writes prose
        words = ["convene", f"Shall we do {name}?", "--name", name, "--agents", ",".join(agents)]
        words += [*shape, "--timeout", self.chance.choice(("1h", "2h", "4h"))]
        self._try(words, lambda _: self.councils.append(name))

    def begin_room(self, name: str) -> None:
        """Make a room and say something there a few times in the next hours."""
        members = ",".join([*self.chance.sample(AGENTS, 3), "ada"])
        words = ["channel", "create", "chat", name, "--participants", members, "--as", "ada"]

        def made(_: dict[str, Any]) -> None:
            self.rooms.append(name)
            for _ in range(3):
                self.at(self._in(0, 8), lambda: self._post(name))

        self._try(words, made)

    def begin_discussion(self, name: str) -> None:
        """Open a discussion of agents."""
        guide = self.machine.disk / f"{name}.md"
        guide.write_text("# Topic\nRain.\n\n# Goals\nA plan.\n\n# Completion criteria\nAgreed.\n")
        members = ",".join(self.chance.sample(AGENTS, 3))
        words = ["discussion", "create", name, "--as", "ada", "--guide", str(guide)]
        self._try([*words, "--participants", members], lambda _: self.rooms.append(name))

    def ask(self, number: int) -> None:
        """Request something of the workers."""
        capability = self.chance.choice(list(CAPABILITIES.values()))
        words = ["msg", "send", "--user", f"{capability}: look at request {number}, please"]
        self._try(words, lambda answer: self.asked.add(answer["context"]))

    # What they do when they find that something waits for them

    def look_around(self, status: dict[str, Any]) -> None:
        """See what waits for a person, and mean to do it hours later, or never."""
        for one in status.get("conversations", []):
            for who in PEOPLE:
                if who in one["waiting"] and self._is_new(one["name"], one["tour"], who):
                    answer = self._edit if who == "bea" else self._respond
                    task = f"{one['conversationId']}.{one['tour']}.{who}.1"
                    self._perhaps(lambda a=answer, o=one, w=who, t=task: a(o, w, t))
            if self._is_new(one["name"], "guidance") and self.chance.random() < 0.3:
                self.at(self._in(0, 3), lambda n=one["name"]: self._guide(n))
        for one in status.get("tasks", []):
            asks = one["waitsFor"] == "User" and not one["closed"]
            if asks and self._is_new(one["context"], one["task"]):
                where = f"{one['context']}/{one['task']}"
                self._perhaps(
                    lambda w=where: self._try(["msg", "answer", w, "red"], lambda _: None)
                )
        for one in status.get("channels", []):
            if one.get("waitsForSummaryOf") == "ada" and self._is_new(one["channelId"]):
                self._perhaps(lambda n=one["channelId"]: self.complete(n))

    def catch_up(self, runs: list[dict[str, Any]]) -> None:
        """Let the agent that is always late answer, hours after its run."""
        for one in runs:
            if one["does"] == "late" and self._is_new(one["task"]):
                council = {"name": one["name"], "procedure": "council"}
                if one["phase"] in ("DELIBERATE", "VOTE"):
                    council["procedure"] = "deliberation"
                self.at(
                    self._in(0.2, 5), lambda o=one, c=council: self._respond(c, "late", o["task"])
                )

    def _is_new(self, *what: object) -> bool:
        is_new = what not in self._met
        self._met.add(what)
        return is_new

    def _perhaps(self, what: Callable[[], None]) -> None:
        if self.chance.random() >= _NEVER:
            self.at(self._in(0.1, 5), what)

    def _respond(self, council: dict[str, Any], who: str, task: str) -> None:
        name = council["name"]
        mark = self._mark(who, name)
        words = ["respond", f"I have thought about it. [k:{mark}]", "--as", who, "--name", name]
        if council["procedure"] == "deliberation":
            words += ["--position", "We should do it.", "--confidence", "4"]
        said = lambda _: self.said.append(Said(mark, who, name, "respond"))  # noqa: E731
        self._try([*words, "--task", task], said)

    def _edit(self, council: dict[str, Any], who: str, _task: str) -> None:
        """Write below her name and save: a new file takes the place of the old one."""
        name = council["name"]
        live = self.machine.root / "memory" / "shared" / f"council-{name}-conversation.md"
        state = self.machine.look("show", name).json()
        if not live.exists() or state.get("tour") != council["tour"]:
            return  # it has gone on without her
        mark = self._mark(who, name)
        text = live.read_text(encoding="utf-8")
        headings = list(re.finditer(rf"^### .*{who.capitalize()}\n", text, re.MULTILINE))
        if not headings:
            return
        end = headings[-1].end()
        text = f"{text[:end]}It seems right to me. [k:{mark}]\n{text[end:]}"
        text = text.replace(f"(agent:{who}): WAITING", f"(agent:{who}): RESPONDED")
        beside = live.with_name(f".{live.name}.swp")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, live)
        self.said.append(Said(mark, who, name, "edit"))

    def _guide(self, name: str) -> None:
        mark = self._mark("guide", name)
        words = ["say", f"Mind the budget. [k:{mark}]", "--to", name, "--as", "ada"]
        self._try(words, lambda _: self.said.append(Said(mark, "ada", name, "say")))

    def _post(self, room: str) -> None:
        mark = self._mark("post", room)
        words = ["channel", "post", room, f"What about rain? [k:{mark}]", "--as", "ada"]
        self._try(words, lambda _: self.said.append(Said(mark, "ada", room, "post")))

    def complete(self, room: str) -> None:
        """Complete a discussion with a summary."""
        folder = self.machine.root / "memory" / "shared" / "discussion-summary"
        folder.mkdir(exist_ok=True)
        (folder / f"{room}.md").write_text("# Summary\nIt will rain.\n")
        words = ["discussion", "complete", room, "--as", "ada", "--summary"]
        self._try([*words, str(folder / f"{room}.md")], lambda _: None)
