"""What is open, who owes an answer, what failed, and the cure of each problem.

Everything follows from the states; a conversation that cannot be read is a problem, not an error.
"""

from __future__ import annotations

from datetime import timedelta

from council.councils import evolution, model, rules
from council.kernel import times
from council.kernel.errors import Refusal
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import limits, places
from council.runs.work import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App

OVERDUE = timedelta(minutes=10)  # a heartbeat every 5 minutes would have acted by then
STARTING = timedelta(seconds=5)  # who answers last starts the next ones at once
AHEAD = timedelta(minutes=5)
CONFLICTS = "memory/shared/.council/conversations/{}/conflicts/{}"
NO_CLOCK = ("no clock runs the heartbeat: deadlines pass unnoticed", "council schedule --install")
Problem = dict[str, str]


def status(app: App, name: str = "", clocks: bool = False) -> dict[str, Any]:
    """Return what is open in a workspace, or one conversation of it (`json.md`).

    `clocks` also looks whether something runs the heartbeat, which asks other programs.
    """
    registry = limits.registry_of(app)
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
    if clocks and any(one["timeoutAt"] for one in rows) and not app.clocks():
        found.append(problem("", *NO_CLOCK, "no-clock"))
    return {
        **{"root": app.root, "now": times.text(app.now)},
        "runs": sum(len(one["running"]) for one in rows),
        **{"maxRuns": app.settings.max_runs, "halted": bool(registry.halted), "resting": resting},
        "limitsReached": sorted({one["code"] for one in found if one["code"][:4] == "max_"}),
        **{"conversations": rows, "channels": [], "tasks": [], "errors": errors},
        "problems": found,
    }


def row(app: App, state: model.State) -> dict[str, Any]:
    """Return one conversation as `status` and `list` show it."""
    runs = {run.agent: run for run in state.runs.by_id.values() if run.is_open()}
    owing, absent = rules.asked(state), state.rounds[-1].absent if state.rounds else {}

    def doing(ident: str) -> str:
        if ident in runs:
            return f"running for {times.spoken(app.now - times.instant(runs[ident].at))}"
        if ident in owing:
            return "answers by hand" if by_hand(app, state, ident) else "owes an answer"
        return "absent" if ident in absent else ""

    return {
        **{"name": state.name, "conversationId": state.conversation_id, "topic": state.topic},
        **{"procedure": state.procedure, "status": state.status, "currentPhase": state.phase},
        **{"tour": state.tour, "timeoutAt": state.timeout_at, "pausedAt": state.paused_at},
        "participants": {
            ident: {"status": one.status, "doing": doing(ident)}
            for ident, one in state.participants.items()
        },
        **{"waiting": owing, "running": sorted(runs)},
        "queued": [one for one in evolution.waiting(state) if owing and one not in owing],
        "failures": {run.agent: run.code for run in _failed(state)},
    }


def by_hand(app: App, state: model.State, ident: str) -> bool:
    """Return whether a participant is a person, or an agent without a program."""
    one = state.participants.get(ident)
    is_person = one is not None and one.person
    return is_person or app.settings.agent(ident, app.soul(ident)).driver == "manual"


def _failed(state: model.State) -> list[Run]:
    """Return the last run of each participant without an answer in this round, if it failed."""
    last = {run.agent: run for run in state.runs.by_id.values() if run.tour == state.tour}
    done = {ident for ident, one in state.participants.items() if one.status in model.ANSWERED}
    return [run for run in last.values() if run.outcome == "failed" and run.agent not in done]


def problem(where: str, what: str, fix: str, code: str = "") -> Problem:
    """Return one row of `problems`."""
    return {"name": where, "code": code, "what": what, "fix": fix}


def problems(app: App, state: model.State, registry: Any) -> Iterator[Problem]:
    """Yield what is wrong with one conversation, each with its cure."""
    name, now = state.name, times.text(app.now)
    for run in _failed(state):
        again = f"; next attempt at {run.again}" if run.again else ""
        what = f"{run.agent} failed ({run.code}): {cut(run.words, 200)}{again}"
        yield problem(name, what, cure(app, run.agent, run.code), run.code)
    for run in state.runs.by_id.values():
        if run.is_open() and run.place >= 0:
            if run.id not in places.held(f"{app.state_folder}/places"):
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
    is_late, shown = times.later(state.updated_at or now, STARTING) < now, list[Problem]()
    for work in rules.work(state, app.now):
        found = hindrance(app, registry, work.agent)
        if found == {} and is_late:
            what = f"{work.agent}'s run has not been started"
            found = problem(name, what, "council heartbeat", "not-started")
        if found and found not in shown:
            shown.append(found)
            yield {**found, "name": name}
    for file in state.kept_aside:
        what = "an edit of the page could not be used; it is in " + CONFLICTS.format(name, file)
        yield problem(name, what, "read it and give the answer again: council respond", "kept")
    if state.created_at > times.text(app.now + AHEAD):
        what = f"opened in the future, at {state.created_at}: the clock was ahead"
        yield problem(name, what, f"council cancel --name {name}, and convene again", "ahead")
    deadline = "" if state.paused_at or state.ended_at else state.timeout_at
    if deadline and times.later(deadline, OVERDUE) < now:
        what = f"the deadline was {deadline} and no heartbeat ran"
        yield problem(name, what, "council heartbeat; council schedule --install", "no-clock")


def hindrance(app: App, registry: Any, ident: str) -> Problem | None:
    """Return why no run of an agent may be started, {} where one may, None: it answers by hand."""
    agent = app.settings.agent(ident, app.soul(ident))
    if agent.driver == "manual":
        return None
    found = limits.hindrance(app, registry, agent)
    if found is not None:
        fix = f"wait until {found.until}, or raise {found.code} under [limits] in council.toml"
        fixes = {"halted": "council resume --all", "resting": _rest_cure(app, registry, ident)}
        return problem("", found.words, fixes.get(found.code, fix), found.code)
    most = app.settings.max_runs
    if len(places.held(f"{app.state_folder}/places")) >= most:
        what = f"{ident} waits for a free place: {most} runs are under way"
        return problem("", what, "wait, or raise max_runs in council.toml", "no-place")
    return {}


def _resting(app: App, state: Any) -> dict[str, str]:
    """Return the agents that rest now, and until when."""
    from council.agents import registry  # late: usually none rests

    agents = [app.settings.agent(ident, app.soul(ident)) for ident in state.failing]
    return {a.id: rest.until for a in agents if (rest := registry.rest_of(state, a, app.now))}


def _rest_cure(app: App, registry: Any, ident: str) -> str:
    """Return what to do about the failures for which an agent rests; mended, it rests no more."""
    failing = registry.failing.get(ident)
    return cure(app, ident, failing.code) if failing else "wait, or correct council.toml"


def _of_workspace(app: App, registry: Any, resting: dict[str, str]) -> Iterator[Problem]:
    from council.observe import copies  # late: not for one conversation

    if registry.halted:
        yield problem("", "all agents are paused", "council resume --all", "halted")
    for ident, until in resting.items():
        what = f"{ident} rests until {until} after repeated failures"
        yield problem(ident, what, _rest_cure(app, registry, ident), "resting")
    for fault in filter(None, [app.settings.fault, *app.settings.faults]):
        yield problem("council.toml", fault, "correct council.toml", "settings")
    for path in copies.conflict_copies(app.root):
        what = f"{path} is a conflict copy; what was typed there counts nowhere"
        yield problem(path, what, copies.FIX, "conflict-copy")


def cure(app: App, ident: str, code: str) -> str:
    """Return what to do about a failure of an agent's run, or a reason why none is started."""
    from council.agents import programs  # late: the table of presets

    found = programs.cure(code, app.settings.agent(ident, app.soul(ident)))
    return found or f"council explain {code}"


def text(made: dict[str, Any], only_problems: bool = False) -> str:
    """Return a status for a terminal of 80 columns."""
    lines: list[str] = []
    for one in [] if only_problems else made["conversations"]:
        until = f", until {one['timeoutAt']}" if one["timeoutAt"] else ""
        until = f", paused since {one['pausedAt']}" if one["pausedAt"] else until
        lines.append(cut(f"{one['name']}: {one['topic']}", 78))
        lines.append(f"  {one['currentPhase']}, round {one['tour']}{until}")
        for ident, part in one["participants"].items():
            doing = f", {part['doing']}" if part["doing"] else ""
            lines.append(f"  {cut(ident, 30)}: {part['status']}{doing}")
    if not (only_problems or made["conversations"] or made["errors"]):
        lines += ["Nothing is open.", '  council ask "your question" opens a council']
    for one in made["problems"]:
        where = f"{one['name']}: " if one["name"] and one["name"] not in one["what"] else ""
        lines += [f"! {where}{one['what']}", f"    {one['fix']}"]
    return "\n".join([*(lines or ["No problems."]), ""])
