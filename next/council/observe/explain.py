"""What a conversation waits for, since when, what comes next, what is in the way, and the cure."""

from __future__ import annotations

import os

from council.agents.settings import AgentSettings
from council.councils import model, rules, service, sight
from council.kernel.errors import NotFound, Refusal
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import status
from council.observe.status import problem
from council.runs import limits

if TYPE_CHECKING:
    from council.app import App

WORDS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "texts", "words.txt")
_ANY = AgentSettings(id="AGENT", argv=["PROGRAM"], model="MODEL", api_key_env="API_KEY")
Made = dict[str, Any]


def explain(app: App, which: str = "") -> Made:
    """Return the explanation of a conversation, an agent, a code or a word (`json.md`).

    Raises:
        NotFound: It is none of these (`unknown`).
        Usage: The name fits several conversations.
    """
    if which in app.conversations():
        return conversation(app, which)
    from council.archive import minutes  # late: not for what is open
    from council.tasks.wire import explanation  # late: as above

    meaning = (word(which) or explanation.explain(which, app.settings.language)) if which else None
    if meaning and which not in [row.get("name") for row in minutes.rows(app.root)]:
        return meaning
    try:
        return conversation(app, service.named(app, which))
    except NotFound:
        from council.agents import souls  # late: only where nothing open fits

        if which in souls.agents(app.root, app.settings):
            return agent(app, which)
        try:
            found = minutes.find(app.root, which)
        except NotFound:
            what = f"no conversation, agent, code or word {which!r}" if which else "nothing is open"
            raise NotFound("unknown", what, "council list; council list minutes") from None
        return _made("minutes", found["conversation"], which, next=[f"it is over: {found['path']}"])


def conversation(app: App, name: str) -> Made:
    """Return the explanation of one open conversation; one that is damaged is explained, too."""
    try:
        state = app.conversation(name).read()
    except NotFound:
        raise
    except Refusal as error:
        way = [problem(name, error.message, error.hint)]
        return _made("conversation", name, name, status="broken", hindrances=way)
    way = list(status.problems(app, state, limits.registry_of(app)))
    if state.paused_at:
        what = f"paused since {state.paused_at}"
        way.append(problem(name, what, f"council resume --name {name}"))
    if state.timeout_at and not state.ended_at and not app.clocks():
        way.append(problem(name, *status.NO_CLOCK))
    runs, until = state.runs.by_id.values(), state.timeout_at
    open_runs = {run.agent: run for run in runs if run.is_open()}
    since = state.round().floor_at or state.round().started_at
    waits: list[Made] = []
    for ident in sorted({*rules.asked(state), *open_runs}):
        run, by_hand = open_runs.get(ident), status.by_hand(app, state, ident)
        told = (f"{ident}'s answer{' by hand' * by_hand}", since, until)
        told = (f"{ident}'s run (attempt {run.attempt})", run.at, run.lease) if run else told
        waits.append(dict(zip(("agentId", "what", "since", "until"), (ident, *told), strict=True)))
    if person := sight.signing(state):
        one = {"agentId": person, "what": f"{person}'s approval"}
        waits.append({**one, "since": state.round().ended_at, "until": until})
    return _made(
        "conversation",
        state.conversation_id,
        name,
        status=f"{state.phase}, round {state.tour}",
        waitsFor=waits,
        hindrances=way,
        tried=[
            {"agentId": run.agent, "attempt": run.attempt, "at": run.at}
            | {"code": run.code or run.outcome, "words": cut(run.words, 200)}
            for run in runs
            if run.tour == state.tour and run.outcome
        ],
        next=_next(state),
    )


def _next(state: model.State) -> list[str]:
    """Return what happens when nothing more is waited for, or time is up."""
    if state.ended_at or state.phase == model.SYNTHESIZE:
        return ["the minutes, and the page is removed"]
    phases, end = state.config.phases, state.timeout_at
    at = phases.index(state.phase) if state.phase in phases else len(phases)
    following = phases[at + 1] if at + 1 < len(phases) else model.SYNTHESIZE
    if state.phase == model.DELIBERATE and state.tour < state.config.max_rounds:
        following = f"the next round, or {following}"
    without = f"at {end} without the missing answers: {following}"
    return [f"when all have answered: {following}", *([without] if end else [])]


def agent(app: App, ident: str) -> Made:
    """Return the explanation of an agent: how it is run, and what keeps it from it."""
    from council.agents import programs  # late: the table of presets

    settings = app.settings.agent(ident, app.soul(ident))
    code, words = programs.fault(settings, app.world, app.root)
    way = [problem(ident, words, programs.cure(code, settings))] if code else []
    found = status.hindrance(app, limits.registry_of(app), ident)
    way += [found] if found else []
    how = "answers by hand" if settings.driver == "manual" else f"driver {settings.driver}"
    return _made("agent", ident, settings.name, status=how, hindrances=way)


def word(which: str) -> Made | None:
    """Return the explanation of a word or code, None where the glossary has none."""
    from council.agents import programs  # late: the table of presets

    with open(WORDS, encoding="utf-8") as file:
        lines = file.read().replace("\n   ", "").splitlines()
    for line in lines:
        key, _, meaning = line.partition(": ")
        if key.lower() == which.lower():
            what, _, fix = meaning.partition(" | ")
            way = [problem("", "", fix)] if fix else []
            return _made("word", key, key, next=[what], hindrances=way)
    what, fix = "a run of an agent failed for this reason", programs.cure(which, _ANY)
    way = [problem("", "", fix)]
    return _made("code", which, which, next=[what], hindrances=way) if fix else None


def _made(kind: str, ident: str, name: str, **more: Any) -> Made:
    lists: Made = {key: [] for key in ("waitsFor", "hindrances", "tried", "next")}
    return {"kind": kind, "id": ident, "name": name, "status": "", **lists, **more}


def text(made: Made) -> str:
    """Return an explanation for a terminal of 80 columns."""
    if made["kind"] in ("word", "code"):
        fixes = [f"  {one['fix']}" for one in made["hindrances"]]
        told = "\n  ".join(made["next"])
        return "\n".join([f"{made['name']}: {told}", *fixes, ""])
    lines = [f"{made['name']} ({made['kind']}): {made['status'] or 'over'}"]
    for title, key, form in (
        ("Waits for:", "waitsFor", "  {what} since {since}\n    until {until}"),
        ("In the way:", "hindrances", "! {what}\n    {fix}"),
        ("Attempts:", "tried", "  {agentId}, {attempt}: {code} {words}"),
    ):
        rows = [form.format(**one).removesuffix("\n    until None").rstrip() for one in made[key]]
        lines += [title, *rows] if rows else []
    lines += ["Next:", *(f"  {one}" for one in made["next"])] if made["next"] else []
    return "\n".join([*lines, ""])
