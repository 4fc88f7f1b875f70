"""Runs whose process is gone are taken back at the next look, not when their lease is over.

Whoever supervises a run holds the place of its agent from before the run is claimed until
what came of it is written down. So a claimed run whose agent has a free place was cut off.
A place that cannot be looked at, or on a file system that others share, proves nothing.

Source: OP-006.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import TypeVar

    from council.core.conversations.conversation import Conversation, Task
    from council.core.rooms.channels import Channel
    from council.operations.place import Place

    Held = TypeVar("Held", Conversation, Channel)


def has_runs(tasks: Mapping[str, Task]) -> bool:
    """Return true if a run with a lease is claimed."""
    return any(one.state is TaskState.R and one.ends_at is not None for one in tasks.values())


def gone_runs(place: Place, tasks: Mapping[str, Task]) -> list[str]:
    """Return the tasks whose run is claimed and whose process is gone.

    Source: OP-006.
    """
    if place.settings.force_network_fs or not has_runs(tasks):
        return []
    from council.store.slots import Slots

    slots = Slots(place.paths.places, place.settings.max_runs)
    return [
        one.id
        for one in tasks.values()
        if one.state is TaskState.R and one.ends_at is not None and slots.is_free(one.agent)
    ]


def without_gone_runs(place: Place, state: Held, now: datetime) -> Held:
    """Return a state in which the lease of each run is over whose process is gone."""
    gone = gone_runs(place, state.tasks)
    if not gone:
        return state
    new = state.copy()
    for task in gone:
        ends_at = new.tasks[task].ends_at
        new.tasks[task].ends_at = now if ends_at is None else min(now, ends_at)
    return new
