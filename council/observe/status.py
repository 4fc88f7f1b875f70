"""What is open, who owes an answer, what failed, and the cure of each problem.

Everything follows from the states; a conversation that cannot be read is a problem, not an error.
So is a copy that a sync tool, an editor or a merge left beside a page or minutes: what people typed
into it counts nowhere.
"""

from __future__ import annotations

import os

from council.councils import evolution, model, rules, service, sight
from council.kernel import files, times, words
from council.kernel.errors import Refusal
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import timedelta
from council.runs import processes, starting
from council.runs.kinds import RETRIES
from council.runs.work import FINAL, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.app import App
    from council.runs.kinds import KindRow

OVERDUE = timedelta(minutes=10)  # a heartbeat every 5 minutes would have acted by then
STARTING = timedelta(seconds=5)  # who answers last starts the next ones at once
AHEAD = timedelta(minutes=5)
Problem = dict[str, str]
_FINE = ("", "ended")  # codes of runs that did not fail, but for a person
_PAGE = ("memory/shared/council-", "-conversation.md")  # a name is between them
_COPIED = r"(copy of |#)?(council-.*-conversation|\d{4}-\d\d-\d\d-).*\.md"
_OURS = r"council-[a-z0-9_-]+-conversation\.md|\d{4}-\d\d-\d\d-[a-z0-9-]+\.md"


def problem(where: str, key: str, /, **values: Any) -> Problem:
    """Return one row of `problems` from `texts/problems.txt`; its code is the key or `code`."""
    what, _, fix = words.load("texts/problems.txt")[key].partition(" | ")
    told, made = {"name": where, **values}, {"name": where, "code": values.get("code", key)}
    return {**made, "what": what.format_map(told), "fix": fix.format_map(told)}


def status(app: App, name: str = "", clocks: bool = False) -> dict[str, Any]:
    """Return what is open in a workspace, or one conversation of it (`json.md`).

    `clocks` also looks whether something runs the heartbeat, which asks other programs.
    """
    registry, firsts, far = starting.registry_of(app), dict[str, str](), times.text(app.now + AHEAD)
    found: dict[str, list[Any]] = {kind.place_in_report: [] for kind in app.kinds}
    errors, wrong = list[Any](), list[Problem]()
    for kind in app.kinds[: 1 if name else None]:
        for one in [name] if name else kind.names(app):
            try:
                state = kind.document(app, one).read()
            except Refusal as error:
                errors.append({"name": one, **error.to_json()})
                wrong.append(broken(one, error))
                continue
            if isinstance(state, model.State):
                made = {**row(app, state), "name": one}
                wrong += problems(app, state, registry)
                first = firsts.setdefault(state.conversation_id, one)
                wrong += [problem(one, "copy", first=first)] if first != one else []
            else:
                made = kind.status(app, one, state)
                made["line"] = kind.line(made)
                made["problems"] += failures(app, one, failed(app, kind, state))
                at = getattr(state, "updated_at", "")
                made["problems"] += [problem(one, "ahead.other", code="ahead", at=at)] * (at > far)
                wrong += made["problems"]
            found[kind.place_in_report].append(made)
    resting = _resting(app, registry)
    wrong += [] if name else _of_workspace(app, registry, resting)
    if clocks and any(one["timeoutAt"] for one in found["conversations"]) and not app.clocks():
        wrong.append(problem("", "clock.none", code="no-clock"))
    wrong += map(unfiled, service.unfiled(app)) if clocks and not name else ()
    return {
        **{"root": app.root, "now": times.text(app.now), "maxRuns": app.settings.max_runs},
        "runs": sum(len(one["running"]) for many in found.values() for one in many),
        **{"halted": bool(registry.halted), "resting": resting},
        "limitsReached": sorted({one["code"] for one in wrong if one["code"][:4] == "max_"}),
        **{"channels": [], "tasks": [], **found, "errors": errors, "problems": wrong},
    }


def unfiled(state: model.State) -> Problem:
    """Return the problem of a conversation whose minutes are gone or damaged."""
    return problem(state.name, "minutes", path=state.minutes)


def broken(name: str, error: Refusal) -> Problem:
    """Return the problem of a conversation that cannot be read."""
    return problem(name, "refused", code=error.code, what=error.message, fix=error.hint)


def row(app: App, state: model.State) -> dict[str, Any]:
    """Return one conversation as `status` and `list` show it."""
    runs = {run.agent: run for run in state.runs.open()}
    owing, hands = rules.asked(state), ("owes an answer", "answers by hand")
    doing = dict.fromkeys(state.rounds[-1].absent if state.rounds else (), "absent")
    doing |= {ident: hands[by_hand(app, state, ident)] for ident in owing}
    later, turn = evolution.waiting(state), "its turn comes later"
    if state.phase == model.SYNTHESIZE and owing:  # one of its writers is enough
        turn = f"asked only if {owing[0]} does not write"
    turn = "asked when it is resumed" if state.paused_at else turn
    for ident, one in state.participants.items():
        if one.status == model.WAITING and ident not in doing:
            doing[ident] = turn if ident in later else "not asked now"
    for ident, run in runs.items():
        doing[ident] = f"running for {times.spoken(app.now - times.instant(run.at))}"
    return {
        **{"name": state.name, "conversationId": state.conversation_id, "topic": state.topic},
        **{"procedure": state.procedure, "status": state.status, "currentPhase": state.phase},
        **{"tour": state.tour, "timeoutAt": state.timeout_at, "pausedAt": state.paused_at},
        "participants": {
            ident: {"status": one.status, "doing": doing.get(ident, "")}
            for ident, one in state.participants.items()
        },
        **{"waiting": owing, "running": sorted(runs), "approval": sight.signing(state)},
        "queued": [one for one in later if owing and one not in owing],
        "failures": {run.agent: run.code for run in _failed(state)},
    }


def _failed(state: model.State) -> list[Run]:
    """Return the last run of each participant without an answer in this round, if it failed."""
    last = {run.agent: run for run in state.runs.by_id.values() if run.tour == state.tour}
    done = {ident for ident, one in state.participants.items() if one.status in model.ANSWERED}
    return [run for run in last.values() if run.code not in _FINE and run.agent not in done]


def failed(app: App, kind: KindRow, state: Any) -> list[Run]:
    """Return runs of another document that failed, if they are tried again or never can be."""
    last = {run.agent: run for run in state.runs.by_id.values()}
    again = {one.agent for one in kind.module.work(state, app.now + RETRIES)}
    wrong = [run for run in last.values() if run.code not in _FINE]
    return [run for run in wrong if run.agent in again or run.code in FINAL]


def failures(app: App, name: str, runs: list[Run]) -> Iterator[Problem]:
    """Yield what runs failed of, each with its cure."""
    for run in runs:
        fix, words = _cure(app, run.agent, run.code), cut(run.words, 200)
        yield problem(name, "failed", agent=run.agent, code=run.code, words=words, fix=fix)


def problems(app: App, state: model.State, registry: Any) -> Iterator[Problem]:
    """Yield what is wrong with one conversation, each with its cure."""
    name, now, runs = state.name, times.text(app.now), state.runs
    yield from failures(app, name, _failed(state))
    for run in runs.by_id.values():
        if run.is_open() and run.place >= 0:
            held = processes.held(app.state_folder)
            if run.id not in held and processes.is_here(app.state_folder, run.place):
                yield problem(name, "lost", agent=run.agent)
            elif run.lease < now:
                yield problem(name, "stuck", agent=run.agent, until=run.lease)
    for key, used in (("runs", runs.count), ("tokens", runs.tokens), ("usd", runs.usd)):
        if 0 < (most := getattr(state.config, f"max_{key}")) <= used:
            yield problem(name, "ceiling", code=f"max_{key}", used=used, most=most)
    is_late, ways = times.later(state.updated_at or now, STARTING) < now, list[Problem]()
    for agent in [work.agent for work in rules.work(state, app.now)]:
        way = hindrance(app, registry, agent, name)
        if way == {} and is_late:
            way = problem(name, "not-started", agent=agent)
        ways += [way] if way and way not in ways else []
    yield from ways
    there = state.kept_aside and files.names(f"{app.conversation(name).folder}/conflicts")
    for line in app.conversation(name).history() if there else ():
        for event in [one for one in line.events if one["type"] == "kept"]:
            if event["file"] in there:  # who has used its words deletes it
                yield problem(name, "kept", **event)
    if (at := state.round().started_at) > times.text(app.now + AHEAD):
        yield problem(name, "ahead", at=at)
    deadline = "" if state.paused_at or state.ended_at else state.timeout_at
    if deadline and times.later(deadline, OVERDUE) < now:
        yield problem(name, "overdue", code="no-clock", until=deadline)


def by_hand(app: App, state: model.State, ident: str) -> bool:
    """Return whether a participant is a person, or an agent without a program."""
    one = state.participants.get(ident)
    return (one is not None and one.person) or app.agent(ident).driver == "manual"


def hindrance(app: App, registry: Any, ident: str, name: str) -> Problem | None:
    """Return why no run of an agent may be started, {} where one may, None: it answers by hand."""
    agent, most = app.agent(ident), app.settings.max_runs
    if agent.driver == "manual":
        return None
    if found := starting.hindrance(app, registry, agent):
        key = found.code if found.code in ("halted", "resting", "registry") else "day"
        return problem(name, key, agent=ident, fix=_rest_cure(app, registry, ident), **vars(found))
    is_full = len(processes.held(app.state_folder)) >= most
    return problem(name, "no-place", agent=ident, most=most) if is_full else {}


def _resting(app: App, registry: Any) -> dict[str, str]:
    """Return the agents that rest now, and until when."""
    from council.agents.registry import rest_of  # late: usually none rests

    rests = {one: rest_of(registry, app.agent(one), app.now) for one in registry.failing}
    return {ident: rest.until for ident, rest in rests.items() if rest}


def _cure(app: App, ident: str, code: str) -> str:
    """Return what to do about a failure of an agent's run, "" for none."""
    from council.agents import programs  # late: the table of presets

    return code and (programs.cure(code, app.agent(ident)) or f"council explain {code}")


def _rest_cure(app: App, registry: Any, ident: str) -> str:
    """Return what to do about the failures for which an agent rests; mended, it rests no more."""
    return _cure(app, ident, getattr(registry.failing.get(ident), "code", ""))


def _of_workspace(app: App, registry: Any, resting: dict[str, str]) -> Iterator[Problem]:
    if registry.halted or registry.fault:
        yield problem("", "halted" if registry.halted else "registry", words=registry.fault)
    for ident, until in resting.items():
        fix = _rest_cure(app, registry, ident)
        yield problem(ident, "resting", agent=ident, until=until, fix=fix)
    for fault in filter(None, [app.settings.fault, *app.settings.faults]):
        yield problem("settings", "settings", fault=fault)
    for path in conflict_copies(app.root, app.conversations()):
        yield problem(path, "conflict-copy", path=path)


def conflict_copies(root: str, names: list[str]) -> list[str]:
    """Return the paths of copies of pages and minutes; `names` are open: other pages are copies."""
    folders = ("memory/shared", "memory/shared/channels", "conseils")
    pages = {name.join(_PAGE) for name in names}
    found = [f"{one}/{name}" for one in folders for name in sorted(files.names(f"{root}/{one}"))]
    late = {one for one in found if one.partition(_PAGE[0])[2].endswith(_PAGE[1])} - pages
    return [one for one in found if is_copy(one) or one in late]


def is_copy(path: str) -> bool:
    """Return whether a path is that of a copy: something was put before its name or added."""
    import re  # late: not for one conversation

    name, is_room = os.path.basename(path), "/channels/" in path
    copied, ours = (r"[^.].*\.md", r"[a-z0-9_-]+\.md") if is_room else (_COPIED, _OURS)
    return bool(re.match(copied, name, re.I)) and not re.fullmatch(ours, name)
