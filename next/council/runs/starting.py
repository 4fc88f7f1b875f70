"""Claiming and starting the runs that a document's state asks for.

A run is claimed in the journal before it starts. The claim asks the state again, so of many
processes that see the same work one starts it.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta

from council.kernel import files
from council.kernel.ids import digest
from council.kernel.record import Any, Record
from council.runs import limits, places, work
from council.runs.places import Place
from council.runs.work import Event, Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App
    from council.runs.kinds import KindRow

GRACE = timedelta(seconds=15)  # between the end of a run's time and the end of its lease


class Claim(Record):
    """A run that this process claimed: its work, id, secret, and the place that it holds."""

    kind: str
    name: str
    work: Work
    run: str
    token: str
    place: Place


class Started(Record):
    """What came of the work of one document.

    Attributes:
        woken: Agents whose run was claimed, or whose task was put in their folder.
        waiting: Agent to why it is not started: a code of `limits`, or `no-place`.
        until: When the first of those that wait may be started, if time alone cures it.
    """

    woken: list[str] = []
    waiting: dict[str, str] = {}
    until: str | None = None


def claims(app: App, row: KindRow, name: str, started: Started) -> list[Claim]:
    """Claim what the state asks for, as far as limits and places allow; return the claims.

    Agents without a program get their prompt as a file in `memory/agents/ID/tasks/`.
    """
    document = row.document(app, name)
    state = document.peek()
    if not row.may_run(state):
        return []
    wanted = row.module.work(state, app.now)
    if not wanted:
        return []
    made: list[Claim] = []
    registry = limits.registry_of(app)
    for one in wanted:
        agent = app.settings.agent(one.agent, app.soul(one.agent))
        if agent.driver == "manual":
            if put_task(app, row, state, one):
                started.woken.append(one.agent)
            continue
        hindrance = limits.hindrance(app, registry, agent)
        if hindrance is not None:
            started.waiting[one.agent] = hindrance.code
            if hindrance.until:
                started.until = min(started.until or hindrance.until, hindrance.until)
            continue
        place = places.take(f"{app.state_folder}/places", app.settings.max_runs)
        if place is None:
            started.waiting[one.agent] = "no-place"
            continue
        claim = _claim(app, row, name, one, place, agent.timeout)
        if claim is None:
            place.leave()
            continue
        made.append(claim)
        started.woken.append(one.agent)
    return made


def _claim(
    app: App, row: KindRow, name: str, one: Work, place: Place, seconds: float
) -> Claim | None:
    """Claim one run in the journal; None where another process has it or it is wanted no more."""
    document = row.document(app, name)
    token = os.urandom(16).hex()
    found: list[str] = []

    def decide(state: Any) -> list[Event]:
        found.clear()
        if not row.may_run(state) or one not in row.module.work(state, app.now):
            return []
        ident = row.ident(state)
        found.append(one.ident(ident))
        lease = timedelta(seconds=seconds) + GRACE
        return [work.claimed(one, ident, app.now, lease, place=place.number, token=digest(token))]

    # The place names the run before the claim does: a claim whose place names another is lost.
    place.note(one.ident(row.ident(document.peek())))
    change = document.change(decide, by="heartbeat", at=app.now, via="run")
    if not found or not change.events:
        return None
    return Claim(kind=row.name, name=name, work=one, run=found[0], token=token, place=place)


def put_task(app: App, row: KindRow, state: Any, one: Work) -> bool:
    """Put the prompt of an agent without a program in its folder; False where it is there."""
    folder = f"{app.root}/memory/agents/{one.agent}/tasks"
    path = f"{folder}/{one.ident(row.ident(state))}.md"
    if os.path.lexists(path):
        return False
    os.makedirs(folder, exist_ok=True)
    files.replace(path, row.prompt(app, state, one, by_hand=True).encode())
    return True


def order(app: App, made: list[Claim]) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of the supervisor that sees claimed runs through."""
    argv = [sys.executable, "-P", "-c", "from council.app import supervise; supervise()"]
    argv += [app.root, made[0].kind, made[0].name]
    for claim in made:
        os.set_inheritable(claim.place.descriptor, True)
        argv += [claim.run, str(claim.place.number), str(claim.place.descriptor)]
    env = {k: v for k, v in app.env.items() if k not in ("COUNCIL_NOW", "COUNCIL_TOKEN")}
    return argv, {**env, "COUNCIL_SUPERVISED": " ".join(claim.token for claim in made)}


def start(app: App, row: KindRow, name: str) -> Started:
    """Claim what is due in a document, and start a supervisor that takes the places over."""
    started = Started()
    made = claims(app, row, name, started)
    if not made:
        return started
    argv, env = order(app, made)
    null = os.open(os.devnull, os.O_RDWR)
    streams = [(os.POSIX_SPAWN_DUP2, null, to) for to in (0, 1, 2)]
    try:
        os.posix_spawn(sys.executable, argv, env, setsid=True, file_actions=streams)
    finally:
        for descriptor in [null, *(claim.place.descriptor for claim in made)]:
            os.close(descriptor)
    return started
