"""`trial`: plan, start or resume a trial, show how far it is, print its report."""

from __future__ import annotations

import sys
import time

from council.app import App
from council.cli import asking
from council.cli.printing import Said, err
from council.cli.values import Given
from council.councils import opening as openings
from council.kernel import times
from council.runs import heartbeat
from council.trial import service
from council.trial.row import TRIALS

_STOPPED, _INTERRUPTED = 6, 130
_EVERY = {True: 0.5, False: 30.0}  # seconds between two lines of progress; a terminal shows one


def trial(app: App, given: Given) -> Said:
    """Measure whether a council decides better than its members alone."""
    asked = openings.opening({**given.__dict__, "topic": given.path})
    ceilings = given.max_runs, asked.config["max_usd"]
    if given.resume:
        name = service.resume(app, given.path, *ceilings)
    else:
        new = service.plan(app, given.path, given.agents, given.arms, given.limit, given.seed)
        if given.dry_run:
            return Said(data=service.estimate(new))
        name = service.start(app, new, *ceilings)
    try:
        _follow(app, name)
    except KeyboardInterrupt:
        talks = service.steer(app, name, "pause")
        asking.end_runs(app, [TRIALS.document(app, name), *map(app.conversation, talks)])
        err(f"\ncouncil: paused; to continue: council trial {name} --resume")
        return Said(data={"name": name, "paused": True}, text=f"{name}: paused", code=_INTERRUPTED)
    state = TRIALS.peek(app, name)
    data, text = TRIALS.shown(app, name, state, 0)
    note = f"report: {app.root}/trials/{name}.md" if state.ended_at else f"! {state.paused}"
    return Said(data=data, text=text, notes=[note], code=0 if state.ended_at else _STOPPED)


def _follow(app: App, name: str) -> None:
    """Beat the heart until a trial is over or paused, and say how far it is."""
    began, told, rescue, rev, first, waits = time.monotonic(), 0.0, 0.0, -1, -1, ""
    while name in TRIALS.names(app) and not (state := TRIALS.peek(app, name)).paused:
        now, row = time.monotonic(), TRIALS.status(app, name, state)
        if state.rev != rev or now > rescue:
            rev, rescue = state.rev, now + asking.RESCUE
            app.again()
            report = heartbeat.beat(app)
            rows = [one["waiting"].items() for one in report["trials"] if one["name"] == name]
            ways = [f"{who} waits: {why}" for one in rows for who, why in one if why != "no-place"]
            waits = "; ".join([*ways, *(one["message"] for one in report["errors"])])
        first, is_shown = max(first, row["done"] * (first < 0)), sys.stderr.isatty()
        if now > told + _EVERY[is_shown]:
            told, done, left = now, row["done"] - first, row["total"] - row["done"]
            line = f"{row['done']} of {row['total']}, ${row['usd']:.2f}"
            if done:
                left = times.timedelta(seconds=(now - began) / done * left)
                line += f", {times.spoken(left)} left"
            err(f"{line}; {waits}" if waits else line)
        time.sleep(0.1)
