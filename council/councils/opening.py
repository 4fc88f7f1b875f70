"""A new conversation from what `convene` is told and what the settings say."""

from __future__ import annotations

import os

from council.councils.model import MODES, ORDERS, Config, Participant, State
from council.councils.verdict import words
from council.kernel import ids, times
from council.kernel.errors import NotFound, Usage
from council.kernel.record import TYPE_CHECKING, Any, Record

if TYPE_CHECKING:
    from council.app import App

DEFAULT = "active"
_CEILINGS = ("max_runs", "max_tokens", "max_usd")


class Opening(Record):
    """What `convene` is told of a new conversation.

    `config` has fields of `Config`; for those that are not in it, or empty, the settings say.
    """

    topic: str
    brief: str = ""
    name: str = ""
    procedure: str = "council"
    agents: list[str] = []
    people: list[str] = []
    roles: dict[str, str] = {}
    advocate: str = ""
    lang: str = ""
    ident: str = ""  # of the conversation, "" for a new one
    private: dict[str, str] = {}  # what one participant alone is told
    config: dict[str, Any] = {}


def opening(given: dict[str, Any]) -> Opening:
    """Return what is said of a new conversation, by the names of the options of `convene`."""
    dollars = str(given.get("max_cost") or "").removeprefix("$")
    if dollars and not (dollars.replace(".", "", 1).isdecimal() and len(dollars) < 10):
        raise Usage("usage", f"no amount: {dollars[:40]!r}", "write it like 2.50")
    topic = " ".join("".join(c if c.isprintable() else " " for c in given["topic"]).split())
    if not topic:
        raise Usage("no-topic", "there is no question", 'council ask "your question"')
    time = given.get("timeout")
    stated = {name: one for name, one in given.items() if name in Opening._kinds and one}
    config = {name: one for name, one in given.items() if name in Config._kinds}
    config |= {name: given.get(name, "").lower() for name in ("mode", "order")}
    config |= {
        "max_usd": float(dollars) if dollars else None,
        "phases": [one.upper() for one in given.get("phases", [])],
        "timeout": int(times.duration(time).total_seconds()) if time else None,
        "blind": True if given.get("sealed") else False if given.get("open_") else None,
    }
    brief = given.get("brief_file") or given.get("brief", "")
    return Opening(**{**stated, "topic": topic, "brief": brief.strip(), "config": config})


def conversation(app: App, opening: Opening) -> State:
    """Return the conversation to be opened."""
    from council.runs import tracing  # late: only `convene` and `ask`

    found, own = members(app, opening), ("topic", "brief", "procedure", "private")
    return State(
        name=ids.checked_name(opening.name or DEFAULT, "name"), participants=found,
        config=_config(app, opening, found), lang=opening.lang or app.settings.language or "en",
        conversation_id=opening.ident or ids.uuid4(os.urandom(16)),
        carrier=tracing.carried(app.env), **{key: getattr(opening, key) for key in own},
    )  # fmt: skip


def members(app: App, opening: Opening) -> dict[str, Participant]:
    """Return the participants; who only synthesizes, coordinates or signs is none."""
    known, people = app.agents(), opening.people
    found: dict[str, Participant] = {}
    for ident in [*(opening.agents or [one for one in known if one not in people]), *people]:
        if ident not in known and ident not in people:
            hint = f"council agent add {ident}, or one of: {', '.join(known) or 'none yet'}"
            raise NotFound("no-agent", f"no agent {ident[:64]!r}", hint)
        one = known.get(ident) or app.settings.agent(ident, None)
        role = opening.roles.get(ident) or one.role
        facts = {"name": one.name, "emoji": one.emoji, "role": role, "model": one.model}
        advocate = ident == opening.advocate or role.casefold() == "advocate"
        found[ident] = Participant(person=ident in people, advocate=advocate, **facts)
    if len(found) < (2 if opening.procedure == "deliberation" else 1):
        raise Usage("too-few", "a council needs two participants", "council agent add ID")
    if strangers := {*opening.roles, opening.advocate} - {"", *found}:
        what = f"{min(strangers)[:64]} does not take part"
        raise Usage("not-a-participant", what, f"participants: {', '.join(found)}")
    return found


def _config(app: App, opening: Opening, found: dict[str, Participant]) -> Config:
    """Return the settings of a new conversation: what is stated, else what the settings say."""
    stated = {key: one for key, one in opening.config.items() if one not in ("", None, [])}
    for what, known in (("mode", MODES), ("order", ORDERS)):
        if (value := stated.get(what, known[0])) not in known:
            raise Usage(f"bad-{what}", f"no such {what}: {value[:40]}", f"use {', '.join(known)}")
    if (options := stated.get("options", [])) and opening.procedure == "council":
        what = "options are voted on, and a council has no vote"
        raise Usage("bad-options", what, "add --procedure deliberation, or leave them out")
    if len({" ".join(words(one)) or one for one in options}) < len(options):
        raise Usage("bad-options", "an option is named twice", "give each option once")
    most = {"threshold": len(found), "max_rounds": 20} | dict.fromkeys(_CEILINGS, 10**15)
    for key, bound in most.items():
        if not 0 < stated.get(key, 1) <= bound:
            hint = "leave it out, or give more than 0" if key in _CEILINGS else f"use 1 to {bound}"
            raise Usage(f"bad-{key}", f"{key} cannot be {stated[key]:g}", hint)
    settings, talk = app.settings, app.settings.deliberation
    usual: dict[str, Any] = {
        "order": "rotate", "timeout": settings.phase_timeout, "backoff": settings.retry_backoff,
        "coordinator": settings.coordinator or next(iter(found)), "max_rounds": talk.max_rounds,
        "threshold": talk.threshold or None, "confidence_floor": talk.confidence_floor,
        "blind": opening.procedure == "council", "context_limit": settings.context_limit,
    }  # fmt: skip
    usual |= {key: getattr(settings.limits, f"{key}_per_council") for key in _CEILINGS}
    made = Config(**usual | stated, usual=[one for one in _CEILINGS if one not in stated])
    everybody = dict.fromkeys([*found, made.synthesizer, made.coordinator])
    drivers = {one: settings.agent(one, app.soul(one)).driver for one in everybody if one}
    return made.copy(by_hand=[one for one, driver in drivers.items() if driver == "manual"])


def warnings(app: App, new: State) -> list[str]:
    """Return what a person should know: who is alone or a stranger, or that all use one model."""
    found, config = new.participants, new.config
    models = {one.model for one in found.values() if not one.person}
    is_one = len(models) == 1 and models != {""} and len(found) > 1
    shared = f"all agents use one model ({''.join(models)}): they may share its errors"
    alone = f"only {min(found)} takes part, and nobody can object: name others with --agents"
    known, writers = {"", *found, *app.settings.agents}, (config.coordinator, config.synthesizer)
    strangers = [one for one in dict.fromkeys(writers) if one not in known and not app.soul(one)]
    absent = [f"{one} is no agent here: it has to write the synthesis by hand" for one in strangers]
    return [shared] * is_one + [alone] * (len(found) == 1) + absent
