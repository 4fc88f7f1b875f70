"""Runs whose process is gone are taken back at the next scan, not when their lease is over.

The process that supervises a run holds the place of its agent from before the run is claimed until
what came of it is written down. So a claimed run whose agent has a free place was cut off.
A place that cannot be looked at, or on a file system that others share, proves nothing.
Where machines share an engine it has no lease on any of them either.

Source: OP-006.
"""

from __future__ import annotations

from collections.abc import Mapping

from council.core.conversations.conversation import Conversation, Task, TaskState
from council.core.errors import CouncilError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeVar

    from council.core.protocol.exchange import Exchange, Run
    from council.core.rooms.channels import Channel
    from council.operations.place import Place

    Held = TypeVar("Held", Conversation, Channel, Exchange)
    Runs = Mapping[str, Task | Run]

# Who answers by hand or by way of an inbox has a lease at most, and no process.
_WITHOUT_PROCESS = ("manual", "inbox")


def has_runs(runs: Runs) -> bool:
    """Return true if a run with a lease is claimed."""
    return any(_is_claimed(one) for one in runs.values())


def gone_runs(place: Place, runs: Runs, agents: Mapping[str, str] | None = None) -> list[str]:
    """Return the ids of the runs that are claimed and whose process is gone.

    Args:
        place: The workspace.
        runs: The tasks of a conversation or a room, or the runs of a context.
        agents: The agents behind the ids that document 002 gives them, None for no such ids.

    Source: OP-006.
    """
    if place.settings.force_network_fs or not has_runs(runs):
        return []
    from council.store.slots import Slots

    slots = Slots(place.paths.places, place.settings.max_runs)
    known = agents or {}
    claimed = {one.id: known.get(one.agent, one.agent) for one in runs.values() if _is_claimed(one)}
    if place.engine is None:
        return [task for task, agent in claimed.items() if slots.is_free(agent)]
    from council.operations.engine.leases import leased_tasks

    leased = leased_tasks(place)
    if leased is None:
        return []
    return [
        task
        for task, agent in claimed.items()
        if task not in leased and not slots.is_running(agent)
    ]


def gone_tasks(place: Place, state: Conversation) -> list[str]:
    """Return the ids of the runs of an open conversation whose process is gone.

    A run writes down its end before it frees its place. So where a place is free, the
    conversation is read again: a run that has ended since `state` was read is not gone.
    """
    gone = gone_runs(place, state.tasks)
    if not gone:
        return []
    try:
        later = place.conversations.read(state.name)
    except CouncilError:  # archived meanwhile, or not to be read
        return []
    if later.conversation_id != state.conversation_id:
        return []
    return [one for one in gone if one in later.tasks and _is_claimed(later.tasks[one])]


def without_gone_runs(
    place: Place, state: Held, now: datetime, agents: Mapping[str, str] | None = None
) -> Held:
    """Return a state in which the lease of each run is over whose process is gone."""
    gone = gone_runs(place, _runs_of(state), agents)
    if not gone:
        return state
    new = state.copy()
    for one in gone:
        run = _runs_of(new)[one]
        run.ends_at = now if run.ends_at is None else min(now, run.ends_at)
    return new


def _is_claimed(run: Task | Run) -> bool:
    return (
        run.state is TaskState.R and run.ends_at is not None and run.driver not in _WITHOUT_PROCESS
    )


def _runs_of(state: Conversation | Channel | Exchange) -> Runs:
    """Return the runs of a state: a context keeps them beside its tasks."""
    runs: Runs = getattr(state, "runs", state.tasks)
    return runs
