"""What the home page shows: what needs a person, what is open, what is new.

Source: DG-005, P8-005, OP-014.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from council.core.conversations.due import counted_round
from council.core.conversations.handles import is_anonymous
from council.core.conversations.procedures import PROCEDURES
from council.operations.conversations.listing import OUTCOMES, Wanted, archived, count
from council.operations.conversations.metrics import metrics
from council.operations.examining.causes import Cause
from council.operations.place import Place
from council.operations.reporting.explaining import find_problems
from council.operations.view import Overview, Standing, status
from council.store.conversations.filed import DATE, FILE
from council.store.rooms.channel_page import floor_line
from council.web.readings.council import last_judged
from council.web.readings.hiding import Hiding
from council.web.readings.rooms import facts

_NEWEST_MINUTES = 10
_UNSURE = (DATE, FILE)
BY_HAND = "manual"


def home(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the home page shows, its sentences in the language `lang`."""
    overview = status(place)
    found = _problems(place, overview)
    where = _addresses(overview)
    named = _named_here(place, overview)
    return {
        **overview.to_record(),
        "problems": [
            {**one.to_record(given.get("lang", "en")), "href": where.get(one.where, "")}
            for one in found
        ],
        "conversations": [_conversation(one) for one in overview.standings],
        "needs": _needs(place, overview),
        "minutes": [minutes_row(one) for one in archived(place, most=_NEWEST_MINUTES)],
        "archived": count(place),
        "people": {one: facts(place, one) for one in named},
        "byHand": [one for one in named if place.agent(one).driver == BY_HAND],
        "channels": [
            {**one.to_record(), "floor": floor_line(one.channel, given.get("lang", "en"))}
            for one in overview.rooms
            if one.has_turns
        ],
    }


def _problems(place: Place, overview: Overview) -> list[Cause]:
    """Return what is in the way; of an anonymous conversation with pseudonyms for names."""
    if any(is_anonymous(one.state) for one in overview.standings):
        place.paths.veil = Hiding(place)
        overview = status(place)
    try:
        return find_problems(place, overview).found
    finally:
        place.paths.veil = None


def _addresses(overview: Overview) -> dict[str, str]:
    """Return the pages of what is open, by its name."""
    return {
        **{row.context: f"/tasks/{quote(row.context, '')}/{row.task.id}" for row in overview.tasks},
        **{one.channel.channel_id: f"/rooms/{one.channel.channel_id}" for one in overview.rooms},
        **{one.state.name: f"/councils/{quote(one.state.name, '')}" for one in overview.standings},
    }


def _named_here(place: Place, overview: Overview) -> set[str]:
    found = set(place.agents())
    for one in overview.standings:
        found |= set() if is_anonymous(one.state) else set(one.state.participants)
    return found | {one.channel.speaker for one in overview.rooms if one.channel.speaker}


def _conversation(one: Standing) -> dict[str, Any]:
    """Return how one conversation stands; of an anonymous one only how many are waited for."""
    state = one.state
    told = {
        **one.to_record(),
        **dict(zip(("round", "mostRounds"), counted_round(state), strict=True)),
        "judged": last_judged(state),
        "stances": PROCEDURES[state.procedure].verdict == "stances",
        "anonymous": is_anonymous(state),
        "waitingCount": len(one.due_agents),
    }
    if is_anonymous(state):
        hidden = ("waiting", "running", "queued", "participants", "failures", "logs")
        told |= {key: type(told[key])() for key in hidden}
    return told


def _needs(place: Place, overview: Overview) -> list[dict[str, Any]]:
    """Return what waits for a person: questions, turns that are taken by hand, choices."""
    needs: list[dict[str, Any]] = []
    for one in overview.standings:
        name, hidden = one.state.name, is_anonymous(one.state)
        page = f"/councils/{quote(name, '')}"
        needs += [
            {
                "kind": "question",
                "name": name,
                "who": [] if hidden else [ask.asker],
                "text": ask.text,
                "href": f"{page}#questions",
            }
            for ask in one.asked
        ]
        due = [agent for agent in one.due_agents if place.agent(agent).driver == BY_HAND]
        if due and one.state.paused_at is None:
            who = [] if hidden else due
            told = {"kind": "turn", "name": name, "who": who, "text": one.state.topic}
            needs.append({**told, "href": f"{page}#answers"})
    for room in overview.rooms:
        agent = room.channel.speaker
        if room.is_at_work and place.agent(agent).driver == BY_HAND:
            name = room.channel.channel_id
            told = {"kind": "floor", "name": name, "who": [agent], "text": room.channel.name}
            needs.append({**told, "href": f"/rooms/{name}"})
    for row in overview.tasks:
        name = f"{row.context}/{row.task.id}"
        told = {"kind": "choice", "name": name, "who": [], "href": f"/tasks/{quote(name)}"}
        needs += [{**told, "text": ask.text} for ask in row.task.questions if not ask.answer]
    return needs


def minutes_row(known: dict[str, Any]) -> dict[str, Any]:
    """Return minutes as lists show them; `endedAt` is "" where nothing says the time of day."""
    told = {name: str(known.get(name) or "") for name in ("title", "date", "outcome")}
    people = known.get("participants")
    return {
        **told,
        **{name: known.get(name) for name in ("decision", "hits", "snippet")},
        "endedAt": "" if known.get("endedFrom") in _UNSURE else known["endedAt"],
        "who": [str(one) for one in people] if isinstance(people, list) else [],
        "file": os.path.basename(known["path"]),
    }


def minutes_list(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return the minutes that meet the conditions of `listing.Wanted`, by their names.

    Raises:
        UsageError: A condition that cannot be met by any minutes.
    """
    wanted = {name: str(given.get(name, "")) for name in Wanted().to_record()}
    rows = [minutes_row(one) for one in archived(place, Wanted(**wanted))]
    return {**wanted, "outcomes": OUTCOMES, "minutes": rows}


def figures(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what councils came to and used, with what is shown of each agent."""
    del given
    record = metrics(place).to_record()
    return {**record, "people": {one: facts(place, one) for one in record["used"]["agents"]}}
