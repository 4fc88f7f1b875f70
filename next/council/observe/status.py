"""What is open, who owes an answer, what failed, and the cure of each problem.

Everything follows from the states; a conversation that cannot be read is a problem, not an error.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from council.agents import settings
from council.councils import evolution, model, rules
from council.kernel import times
from council.kernel.errors import Refusal
from council.kernel.ids import cut
from council.kernel.record import Any, Record
from council.runs import limits, places
from council.runs.work import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App

OVERDUE = timedelta(minutes=10)  # a heartbeat every 5 minutes would have acted by then
AHEAD = timedelta(minutes=5)
Problem = dict[str, str]
HOOKS = ("phase_changed", "consensus", "closed", "failed", "waiting_for_person")


def status(app: App, name: str = "") -> dict[str, Any]:
    """Return what is open in a workspace (`json.md`), or one conversation of it."""
    registry, top = limits.registry_of(app), settings.quick(app.root)
    rows: list[dict[str, Any]] = []
    found: list[Problem] = []
    errors, names = [], dict[str, str]()
    for one in [name] if name else app.conversations():
        try:
            state = app.conversation(one).read()
        except Refusal as error:
            errors.append({"name": one, **error.to_json()})
            found.append(problem(one, error.message, error.hint, error.code))
            continue
        rows.append({**row(app, state), "name": one})
        found += problems(app, state, registry)
        first = names.setdefault(state.conversation_id, one)
        if first != one:
            what = f"{first} and {one} are the same conversation: one page is a copy"
            fix = f"council cancel --name {one}, or council cancel --name {first}"
            found.append(problem(one, what, fix, "copy"))
    resting = _resting(app, registry)
    found += [] if name else _of_workspace(app, registry, resting)
    return {
        **{"root": app.root, "now": times.text(app.now), "lastHeartbeat": last_heartbeat(app)},
        **{"runs": sum(len(one["running"]) for one in rows), "maxRuns": top.max_runs},
        **{"halted": bool(registry.halted), "resting": resting},
        "limitsReached": sorted({one["code"] for one in found if one["code"][:4] == "max_"}),
        **{"conversations": rows, "channels": [], "tasks": [], "errors": errors},
        "problems": found,
    }


def row(app: App, state: model.State) -> dict[str, Any]:
    """Return one conversation as `status` and `list` show it."""
    runs = {run.agent: run for run in state.runs.by_id.values() if run.is_open()}
    owing, now = rules.asked(state), state.rounds[-1] if state.rounds else None

    def doing(ident: str) -> str:
        if ident in runs:
            return f"running for {times.spoken(app.now - times.instant(runs[ident].at))}"
        if ident in owing:
            return "answers by hand" if state.participants[ident].person else "owes an answer"
        return "absent" if now and ident in now.absent else ""

    return {
        **{"name": state.name, "conversationId": state.conversation_id, "topic": state.topic},
        **{"procedure": state.procedure, "status": state.status, "currentPhase": state.phase},
        **{"tour": state.tour, "timeoutAt": state.timeout_at, "pausedAt": state.paused_at},
        "participants": {
            ident: {"status": one.status, "doing": doing(ident)}
            for ident, one in state.participants.items()
        },
        **{"waiting": owing, "running": sorted(runs)},
        "queued": [one for one in (evolution.waiting(state) if owing else []) if one not in owing],
        "failures": {run.agent: run.code for run in failed(state)},
    }


def failed(state: model.State) -> list[Run]:
    """Return the last run of each participant without an answer in this round, if it failed."""
    last = {run.agent: run for run in state.runs.by_id.values() if run.tour == state.tour}
    done = {ident for ident, one in state.participants.items() if one.status in model.ANSWERED}
    return [run for run in last.values() if run.outcome == "failed" and run.agent not in done]


def problem(where: str, what: str, fix: str, code: str = "") -> Problem:
    """Return one row of `problems`."""
    return {"name": where, "code": code, "what": what, "fix": fix}


def problems(app: App, state: model.State, registry: Any) -> Iterator[Problem]:
    """Yield what is wrong with one conversation, each with its cure."""
    name, now, runs = state.name, times.text(app.now), state.runs.by_id.values()
    for run in failed(state):
        again = f"; next attempt at {run.again}" if run.again else ""
        what = f"{run.agent} failed ({run.code}): {cut(run.words, 200)}{again}"
        yield problem(name, what, cure(app, run.agent, run.code), run.code)
    for run in runs:
        if run.is_open() and run.place >= 0:
            holding = places.holder(f"{app.state_folder}/places", run.place)
            if holding is None or holding[0] != run.id:
                yield problem(name, f"{run.agent}'s run ended unexpectedly", "council heartbeat")
            elif run.lease < now:
                what = f"{run.agent}'s run is stuck: its time was over at {run.lease}"
                yield problem(name, what, "council heartbeat")
    for key, used, most in (
        ("max_runs", state.runs.count, state.config.max_runs),
        ("max_tokens", state.runs.tokens, state.config.max_tokens),
        ("max_usd", state.runs.usd, state.config.max_usd),
    ):
        if most and used >= most:
            what = f"{key}_per_council is reached: {used:g} of {most:g}"
            yield problem(name, what, f"raise {key}_per_council in council.toml", key)
    busy = {run.agent for run in runs if run.is_open() or run.outcome == "failed"}
    keys = _keys(app)
    is_limited = keys is None or any(key.endswith("_per_day") for key in keys)
    is_limited = is_limited or registry.halted or registry.resting
    for ident in rules.asked(state) if is_limited else []:
        hinders = None if ident in busy else hindrance(app, registry, state, ident)
        if hinders is not None:
            what = f"{ident}: {hinders.words}"
            yield problem(name, what, cure(app, ident, hinders.code), hinders.code)
    for file in state.kept_aside:
        path = f"memory/shared/.council/conversations/{name}/conflicts/{file}"
        what = f"an edit of the page could not be used; it is in {path}"
        yield problem(name, what, "read it and give the answer again: council respond", "kept")
    if state.created_at > times.text(app.now + AHEAD):
        what = f"opened in the future, at {state.created_at}: the clock was ahead"
        yield problem(name, what, f"council cancel --name {name}, and convene again", "ahead")
    deadline = "" if state.paused_at or state.ended_at else state.timeout_at
    if deadline and times.later(deadline, OVERDUE) < now:
        what = f"the deadline was {deadline} and no heartbeat ran"
        yield problem(name, what, "council heartbeat; council schedule --install", "no-clock")


def hindrance(app: App, registry: Any, state: model.State | None, ident: str) -> Any:
    """Return why no run of an agent may be started, None where one may or it answers by hand."""
    agent = app.settings.agent(ident, app.soul(ident))
    by_hand = state is not None and ident in state.participants and state.participants[ident].person
    if by_hand or agent.driver == "manual":
        return None
    return limits.hindrance(app, registry, agent)


def _resting(app: App, state: Any) -> dict[str, str]:
    """Return the agents that rest now, and until when."""
    from council.agents import registry  # late: usually none rests

    agents = [app.settings.agent(ident, app.soul(ident)) for ident in state.resting]
    rests = {one.id: registry.rest_of(state, one, app.now) for one in agents}
    return {ident: rest.until for ident, rest in rests.items() if rest}


def _of_workspace(app: App, registry: Any, resting: dict[str, str]) -> Iterator[Problem]:
    from council.observe import copies  # late: not for one conversation

    if registry.halted:
        yield problem("", "all agents are paused", "council resume --all", "halted")
    for ident, until in resting.items():
        what = f"{ident} rests until {until} after repeated failures"
        yield problem(ident, what, f"council explain {ident}", "resting")
    if _keys(app) is None:
        for fault in filter(None, [app.settings.fault, *app.settings.faults]):
            yield problem("council.toml", fault, "correct council.toml", "settings")
    for path in copies.conflict_copies(app.root):
        what = f"{path} is a conflict copy; what was typed there counts nowhere"
        yield problem(path, what, copies.FIX, "conflict-copy")


def _content(app: App, path: str = settings.FILE) -> bytes:
    try:
        with open(f"{app.root}/{path}", "rb") as file:
            return file.read(settings.MOST_BYTES)
    except OSError:
        return b""


def _keys(app: App) -> set[str] | None:
    """Return the keys of council.toml, None where only a TOML parser knows what is wrong with it.

    The parser would double the time that a status takes. A wrong value in the table of one agent
    is named when that agent is run, and by doctor.
    """
    content, found = _content(app), set[str]()
    known: Any = _known(settings.Top)
    for line in content.decode("utf-8", "replace").splitlines():
        key, equals, _ = line.partition("=")
        table = line.strip(" []")
        if line.startswith("["):
            kinds = {"limits": settings.Limits, "deliberation": settings.Deliberation}
            kind = settings.AgentSettings if table[:7] == "agents." else kinds.get(table)
            known = HOOKS if table == "hooks" else _known(kind) if kind else ()
        elif line.strip() and line[0] != "#":
            found.add(key.strip())
            if not equals or key.strip() not in known:
                return None
    return found if content == _content(app, settings.LAST) else None


def _known(kind: type[Record]) -> set[str]:
    return {*kind._kinds, *kind._names}


def cure(app: App, ident: str, code: str) -> str:
    """Return what to do about a failure of an agent's run, or a reason why none is started."""
    from council.agents import programs  # late: the table of presets

    found = programs.cure(code, app.settings.agent(ident, app.soul(ident)))
    return found or f"council explain {code}"


def last_heartbeat(app: App) -> str | None:
    """Return when a heartbeat last wrote its hint, None where none ever did."""
    try:
        stamp = os.stat(f"{app.state_folder}/due").st_mtime
    except OSError:
        return None
    return times.text(datetime.fromtimestamp(stamp, UTC))


def text(made: dict[str, Any], only_problems: bool = False) -> str:
    """Return a status for a terminal of 80 columns."""
    lines: list[str] = []
    for one in [] if only_problems else made["conversations"]:
        where = f"  {one['currentPhase']}, round {one['tour']}"
        until = f", until {one['timeoutAt']}" if one["timeoutAt"] else ""
        until = f", paused since {one['pausedAt']}" if one["pausedAt"] else until
        lines += [cut(f"{one['name']}: {one['topic']}", 78), where + until]
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
