"""Claiming and starting the runs that a document's state asks for, and why one has to wait.

A run is claimed in the journal before it starts. The claim asks the state again, so of many
processes that see the same work one starts it. Ceilings of one conversation are decided by its
rules, since its members are absent for them.
"""

from __future__ import annotations

import os
import sys

from council.kernel import codec, files, times
from council.kernel.errors import Invalid
from council.kernel.ids import digest
from council.kernel.record import TYPE_CHECKING, Any, Record
from council.kernel.times import timedelta
from council.runs import processes, work
from council.runs.processes import Place
from council.runs.work import Event, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from council.agents.settings import AgentSettings
    from council.app import App
    from council.kernel.document import Document
    from council.runs.kinds import KindRow

    Begin = Callable[[App, KindRow, str, list[Place]], None]

_SUPERVISE = """import sys
from council import app
from council.runs import supervisor
supervisor.main(app.App(sys.argv[1]), *sys.argv[2:])"""
CLAIMED = "COUNCIL_SUPERVISED"  # the variable with the places that a supervisor is given
CLOCK = "memory/shared/.council/openclaw/clock"  # the job of OpenClaw's clock, if it runs us
GRACE = timedelta(seconds=15)  # between the end of a run's time and the end of its lease


class Hindrance(Record, settled=True):
    """Why a run waits: `halted`, `resting`, `registry` or a ceiling; `until` is a text or None."""

    code: str
    words: str
    until: str | None = None


def registry_of(app: App, is_strict: bool = False) -> Any:
    """Return the registry's state; a new one where nothing was ever noted.

    Where its journal is damaged: Invalid if `is_strict`, else one that lets nothing start.
    """
    from council.agents import registry  # late: an idle command has no work

    document = app.registry()
    try:
        return document.peek() if document.exists() else registry.new()
    except Invalid as error:
        if is_strict:
            raise
        return registry.new(fault=error.message)


def hindrance(app: App, state: Any, agent: AgentSettings, limit: str = "") -> Hindrance | None:
    """Return why no run of an agent may be started now (`limit`: its document's), else None."""
    from council.agents import registry  # late: an idle command has no work

    now, limits = app.now, app.settings.limits
    if words := state.fault or limit:
        return Hindrance(code="registry" if state.fault else "ceiling", words=words)
    if state.halted:
        return Hindrance(code="halted", words="paused for all: council resume --all")
    if rest := registry.rest_of(state, agent, now):
        words = f"{agent.id} rests until {rest.until} after failures: {rest.words}"
        return Hindrance(code="resting", words=words, until=rest.until)
    used = state.days.get(times.text(now)[:10]) or registry.Day()
    open_runs = len(processes.held(app.state_folder))
    for code, many in (("max_runs_per_day", used.runs + open_runs), ("max_usd_per_day", used.usd)):
        if 0 < (most := getattr(limits, code)) <= many:
            words = f"{code} = {most} of council.toml is reached for today"
            midnight = f"{times.text(now + timedelta(days=1))[:10]}T00:00:00Z"
            return Hindrance(code=code, words=words, until=midnight)
    return None


class Started(Record):
    """What came of the work of one document."""

    woken: list[str] = []  # agents whose run was claimed, or whose task was put in their folder
    waiting: dict[str, str] = {}  # agent to a code: of `Hindrance`, `no-place`, or of OpenClaw
    until: str | None = None  # when the first of them may be started, if time alone cures it


def start(app: App, row: KindRow, name: str, state: Any, begin: Begin | None = None) -> Started:
    """Claim what a document's state asks for, as far as limits and places allow, and start it.

    Agents without a program get their prompt as a file in `memory/agents/ID/tasks/`. `begin` sees
    claimed runs through and leaves their places to them; without one a new process does.
    """
    document, started, claimed = row.document(app, name), Started(), list[Place]()
    elsewhere = ""  # what stands for an agent that OpenClaw lets no shell of an agent start
    wanted = [*row.module.work(state, app.now), *row.mended(app, state)]
    registry = registry_of(app) if wanted else None
    for one in wanted:
        agent = app.agent(one.agent)
        if agent.driver == "manual":
            started.woken += [one.agent] if _put_task(app, row, state, one) else []
            continue
        if not row.starts(state, agent):
            continue
        if agent.driver == "openclaw" and app.env.get("OPENCLAW_SHELL") == "exec":
            started.waiting[one.agent] = elsewhere = elsewhere or _elsewhere(app)
            continue
        way = hindrance(app, registry, agent, row.ceiling(app, state))
        most = app.settings.max_runs + row.places_lent(state, one)
        place = None if way else processes.take(app.state_folder, most, one.ident(row.ident(state)))
        if place is None:
            started.waiting[one.agent] = way.code if way else "no-place"
            if way and way.until:
                started.until = min(started.until or way.until, way.until)
        elif _claim(app, row, document, one, place, row.time_limit(app, state, one, agent.timeout)):
            claimed.append(place)
            started.woken.append(one.agent)
        else:
            place.leave()
    if claimed:
        (begin or spawn)(app, row, name, claimed)
    return started


def _elsewhere(app: App) -> str:
    """Have OpenClaw's clock run the heartbeat now; return a code: whether it has a job for us."""
    from council.agents import programs  # late: only inside of OpenClaw

    job, path = files.read(f"{app.root}/{CLOCK}", 1000), app.env.get("PATH", "")
    if not (job and (program := programs.which("openclaw", path))):
        return "openclaw-shell"
    argv = ["openclaw", "cron", "run", job[0].decode("ascii", "replace").strip()]
    processes.spawn(program, argv, app.env, [], [])
    return "openclaw-clock"


def _claim(
    app: App, row: KindRow, document: Document[Any], one: Work, place: Place, seconds: float
) -> bool:
    """Claim the run of a place; False where another process has it or it is wanted no more."""
    place.token = os.urandom(16).hex()
    lease = timedelta(seconds=seconds) + GRACE

    def decide(state: Any) -> list[Event]:
        ident = row.ident(state)
        wanted = [*row.module.work(state, app.now), *row.mended(app, state)]
        if one.ident(ident) != place.run or one not in wanted:
            return []
        held = {"place": place.number, "token": digest(place.token)}
        return [work.claimed(one, ident, app.now, lease, **held)]

    place.note()  # before the claim: one whose place names another run is lost
    change = document.change(decide, by="heartbeat", at=app.now, via="run")
    return any(event["type"] == "run.claimed" for event in change.events)


def _put_task(app: App, row: KindRow, state: Any, one: Work) -> bool:
    """Put the prompt of an agent without a program in its folder; False where it is there."""
    folder = f"{app.root}/memory/agents/{one.agent}/tasks"
    path = f"{folder}/{one.ident(row.ident(state))}.md"
    if os.path.lexists(path):
        return False
    os.makedirs(folder, exist_ok=True)
    files.replace(path, (row.prompt(app, state, one, by_hand=True) + app.news(one.agent)).encode())
    app.news(one.agent, times.text(app.now))
    return True


def order(app: App, row: KindRow, name: str, claimed: list[Place]) -> tuple[list[str], Any]:
    """Return command and environment of the supervisor that sees claimed runs through."""
    argv = [sys.executable, "-P", "-c", _SUPERVISE, app.root, row.name, name]
    return argv, {**app.env, CLAIMED: codec.dumps([place.to_json() for place in claimed])}


def spawn(app: App, row: KindRow, name: str, claimed: list[Place]) -> None:
    """See claimed runs through in a new process."""
    argv, env = order(app, row, name, claimed)
    try:
        processes.spawn(argv[0], argv, env, [], [place.descriptor for place in claimed])
    finally:
        for place in claimed:
            place.leave()
