"""What a conversation waits for, since when, what comes next, what is in the way, and the cure."""

from __future__ import annotations

from council.agents.settings import AgentSettings
from council.councils import model, rules, sight
from council.councils.evolution import waiting
from council.kernel import words
from council.kernel.errors import NotFound, Refusal
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import status
from council.runs import starting

if TYPE_CHECKING:
    from council.app import App
    from council.runs.kinds import KindRow

_ANY = AgentSettings(id="AGENT", argv=["PROGRAM"], model="MODEL", api_key_env="API_KEY")
Made = dict[str, Any]


def explain(app: App, which: str = "") -> Made:
    """Return the explanation of a conversation, minutes, a code or a word (`json.md`)."""
    which = which or app.env.get("COUNCIL_NAME", "")
    if not app.is_open(which):
        if kind := app.other(which):
            return _other(app, kind, which)
        from council.archive import minutes  # late: not for what is open
        from council.tasks.wire import tables  # late: as above

        meaning = (word(which) or tables.explain(which, app.settings.language)) if which else None
        if meaning and which not in [row.get("name") for row in minutes.rows(app.root)]:
            return meaning
        try:
            which = app.find(which)
        except NotFound:
            if not which:
                raise
            found = minutes.find(app.root, which)
            over = {"status": "over", "next": [f"read it: {found['path']}"]}
            return _made("minutes", found["conversation"], which, **over)
    try:
        return explained(app, which, app.conversation(which).read())
    except NotFound:  # it ended just now
        raise
    except Refusal as error:
        way = [status.broken(which, error)]
        return _made("conversation", which, which, status="broken", hindrances=way)


def _other(app: App, kind: KindRow, name: str) -> Made:
    state = kind.document(app, name).read()
    made, wrong = kind.explained(app, name, state), status.failed(app, kind, state)
    way = [*made["hindrances"], *status.failures(app, name, wrong)]
    owing, registry = kind.status(app, name, state)["waiting"], starting.registry_of(app)
    way += filter(None, (status.hindrance(app, registry, one, name) for one in owing))
    return {**made, "hindrances": way, "tried": [one.to_json() for one in wrong]}


def explained(app: App, name: str, state: model.State) -> Made:
    """Return the explanation of a conversation from its state."""
    way = list(status.problems(app, state, starting.registry_of(app)))
    if state.paused_at:
        way.append(status.problem(name, "paused", at=state.paused_at))
    if state.timeout_at and not state.ended_at and not app.clocks():
        way.append(status.problem(name, "clock.none", code="no-clock"))
    now, until, runs = state.round(), state.timeout_at, state.runs.by_id.values()
    waits = {}
    for one in rules.asked(state):
        hand = " by hand" * status.by_hand(app, state, one)
        waits[one] = (f"{one}'s answer{hand}", now.started_at, until)
    for run in [run for run in runs if run.is_open()]:
        waits[run.agent] = (f"{run.agent}'s run (attempt {run.attempt})", run.at, run.lease)
    if person := sight.signing(state):
        waits[person] = (f"{person}'s approval", now.ended_at or "", until)
    keys = ("agentId", "what", "since", "until")
    told = [dict(zip(keys, (who, *what), strict=True)) for who, what in sorted(waits.items())]
    tried = [one.to_json() for one in runs if one.tour == state.tour and one.outcome]
    how: Made = {"status": f"{state.phase}, round {state.tour}", "waitsFor": told}
    how |= {"hindrances": way, "tried": tried, "next": _next(state)}
    return _made("conversation", state.conversation_id, name, **how)


def _next(state: model.State) -> list[str]:
    """Return what happens when nothing more is waited for, or time is up."""
    if state.ended_at or state.phase == model.SYNTHESIZE:
        return ["the minutes, and the page is removed"]
    phases, end = state.config.phases, "" if state.paused_at else state.timeout_at
    following = phases[phases.index(state.phase) + 1] if state.phase in phases[:-1] else ""
    following = following or model.SYNTHESIZE
    if state.phase == model.DELIBERATE and state.tour < state.config.max_rounds:
        following = f"the next round, or {following}"
    without = f"at {end} without the missing answers: {following}"
    now = state.round()
    later = [agent for agent in waiting(state)[1:] if agent not in now.absent]
    if later and not now.parallel:
        without = f"at {end} without that answer: it is {later[0]}'s turn"
    return [f"when all have answered: {following}", *([without] if end else [])]


def word(which: str) -> Made | None:
    """Return the explanation of a word or code, None where the glossary has none."""
    from council.agents import programs  # late: the table of presets

    glossary = words.load("texts/words.txt")
    key = next((one for one in glossary if one.lower() == which.lower()), "")
    failed = f"a run of an agent failed for this reason | {programs.cure(which, _ANY)}"
    meaning, _, fix = glossary.get(key, failed).partition(" | ")
    if not (key or fix):
        return None
    way, name = [status.problem("", "refused", what="", fix=fix)] if fix else [], key or which
    return _made("word" if key else "code", name, name, next=[meaning], hindrances=way)


def _made(kind: str, ident: str, name: str, **more: Any) -> Made:
    lists: Made = {key: [] for key in ("waitsFor", "hindrances", "tried", "next")}
    return {"kind": kind, "id": ident, "name": name, "status": "", **lists, **more}
