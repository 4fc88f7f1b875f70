"""The registry: who may be run, who rests after failures, and what was used day by day.

One document a workspace, without a page. Features read it; the end of each run is told to it once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.agents.settings import AgentSettings, Limits
from council.kernel import times
from council.kernel.record import Any, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.kernel.page import Taken

Event = dict[str, Any]
NOT_ITS_OWN = ("lost", "ended")
# Failures that do not count towards a rest: they cost nothing, or are not the agent's own.
UNCOUNTED = frozenset((*NOT_ITS_OWN, "missing-program", "bad-settings"))
KNOWN_RUNS, KNOWN_DAYS = 500, 62


class Rest(Record, settled=True):
    """An agent is not run until then, unless its settings are mended before."""

    until: str
    why: str
    settings: str = ""


class Failing(Record, settled=True):
    """How often an agent failed in a row with the same settings, and how it failed last."""

    count: int
    code: str
    words: str
    settings: str
    at: str


class Day(Record):
    """What ended runs used on a day (UTC); `estimated` tokens were not reported."""

    runs: int = 0
    tokens: int = 0
    estimated: int = 0
    usd: float = 0.0


class Registry(Record):
    """The state. `halted` is since when nothing is started, "" where runs may start."""

    rev: int = 0
    mark: str = ""
    halted: str = ""
    halted_until: str | None = None
    resting: dict[str, Rest] = {}
    failing: dict[str, Failing] = {}
    days: dict[str, Day] = {}
    runs: list[str] = []


EVENTS: dict[str, tuple[str, ...]] = {"halted": ("at", "until"), "released": ("at",)}
EVENTS["counted"] = ("run", "agent", "at", "outcome", "code", "words", "use", "settings", "rest")


def new() -> Registry:
    """Return the registry of a new workspace."""
    return Registry()


def evolve(state: Registry, event: Event) -> None:
    """Fold one event."""
    kind = event["type"]
    if kind == "halted":
        state.halted, state.halted_until = event["at"], event["until"]
    elif kind == "released":
        state.halted, state.halted_until = "", None
    elif kind == "counted":
        _count(state, event)


def _count(state: Registry, event: Event) -> None:
    agent, use, day = event["agent"], event["use"], event["at"][:10]
    state.runs = [*state.runs[1 - KNOWN_RUNS :], event["run"]]
    sums = state.days.setdefault(day, Day())
    sums.runs += 1
    sums.tokens += use.get("tokens") or 0
    sums.estimated += 0 if use.get("tokens") else use.get("estimated") or 0
    sums.usd += use.get("usd") or 0.0
    while len(state.days) > KNOWN_DAYS:
        del state.days[min(state.days)]
    if event["outcome"] == "answered":
        state.resting.pop(agent, None)
        state.failing.pop(agent, None)
    elif event["code"] not in NOT_ITS_OWN:
        state.failing[agent] = Failing(
            count=_failures(state, agent, event["settings"]) + (event["code"] not in UNCOUNTED),
            **{key: event[key] for key in ("code", "words", "settings", "at")},
        )
    if event["rest"]:
        why = {"why": event["words"], "settings": event["settings"]}
        state.resting[agent] = Rest(until=event["rest"], **why)


def _failures(state: Registry, agent: str, settings: str) -> int:
    """Return how often an agent failed in a row with these settings."""
    before = state.failing.get(agent)
    return before.count if before and before.settings == settings else 0


def due(state: Registry, now: datetime) -> list[Event]:
    """Return the end of a halt whose time is over."""
    is_over = state.halted and state.halted_until and state.halted_until <= times.text(now)
    return [{"type": "released", "at": times.text(now)}] if is_over else []


def wake(state: Registry) -> datetime | None:
    """Return when a halt ends by itself."""
    return times.instant(state.halted_until) if state.halted_until else None


def render(_state: Registry) -> str:
    """Return no page."""
    return ""


def edits(_base: Registry, _now: Registry, _page: str, _at: datetime, _ours: bool) -> Taken:
    """Return nothing: there is no page to edit."""
    from council.kernel.page import Taken  # late: never asked of a document without a page

    return Taken()


def adopt(_page: str) -> list[Event]:
    """Return nothing: a registry is never made from a page."""
    return []


# --- Decisions and questions


def halt(state: Registry, now: datetime, until: datetime | None = None) -> list[Event]:
    """Stop all starting of runs, for good or until then."""
    end = times.text(until) if until else None
    if state.halted and state.halted_until == end:
        return []
    return [{"type": "halted", "at": state.halted or times.text(now), "until": end}]


def resume(state: Registry, now: datetime) -> list[Event]:
    """Let runs start again."""
    return [{"type": "released", "at": times.text(now)}] if state.halted else []


def knows(state: Registry, run: str) -> bool:
    """Return whether the end of a run was told, as far back as it remembers."""
    return run in state.runs


def run_ended(
    state: Registry, run: Any, settings: AgentSettings, limits: Limits, now: datetime
) -> list[Event]:
    """Count the end of a run (`runs.work.Run`); an agent that fails too often in a row rests."""
    if knows(state, run.id):
        return []
    digest, most = settings.digest(), limits.failures_before_rest
    counts = run.outcome == "failed" and run.code not in UNCOUNTED and most
    rests = counts and _failures(state, run.agent, digest) + 1 >= most
    rest = times.text(now + timedelta(minutes=limits.rest_minutes)) if rests else None
    made: Event = {"type": "counted", "run": run.id, "agent": run.agent, "at": times.text(now)}
    made |= {"outcome": run.outcome, "code": run.code, "words": run.words, "settings": digest}
    return [{**made, "use": run.use.to_json(), "rest": rest}]


def rest_of(state: Registry, settings: AgentSettings, now: datetime) -> Rest | None:
    """Return why an agent rests now; None where it does not, or its settings were mended."""
    rest = state.resting.get(settings.id)
    holds = rest and rest.until > times.text(now) and rest.settings == settings.digest()
    return rest if holds else None


def is_mended(state: Registry, settings: AgentSettings) -> bool:
    """Return whether an agent's settings are others than those with which it failed last."""
    failing = state.failing.get(settings.id)
    return failing is not None and failing.settings != settings.digest()


def today(state: Registry, now: datetime) -> Day:
    """Return what was used on the day of `now`."""
    return state.days.get(times.text(now)[:10]) or Day()
