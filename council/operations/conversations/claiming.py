"""A conversation as a heartbeat serves it: its due steps are taken, its runs are claimed.

Called by `serving`, under the heartbeat's lock.

Source: C0-026 to C0-037, XC-016, `architecture.md` section 3, C0-046, C0-076, XC-014.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from council.core.agents import Agent
from council.core.bounds import NOT_STARTED
from council.core.conversations import machine, owed
from council.core.conversations.conversation import (
    CEILING,
    Conversation,
    TaskState,
    has_answered,
)
from council.core.conversations.owed import Notify, Wake, current_phase
from council.core.conversations.procedures import SYNTHESIZE
from council.core.conversations.steering import wind_up
from council.core.conversations.tasks import (
    run_used,
    task_failed,
    task_queued,
    task_refused,
    task_started,
)
from council.core.errors import CouncilError, NotFoundError
from council.core.events import Event
from council.core.record import Record
from council.core.reporting.trace_context import traceparent
from council.core.step import Step
from council.core.trust import run_token
from council.drivers.runs import Answer, failed
from council.operations.conversations import prompting
from council.operations.conversations.prompting import turn_prompt
from council.operations.conversations.recording import record_answer
from council.operations.gate import heard_at
from council.operations.gone_runs import without_gone_runs
from council.operations.launching import LEASE_MARGIN, Launch, Settled, launch
from council.operations.place import Place
from council.operations.report import Beaten, Report, owed_by, seen_of
from council.operations.serving import Claimed, Owed, owed_to
from council.store.agents import is_woken
from council.store.files import remove
from council.store.keys import run_key
from council.store.slots import Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# --- One run for a conversation, from its claimed task to its answer


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
        _count_usage(place, job, prompt, answer)
        return _settle(place, job, answer)

    prompt = ""
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
        reports=job.state.ceiling is not None,
        token=_token(place, job),
        traceparent=traceparent(job.state.trace, job.wake.task),
        slot=job.slot,
    )
    return launch(place, wanted, settle, afterwards)


def _token(place: Place, job: Job) -> str:
    key = run_key(place.paths)
    return run_token(key, job.state.conversation_id, job.state.tour, job.agent.id, job.wake.attempt)


def _count_usage(place: Place, job: Job, prompt: str, answer: Answer) -> None:
    """Write down what a run has used; one that reports no tokens used about what it read and said.

    Source: OP-018.
    """
    if job.state.ceiling is None:
        return
    from council.core.tokens import estimated_tokens

    tokens = answer.tokens or estimated_tokens(prompt) + estimated_tokens(answer.text)
    with suppress(NotFoundError):  # archived or cancelled meanwhile
        place.conversations.edit(
            job.name,
            lambda state: run_used(state, tokens, answer.usd),
            actor="heartbeat",
            now=place.now(),
        )


def _settle(place: Place, job: Job, answer: Answer) -> Settled:
    """Write down how the run ended."""
    reason = answer.reason
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
            return Settled()
        except CouncilError as error:
            reason = error.message
    failed_at = place.now()

    def change(state: Conversation) -> Step:
        if state.tour != job.state.tour or _stands(state, job.agent.id):
            return Step(state=state.copy())
        pause = _pause(place, _failures(state, job.agent.id) + 1)
        too_late = bool(pause) and failed_at + pause >= state.timeout_at  # OP-002
        final = answer.is_final or too_late
        step = task_failed(state, job.wake.task, reason or "no answer", now=failed_at, final=final)
        return step.then(machine.advance(step.state, failed_at))

    try:
        edited = place.conversations.edit(job.name, change, actor="heartbeat", now=failed_at)
    except NotFoundError:  # archived or cancelled meanwhile: nobody waits for it any more
        remove(place.paths.run_file(job.wake.task, "prompt.md"))
        return Settled(failure="" if answer.ok else reason)
    task = edited.state.tasks.get(job.wake.task)
    failure = "" if answer.ok else reason
    if task is not None and task.state is TaskState.F:
        failure = task.reason
    failures = _failures(edited.state, job.agent.id)
    again = bool(failures) and _is_owed(edited.state, job.agent.id)
    pause = _pause(place, failures) if again else timedelta(0)
    return Settled(failure=failure, again=again, retry_s=pause.total_seconds())


def _stands(state: Conversation, agent: str) -> bool:
    if state.entry_of(agent, state.tour) is not None:
        return True
    participant = state.participants.get(agent)
    return participant is not None and has_answered(participant)


def _failures(state: Conversation, agent: str) -> int:
    return sum(one.is_failed_run for one in owed.tasks_of(state, agent))


def _is_owed(state: Conversation, agent: str) -> bool:
    return agent in owed.owing(state) and not owed.attempts_used_up(state, agent)


def _pause(place: Place, failures: int) -> timedelta:
    """Return the time between so many failures in a round and the next attempt."""
    backoff = place.settings.retry_backoff
    return backoff[min(failures, len(backoff)) - 1] if backoff else timedelta(0)


class ServedConversation:
    """One conversation in which something is due.

    Args:
        place: The workspace.
        seen: What was found there; what is done is added to it.
        now: The time of the heartbeat.
        afterwards: What a run does when its place is free again.

    Attributes:
        name: The name of the conversation.
    """

    def __init__(
        self, place: Place, seen: Beaten, now: datetime, afterwards: Callable[[Place], object]
    ) -> None:
        self.name = seen.name
        self._place = place
        self._seen = seen
        self._now = now
        self._afterwards = afterwards
        self._report: Report
        self._state: Conversation

    @property
    def owner(self) -> str:
        """The id of the conversation."""
        return self._state.conversation_id

    def advance(self, report: Report) -> None:
        """Take the steps that are due, and archive the conversation when it has ended.

        Raises:
            CouncilError: It cannot be read or written.
        """
        self._report, self._seen.woken = report, []
        self._state = _advance(self._place, self._seen, self._now)

    def withdraw(self, report: Report) -> None:
        """Take it out of the report."""
        report.conversations.remove(self._seen)

    def owed(self) -> list[Owed]:
        """Return the runs that are owed now.

        Raises:
            CouncilError: An agent's file cannot be read.
        """
        room = _running(self._state)
        owed: list[Owed] = []
        for one in owed_to(self._place, self, _wakes(self._place, self._state, self._now)):
            if one.by_hand or not _reached(self._state, room):
                room += not one.by_hand
                owed.append(one)
        return owed

    def heard_at(self, agent: str) -> datetime | None:
        """Return when an agent was last heard there."""
        return heard_at(self._state, agent)

    def goes_on_without(self, agent: str) -> bool:  # noqa: ARG002
        """Tell whether the synthesis is handed on, or a turn skipped."""
        return self._state.phase == SYNTHESIZE or current_phase(self._state).skips

    def hand_over(self, wake: Wake) -> None:
        """Put the prompt where an agent that answers by itself finds it.

        Raises:
            CouncilError: The prompt cannot be made or written.
        """
        place = self._place
        claimed = task_started(self._state, wake, driver="manual", now=place.now(), ends_at=None)
        prompting.hand_over(place, claimed.state, wake)

    def claim(self, mine: list[Owed], places: dict[str, Slot]) -> list[Claimed]:
        """Claim the wakes that have a place, hand over those by hand, queue the rest.

        What is put down for people and agents to read is put down before the
        claim: killed in between, the next heartbeat writes the same files again.

        Raises:
            CouncilError: The conversation cannot be written.
        """
        place, state = self._place, self._state
        now = place.now()
        notices = [one for one in owed_by(place, state, now) if isinstance(one, Notify)]
        queued = [
            not (one.by_hand or one.refusal)
            and one.wake.task in state.tasks
            and one.wake.task not in places
            for one in mine
        ]
        if all(queued) and not notices:
            return []
        for notice in notices:
            prompting.write_notice(place, state, notice)
        prompting.take_back(place, state, before=state.tour)
        started: list[Owed] = []

        def change(state: Conversation) -> Step:
            started.clear()
            step = _notified(Step(state=state.copy()), notices)
            for one in mine:
                if one.wake not in owed_by(place, step.state, now):
                    continue  # it answered, or the round went on, while we looked
                taken = _take(place, step.state, one, one.wake.task in places, now)
                step = step.then(taken)
                task = taken.state.tasks.get(one.wake.task)
                if task is not None and task.state is TaskState.R:
                    started.append(one)
            if any(one.refusal for one in mine):
                step = step.then(machine.advance(step.state, now))
            return step

        self._state = place.conversations.edit(self.name, change, actor="heartbeat", now=now).state
        if self._state.tour != state.tour:
            self._report.passed_over = True
        self._seen.woken = [one.wake.agent for one in started]
        return [self._claimed(one, places[one.wake.task]) for one in started if not one.by_hand]

    def _claimed(self, one: Owed, slot: Slot) -> Claimed:
        job = Job(name=self.name, agent=one.agent, wake=one.wake, state=self._state, slot=slot)
        return Claimed(
            owner=self.owner,
            task=one.wake.task,
            start=lambda: start(self._place, job, self._afterwards),
        )


def _advance(place: Place, seen: Beaten, now: datetime) -> Conversation:
    """Take the steps that are due in one conversation, and archive it when it has ended."""

    def change(state: Conversation) -> Step:
        step = machine.advance(without_gone_runs(place, state, now), now)
        step = _up_to_ceiling(place, step, now)
        fresh = seen_of(seen.name, state, step)
        for field in ("status", "phase", "tour", "moved_from", "moved_to", "reason", "waiting"):
            setattr(seen, field, getattr(fresh, field))
        return step

    # With many conversations in the queue, most want a place and nothing else.
    view = place.conversations.page(seen.name, now)
    stands = not place.conversations.must_settle(view) and view.state.finished_at is None
    step = machine.advance(without_gone_runs(place, view.state, now), now)
    if stands and not _up_to_ceiling(place, step, now).events:
        return view.state
    edited = place.conversations.edit(seen.name, change, actor="heartbeat", now=now)
    seen.edited = seen.edited and edited.state.rev != seen.rev
    if edited.state.finished_at is not None:
        from council.operations.conversations import (
            archive,  # minutes are the matter of an end alone
        )

        seen.archived = archive.archive(place, edited.state)
    return edited.state


def _up_to_ceiling(place: Place, step: Step, now: datetime) -> Step:
    """End a conversation where the ceiling leaves no room for a run that is due and none goes on.

    Source: OP-018.
    """
    state = step.state
    reached = _reached(state, 0)
    if not reached or _running(state):
        return step
    wakes = _wakes(place, state, now)
    due = [one for one in wakes if is_woken(place.root, place.settings, one.agent)]
    for one in due:
        reason = f"{NOT_STARTED}its ceiling of {reached} is reached"
        step = step.then(task_refused(step.state, one, reason, driver="", now=now, final=True))
    return step.then(wind_up(step.state, now, CEILING)) if due else step


def _reached(state: Conversation, running: int) -> str:
    return state.ceiling.reached(running) if state.ceiling is not None else ""


def _running(state: Conversation) -> int:
    """Return how many programs run for a conversation; those who answer by hand have no lease."""
    return sum(one.state is TaskState.R and one.ends_at is not None for one in state.tasks.values())


def _wakes(place: Place, state: Conversation, now: datetime) -> list[Wake]:
    return [one for one in owed_by(place, state, now) if isinstance(one, Wake)]


def _notified(step: Step, notices: list[Notify]) -> Step:
    for notice in notices:
        if step.state.notified_tour < notice.tour:
            step.state.notified_tour = notice.tour
            data = {"tour": notice.tour}
            step.events.append(Event(type="coordinator.notified", agent=notice.agent, data=data))
    return step


def _take(place: Place, state: Conversation, one: Owed, has_place: bool, now: datetime) -> Step:
    driver = one.agent.driver
    if one.halted:
        return task_queued(state, one.wake, driver=driver, now=now)
    if one.refusal:
        return task_refused(state, one.wake, one.refusal, driver=driver, now=now, final=one.final)
    if one.by_hand:
        return task_started(state, one.wake, driver=driver, now=now, ends_at=None)
    if has_place:
        ends_at = now + place.settings.timeout_of(one.agent.settings) + LEASE_MARGIN
        return task_started(state, one.wake, driver=driver, now=now, ends_at=ends_at)
    return task_queued(state, one.wake, driver=driver, now=now)
