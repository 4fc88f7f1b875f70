"""What the pages of rooms show: who has the floor and why, what was said, who is in it.

Source: DG-031 to DG-120, DG-136, DG-137, OP-014.
"""

from __future__ import annotations

import os
from typing import Any

from council.core.errors import CouncilError, NotFoundError
from council.core.ids import is_name
from council.core.rooms.channels import TAKES_TURNS, Channel, Message, author_of, shown
from council.core.rooms.discussions import SUMMARIES
from council.operations.place import Place, login
from council.operations.reporting.explaining import explain
from council.operations.rooms.rooms import each
from council.operations.rooms.showing import Standing, glances, standing
from council.store.rooms.channel_page import cycle_line, floor_line
from council.web.markdown import html_of

_PER_PAGE = 30
_FACTS = ("id", "name", "emoji", "role", "model")
LOCKED = ("work", "discussion")


def rooms_list(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return all rooms, those whose turns are awaited first.

    Raises:
        RefusedError: The workspace is a slave, which has none (DG-155).
    """
    place.refuse_on_slave()
    found, broken = each(place, standing)
    at_work = {one.channel.channel_id: one for one in glances(place)[0]}
    rows = []
    for one in found:
        glance = at_work.get(one.channel.channel_id)
        told = glance.to_record() if glance else {}
        rows.append({**told, **channel_row(place, one.channel, given.get("lang", "en"))})
    rows.sort(key=lambda one: (not one.get("waiting"), one["dormant"], one["channelId"]))
    return {
        "channels": rows,
        "errors": [{"channelId": name, **error.to_record()} for name, error in broken],
        "people": people(place),
    }


def channel_row(place: Place, channel: Channel, lang: str) -> dict[str, Any]:
    """Return a room as `channel list` tells of it, with the facts of who has the floor."""
    return {
        **shown(channel),
        "floor": floor_line(channel, lang),
        "cycleSaid": cycle_line(channel, lang) if channel.state in TAKES_TURNS else "",
        "isLocked": channel.mode in LOCKED,
        "speaker": facts(place, channel.speaker) if channel.speaker else None,
    }


def facts(place: Place, agent: str) -> dict[str, Any]:
    """Return what a page shows of an agent beside its texts."""
    one = place.agent(agent) if is_name(agent) else None
    return {name: getattr(one, name) if one else "" for name in _FACTS} | {"id": agent}


def people(place: Place) -> list[dict[str, Any]]:
    """Return all agents by what a page shows of them."""
    return [facts(place, one) for one in place.agents()]


def room(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return one room: `channel`, and of its messages those before the number `before`.

    Raises:
        NotFoundError: There is none of that id.
    """
    name, before = given["channel"], str(given.get("before", ""))
    found = standing(place, name, messages=1)
    if not found.is_known:
        raise NotFoundError(f"there is no room {name!r}", "see all rooms at /rooms")
    newest = found.messages[-1].id if found.messages else 0
    ends = min(int(before), newest + 1) if before.isascii() and before.isdecimal() else newest + 1
    count = max(1, newest + 1 - ends + _PER_PAGE)
    found = standing(place, name, messages=count)
    listed = [one for one in found.messages if one.id < ends][-_PER_PAGE:]
    channel = found.channel
    return {
        **channel_row(place, channel, given.get("lang", "en")),
        "agents": {one.agent: facts(place, one.agent) for one in listed if one.agent}
        | {one: facts(place, one) for one in channel.speakers}
        | {one.agent: facts(place, one.agent) for one in channel.members.values() if one.agent},
        "messageRows": [_message(one, found) for one in listed],
        "older": listed[0].id if listed and listed[0].id > 1 else None,
        "isNewest": ends > newest,
        "edits": [one.to_record() for one in found.edits if one.type.startswith("edit.")],
        "why": _why(place, name, given.get("lang", "en")),
        "summaries": _summaries(place) if channel.discussion else [],
        "people": people(place),
        "user": login(place),
    }


def _message(one: Message, found: Standing) -> dict[str, Any]:
    return {
        **one.as_json("id at agent kind"),
        "author": author_of(one),
        "origin": found.origins.get(one.id, ""),
        "html": str(html_of(one.content)),
    }


def _why(place: Place, name: str, lang: str) -> dict[str, Any]:
    """Return what a room waits for, what is in the way, and what comes next."""
    try:
        return explain(place, name).to_record(lang)
    except CouncilError as failed:
        return {"waitsFor": [], "hindrances": [failed.to_record()], "next": []}


def _summaries(place: Place) -> list[str]:
    """Return the files that may be the summary of a discussion."""
    folder = os.path.join(place.paths.shared, SUMMARIES)
    try:
        return sorted(one for one in os.listdir(folder) if one.endswith(".md"))[:100]
    except OSError:
        return []
