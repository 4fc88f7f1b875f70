"""One run of an agent, from its claimed task to its answer.

A run is supervised by a detached process that holds its place. Whatever
becomes of the agent, the task ends in the state: answered, or failed with
the reason.

Source: C0-046, C0-076, XC-014, XC-016, XC-017, `cli.md` section 5.
"""

from __future__ import annotations

import time
from datetime import timedelta

from council.core import machine, owed
from council.core.agents import Agent
from council.core.conversation import Conversation, TaskState, has_answered
from council.core.errors import CouncilError, NotFoundError
from council.core.owed import Wake
from council.core.record import Record
from council.core.step import Step
from council.core.tasks import task_failed
from council.core.times import render_instant
from council.core.trust import run_token
from council.drivers.registry import run as run_driver
from council.drivers.runs import Answer, Run, failed
from council.operations.detach import detach, write_down_failure
from council.operations.place import Place
from council.operations.prompting import turn_prompt
from council.operations.recording import record_answer
from council.store.files import make_folder, remove, replace
from council.store.keys import run_key
from council.store.slots import Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LEASE_MARGIN = timedelta(seconds=30)
_LONGEST_WAIT_FOR_RETRY_S = 60.0


class Job(Record):
    """A run that is claimed in `state` and has to be started; `prompt` is made at the start."""

    name: str
    agent: Agent
    wake: Wake
    state: Conversation
    slot: Slot
    prompt: str = ""


def start(place: Place, job: Job, afterwards: Callable[[Place], object]) -> bool:
    """Start a claimed run in a process of its own; the place goes over to it.

    When the run is over and its place free, that process does `afterwards`:
    the heartbeat that passes the place on.

    Returns:
        False when it could not be started: a failed attempt with its reason.
    """

    def work() -> None:
        supervise(place, job, afterwards)

    try:
        job.prompt = turn_prompt(place, job.state, job.agent.id)
        detach(work, log_file=place.paths.failure_log, keep=job.slot.descriptors)
        return True
    except CouncilError as error:  # a template of the workspace is broken
        _settle(place, job, failed(error.message))
    except OSError as error:  # the system has no room for another process
        _settle(place, job, failed(f"cannot start a run: {error.strerror or error}"))
    finally:
        job.slot.release()
    return False


def supervise(place: Place, job: Job, afterwards: Callable[[Place], object]) -> None:
    """Run the agent, write down what came of it, and pass the place on."""
    retry_s = 0.0
    try:
        answer = _run_whatever_happens(place, job)
        retry_s, failure = _settle(place, job, answer)
        _note(place, job, answer, failure)
    finally:
        job.slot.release()
        afterwards(place)
    if retry_s > 0 and place.fixed_now is None:
        time.sleep(min(retry_s, _LONGEST_WAIT_FOR_RETRY_S))
        afterwards(place)


def _note(place: Place, job: Job, answer: Answer, failure: str) -> None:
    """Count how the agent fares and what the run used up."""
    from council.operations.gate import charge, note_failure, note_success

    conversation_id = job.state.conversation_id
    if answer.tokens:
        charge(place, [conversation_id], tokens=answer.tokens)
    if failure:
        note_failure(place, job.agent.id, failure, conversation_id)
    else:
        note_success(place, job.agent.id, conversation_id)


def _run_whatever_happens(place: Place, job: Job) -> Answer:
    try:
        return _run(place, job)
    except Exception as error:  # a fault of ours is a failed attempt, not a lease to wait for
        write_down_failure(place.paths.failure_log)
        return failed(f"the run broke: {type(error).__name__}: {error}")


def _run(place: Place, job: Job) -> Answer:
    agent = job.agent
    prompt_file = place.paths.run_file(job.wake.task, "prompt.md")
    try:
        make_folder(place.paths.runs, mode=0o700)
        replace(prompt_file, job.prompt.encode("utf-8"), mode=0o600)
    except CouncilError as error:
        return failed(error.message)
    environ = dict(place.environ)
    if place.fixed_now is not None:
        environ["COUNCIL_NOW"] = render_instant(place.fixed_now)
    wanted = Run(
        agent=agent.id,
        conversation=job.state.conversation_id,
        name=job.name,
        task=job.wake.task,
        phase=job.state.phase,
        tour=job.state.tour,
        prompt=job.prompt,
        prompt_file=prompt_file,
        cwd=job.state.cwd or place.root,
        root=place.root,
        workspace=agent.workspace,
        timeout=place.settings.timeout_of(agent.settings),
        max_text_bytes=place.settings.max_text_bytes,
        model=agent.model,
        token=_token(place, job),
        log_file=place.paths.run_file(job.wake.task, "log"),
    )
    return run_driver(agent.driver, wanted, agent.settings, environ)


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
