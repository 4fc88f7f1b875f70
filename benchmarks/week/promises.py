"""What is promised of the week, and whether it was kept."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Any

from benchmarks.week.machine import Machine
from benchmarks.week.people import PEOPLE, People

BEAT = timedelta(minutes=30)
PROMISES = ("not ended", "unnamed", "lost", "double", "wrong")

# What `explain` has to name where a run came to this; a rest and a cap name it as well.
_TRUE = {
    "crash": "exit",
    "limit": "exit",
    "hang": "too-slow",
    "mute": "no-answer",
    "late": "no-answer",
    "killed": "lost",
}
_KEPT_BACK = {"rests", "cap", "no-place", "busy"}
# Of which kind `status --problems` has to have something while the machine is not well.
_KINDS = {"halted": {"halted"}, "disk-full": {"disk-full"}, "no clock": {"old-heartbeat"}}
_MARK = re.compile(r"\[k:([^\]]+)\]")
_BY_RULE = "council"  # its digest quotes what others have said

Json = dict[str, Any]


class Promises:
    """The checks, and all that they found broken: by promise, then by place.

    Attributes:
        fault: What is the matter with the whole machine just now, "" for nothing.
    """

    def __init__(self, machine: Machine, people: People) -> None:
        self.machine, self.people = machine, people
        self.broken: dict[str, dict[str, str]] = {one: {} for one in PROMISES}
        self.fault = ""
        self.stalls: set[tuple[str, ...]] = set()
        self._seen: dict[str, str] = {}
        self._without_room: set[str] = set()

    def find(self, promise: str, where: str, what: str) -> None:
        """Write down that a promise was broken, once for each place."""
        if where not in self.broken[promise]:
            self.broken[promise][where] = line = f"{self.machine.instant} {what}"
            sys.stderr.write(f"week: {promise}: {where}: {line}\n")

    # Nothing stands still without its cause being named

    def look_at_stalls(self, *, beaten: bool) -> Json:
        """Look at all that did not go on since the last look; return the status."""
        ran = self.machine.look("status")
        if ran.code or self.fault == "settings":
            self.stalls.add(("settings", self.machine.instant))
            if self.fault != "settings" or "council.toml" not in ran.out + ran.err:
                self.find("unnamed", f"status/{self.fault}", (ran.out + ran.err).strip()[:200])
            return {}
        status, problems = ran.json(), self.machine.look("status", "--problems").json()["problems"]
        runs = {(one["name"], one["agent"], one["tour"]): one for one in self.machine.runs()}
        is_stale = datetime.fromisoformat(status["lastHeartbeat"]) + 2 * BEAT < self.machine.now
        seen, self._seen = self._seen, {}
        for one in [*status["conversations"], *status["channels"], *status["tasks"]]:
            where = one.get("name") or f"{one['context']}/{one['task']}"
            self._seen[where] = signature = json.dumps(one, sort_keys=True)
            if seen.get(where) == signature and (beaten or self.fault != "no clock"):
                if "conversationId" in one:
                    self._council(one, problems, runs)
                else:
                    self._room_or_task(where, one, problems)
            if beaten and not self.fault and _is_late(one, self.machine.now):
                self.find("not ended", f"phase/{where}", f"out of time at {one['timeoutAt']}")
        if self.fault == "disk-full":
            self._without_room.add(self.machine.instant)
        if self.fault and self._seen and (self.fault != "no clock" or is_stale):
            self.stalls.add((self.fault, self.machine.instant))
            kinds = {one["what"] for one in problems}
            if not kinds & _KINDS[self.fault]:
                self.find("unnamed", f"--problems/{self.fault}", f"only {sorted(kinds)}")
        return status

    def _council(self, one: Json, problems: list[Json], runs: dict[Any, Json]) -> None:
        name = one["name"]
        told = self.machine.look("explain", name).json()
        said = {(h["agentId"], h["what"]) for h in told["hindrances"]}
        for waited in told["waitsFor"]:
            if waited["what"] == "run":
                self.find("unnamed", f"explain/run/{name}", f"nothing runs: {waited['said']!r}")
        for agent in one["waiting"]:
            does = self._truth(agent, runs.get((name, agent, one["tour"])))
            self.stalls.add((name, str(one["tour"]), agent, does, self.fault))
            expected = {_TRUE.get(does, ""), *_KEPT_BACK} if agent not in PEOPLE else {"by-hand"}
            if self.machine.shaken_at and agent not in PEOPLE:
                expected.add("lost")  # perhaps before its program had begun
            if self.fault in ("halted", "disk-full"):
                expected = {self.fault}
            named = {what for who, what in said if who in (agent, None)}
            if not named & expected:
                waits = [w["said"] for w in told["waitsFor"] if w["agentId"] in (agent, None)]
                what = f"not one of {sorted(expected)} but {sorted(named)}; {waits}"
                self.find("unnamed", f"explain/{does}/{name}/{agent}", what)
            where = {problem[key] or "" for problem in problems for key in ("where", "agentId")}
            if does in _TRUE and not where & {"", name, agent}:
                self.find("unnamed", f"--problems/{does}/{name}/{agent}", "nothing about it")
            if does == "killed" and not named & _KEPT_BACK and not self.fault:
                self.find("not ended", f"again/{name}/{agent}", "was not tried again by a beat")

    def _truth(self, agent: str, run: Json | None) -> str:
        if agent in PEOPLE or run is None:
            return "nothing"
        return "killed" if run["task"] in self.machine.killed else str(run["does"])

    def _room_or_task(self, where: str, one: Json, problems: list[Json]) -> None:
        if "channelId" in one and not is_awake(one):
            return
        self.stalls.add((where,))
        told = self.machine.look("explain", where.partition("/")[0]).json()
        waits = [w["said"] for w in told["waitsFor"] if w["what"] != "message"]
        if waits and not told["hindrances"]:
            self.find("unnamed", f"explain/{where}", f"no hindrance; waits for {waits}")
        is_idle = any((p["where"], p["what"]) == (where, "not-completed") for p in problems)
        if one.get("waitsForSummaryOf") and not is_idle:
            self.find("unnamed", f"--problems/idle/{where}", "waits for its summary")

    # Nothing is lost, double or wrong

    def look_at_texts(self, *, at_the_end: bool) -> None:
        """Look for everything that was acknowledged, and at whose word it stands."""
        said: dict[str, dict[str, str]] = defaultdict(dict)
        for mark, who, where in self.people.said:
            said[where][mark] = who
        runs: dict[str, list[Json]] = defaultdict(list)
        for run in self.machine.runs():
            runs[run["name"]].append(run)
        for name in self.people.councils:
            self._minuted(name, said[name], runs[name], at_the_end=at_the_end)
        for room in self.people.rooms:
            log = self.machine.root / "memory" / "shared" / "channels" / f"{room}.jsonl"
            lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
            texts = [(one["agentId"] or one["author"], one["content"]) for one in lines]
            self._each_once(room, texts, said[room], runs[room])

    def _minuted(
        self, name: str, said: dict[str, str], runs: list[Json], *, at_the_end: bool
    ) -> None:
        shown = self.machine.look("show", name).json()
        if "contributions" not in shown:
            self.find("lost", name, f"show says {shown}")
            return
        entries = [*shown["contributions"], *shown["late"], *shown["guidance"]]
        texts = [(one["agent"], one["text"]) for one in entries if one["agent"] != _BY_RULE]
        stand = set(_MARK.findall("".join(text for _, text in texts)))
        minutes = self._minutes(shown["conversationId"])
        kept = set(_MARK.findall(minutes))  # drafts too, in whose place a second answer came
        if minutes:
            said = {mark: who for mark, who in said.items() if mark not in kept - stand}
        elif not at_the_end:  # what is not there yet may still be sealed
            said = {mark: who for mark, who in said.items() if mark in stand}
        self._each_once(name, texts, said, runs)
        for mark in stand | kept if minutes else ():
            times = minutes.count(f"[k:{mark}]")
            if times != 1:
                self.find("double" if times else "lost", f"minutes/{name}/{mark}", f"{times} times")
        for one in shown["contributions"]:
            stances = {r["stance"] for r in one.get("responses", [])}
            if one["agent"] not in PEOPLE and stances - {"agree"}:
                self.find("wrong", f"{name}/{one['id']}", f"stances are read as {stances}")
        for run in runs if minutes else ():
            befell = run["task"] in self.machine.killed or run["at"] in self._without_room
            if run["does"] == "says" and not befell and run["mark"] not in kept:
                self.find("lost", f"{name}/{run['tour']}/{run['agent']}", "its run printed it")

    def _minutes(self, conversation: str) -> str:
        for one in (self.machine.root / "conseils").glob("*.md"):
            text = one.read_text(encoding="utf-8")
            if f"\nconversation: {conversation}\n" in text:
                return text
        return ""

    def _each_once(
        self, where: str, texts: list[tuple[str, str]], said: dict[str, str], runs: list[Json]
    ) -> None:
        known = {**said, **{run["mark"]: run["agent"] for run in runs}}
        found = Counter(mark for _, text in texts for mark in _MARK.findall(text))
        for who, text in texts:
            for mark in _MARK.findall(text):
                if known.get(mark, who) != who:
                    self.find("wrong", f"{where}/{mark}", f"{known[mark]} said it, not {who}")
        for mark in said.keys() - found.keys():
            self.find("lost", f"{where}/{mark}", "was acknowledged")
        for mark in (mark for mark, times in found.items() if times > 1):
            self.find("double", f"{where}/{mark}", f"stands {found[mark]} times")

    def look_at_the_end(self) -> None:
        """Look for what has not ended, and for requests that were taken twice or not at all."""
        status = self.machine.look("status").json()
        for one in status["conversations"]:
            self.find(
                "not ended", one["name"], f"{one['currentPhase']}, waits for {one['waiting']}"
            )
        for one in filter(is_awake, status["channels"]):
            if not one["waitsForSummaryOf"]:
                self.find("not ended", one["channelId"], f"floor of {one['currentSpeaker']}")
        for one in status["tasks"]:
            if one["waitsFor"] != "User":
                self.find("not ended", one["context"], f"{one['task']} is in state {one['state']}")
        self.look_at_texts(at_the_end=True)
        folder = self.machine.root / "memory" / "shared" / "protocol" / "contexts"
        contexts = {one.name.partition(".")[0] for one in folder.rglob("S*.json*")}
        for context in contexts ^ self.people.asked:
            promise = "double" if context in contexts else "lost"
            self.find(promise, context, "stands or was acknowledged, but not both")


def is_awake(room: Json) -> bool:
    """Return true if a room, as `status` shows it, still has something to do."""
    return not room["dormant"] and room["tmState"] != "archived"


def _is_late(one: Json, now: datetime) -> bool:
    if "timeoutAt" not in one or one["queued"] or one["paused"]:
        return False
    return datetime.fromisoformat(one["timeoutAt"]) + BEAT <= now
