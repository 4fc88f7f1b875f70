"""Runs for tasks: one that a context is owed, what a person gets to read for it, and its end.

What a person who is a worker has to read is a file among the tasks of the agent,
while it counts. A task is cancelled or out of time, a context closed, a run set
aside for one of P0: that is written down first, so the end of the program counts
as no failure. Its supervisor frees the place and beats.

Source: PR-309, PR-410, PR-551, PR-555, PR-571, PR-594, XC-016, `cli.md` section 2 (`task cancel`,
`ctx close`), section 5 (driver `manual`).
"""

from __future__ import annotations

import os
import signal

from council.core.agents import Agent
from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import WORK, Exchange, Run
from council.core.protocol.exchange_owed import Compose, Split, Work
from council.core.protocol.receiving import MOST_REFUSED
from council.core.record import Record
from council.operations.protocol import task_prompts
from council.operations.protocol.crew import Crew
from council.store import files
from council.store.protocol import under_way

TYPE_CHECKING = False
if TYPE_CHECKING:
    Owed = Work | Split | Compose

MANUAL = "manual"
# Who is registered and no agent of the workspace answers by itself, with `msg send`.
OUTSIDE = "inbox"


class Due(Record):
    """A run that a context is owed; `agent` is None for a worker that nobody here can start.

    `started_in` is the context that it was started in, where another one goes on with it.
    """

    context: str
    exchange: Exchange
    owed: Owed
    agent: Agent | None
    started_in: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether nothing is run: the worker answers by itself."""
        return self.agent is None or self.agent.driver == MANUAL

    @property
    def driver(self) -> str:
        """By which driver it is woken."""
        return self.agent.driver if self.agent is not None else OUTSIDE


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


def hand_over(crew: Crew, due: Due, agent: Agent) -> None:
    """Put what a worker has to read where a person finds it.

    Raises:
        CouncilError: The system refuses.
    """
    folder = crew.place.paths.tasks(agent.id)
    files.make_folder(folder)
    text = task_prompts.prompt_of(crew, due.exchange, due.owed, agent)
    files.replace(f"{folder}/{due.owed.run}.md", text.encode("utf-8", "replace"))


def take_back(crew: Crew, due: Due, agent: Agent) -> None:
    """Take away again what is not owed any more."""
    files.remove(f"{crew.place.paths.tasks(agent.id)}/{due.owed.run}.md")


def settled(crew: Crew, before: Exchange, after: Exchange) -> list[tuple[str, str]]:
    """Return what nobody has to read any more after a change: each agent and run.

    What went on in another context is to be read there.
    """
    gone = [
        after.runs[one.id]
        for one in before.runs.values()
        if one.id in after.runs and _counts(before, one) and not _counts(after, after.runs[one.id])
    ]
    agents = [(crew.agent(one.worker), one.id) for one in gone]
    return [(agent.id, run) for agent, run in agents if agent is not None]


def _counts(exchange: Exchange, run: Run) -> bool:
    """Tell whether a person is still to act on what was handed over for a run."""
    if run.driver != MANUAL or run.state is not TaskState.R or not exchange.is_open:
        return False
    task = exchange.tasks.get(run.task)
    if run.purpose != WORK or task is None:
        return True
    return task.hop(run.hop).attempts[run.attempt - 1].asked == run.message
