"""Ending runs that are under way, because what they are for was given up.

Whoever gives a run up writes that down first. Then its supervisor is asked to end it by the mark
that it has made: it ends its program with all that this has started, writes the log, and settles
nothing. A supervisor that has no mark yet sees that the run was given up before it starts anything.

Source: FW-003, PR-309.
"""

from __future__ import annotations

import os
import signal

from council.core.conversations.conversation import Conversation, TaskState
from council.operations.place import Place
from council.store.slots import mark_path, under_way


def end_run(place: Place, agent: str, task: str) -> None:
    """Have the supervisor of a run end it, if the run of that task is under way."""
    found = under_way(mark_path(place.paths.runs, agent))
    if found is None or found.task != task:
        return
    try:
        os.kill(found.pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return  # it has just ended by itself, or another user's heartbeat runs it to its end


def given_up(before: Conversation, after: Conversation) -> dict[str, str]:
    """Return the agents whose runs a change has given up, each with its task."""
    running = {one.id for one in before.tasks.values() if one.state is TaskState.R and one.ends_at}
    tasks = after.tasks
    gone = [one for one in running if one not in tasks or tasks[one].state is TaskState.X]
    return {before.tasks[one].agent: one for one in gone}


def still_running(place: Place, agents: dict[str, str]) -> list[str]:
    """Return those of the agents whose run of that task is still under way."""
    found = {one: under_way(mark_path(place.paths.runs, one)) for one in agents}
    return [one for one, run in found.items() if run is not None and run.task == agents[one]]
