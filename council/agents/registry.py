"""The registry: who may be run, who rests after failures, and what was used day by day.

One document a workspace, without a page. Features read it; the end of each run is told to it once.
"""

from __future__ import annotations

from council.agents.settings import AgentSettings, Limits
from council.kernel import times
from council.kernel.record import Any, Record
from council.kernel.times import datetime, timedelta

Event = dict[str, Any]
NOT_ITS_OWN = ("lost", "ended")
# Failures that do not count towards a rest: they cost nothing, or are not the agent's own.
UNCOUNTED = frozenset((*NOT_ITS_OWN, "missing-program", "bad-settings"))
KNOWN_RUNS, KNOWN_DAYS = 500, 62


class Failing(Record, settled=True):
    """How often an agent failed in a row with the same settings, and how it failed last."""

    count: int = 0
    code: str = ""
    words: str = ""
    settings: str = ""
    at: str = ""
    until: str = ""  # when its rest is over: not run before, unless its settings are mended


class Identity(Record, settled=True):
    """Which agent an account of Discord is (document 001, Identity Registry)."""

    agent_id: str
    agent_name: str


class Worker(Record, settled=True):
    """What is known of an agent under its protocol id, such as `W3` (document 002)."""

    agent_id: str
    caps: list[str] = []
    about: str = ""
    max_depth: int = 4  # it serves depths below
    version: str = "V5"  # what it speaks
    load: int = 0  # percent
    queue: int = 0
    alive: str = ""  # when it last said that it lives, "" where it never does
    used: str = ""  # when its last run ended


class Day(Record):
    """What ended runs used on a day (UTC)."""

    runs: int = 0
    usd: float = 0.0


class Registry(Record):
    """The state."""

    rev: int = 0
    mark: str = ""
    halted: str = ""  # since when nothing is started, "" where runs may start
    failing: dict[str, Failing] = {}
    days: dict[str, Day] = {}
    runs: list[str] = []
    identities: dict[str, Identity] = {}
    workers: dict[str, Worker] = {}  # by protocol id
    groups: dict[str, list[str]] = {}  # protocol ids by group (`G1`)
    fault: str = ""  # why its journal cannot be read: then no run is started


JOINED, LEFT, GROUPED = "agent.joined", "agent.left", "agent.grouped"
CHANGED = ("agent.capable", "agent.alive")
EVENTS = ("halted", "released", "counted", "identified", JOINED, LEFT, GROUPED, *CHANGED)
new = Registry


def evolve(state: Registry, event: Event) -> None:
    """Fold one event."""
    if event["type"] == "identified":
        names = {"agent_id": event["agentId"], "agent_name": event["agentName"]}
        state.identities[event["account"]] = Identity(**names)
        if not event["agentId"]:
            del state.identities[event["account"]]
    elif event["type"] == "counted":
        _count(state, event)
    elif event["type"] in (JOINED, *CHANGED):
        before = state.workers[event["id"]].to_json() if event["type"] != JOINED else {}
        state.workers[event["id"]] = Worker.from_json({**before, **event["worker"]})
    elif event["type"] == GROUPED:
        state.groups[event["group"]] = event["members"]
    elif event["type"] == LEFT:
        state.workers.pop(event["id"], None)
        for members in state.groups.values():
            members[:] = [one for one in members if one != event["id"]]
    else:
        state.halted = event["at"] if event["type"] == "halted" else ""


def _count(state: Registry, event: Event) -> None:
    agent = event["agent"]
    state.runs = [*state.runs[1 - KNOWN_RUNS :], event["run"]]
    day = state.days.setdefault(event["at"][:10], Day())
    day.runs += 1
    day.usd += event["use"].get("usd") or 0.0
    for ident, one in state.workers.items():
        if one.agent_id == agent:
            state.workers[ident] = one.copy(used=event["at"])
    while len(state.days) > KNOWN_DAYS:
        del state.days[min(state.days)]
    if event["outcome"] == "answered":
        state.failing.pop(agent, None)
    elif event["code"] not in NOT_ITS_OWN:
        before = _before(state, agent, event["settings"])
        state.failing[agent] = Failing(
            count=before.count + (event["code"] not in UNCOUNTED),
            **{key: event[key] for key in ("code", "words", "settings", "at")},
            until=event["rest"] or before.until,
        )


def _before(state: Registry, agent: str, settings: str) -> Failing:
    """Return how an agent failed until now with these settings."""
    before = state.failing.get(agent) or Failing()
    return before if before.settings == settings else Failing()


def due(_state: Registry, _now: datetime) -> list[Event]:
    """Return nothing: time alone changes nothing here."""
    return []


def halt(state: Registry, halted: bool, now: datetime) -> list[Event]:
    """Stop all starting of runs, or let runs start again."""
    event = {"type": "halted" if halted else "released", "at": times.text(now)}
    return [event] if halted != bool(state.halted) else []


def run_ended(
    state: Registry, run: Any, settings: AgentSettings, limits: Limits, now: datetime
) -> list[Event]:
    """Count the end of a run (`runs.work.Run`) once; one that fails too often in a row rests."""
    if run.id in state.runs:
        return []
    digest, most = settings.digest(), limits.failures_before_rest
    counts = run.outcome == "failed" and run.code not in UNCOUNTED and most
    rests = counts and _before(state, run.agent, digest).count + 1 >= most
    rest = times.text(now + timedelta(minutes=limits.rest_minutes)) if rests else ""
    made: Event = {"type": "counted", "run": run.id, "agent": run.agent, "at": times.text(now)}
    made |= {"outcome": run.outcome, "code": run.code, "words": run.words, "settings": digest}
    return [{**made, "use": run.use.to_json(), "rest": rest}]


def rest_of(state: Registry, settings: AgentSettings, now: datetime) -> Failing | None:
    """Return why an agent rests now; None where it does not, or its settings were mended."""
    found = _before(state, settings.id, settings.digest())
    was_ahead = found.at > times.text(now + timedelta(minutes=1))  # the clock was set back
    return found if found.until > times.text(now) and not was_ahead else None
