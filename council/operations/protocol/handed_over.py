"""What a person who is a worker has to read: a file among the tasks of the agent, while it counts.

Source: PR-594, `cli.md` section 5 (driver `manual`).
"""

from __future__ import annotations

from council.core.agents import Agent
from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import WORK, Exchange, Run
from council.operations.protocol import task_prompts
from council.operations.protocol.crew import Crew
from council.operations.protocol.task_due import MANUAL, Due
from council.store import files


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
