"""What is promised of the week, and whether it was kept."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Any

from benchmarks.week.machine import Machine
from benchmarks.week.people import PEOPLE, People, Said

BEAT = timedelta(minutes=30)

# What `explain` has to name where a run came to this. A rest says by itself why.
_TRUE = {
    "crash": {"exit", "rests"},
    "limit": {"exit", "rests"},
    "hang": {"too-slow", "rests"},
    "mute": {"no-answer", "rests"},
    "late": {"no-answer", "rests"},
    "killed": {"lost", "gone", "rests"},
}
_WAITING = {"no-place", "busy", "cap"}

_MARK = re.compile(r"\[k:([^\]]+)\]")


class Promises:
    """The checks, and all that they found wrong.

    Attributes:
        broken: By promise, what was found: wrong, lost, double, not ended, unnamed.
        fault: What is the matter with the machine just now, as `explain` calls it, or "".
    """

    def __init__(self, machine: Machine, people: People) -> None:
        self.machine, self.people = machine, people
        self.broken: dict[str, dict[str, str]] = defaultdict(dict)
        self.fault = ""
        self.without_room: set[str] = set()
        self._seen: dict[str, str] = {}
        self._stalled: set[tuple[str, ...]] = set()
        self.counts: Counter[str] = Counter()

    def find(self, promise: str, where: str, what: str) -> None:
        """Write down that a promise was broken, once for each place."""
        self.broken[promise].setdefault(where, f"{self.machine.instant} {what}")

    # Nothing stands still without its cause being named

    def look_at_stalls(self, *, beaten: bool) -> dict[str, Any]:
        """Look at all that did not go on since the last beat; return the status."""
        ran = self.machine.look("status")
        if ran.code or self.fault == "settings":
            self._is_settings(ran.out + ran.err)
            return {}
        status, problems = ran.json(), self.machine.look("status", "--problems").json()
        runs: dict[tuple[str, str, int], dict[str, Any]] = {}
        for one in self.machine.runs():
            runs[one["name"], one["agent"], one["tour"]] = one
        now = {}
        for one in status["conversations"]:
            now[one["name"]] = signature = json.dumps(one, sort_keys=True)
            if self._seen.get(one["name"]) == signature:
                self._conversation(one, problems, runs, status)
            if beaten and not self.fault and not one["queued"] and not one["paused"]:
                self._deadline(one)
        for one in status["channels"]:
            now[one["channelId"]] = signature = json.dumps(one, sort_keys=True)
            if self._seen.get(one["channelId"]) == signature and is_awake(one):
                self._room(one, problems)
        for one in status["tasks"]:
            where = f"{one['context']}/{one['task']}"
            now[where] = signature = json.dumps(one, sort_keys=True)
            if self._seen.get(where) == signature:
                self._hindered(one["context"], where)
        if self.fault == "disk-full":
            self.without_room.add(self.machine.instant)
        if self.fault and now:
            self._fault(problems)
        self._seen = now
        return status

    def _is_settings(self, said: str) -> None:
        self.counts["stalls"] += 1
        if self.fault != "settings" or "council.toml" not in said:
            self.find("unnamed", f"status/{self.fault}", f"status says {said.strip()[:200]!r}")

    def _fault(self, problems: dict[str, Any]) -> None:
        """What is the matter with the machine is a problem, whatever it keeps back."""
        kinds = {"halted": ("halted",), "disk-full": ("disk", "disk-full")}
        wanted = kinds.get(self.fault, ("heartbeat", "clock"))
        self.counts["stalls"] += 1
        if not any(one["kind"] in wanted for one in problems["problems"]):
            found = [one["kind"] for one in problems["problems"]]
            self.find("unnamed", f"--problems/{self.fault}", f"--problems has only {found}")

    def _conversation(
        self,
        one: dict[str, Any],
        problems: dict[str, Any],
        runs: dict[tuple[str, str, int], dict[str, Any]],
        status: dict[str, Any],
    ) -> None:
        name = one["name"]
        told = self.machine.look("explain", name).json()
        hindrances = told.get("hindrances", [])
        said = {(h["agentId"], h["what"]) for h in hindrances}
        for agent in one["waiting"]:
            run = runs.get((name, agent, one["tour"]))
            does = self._truth(agent, run)
            expected = {"by-hand"} if agent in PEOPLE else _TRUE.get(does, set()) | _WAITING
            if agent in status["resting"]:
                expected = expected | {"rests"}
            if does in ("none", "says") and self.machine.shaken_at:
                expected |= _TRUE["killed"]
            expected = {self.fault} if self.fault in ("halted", "disk-full") else expected
            key = (name, str(one["tour"]), agent, does, self.fault)
            self.counts["stalls"] += key not in self._stalled
            self._stalled.add(key)
            if not any(who in (agent, None) and what in expected for who, what in said):
                what = (
                    f"{does}, not one of {sorted(expected)}: explain says {sorted(map(str, said))}"
                )
                self.find("unnamed", f"explain/{does}/{name}/{agent}", what)
            wheres = (p["where"] for p in problems["problems"])
            if does in _TRUE and not any(w in ("", name, agent) for w in wheres):
                self.find(
                    "unnamed", f"--problems/{does}/{name}/{agent}", "--problems names nothing"
                )
            keeps = {"rests", "cap", "no-place", "busy"} & {what for _, what in said}
            if does == "killed" and not keeps and not self.fault:
                self.find("not ended", f"retry/{name}/{agent}", "is not tried again after a beat")
        for waited in told.get("waitsFor", []):
            if waited["what"] == "run":
                self.find("unnamed", f"explain/running/{name}", f"nothing runs: {waited['said']!r}")

    def _truth(self, agent: str, run: dict[str, Any] | None) -> str:
        if agent in PEOPLE:
            return "person"
        if run is None:
            return "none"
        return "killed" if run["task"] in self.machine.killed else str(run["does"])

    def _room(self, one: dict[str, Any], problems: dict[str, Any]) -> None:
        room = one["channelId"]
        if one["waitsForSummaryOf"]:
            self.counts["stalls"] += (room, "idle") not in self._stalled
            self._stalled.add((room, "idle"))
            if not any(p["where"] == room and p["kind"] == "idle" for p in problems["problems"]):
                self.find("unnamed", f"--problems/idle/{room}", "waits for its summary")
        else:
            self._hindered(room, room)

    def _hindered(self, name: str, where: str) -> None:
        self.counts["stalls"] += (where,) not in self._stalled
        self._stalled.add((where,))
        told = self.machine.look("explain", name).json()
        waits = [w["said"] for w in told.get("waitsFor", []) if w["what"] != "message"]
        if waits and not told["hindrances"]:
            self.find("unnamed", f"explain/{where}", f"no hindrance; waits for {waits}")

    def _deadline(self, one: dict[str, Any]) -> None:
        ended_at = datetime.fromisoformat(one["timeoutAt"])
        if ended_at + BEAT <= self.machine.now:
            self.find("not ended", f"deadline/{one['name']}", f"was to go on at {one['timeoutAt']}")

    # Nothing is lost, double or wrong

    def look_at_texts(self, *, at_the_end: bool) -> None:
        """Look for everything that was acknowledged, and at whose word it stands."""
        said: dict[str, list[Said]] = defaultdict(list)
        for one in self.people.said:
            said[one.where].append(one)
        runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for run in self.machine.runs():
            runs[run["name"]].append(run)
        for name in self.people.councils:
            self._council(name, said[name], runs[name], at_the_end=at_the_end)
        for room in self.people.rooms:
            log = self.machine.root / "memory" / "shared" / "channels" / f"{room}.jsonl"
            lines = log.read_text().splitlines() if log.exists() else []
            texts = [(r["agentId"] or r["author"], r["content"]) for r in map(json.loads, lines)]
            self._each(room, texts, said[room], runs[room])

    def _council(
        self, name: str, said: list[Said], runs: list[dict[str, Any]], *, at_the_end: bool
    ) -> None:
        ran = self.machine.look("show", name)
        if ran.code:
            self.find("lost", name, f"show: {ran.err.strip()[:200]}")
            return
        shown = ran.json()
        entries = [*shown["contributions"], *shown["late"], *shown["guidance"]]
        texts = [(one["agent"], one["text"]) for one in entries]
        minutes = self._minutes(shown["conversationId"])
        taken = set(_MARK.findall("".join(text for _, text in texts)))
        if not minutes and not at_the_end:
            said = [one for one in said if one.mark in taken]  # the rest may still be sealed
        self._each(name, texts, said, runs)
        if minutes:
            self._printed(name, taken, runs)
            for mark in taken:
                if (times := minutes.count(f"[k:{mark}]")) != 1:
                    promise = "double" if times else "lost"
                    self.find(promise, f"minutes/{name}/{mark}", f"stands {times} times")
        for one in shown["contributions"]:
            stances = {r["stance"] for r in one.get("responses", [])}
            if one["agent"] not in PEOPLE and stances - {"agree"}:
                self.find("wrong", f"{name}/{one['id']}", f"stances are read as {stances}")

    def _minutes(self, conversation: str) -> str:
        for one in (self.machine.root / "conseils").glob("*.md"):
            text = one.read_text(encoding="utf-8")
            if f"\nconversation: {conversation}\n" in text:
                return text
        return ""

    def _printed(self, name: str, taken: set[str], runs: list[dict[str, Any]]) -> None:
        """Of what an agent printed in a round something stands, where nothing befell the run."""
        marks = defaultdict(set)
        for run in runs:
            fell = run["task"] in self.machine.killed or run["at"] in self.without_room
            if run["does"] == "says" and not fell:
                marks[run["agent"], run["tour"]].add(run["mark"])
        for (agent, tour), printed in marks.items():
            if not printed & taken:
                self.find("lost", f"printed/{name}/{agent}/{tour}", f"{agent} printed it")

    def _each(
        self,
        where: str,
        texts: list[tuple[str, str]],
        said: list[Said],
        runs: list[dict[str, Any]],
    ) -> None:
        known = {one.mark: one.who for one in said} | {run["mark"]: run["agent"] for run in runs}
        found: Counter[str] = Counter()
        for who, text in texts:
            for mark in _MARK.findall(text):
                found[mark] += 1
                if known.get(mark, who) != who:
                    self.find(
                        "wrong", f"{where}/{mark}", f"stands as {who}'s, {known[mark]} said it"
                    )
        for one in said:
            if not found[one.mark]:
                self.find("lost", f"{one.how}/{where}/{one.mark}", "was acknowledged")
        for mark, times in found.items():
            if times > 1:
                self.find("double", f"{where}/{mark}", f"stands {times} times")

    def look_at_the_end(self) -> None:
        """Look for what has not ended, and for requests that were taken twice or not at all."""
        status = self.machine.look("status").json()
        for one in status.get("conversations", []):
            self.find("not ended", one["name"], f"{one['phase']}, waits for {one['waiting']}")
        for one in status.get("channels", []):
            if is_awake(one) and not one["waitsForSummaryOf"]:
                self.find("not ended", one["channelId"], f"floor of {one['currentSpeaker']}")
        for one in status.get("tasks", []):
            if one["waitsFor"] != "User":
                self.find(
                    "not ended", f"{one['context']}/{one['task']}", f"in state {one['state']}"
                )
        self.look_at_texts(at_the_end=True)
        folder = self.machine.root / "memory" / "shared" / "protocol" / "contexts"
        contexts = {one.name.partition(".")[0] for one in folder.rglob("S*.json*")}
        for context in contexts - self.people.asked:
            self.find("double", context, "was never acknowledged, and stands")
        for context in self.people.asked - contexts:
            self.find("lost", context, "was acknowledged, and is not there")


def is_awake(room: dict[str, Any]) -> bool:
    """Return true if a room, as `status` shows it, still has something to do."""
    return not room["dormant"] and room["tmState"] != "archived"
