"""A conversation as a heartbeat serves it: its due steps are taken, its runs are claimed and made.

Called by `queue`, under the heartbeat's lock.

Source: C0-026 to C0-037, XC-016, `architecture.md` section 3, C0-046, C0-076, XC-014.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from council.core.agents import is_rehearser
from council.core.bounds import Usage, may_pass
from council.core.conversations import due, machine, tasks
from council.core.conversations.conversation import (
    CEILING,
    Conversation,
    Step,
    TaskState,
    has_answered,
)
from council.core.conversations.due import Notify, Wake, current_phase
from council.core.conversations.procedures import SYNTHESIZE
from council.core.conversations.steering import wind_up
from council.core.errors import TRANSIENT, CouncilError, NotFoundError
from council.core.events import Event, traceparent
from council.core.reasons import NO_ANSWER, NO_REASON, Reason
from council.core.record import Any
from council.drivers.runs import Answer
from council.operations.conversations import prompting
from council.operations.conversations.answer import record_answer
from council.operations.gone_runs import without_gone_runs
from council.operations.heartbeat.gate import has_caps, with_mended
from council.operations.heartbeat.queue import DueRun, Served
from council.operations.heartbeat.running import Settled
from council.operations.place import Place
from council.operations.report import Beaten, Report, due_actions, seen_of
from council.store.agents import is_woken
from council.store.files import remove
from council.store.slots import Slot, mark_path
from council.store.tally import read_tally


class ServedConversation(Served):
    """One conversation in which something is due.

    Args:
        place: The workspace.
        seen: What was found there; what is done is added to it.
        now: The time of the heartbeat.
    """

    by_mcp = True
    each_round = True

    def __init__(self, place: Place, seen: Beaten, now: datetime) -> None:
        super().__init__(place, seen.name, now)
        self._seen = seen
        self._report: Report
        self._state: Conversation

    def advance(self, report: Report) -> None:
        """Take the steps that are due, and archive the conversation when it has ended.

        Raises:
            CouncilError: It cannot be read or written.
        """
        self._report, self._seen.woken = report, []
        self._take(_advance(self.place, self._seen, self.now))

    def _take(self, state: Conversation) -> None:
        self._state, self.owner, self.tour = state, state.conversation_id, state.tour

    def withdraw(self, report: Report) -> None:
        """Take it out of the report."""
        report.conversations.remove(self._seen)

    def due_runs(self) -> list[DueRun]:
        """Return the runs that are due now.

        Raises:
            CouncilError: An agent's file cannot be read.
        """
        room = _running(self._state)
        found: list[DueRun] = []
        for one in self.due_for(_wakes(self.place, self._state, self.now)):
            if one.by_hand or not (_reached(self._state, room) or self._may_pass_a_cap(room)):
                room += not one.by_hand
                found.append(one)
        return found

    def _may_pass_a_cap(self, running: int) -> bool:
        """Return true if a run has to wait for others, so that a cap is passed by one at most."""
        if not running or not has_caps(self.place):
            return False
        tally, limits = read_tally(self.place.paths), self.place.settings.limits
        of = self._state.conversation_id
        return may_pass(tally, limits, of, self.now, self._state.usage, running)

    def heard_at(self, agent: str) -> datetime | None:
        """Return when an agent was last heard there."""
        participant = self._state.participants.get(agent)
        return participant.last_action if participant is not None else None

    def goes_on_without_an_agent(self) -> bool:
        """Return true if the synthesis is handed on, or a turn skipped."""
        return self._state.phase == SYNTHESIZE or current_phase(self._state).skips

    def hand_over(self, wake: Wake) -> None:
        """Put the prompt where an agent that answers by itself finds it.

        Raises:
            CouncilError: The prompt cannot be made or written.
        """
        place, now = self.place, self.place.now()
        claimed = tasks.task_started(self._state, wake, driver="manual", now=now, ends_at=None)
        prompting.hand_over(place, claimed.state, wake)

    def claim(self, mine: list[DueRun], places: Mapping[str, Slot]) -> list[DueRun]:
        """Claim the wakes that have a place, hand over those by hand, queue the rest.

        What is put down for people and agents to read is put down before the
        claim: killed in between, the next heartbeat writes the same files again.

        Raises:
            CouncilError: The conversation cannot be written.
        """
        place, state, now = self.place, self._state, self.place.now()
        notices = [one for one in due_actions(place, state, now) if isinstance(one, Notify)]
        if not notices and all(one.waits_on(state.tasks, places) for one in mine):
            return []
        for notice in notices:
            prompting.write_notice(place, state, notice)
        prompting.take_back(place, state, before=state.tour)
        started: list[DueRun] = []

        def change(state: Conversation) -> Step:
            started.clear()
            step = _notified(Step(state=state.copy()), notices)
            for one in mine:
                if one.wake not in due_actions(place, step.state, now):
                    continue  # it answered, or the round went on, while we looked
                taken: Step = self.taken(tasks, step.state, one, places)
                step = step.then(taken)
                task = taken.state.tasks.get(one.wake.task)
                if task is not None and task.state is TaskState.R:
                    started.append(one)
            if any(one.refusal for one in mine):
                step = step.then(machine.advance(step.state, now))
            return step

        self._take(place.conversations.edit(self.name, change, actor="heartbeat", now=now).state)
        if self._state.tour != state.tour:
            self._report.passed_over = True
        self._seen.woken = [one.wake.agent for one in started]
        return [one for one in started if not one.by_hand]

    # A claimed run, to its answer.

    def details(self, one: DueRun) -> dict[str, Any]:
        """Return the prompt of the round, phase and round, and where the agent works."""
        state = self._state
        return {
            "prompt": prompting.turn_prompt(self.place, state, one.agent.id),
            "phase": state.phase,
            "tour": state.tour,
            "cwd": state.cwd,
            "reports": True,
            "traceparent": traceparent(state.trace, one.wake.task),
            "mark": mark_path(self.place.paths.runs, one.agent.id),
            "is_wanted": lambda: self._is_under_way(one.wake.task),
        }

    def _is_under_way(self, task: str) -> bool:
        """Return false if a run was given up while no mark of it was there."""
        try:
            state = self.place.conversations.read(self.name)
        except NotFoundError:
            return False
        except CouncilError:
            return True
        known = state.tasks.get(task)
        return known is None or known.state is not TaskState.X

    def settle(self, one: DueRun, prompt: str, answer: Answer) -> Settled:
        """Write down how the run ended."""
        place, agent, name = self.place, one.agent.id, self.name
        self._count_usage(one, prompt, answer)
        reason = answer.reason
        if answer.ok and answer.text:
            try:
                record_answer(
                    place,
                    name,
                    agent,
                    answer.text,
                    task=one.wake.task,
                    status=answer.status or "responded",
                    token=self.token(one),
                    printed=True,
                )
                return Settled()
            except TRANSIENT:
                raise  # it is settled later
            except CouncilError as error:
                reason = Reason.of("refused", text=error.message)
        failed_at = place.now()

        def change(state: Conversation) -> Step:
            if state.tour != self.tour or _stands(state, agent):
                return Step(state=state.copy())
            failures = 1 + sum(one.is_failed_run for one in due.tasks_of(state, agent))
            pause = due.pause(failures, place.settings.retry_backoff)
            too_late = bool(pause) and failed_at + pause >= state.timeout_at  # OP-002
            said = {"final": answer.is_final or (too_late and not answer.at_once)}
            said["at_once"] = answer.at_once
            why = reason or NO_ANSWER
            step = tasks.task_failed(state, one.wake.task, why, now=failed_at, **said)
            return step.then(machine.advance(step.state, failed_at))

        try:
            after = place.conversations.edit(name, change, actor="heartbeat", now=failed_at).state
        except NotFoundError:  # archived or cancelled meanwhile: its answer is not waited for
            remove(place.paths.run_file(one.wake.task, "prompt.md"))
            return Settled(failure=NO_REASON if answer.ok else reason)
        task = after.tasks.get(one.wake.task)
        failure = NO_REASON if answer.ok else reason
        if task is not None and task.state is TaskState.F:
            failure = task.reason
        is_due = agent in due.due_agents(after) and not due.attempts_used_up(after, agent)
        return self.again(failure, due.tasks_of(after, agent), is_due=is_due)

    def _count_usage(self, one: DueRun, prompt: str, answer: Answer) -> None:
        """Write down what a run used; one that reports no tokens used what it read and said.

        Where no ceiling needs an estimate, what a run does not report is not written down; and
        where nothing ran, or the provider let nothing in, nothing was used.

        Source: CL-002, OP-018.
        """
        agent, task = one.agent.id, one.wake.task
        tokens, usd = answer.tokens, answer.usd
        if is_rehearser(agent) or (answer.hopeless and not (tokens or usd)):
            return
        if self._state.ceiling is None and tokens is None and usd is None:
            return
        from council.core.plain_text import estimated_tokens

        estimated = estimated_tokens(prompt) + estimated_tokens(answer.text)
        used = Usage.of_run(tokens, usd, estimated)
        with suppress(NotFoundError):  # archived or cancelled meanwhile
            self.place.conversations.edit(
                self.name,
                lambda state: tasks.run_used(state, agent, used),
                op_id=f"used:{task}",  # it may be settled again
                actor="heartbeat",
                now=self.place.now(),
            )


def _stands(state: Conversation, agent: str) -> bool:
    if state.entry_of(agent, state.tour) is not None:
        return True
    participant = state.participants.get(agent)
    return participant is not None and has_answered(participant)


def _advance(place: Place, seen: Beaten, now: datetime) -> Conversation:
    """Take the steps that are due in one conversation, and archive it when it has ended."""

    def change(state: Conversation) -> Step:
        step = machine.advance(with_mended(place, without_gone_runs(place, state, now)), now)
        step = _up_to_ceiling(place, step, now)
        fresh = seen_of(seen.name, state, step)
        for field in ("status", "phase", "tour", "moved_from", "moved_to", "reason", "waiting"):
            setattr(seen, field, getattr(fresh, field))
        return step

    # With many conversations in the queue, most want a place and nothing else.
    view = place.conversations.page(seen.name, now, whole=False)
    stands = not place.conversations.must_settle(view) and view.state.finished_at is None
    is_mended = with_mended(place, view.state) is not view.state
    step = machine.advance(without_gone_runs(place, view.state, now), now)
    if stands and not is_mended and not _up_to_ceiling(place, step, now).events:
        return view.state
    edited = place.conversations.edit(seen.name, change, actor="heartbeat", now=now)
    seen.edited = seen.edited and edited.state.rev != seen.rev
    if edited.state.finished_at is not None:
        from council.operations.conversations.steer import close  # only an end has minutes

        seen.archived = close(place, edited.state)
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
        reason = Reason.of("ceiling", limit=reached)
        step = step.then(
            tasks.task_refused(step.state, one, reason, driver="", now=now, final=True)
        )
    return step.then(wind_up(step.state, now, CEILING)) if due else step


def _reached(state: Conversation, running: int) -> str:
    return state.ceiling.reached(running) if state.ceiling is not None else ""


def _running(state: Conversation) -> int:
    """Return how many programs run for a conversation; those who answer by hand have no lease."""
    return sum(one.state is TaskState.R and one.ends_at is not None for one in state.tasks.values())


def _wakes(place: Place, state: Conversation, now: datetime) -> list[Wake]:
    return [one for one in due_actions(place, state, now) if isinstance(one, Wake)]


def _notified(step: Step, notices: list[Notify]) -> Step:
    for notice in notices:
        if step.state.notified_tour < notice.tour:
            step.state.notified_tour = notice.tour
            data = {"tour": notice.tour}
            step.events.append(Event(type="coordinator.notified", agent=notice.agent, data=data))
    return step
