"""One run for a conversation, from its claimed task to its answer.

Whatever becomes of the agent, the task ends in the state: answered, or failed
with the reason. How an agent is run, `launching` knows.

Source: C0-046, C0-076, XC-014, `cli.md` section 5.
"""

from __future__ import annotations

from council.core.agents import Agent
from council.core.conversations import machine, owed
from council.core.conversations.conversation import Conversation, TaskState, has_answered
from council.core.conversations.owed import Wake
from council.core.conversations.tasks import task_failed
from council.core.errors import CouncilError, NotFoundError
from council.core.record import Record
from council.core.step import Step
from council.core.telling.trace_context import traceparent
from council.core.trust import run_token
from council.drivers.runs import Answer, failed
from council.operations.conversations.prompting import turn_prompt
from council.operations.conversations.recording import record_answer
from council.operations.launching import Launch, Settled, launch
from council.operations.place import Place
from council.store.files import remove
from council.store.keys import run_key
from council.store.slots import Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Job(Record):
    """A run that is claimed in `state` and has to be started."""

    name: str
    agent: Agent
    wake: Wake
    state: Conversation
    slot: Slot


def start(place: Place, job: Job, afterwards: Callable[[Place], object]) -> bool:
    """Start a claimed run in a process of its own; the place goes over to it.

    When the run is over and its place free, that process does `afterwards`:
    the heartbeat that passes the place on.

    Returns:
        False when it could not be started: a failed attempt with its reason.
    """

    def settle(answer: Answer) -> Settled:
        retry_s, failure = _settle(place, job, answer)
        return Settled(failure=failure, retry_s=retry_s)

    try:
        prompt = turn_prompt(place, job.state, job.agent.id)
    except CouncilError as error:  # a template of the workspace is broken
        job.slot.release()
        settle(failed(error.message))
        return False
    wanted = Launch(
        agent=job.agent,
        owner=job.state.conversation_id,
        name=job.name,
        task=job.wake.task,
        phase=job.state.phase,
        tour=job.state.tour,
        prompt=prompt,
        cwd=job.state.cwd,
        token=_token(place, job),
        traceparent=traceparent(job.state.trace, job.wake.task),
        slot=job.slot,
    )
    return launch(place, wanted, settle, afterwards)


def _token(place: Place, job: Job) -> str:
    key = run_key(place.paths)
    return run_token(key, job.state.conversation_id, job.state.tour, job.agent.id, job.wake.attempt)


def _settle(place: Place, job: Job, answer: Answer) -> tuple[float, str]:
    """Write down how the run ended.

    Returns:
        The seconds after which it is tried again, or 0; and why it failed, "" if it did not.
    """
    reason, final = answer.reason, answer.timed_out
    if answer.ok and answer.text:
        try:
            record_answer(
                place,
                job.name,
                job.agent.id,
                answer.text,
                task=job.wake.task,
                status=answer.status or "responded",
                token=_token(place, job),
                printed=True,
            )
            return 0.0, ""
        except CouncilError as error:
            reason = error.message
    failed_at = place.now()

    def change(state: Conversation) -> Step:
        if state.tour != job.state.tour or _stands(state, job.agent.id):
            return Step(state=state.copy())
        step = task_failed(state, job.wake.task, reason or "no answer", now=failed_at, final=final)
        return step.then(machine.advance(step.state, failed_at))

    try:
        edited = place.conversations.edit(job.name, change, actor="heartbeat", now=failed_at)
    except NotFoundError:  # archived or cancelled meanwhile: nobody waits for it any more
        remove(place.paths.run_file(job.wake.task, "prompt.md"))
        return 0.0, "" if answer.ok else reason
    task = edited.state.tasks.get(job.wake.task)
    failure = "" if answer.ok else reason
    if task is not None and task.state is TaskState.F:
        failure = task.reason
    return _retry_in(place, edited.state, job.agent.id), failure


def _stands(state: Conversation, agent: str) -> bool:
    if state.entry_of(agent, state.tour) is not None:
        return True
    participant = state.participants.get(agent)
    return participant is not None and has_answered(participant)


def _retry_in(place: Place, state: Conversation, agent: str) -> float:
    mine = owed.tasks_of(state, agent)
    if agent not in owed.owing(state) or not mine or owed.attempts_used_up(state, agent):
        return 0.0
    backoff = place.settings.retry_backoff
    failures = sum(1 for one in mine if one.state == "F")
    if not failures or not backoff:
        return 0.0
    return backoff[min(failures, len(backoff)) - 1].total_seconds()
