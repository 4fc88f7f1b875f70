"""What the pages of agents and of a new council show.

Source: DG-016, DL-072, CL-002.
"""

from __future__ import annotations

import os
from typing import Any

from council.core.agents import DRIVERS
from council.core.bounds import Ceiling
from council.core.conversations.procedures import MODES, PROCEDURES
from council.drivers.programs import PRESETS
from council.operations.agent_profiles import Profile, profiles
from council.operations.conversations.convene import most_rounds, usual_ceiling
from council.operations.place import Place
from council.operations.rooms.scanning import source_is_there


def agents(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return all agents, and what may be said of one; `edit` is the one whose form is open."""
    found, faults = profiles(place)
    return {
        "agents": [{**one.to_record(), **_started(one)} for one in found],
        "faults": faults,
        "drivers": sorted(DRIVERS),
        "presets": sorted(PRESETS),
        "source": os.path.relpath(place.paths.ego, place.root) if source_is_there(place) else None,
        "edited": given.get("edit", ""),
    }


def _started(one: Profile) -> dict[str, str]:
    """Return what is started for an agent: its ready-made command, program or server."""
    settings = one.agent.settings
    program = os.path.basename(settings.argv[0]) if settings.argv else ""
    server = settings.base_url or settings.gateway
    return {"preset": settings.preset, "starts": settings.preset or program or server}


def new(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a council may be made of.

    `usual` are the options that hold where the form leaves them blank, as `convene` takes them:
    the ceiling of `council ask`. With `all`, all agents are chosen at first.
    """
    ceiling = usual_ceiling(place, Ceiling())
    return {
        **agents(place, given),
        "modes": list(MODES),
        "topic": given.get("topic", ""),
        "all": bool(given.get("all")),
        "usual": {
            "max_runs": str(ceiling.runs),
            "max_tokens": str(ceiling.tokens),
            "max_cost": f"{ceiling.usd:g}",
        },
        "rounds": {
            name: most_rounds(one.phases, place.settings.deliberation)
            for name, one in PROCEDURES.items()
        },
    }
