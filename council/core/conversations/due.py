"""What is due in a conversation, read from its saved state alone.

Whose answer is due, whose run and under which task, whether the coordinator
is to learn of a round, whether the minutes are to be written. Nothing here
changes anything; the essay in `machine` says why it must be so.

Source: C0-026, C0-035, C0-037, C0-063, C0-076, DL-005, DL-021, XC-016, XC-104,
`cli.md` section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from council.core.conversations.conversation import (
    Conversation,
    EntryKind,
    ParticipantStatus,
    Round,
    Task,
    TaskState,
    has_answered,
)
from council.core.conversations.procedures import (
    PARALLEL,
    PROCEDURES,
    SHUFFLE,
    SYNTHESIZE,
    Phase,
    order_of,
)
from council.core.ids import task_id
from council.core.reasons import Reason
from council.core.record import Any, Record

MAX_ATTEMPTS = 3
RETRY_BACKOFF = (timedelta(seconds=10), timedelta(seconds=60))
_THE_END = datetime.max.replace(tzinfo=UTC)


class Wake(Record):
    """A run that is due since `due_at`: of which agent, under which task, the how-many-th."""

    agent: str
    task: str
    attempt: int
    due_at: datetime

    def claimed(self, tour: int, state: TaskState, driver: str, now: datetime, **more: Any) -> Task:
        """Return the task of the run, which belongs to round or cycle `tour`, in a state."""
        task = Task(
            id=self.task, agent=self.agent, tour=tour, attempt=self.attempt, state=state, at=now
        )
        return task.copy(driver=driver, **more)


class Notify(Record):
    """The coordinator is to learn that round `tour` began."""

    agent: str
    tour: int


class Archive(Record):
    """The conversation is finished: its minutes are due."""


def current_phase(state: Conversation) -> Phase:
    """Return the row of the procedure table for the phase under way."""
    return PROCEDURES[state.procedure].phase(state.phase)


def is_blind(state: Conversation) -> bool:
    """Return true if contributions of this round are sealed until it closes.

    Votes always are; the rest only where the conversation is sealed.

    Source: C0-048, DL-097, HR-023.
    """
    phase = current_phase(state)
    if phase.sight == "secret" or not state.sealed_phases:
        return phase.sight == "secret"
    return phase.sight == "blind" or round_number(state) <= phase.sealed_rounds


def round_number(state: Conversation) -> int:
    """Return which round of its phase is under way, from 1."""
    before = [one for one in state.rounds if one.phase == state.phase and one.tour < state.tour]
    return len(before) + 1


def counted_round(state: Conversation) -> tuple[int, int]:
    """Return the number of the round under way as people count it, and of how many at most.

    It is the tour, which goes on through all phases; a phase that may have several rounds is
    counted by itself, up to its bound. 0 for no bound.
    """
    if current_phase(state).max_rounds > 1 and state.rules is not None:
        return round_number(state), state.rules.max_rounds
    return state.tour, 0


def order_now(state: Conversation) -> str:
    """Return in which order this round is spoken; what is sealed is spoken at once (XC-104)."""
    phase = current_phase(state)
    if phase.speakers == "synthesizer" or phase.form == "vote" or is_blind(state):
        return PARALLEL
    return state.order or phase.order


def takes_turns(state: Conversation) -> bool:
    """Return true if one speaks after the other in this round."""
    return order_now(state) != PARALLEL


def passed_over(state: Conversation) -> dict[str, Reason]:
    """Return who was passed over in the round under way, with the reason."""
    return round_now(state).absent


def round_now(state: Conversation) -> Round:
    """Return the round under way, made up for a file in the document's form: it names none."""
    if state.rounds and state.rounds[-1].tour == state.tour:
        return state.rounds[-1]
    return Round(tour=state.tour, phase=state.phase, started_at=state.created_at)


def is_asked_again(state: Conversation, agent: str) -> bool:
    """Return true if `agent` has answered this round and is asked for it once more."""
    participant = state.participants.get(agent)
    return participant is not None and participant.again == state.tour


def awaited(state: Conversation) -> tuple[str, ...]:
    """Return whose contribution this round still waits for, in the order of speaking."""
    out = passed_over(state)
    waiting = tuple(
        one.id
        for one in state.participants.values()
        if (not has_answered(one) or one.again == state.tour) and one.id not in out
    )
    is_ordered = takes_turns(state) and waiting
    return tuple(one for one in speaking_order(state) if one in waiting) if is_ordered else waiting


def speaking_order(state: Conversation) -> tuple[str, ...]:
    """Return all participants in the order in which they speak in the round under way."""
    order = order_now(state)
    last = ""
    if order == SHUFFLE:
        # Guidance and late answers still come in and must not move the order.
        turns = [one for one in state.entries if one.kind is EntryKind.CONTRIBUTION]
        before = [one.agent for one in turns if one.tour == state.tour - 1]
        last = before[-1] if before else ""
    return order_of(
        order,
        list(state.participants),
        state.tour,
        seed=f"{state.conversation_id}/{state.phase}",
        last=last,
    )


def next_phase(state: Conversation) -> str:
    """Return the name of the phase after the current one; the synthesis follows itself."""
    at = state.phases.index(state.phase)
    return state.phases[min(at + 1, len(state.phases) - 1)]


def last_word(state: Conversation) -> str:
    """Return the phase to which an early end of the talk leads: a vote, or the synthesis."""
    wanted = PROCEDURES[state.procedure].last_word
    ahead = state.phases.index(wanted) > state.phases.index(state.phase)
    return wanted if ahead else SYNTHESIZE


def pending(
    state: Conversation,
    now: datetime,
    *,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
    here: Callable[[str], bool] | None = None,
) -> tuple[Wake | Notify | Archive, ...]:
    """Return what the world has to do at `now`, from the saved state alone.

    With `here`, which knows the agents of this machine, nothing that another one has to do.
    """
    if state.finished_at is not None or state.paused_at is not None:
        return (Archive(),) if state.finished_at is not None else ()
    is_new = bool(state.coordinator) and state.notified_tour < state.tour
    notices = [Notify(agent=state.coordinator, tour=state.tour)] if is_new else []
    wakes = [_wake(state, agent, now, backoff) for agent in due_agents(state)]
    due: list[Wake | Notify] = [*notices, *(one for one in wakes if one is not None)]
    return tuple(one for one in due if here is None or here(one.agent))


def next_due(
    state: Conversation,
    *,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
    here: Callable[[str], bool] | None = None,
) -> datetime | None:
    """Return when time alone will make something due in a conversation that is not due now.

    Until then neither `advance` nor `pending` finds anything, so there is no need
    to look. It is an instant in the past when something is due already or
    waits for a place, and None when only an answer or a person can go on.
    """
    if pending(state, state.created_at, backoff=backoff, here=here):
        return state.created_at
    if state.paused_at is not None:
        return None
    instants = [state.timeout_at]
    if state.ends_at is not None and state.phase != SYNTHESIZE:
        instants.append(state.ends_at)
    running = [one for one in state.tasks.values() if one.state is TaskState.R]
    instants += [one.ends_at for one in running if one.ends_at is not None]
    # What will be due at the end of time and is not yet due waits for an instant of its own.
    for one in pending(state, _THE_END, backoff=backoff, here=here):
        instants.append(one.due_at if isinstance(one, Wake) else state.created_at)
    return min(instants)


def due_agents(state: Conversation) -> tuple[str, ...]:
    """Return the agents whose answer is due now, in order."""
    if state.finished_at is not None:
        return ()
    if current_phase(state).speakers == "synthesizer":
        return () if is_synthesized(state) else synthesizers(state)[:1]
    waiting = awaited(state)
    if not takes_turns(state):
        return waiting
    # No agent loses the floor to one who joins, nor to one who is asked once more.
    speaker = round_now(state).speaker
    return (speaker,) if speaker in waiting else waiting[:1]


def is_synthesized(state: Conversation) -> bool:
    """Return true if a synthesis stands."""
    return any(entry.kind is EntryKind.SYNTHESIS for entry in state.entries)


def synthesizers(state: Conversation) -> tuple[str, ...]:
    """Return who may still write the synthesis, best first (A-06, C0-063).

    The named synthesizer, then the coordinator, then the participants who
    answered the last round; without those whose attempts are used up.
    """
    named = [agent for agent in (state.synthesizer, state.coordinator) if agent]
    played = [one for one in state.rounds if one.phase != SYNTHESIZE]
    absent = played[-1].absent if played else {}
    present = [one for one in state.participants.values() if one.id not in absent]
    # Who has left for good is asked only when no other is there.
    present.sort(key=lambda one: one.status is ParticipantStatus.DONE)
    order = dict.fromkeys(named + [one.id for one in present])
    out = passed_over(state)
    return tuple(
        agent for agent in order if agent not in out and not attempts_used_up(state, agent)
    )


def attempts_used_up(state: Conversation, agent: str) -> bool:
    """Return true if no other run of `agent` will be started in this round."""
    return used_up(tasks_of(state, agent))


def used_up(tasks: list[Task]) -> bool:
    """Return true if no other run will be started for a turn that had these tasks."""
    return sum(one.is_failed_run for one in tasks) >= MAX_ATTEMPTS or any(x.final for x in tasks)


def was_refused(tasks: list[Task], reason: Reason) -> bool:
    """Return true if that refusal is what was last written down in a turn with these tasks."""
    known = [one for one in tasks if one.state is not TaskState.N]
    return bool(known) and known[-1].state is TaskState.F and known[-1].reason == reason


def pause(failures: int, backoff: tuple[timedelta, ...]) -> timedelta:
    """Return the time between so many failures in a turn and the next attempt."""
    return backoff[min(failures, len(backoff)) - 1] if backoff else timedelta(0)


def pause_after(tasks: list[Task], backoff: tuple[timedelta, ...]) -> timedelta:
    """Return the time between the last failure of a turn and the next attempt.

    A program that failed at once is tried again at once: waiting would mend nothing.

    Source: FW-005.
    """
    failed = [one for one in tasks if one.is_failed_run]
    is_first = len(failed) == 1 and failed[0].at_once
    return timedelta(0) if is_first else pause(len(failed), backoff)


def fails_alike(state: Conversation, agent: str, reason: Reason) -> bool:
    """Return true if `agent`, which failed at once, did so before: in this turn or in its last one.

    Source: FW-005.
    """
    mine = [one for one in tasks_of(state, agent) if one.is_failed_run]
    if mine:
        return mine[-1].at_once and mine[-1].reason == reason
    before = [one for one in state.tasks.values() if one.tour == state.tour - 1]
    return any(one.agent == agent and one.at_once and one.final for one in before)


def can_answer(state: Conversation, agent: str, now: datetime) -> bool:
    """Return true if an answer of `agent` in this round may still come.

    None comes from an agent whose attempts are used up, or whose run is refused because it
    rests. One that waits for a place, is halted or answers by hand can always answer.

    Source: OP-002.
    """
    if attempts_used_up(state, agent):
        return False
    mine = tasks_of(state, agent)
    rests = mine[-1].reason.rests_until if mine and mine[-1].state is TaskState.F else None
    return rests is None or now >= rests


def tasks_of(state: Conversation, agent: str) -> list[Task]:
    """Return the tasks of `agent` in this round, in the order of their attempts."""
    mine = [one for one in state.tasks.values() if one.agent == agent and one.tour == state.tour]
    return sorted(mine, key=lambda one: one.attempt)


def is_under_way(state: Conversation, task: str) -> bool:
    """Return true if the run of a task has yet to answer, or to complete what it has answered.

    Source: SC-002.
    """
    known = state.tasks.get(task)
    if known is None:
        return False
    participant = state.participants.get(known.agent)
    asked_again = participant is not None and participant.again == known.tour == state.tour
    return known.state is TaskState.R or (known.state is TaskState.D and asked_again)


def asked_at(state: Conversation, agent: str) -> datetime:
    """Return since when the answer of `agent` is due: its turn, or the round, began then."""
    if not state.rounds:
        return state.created_at
    last = state.rounds[-1]
    turn_at = last.turn_at if last.speaker == agent else None
    return turn_at or last.started_at


def _wake(
    state: Conversation, agent: str, now: datetime, backoff: tuple[timedelta, ...]
) -> Wake | None:
    due_at = asked_at(state, agent)
    mine = tasks_of(state, agent)
    if mine and mine[-1].state is TaskState.R:
        return None
    # One that waits for a place keeps the rank it had when it began to wait.
    queued = mine.pop() if mine and mine[-1].state is TaskState.N else None
    pauses = bool(backoff and mine) and mine[-1].is_failed_run
    if pauses:
        due_at = mine[-1].at + pause_after(mine, backoff)
    if queued is not None:
        return Wake(agent=agent, task=queued.id, attempt=queued.attempt, due_at=due_at)
    if attempts_used_up(state, agent) or (pauses and due_at > now):
        return None
    attempt = mine[-1].attempt + 1 if mine else 1
    task = task_id(state.conversation_id, state.tour, agent, attempt)
    return Wake(agent=agent, task=task, attempt=attempt, due_at=due_at)
