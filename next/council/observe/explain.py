"""What a conversation waits for, since when, what comes next, what is in the way, and the cure."""

from __future__ import annotations

import os

from council.agents.settings import AgentSettings
from council.councils import model, rules, service
from council.kernel.errors import NotFound, Refusal
from council.kernel.ids import cut
from council.kernel.record import Any
from council.observe import status
from council.runs import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.app import App

WORDS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "texts", "words.txt")


def explain(app: App, which: str = "") -> dict[str, Any]:
    """Return the explanation of a conversation, an agent, a code or a word (`json.md`).

    Args:
        app: The workspace.
        which: A name, id or part of a title; a word or code; "" is the only open conversation.

    Raises:
        NotFound: It is none of these (`unknown`).
        Usage: The name fits several conversations.
    """
    if which in app.conversations():
        return conversation(app, which)
    meaning = word(which) if which else None
    if meaning:
        return meaning
    try:
        return conversation(app, service.named(app, which))
    except NotFound:
        from council.archive import minutes  # late: only where nothing open fits

        if which and os.path.isdir(f"{app.root}/memory/agents/{which}"):
            return agent(app, which)
        try:
            found = minutes.find(app.root, which)
        except NotFound:
            what = f"no conversation, agent, code or word {which!r}" if which else "nothing is open"
            raise NotFound("unknown", what, "council list; council list minutes") from None
        return _made("minutes", found["conversation"], which, next=[f"it is over: {found['path']}"])


def conversation(app: App, name: str) -> dict[str, Any]:
    """Return the explanation of one open conversation; one that is damaged is explained, too."""
    try:
        state = app.conversation(name).read()
    except NotFound:
        raise
    except Refusal as error:
        way = [{"what": error.message, "fix": error.hint}]
        return _made("conversation", name, name, status="broken", hindrances=way)
    found = list(status.problems(app, state, limits.registry_of(app)))
    if state.paused_at:
        fix = f"council resume --name {name}"
        found.append(status.problem(name, f"paused since {state.paused_at}", fix))
    runs = state.runs.by_id.values()
    open_runs = {run.agent: run for run in runs if run.is_open()}
    waits = [_awaited(state, i, open_runs.get(i)) for i in {*rules.asked(state), *open_runs}]
    person = state.config.sign_off
    if state.ended_at and person and not state.signed:
        waits.append(_waits(f"{person}'s approval", person, state.ended_at, state.timeout_at))
    return _made(
        "conversation",
        state.conversation_id,
        name,
        status=f"{state.phase}, round {state.tour}",
        waitsFor=sorted(waits, key=lambda one: one["agentId"]),
        hindrances=[{"what": one["what"], "fix": one["fix"]} for one in found],
        tried=[
            {"agentId": run.agent, "attempt": run.attempt, "at": run.at}
            | {"code": run.code or run.outcome, "words": cut(run.words, 200)}
            for run in runs
            if run.tour == state.tour and run.outcome
        ],
        next=_next(state),
    )


def _awaited(state: model.State, ident: str, run: Any) -> dict[str, Any]:
    if run is not None:
        return _waits(f"{ident}'s run (attempt {run.attempt})", ident, run.at, run.lease)
    since = state.round().floor_at or state.round().started_at
    by_hand = ", given by hand" if state.participants[ident].person else ""
    return _waits(f"{ident}'s answer{by_hand}", ident, since, state.timeout_at)


def _waits(what: str, agent: str, since: str, until: str | None) -> dict[str, Any]:
    return {"what": what, "agentId": agent, "since": since, "until": until}


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


def agent(app: App, ident: str) -> dict[str, Any]:
    """Return the explanation of an agent: how it is run, and what keeps it from it."""
    settings = app.settings.agent(ident, app.soul(ident))
    way = [{"what": one, "fix": "correct council.toml"} for one in settings.faults]
    found = status.hindrance(app, limits.registry_of(app), None, ident)
    if found is not None:
        way.append({"what": found.words, "fix": status.cure(app, ident, found.code)})
    how = "answers by hand" if settings.driver == "manual" else f"driver {settings.driver}"
    return _made("agent", ident, settings.name, status=how, hindrances=way)


def word(which: str) -> dict[str, Any] | None:
    """Return the explanation of a word or code, None where the glossary has none."""
    from council.agents import programs  # late: the table of presets

    with open(WORDS, encoding="utf-8") as file:
        lines = file.read().replace("\n   ", "").splitlines()
    for line in lines:
        key, _, meaning = line.partition(": ")
        if key.lower() == which.lower():
            what, _, fix = meaning.partition(" | ")
            return _made("word", key, key, next=[what], hindrances=_cure(fix))
    what, fix = "a run of an agent failed for this reason", programs.cure(which, _ANY)
    return _made("code", which, which, next=[what], hindrances=_cure(fix)) if fix else None


_ANY = AgentSettings(id="AGENT", argv=["PROGRAM"], model="MODEL", api_key_env="API_KEY")


def _cure(fix: str) -> list[dict[str, str]]:
    return [{"what": "", "fix": fix}] if fix else []


def _made(kind: str, ident: str, name: str, **more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "status": "",
        "waitsFor": [],
        "hindrances": [],
        "tried": [],
        "next": [],
    }
    return {"kind": kind, "id": ident, "name": name, **empty, **more}


def text(made: dict[str, Any]) -> str:
    """Return an explanation for a terminal of 80 columns."""
    if made["kind"] in ("word", "code"):
        fixes = [f"  fix: {one['fix']}" for one in made["hindrances"]]
        return "\n".join([f"{made['name']}: {made['next'][0]}", *fixes, ""])
    lines = [f"{made['name']} ({made['kind']}): {made['status'] or 'over'}"]
    lines += ["Waits for:"] if made["waitsFor"] else []
    for one in made["waitsFor"]:
        until = f", until {one['until']}" if one["until"] else ""
        lines.append(f"  {one['what']} since {one['since']}{until}")
    lines += ["In the way:"] if made["hindrances"] else []
    for one in made["hindrances"]:
        lines += [f"! {one['what']}", f"    {one['fix']}"]
    lines += ["Attempts:"] if made["tried"] else []
    for one in made["tried"]:
        lines.append(f"  {one['agentId']}, {one['attempt']}: {one['code']} {one['words']}".rstrip())
    lines += ["Next:", *[f"  {one}" for one in made["next"]]] if made["next"] else []
    return "\n".join([*lines, ""])
