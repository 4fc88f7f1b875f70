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
from council.kernel.errors import NotFound
from council.kernel.record import Any
from council.runs import heartbeat
from council.trial import service
from council.trial.row import TRIALS

_STOPPED, _INTERRUPTED = 6, 130
_POLL = 0.1  # seconds between two looks at the journal
_EVERY = 30.0  # seconds between two lines of progress where it is no terminal


def trial(app: App, given: Given) -> Said:
    """Measure whether a council decides better than its members alone."""
    asked = openings.opening({**given.__dict__, "topic": given.path})
    ceilings = given.max_runs, asked.config["max_usd"]
    if given.resume:
        name = service.find(app, given.path)
        service.steer(app, name, "resume", *ceilings)
    else:
        new = service.plan(app, given.path, given.agents, given.arms, given.limit, given.seed)
        if given.dry_run:
            arms = service.estimate(new)
            data = {"name": new.name, "questions": len(new.questions), "agents": new.agents}
            total = {key: sum(one[key] for one in arms.values()) for key in ("runs", "tokens")}
            return Said(data={**data, "arms": arms, "total": total})
        name = service.start(app, new, *ceilings)
    try:
        _follow(app, name)
    except KeyboardInterrupt:
        service.steer(app, name, "pause")
        asking.end_runs(app, TRIALS.documents(app, name))
        err(f"\ncouncil: paused; to continue: council trial {name} --resume")
        return Said(data={"name": name, "paused": True}, text=f"{name}: paused", code=_INTERRUPTED)
    state = TRIALS.document(app, name).peek()
    data, text = TRIALS.shown(app, name, state, 0)
    notes = [f"report: {app.root}/trials/{name}.md"] if state.ended_at else [state.paused]
    return Said(data=data, text=text, notes=notes, code=0 if state.ended_at else _STOPPED)


def _follow(app: App, name: str) -> None:
    """Beat the heart until a trial is over or paused, and say how far it is."""
    began = told = time.monotonic()
    document, first, rev, rescue = TRIALS.document(app, name), -1, -1, began
    known = set[str]()
    while True:
        try:
            state = document.peek()
        except NotFound:  # it is over and filed away
            break
        if state.paused:
            break
        now, row = time.monotonic(), TRIALS.status(app, name, state)
        first = row["done"] if first < 0 else first
        if state.rev != rev or now > rescue:
            rev, rescue = state.rev, now + asking.RESCUE
            app.again()
            for note in _notes(name, heartbeat.beat(app)):
                if note not in known:
                    err(note)
                    known.add(note)
        left = (now - began) / max(1, row["done"] - first) * (row["total"] - row["done"])
        line = f"{row['done']} of {row['total']}, ${row['usd']:.2f}"
        line += f", {times.spoken(times.timedelta(seconds=left))} left" * (row["done"] > first)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{line}\033[K")
        elif now > told + _EVERY:
            told = now
            err(line)
        time.sleep(_POLL)
    if sys.stderr.isatty():
        sys.stderr.write("\n")


def _notes(name: str, report: dict[str, Any]) -> list[str]:
    """Return what a heartbeat says of a trial that does not go on."""
    mine = [one for one in report["trials"] if one["name"] == name]
    waits = [pair for one in mine for pair in one["waiting"].items() if pair[1] != "no-place"]
    notes = [f"! {who} waits: {why}" for who, why in waits]
    return notes + [f"! {e['name']}: {e['message']} ({e['hint']})" for e in report["errors"]]
