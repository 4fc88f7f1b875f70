"""`trial`: plan, start or resume a trial, show how far it is, print its report."""

from __future__ import annotations

import sys
import time

from council.app import App
from council.cli import asking
from council.cli.printing import Said, columns, err, wrapped
from council.cli.values import Given
from council.cli.workspace import extra
from council.councils import opening
from council.runs import heartbeat
from council.trial import service
from council.trial.row import TRIALS

_STOPPED, _INTERRUPTED = 6, 130
_HIGHER = " with a higher --max-runs or --max-cost"
_EVERY = 10.0  # seconds between two lines of progress


def trial(app: App, given: Given) -> Said:
    """Measure whether a council decides better than its members alone."""
    usd = opening.opening({**given.__dict__, "topic": given.path}).config["max_usd"]
    name, parts = given.path, (given.agents, given.arms, given.limit, given.seed)
    new = None if TRIALS.knows(app, name) else service.plan(app, name, *parts)
    name = new.name if new else name
    if given.dry_run:
        return Said(data=service.estimate(app, new or TRIALS.document(app, name).peek()))
    extra("trial", "scipy")  # a trial is dear, and its report needs intervals
    if given.resume:
        service.steer(app, name, "resume", given.max_runs, usd)
    elif new:
        service.start(app, new, given.max_runs, usd)
    try:
        _follow(app, name)
    except KeyboardInterrupt:
        talks = service.steer(app, name, "pause", None, None)
        asking.end_runs(app, [TRIALS.document(app, name), *map(app.conversation, talks)])
    state = TRIALS.document(app, name).peek()
    data, text = TRIALS.shown(app, name, state, 0)
    code, note = 0, f"report: {app.root}/trials/{name}.md"
    if not state.ended_at:
        text = text if data["compared"] else TRIALS.line(TRIALS.status(app, name, state))
        by_hand = state.paused == service.BY_HAND
        code, more = (_INTERRUPTED, "") if by_hand else (_STOPPED, _HIGHER)
        note = f"! {state.paused}; to continue: council trial {name} --resume{more}"
    return Said(data=data, text=wrapped(text, columns(sys.stdout)), notes=[note], code=code)


def _follow(app: App, name: str) -> None:
    """Beat the heart until a trial is over or paused, and say how far it is."""
    document, told, rescue, rev, waits = TRIALS.document(app, name), 0.0, 0.0, -1, ""
    while name in TRIALS.names(app) and not (state := document.peek()).paused:
        now = time.monotonic()
        if state.rev != rev or now > rescue:
            rev, rescue = state.rev, now + asking.RESCUE
            app.again()
            rows = [one for one in heartbeat.beat(app)["trials"] if one["name"] == name]
            ways = [pair for one in rows for pair in one["waiting"].items()]
            waits = "".join(f"; {a} waits: {why}" for a, why in ways if why != "no-place")
        if now > told + _EVERY:
            told = now
            err(TRIALS.line(TRIALS.status(app, name, state)) + waits)
        time.sleep(0.1)
