"""The heartbeat: advance what is due, start who is due, file away what is over.

It keeps nothing in memory: every beat reads the states and does what they ask for, so it may run
as often as it likes, late, several at once, or be killed at any point. One broken document never
stops the others.
"""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta

from council.kernel import due, files, times
from council.kernel.errors import NotFound, Refusal
from council.kernel.record import Any
from council.runs import limits, places, starting, work
from council.runs.work import Event, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App
    from council.runs.kinds import KindRow

TERM, KILL = 15, 9  # `signal` is slow to import
MOST_STEPS = 50


def beat(app: App, only: str = "", dry_run: bool = False) -> dict[str, Any]:
    """Serve every open document, or the `only` one, and return what was done (`json.md`).

    With `dry_run` say what is due, and write and start nothing.
    """
    report: dict[str, Any] = {"now": times.text(app.now), "conversations": [], "channels": []}
    report |= {"tasks": [], "errors": [], "changed": False, "halted": False}
    hint, met = due.Hint(app.root, app.now), set()
    for row in app.kinds:
        for name in [only] if only else row.names(app):
            place = row.place(name)
            if hint.skips(*place):
                continue
            met.add(name)
            try:
                served = serve(app, row, name, dry_run)
                if not served["changed"] and not served["running"] and not served["waiting"]:
                    hint.note(*place, served["wake"])
            except NotFound:
                continue  # it ended meanwhile
            except Refusal as refusal:
                report["errors"].append(_error(name, refusal))
                continue
            report[row.place_in_report].append(served)
            report["changed"] |= served["changed"]
            report["halted"] |= "halted" in served["waiting"].values()
    try:
        with files.reported("write", f"{app.root}/memory/shared/BOARD.md"):
            if not (dry_run or only):
                hint.save()
            if not dry_run and (met or hint.lacks()):
                app.after_beat(met)
    except Refusal as refusal:
        report["errors"].append(_error("BOARD.md", refusal))
    return report


def _error(name: str, refusal: Refusal) -> dict[str, Any]:
    return {"name": name, **refusal.to_json(), "exit": refusal.exit_code}


def serve(
    app: App, row: KindRow, name: str, dry_run: bool = False, starts: bool = True
) -> dict[str, Any]:
    """Advance one document, start its runs and file it away when it is over.

    Without `starts` nothing is started: a supervisor does that itself.

    Raises:
        NotFound: It is gone.
        Refusal: It is damaged or of a newer version.
    """
    document = row.document(app, name)
    state = document.peek() if dry_run else document.read()
    if dry_run:
        return row.report(state, row.module.due(state, app.now), starting.Started(), "")
    dead = _dead(app, state)

    def decide(state: Any) -> list[Event]:
        return lost(state, dead, app.now) or _by_registry(app, row, state)

    events: list[Event] = []
    for _ in range(MOST_STEPS):  # who is passed may be followed by somebody who is
        change = document.change(decide, by="heartbeat", at=app.now, via="heartbeat")
        app.changed(change)
        events += change.events
        if not change.events:
            break
    note_ends(app, change.state.runs.by_id.values())
    started, filed = starting.Started(), ""
    if row.is_over(change.state):
        end_runs(app, change.state.runs.by_id.values())
        filed = row.finish(app, name)
    elif starts:
        started = starting.start(app, row, name)
    served = row.report(change.state, events, started, filed)
    wake = None if filed else row.module.wake(change.state)
    if wake and wake <= app.now:  # those who work by hand are waited for, not run
        asked = (one.agent for one in row.module.work(change.state, app.now))
        is_manual = (a for a in asked if app.settings.agent(a, app.soul(a)).driver == "manual")
        wake = row.module.wake(change.state, frozenset(is_manual))
    served["wake"] = min(filter(None, (wake and times.text(wake), started.until)), default=None)
    served["changed"] = bool(events or started.woken or filed)
    return served


def _dead(app: App, state: Any) -> dict[str, str]:
    """Return the open runs that nobody supervises any more, id to words, and end their agents.

    The place of a run says who holds it. A supervisor that lets its lease run out (it was stopped)
    is killed with its agent; what it would have said does not count.
    """
    found = {}
    for run in [run for run in state.runs.by_id.values() if run.is_open() and run.place >= 0]:
        pid = places.supervisor(f"{app.state_folder}/places", run.place, run.id)
        if not pid:
            words = "the run ended unexpectedly"
        elif run.lease < times.text(app.now):
            words = "the run did not end when its time was up"
            _kill(pid, KILL)
        else:
            continue
        kill_agent(app, run.id)
        found[run.id] = words
    return found


def lost(state: Any, dead: dict[str, str], now: datetime) -> list[Event]:
    """Return the ends of runs that lost their supervisor: run id to words."""
    return [
        work.failed(run.id, times.text(now), "lost", dead[run.id])
        for run in state.runs.by_id.values()
        if run.id in dead and not run.outcome
    ]


def _by_registry(app: App, row: KindRow, state: Any) -> list[Event]:
    """Return who is not waited for, since it rests, and who is tried again with mended settings."""
    wanted = row.module.work(state, app.now) if row.may_run(state) else []
    given_up = row.given_up(state)
    if not wanted and not given_up:
        return []
    from council.agents import registry  # late: an idle heartbeat has no work

    known, at, events = limits.registry_of(app), app.now, list[Event]()
    for one in wanted if known.resting else []:
        agent = app.settings.agent(one.agent, app.soul(one.agent))
        rest = registry.rest_of(known, agent, at)
        if rest is not None and agent.driver != "manual":
            words = f"rests until {rest.until} after failures: {rest.why}"
            events += row.passed(one, "resting", words, at)
    for one in given_up:
        if registry.is_mended(known, app.settings.agent(one.agent, app.soul(one.agent))):
            events.append(work.mended(one.agent, one.tour, at))
    return events


def note_ends(app: App, runs: Any) -> None:
    """Tell the registry of ended runs that it does not know yet (the op is the run's id)."""
    ended = [run for run in runs if run.outcome]
    if not ended:
        return
    from council.agents import registry  # late: an idle heartbeat has no ended runs

    known = limits.registry_of(app)
    for run in ended:
        if not registry.knows(known, run.id):
            note_end(app, run)


def note_end(app: App, run: Run) -> None:
    """Tell the registry how a run ended; a repeat counts once."""
    from council.agents import registry  # late: see above

    settings = app.settings.agent(run.agent, app.soul(run.agent))
    how: Any = {"op": run.id, "by": "heartbeat", "at": app.now, "via": "run", "create": True}
    app.registry().change(
        lambda state: registry.run_ended(state, run, settings, app.settings.limits, app.now), **how
    )


def end_runs(app: App, runs: Any) -> None:
    """Ask the supervisors of open runs to end them, as the document is over."""
    for run in [run for run in runs if not run.outcome]:
        pid = places.supervisor(f"{app.state_folder}/places", run.place, run.id)
        if pid != os.getpid():
            _kill(pid, TERM)


def kill_agent(app: App, run: str) -> None:
    """End what is left of an agent whose supervisor is gone: its process group.

    The run's folder has the agent's process id and the instant at which it started, so no other
    process that was given the same id is hit.
    """
    try:
        with open(f"{app.state_folder}/runs/{run}/pid", encoding="ascii") as file:
            pid, _, born = file.read(80).strip().partition(" ")
        if places.born(int(pid)) == born:
            os.killpg(int(pid), KILL)
    except (OSError, ValueError):
        return


def _kill(pid: int, sign: int) -> None:
    try:
        if pid > 1:
            os.kill(pid, sign)
    except OSError:
        pass


def wait(app: App, only: str, most: timedelta) -> bool:
    """Beat until no run is under way or due soon; False where `most` passed before."""
    ends = time.monotonic() + most.total_seconds()
    while True:
        app.again()
        report = beat(app, only)
        if not any(one["running"] for one in report["conversations"]):
            return True
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
