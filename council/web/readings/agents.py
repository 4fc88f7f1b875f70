"""What the pages of agents and of a new council show.

Source: DG-016, DL-072, CL-002.
"""

from __future__ import annotations

import os
from typing import Any

from council.core.agents import DRIVERS
from council.core.conversations.procedures import MODES
from council.drivers.programs import PRESETS
from council.operations.agent_profiles import profiles
from council.operations.place import Place
from council.operations.rooms.scanning import source_is_there


def agents(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return all agents, and what may be said of one; `edit` is the one whose form is open."""
    found, faults = profiles(place)
    return {
        "agents": [{**one.to_record(), "preset": one.agent.settings.preset} for one in found],
        "faults": faults,
        "drivers": sorted(DRIVERS),
        "presets": sorted(PRESETS),
        "source": os.path.relpath(place.paths.ego, place.root) if source_is_there(place) else None,
        "edited": given.get("edit", ""),
    }


def new(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a council may be made of."""
    return {
        **agents(place, given),
        "modes": list(MODES),
        "topic": given.get("topic", ""),
    }
