"""What is open, who owes an answer, what failed, and the cure of each problem.

Everything follows from the states; a conversation that cannot be read is a problem, not an error.
"""

from __future__ import annotations

import os
from datetime import timedelta

from council.councils import model
from council.kernel import times
from council.kernel.errors import Refusal
from council.kernel.ids import cut
from council.kernel.record import Any
from council.runs import limits, places
from council.runs.work import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App

OVERDUE = timedelta(minutes=10)  # a heartbeat every 5 minutes would have acted by then
AHEAD = timedelta(minutes=5)


def status(app: App, name: str = "") -> dict[str, Any]:
    """Return what is open in a workspace (`json.md`), or one conversation of it."""
    registry, now = limits.registry_of(app), times.text(app.now)
    made: dict[str, Any] = {
        **{"root": app.root, "now": now, "lastHeartbeat": last_heartbeat(app)},
        **{"runs": 0, "maxRuns": app.settings.max_runs, "halted": bool(registry.halted)},
        "resting": {ident: one.until for ident, one in registry.resting.items() if one.until > now},
        **{"limitsReached": [], "conversations": [], "channels": [], "tasks": []},
        **{"errors": [], "problems": []},
    }
    for one in [name] if name else app.conversations():
        try:
            state = app.conversation(one).read()
        except Refusal as error:
            made["errors"].append({"name": one, **error.to_json()})
            made["problems"].append(problem(one, error.message, error.hint))
            continue
        made["conversations"].append(row(app, state))
        made["problems"] += problems(app, state, registry)
    made["runs"] = sum(len(one["running"]) for one in made["conversations"])
    made["problems"] += [] if name else _of_workspace(app, made)
    reached = [one["code"] for one in made["problems"] if one["code"].startswith("max_")]
    made["limitsReached"] = sorted(set(reached))
    return made


def row(app: App, state: model.State) -> dict[str, Any]:
    """Return one conversation as `status` and `list` show it."""
    open_runs = {run.agent: run for run in state.runs.by_id.values() if run.is_open()}
    owing = owed(state)
    queued = queue(state)
    return {
        **{"name": state.name, "conversationId": state.conversation_id, "topic": state.topic},
        **{"procedure": state.procedure, "status": state.status, "currentPhase": state.phase},
        **{"tour": state.tour, "timeoutAt": state.timeout_at, "pausedAt": state.paused_at},
        "participants": {
            ident: {"status": one.status, "doing": _doing(app, state, ident, open_runs, owing)}
            for ident, one in state.participants.items()
        },
        **{"waiting": owing, "running": sorted(open_runs), "queued": queued},
        "failures": {run.agent: run.code for run in failed(state)},
    }


def owed(state: model.State) -> list[str]:
    """Return who owes an answer now; in a round of turns only the one who has the floor."""
    if state.ended_at or not state.rounds:
        return []
    now, people = state.round(), state.participants
    left = [
        one
        for one in now.order or people
        if one in people and people[one].status == model.WAITING and one not in now.absent
    ]
    return left if now.parallel else left[:1]


def queue(state: model.State) -> list[str]:
    """Return who speaks later in this round."""
    if state.ended_at or not state.rounds or state.round().parallel:
        return []
    return [
        one
        for one in state.round().order
        if state.participants[one].status == model.WAITING and one not in state.round().absent
    ][1:]


def failed(state: model.State) -> list[Run]:
    """Return the last run of each participant that still owes its answer, if it failed."""
    last: dict[str, Run] = {}
    for run in state.runs.by_id.values():
        if run.tour == state.tour:
            last[run.agent] = run
    return [run for run in last.values() if run.outcome == "failed"]


def _doing(app: App, state: model.State, ident: str, runs: dict[str, Run], owing: list[str]) -> str:
    if ident in runs:
        since = app.now - times.instant(runs[ident].at)
        return f"running for {times.spoken(since)}"
    if ident in owing:
        return "answers by hand" if state.participants[ident].person else "owes an answer"
    now = state.round() if state.rounds else None
    return "absent" if now and ident in now.absent else ""


def problem(where: str, what: str, fix: str, code: str = "") -> dict[str, str]:
    """Return one row of `problems`."""
    return {"name": where, "code": code, "what": what, "fix": fix}


def problems(app: App, state: model.State, registry: Any) -> Iterator[dict[str, str]]:
    """Yield what is wrong with one conversation, each with its cure."""
    name, now = state.name, app.now
    for run in failed(state):
        again = f"; next attempt at {run.again}" if run.again else ""
        what = f"{run.agent} failed ({run.code}): {cut(run.words, 200)}{again}"
        yield problem(name, what, cure(app, run.agent, run.code), run.code)
    for run in state.runs.by_id.values():
        if run.is_open() and run.place >= 0:
            holding = places.holder(f"{app.state_folder}/places", run.place)
            if holding is None or holding[0] != run.id:
                yield problem(name, f"{run.agent}'s run ended unexpectedly", "council heartbeat")
            elif run.lease < times.text(now):
                what = f"{run.agent}'s run is stuck: its time was over at {run.lease}"
                yield problem(name, what, "council heartbeat")
    yield from _waiting(app, state, registry)
    for file in state.kept_aside:
        path = f"memory/shared/.council/conversations/{name}/conflicts/{file}"
        what = f"an edit of the page could not be used; it is in {path}"
        yield problem(name, what, "read it and give the answer again: council respond", "kept")
    if state.created_at > times.text(now + AHEAD):
        what = f"opened in the future, at {state.created_at}: the clock was ahead"
        yield problem(name, what, f"council cancel --name {name}, and convene again")
    deadline = "" if state.paused_at or state.ended_at else state.timeout_at
    if deadline and times.later(deadline, OVERDUE) < times.text(now):
        what = f"the deadline was {deadline} and no heartbeat ran"
        yield problem(name, what, "council heartbeat; council schedule --install", "no-clock")


def _waiting(app: App, state: model.State, registry: Any) -> Iterator[dict[str, str]]:
    """Yield why participants that owe an answer are not started."""
    runs, config = state.runs, state.config
    for key, used, most in (
        ("max_runs", runs.count, config.max_runs),
        ("max_tokens", runs.tokens, config.max_tokens),
        ("max_usd", runs.usd, config.max_usd),
    ):
        if most and used >= most:
            what = f"{key}_per_council is reached: {used:g} of {most:g}"
            yield problem(state.name, what, f"raise {key}_per_council in council.toml", key)
    busy = {run.agent for run in runs.by_id.values() if run.is_open() or run.outcome == "failed"}
    for ident in owed(state):
        if ident in busy or state.participants[ident].person or state.paused_at:
            continue
        agent = app.settings.agent(ident, app.soul(ident))
        if agent.driver == "manual":
            continue
        found = limits.hindrance(app, registry, ident, agent)
        if found is not None:
            yield problem(
                state.name, f"{ident}: {found.words}", cure(app, ident, found.code), found.code
            )


def _of_workspace(app: App, made: dict[str, Any]) -> Iterator[dict[str, str]]:
    from council.observe import copies  # late: not for one conversation

    if made["halted"]:
        yield problem("", "all agents are paused", "council resume --all", "halted")
    for ident, until in made["resting"].items():
        what = f"{ident} rests until {until} after repeated failures"
        yield problem("", what, f"correct its settings in council.toml: council explain {ident}")
    settings = app.settings
    for fault in [settings.fault] * bool(settings.fault) + settings.faults:
        yield problem("council.toml", fault, "correct council.toml", "settings")
    for path in copies.conflict_copies(app.root):
        what = f"{path} is a conflict copy; what was typed there counts nowhere"
        yield problem(path, what, copies.FIX, "conflict-copy")


def cure(app: App, ident: str, code: str) -> str:
    """Return what to do about a failure of an agent's run, or a reason why none is started."""
    from council.agents import programs  # late: the table of presets

    settings = app.settings.agent(ident, app.soul(ident))
    return programs.cure(code, settings) or f"council explain {code}"


def last_heartbeat(app: App) -> str | None:
    """Return when a heartbeat last wrote its hint, None where none ever did."""
    from datetime import UTC, datetime  # late: only here

    try:
        stamp = os.stat(f"{app.state_folder}/due").st_mtime
    except OSError:
        return None
    return times.text(datetime.fromtimestamp(stamp, UTC))


def text(made: dict[str, Any], only_problems: bool = False) -> str:
    """Return a status for a terminal of 80 columns."""
    lines: list[str] = []
    for one in [] if only_problems else made["conversations"]:
        lines += [cut(f"{one['name']}: {one['topic']}", 78)]
        lines += ["  " + ", ".join(_where(one))]
        for ident, part in one["participants"].items():
            doing = f", {part['doing']}" if part["doing"] else ""
            lines.append(f"  {cut(ident, 30)}: {part['status']}{doing}")
    if not only_problems and not made["conversations"]:
        lines += ["Nothing is open.", '  council ask "your question" opens a council']
    for one in made["problems"]:
        where = f"{one['name']}: " if one["name"] and one["name"] not in one["what"] else ""
        lines += [f"! {where}{one['what']}", f"    {one['fix']}"]
    if only_problems and not made["problems"]:
        lines = ["No problems."]
    return "\n".join([*lines, ""])


def _where(one: dict[str, Any]) -> Iterator[str]:
    yield f"{one['currentPhase']}, round {one['tour']}"
    if one["pausedAt"]:
        yield f"paused since {one['pausedAt']}"
    elif one["timeoutAt"]:
        yield f"until {one['timeoutAt']}"
    if one["status"] != model.ACTIVE:
        yield str(one["status"])
