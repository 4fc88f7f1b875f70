"""Programs whose runs nobody wants any more: they are ended.

A task is cancelled or out of time, a context closed, a run set aside for one of
P0: that is written down first, so the end of the program counts as no failure.
Whoever supervises it frees the place and beats.

Source: PR-309, PR-410, PR-551, PR-555, PR-571, `cli.md` section 2 (`task cancel`, `ctx close`).
"""

from __future__ import annotations

import os
import signal

from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import WORK, Exchange, Run
from council.core.protocol.receiving import MOST_REFUSED
from council.operations.protocol.crew import Crew
from council.store.protocol import under_way


def dropped(exchange: Exchange) -> dict[str, Run]:
    """Return the runs that were given up with what they were for; one that answered is none."""
    return {
        one.id: one
        for one in exchange.runs.values()
        if one.state is TaskState.X and not _has_answered(exchange, one)
    }


def _has_answered(exchange: Exchange, run: Run) -> bool:
    """Tell whether the worker ended its attempt itself, by a message sent from within the run."""
    task = exchange.tasks.get(run.task)
    if task is None or run.purpose != WORK:
        return False
    attempt = task.hop(run.hop).attempts[run.attempt - 1]
    failed = attempt.state is TaskState.F
    by_itself = attempt.own_words or attempt.refused > MOST_REFUSED
    return attempt.state is TaskState.D or (failed and by_itself)


def end_program(crew: Crew, run: Run) -> None:
    """End the program of a run, if it is under way."""
    agent = crew.agent(run.worker)
    if agent is None:
        return
    found = under_way.under_way(under_way.mark_path(crew.place.paths.runs, agent.id))
    if found is None or found.task != run.id:
        return
    try:
        os.kill(found.pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return  # it has just ended by itself, or another user's heartbeat runs it to its end
