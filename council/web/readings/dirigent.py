"""What the control page shows: who has which account, and the channels of each workspace.

A workspace is the folder that is served, which one may always administer, and, where that is
asked for, each server of Discord that the bot of a tied channel may administer.

Source: DG-131 to DG-137, DG-162, DG-016, DG-022.
"""

from __future__ import annotations

import os
from typing import Any

from council.operations.agent_profiles import named, profiles
from council.operations.place import Place
from council.operations.rooms.discord_ties import administered
from council.operations.rooms.rooms import each
from council.operations.rooms.scanning import source_is_there
from council.operations.rooms.showing import standing
from council.web.readings.rooms import channel_row, people


def dirigent(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the control page shows; with `discord` also what lies on Discord.

    Raises:
        RefusedError: The workspace is a slave; it makes sense on its master (DG-162).
    """
    place.refuse_on_slave()
    found, broken = each(place, standing)
    rows = [channel_row(place, one.channel, given.get("lang", "en")) for one in found]
    tied = {row["discord"]["channel"]: row for row in rows if row.get("discord")}
    servers, troubles = administered(place) if given.get("discord") else ({}, [])
    entries, faults = profiles(place)
    return {
        "identities": [named(one.agent.id, entry) for one in entries for entry in one.identities],
        "faults": faults,
        "source": os.path.relpath(place.paths.ego, place.root) if source_is_there(place) else None,
        "channels": rows,
        "hasDiscord": bool(tied),
        "servers": [
            {"id": guild, "channels": [_there(one, name, tied) for one, name in known.items()]}
            for guild, known in servers.items()
        ],
        "troubles": troubles,
        "errors": [{"channelId": name, **error.to_record()} for name, error in broken],
        "people": people(place),
        "edited": given.get("edit", ""),
    }


def _there(channel: str, name: str, tied: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a channel of Discord: the room that is tied to it, or one that is unknown here."""
    return {**UNKNOWN, **tied.get(channel, {}), "there": channel, "thereName": name}


# How a channel stands of which nothing is known (DG-031).
UNKNOWN = {"channelId": "", "mode": "none", "turnState": "disabled", "currentSpeaker": None}
