"""What a conversation owes to the world, read from its saved state alone.

Who owes an answer, whose run is due and under which task, whether the
coordinator is owed a notice or the conversation its minutes. Nothing here
changes anything; the essay in `machine` says why it must be so.

Source: C0-026, C0-035, C0-037, C0-063, C0-076, XC-016, `cli.md` section 5.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.conversation import (
    Conversation,
    EntryKind,
    ParticipantStatus,
    Task,
    TaskState,
    has_answered,
)
from council.core.ids import task_id
from council.core.procedures import PROCEDURES, SYNTHESIZE, Phase
from council.core.record import Record

MAX_ATTEMPTS = 3
RETRY_BACKOFF = (timedelta(seconds=10), timedelta(seconds=60))


class Wake(Record):
    """An agent that is owed a start, since `due_at`, as attempt `attempt` under `task`."""

    agent: str
    task: str
    attempt: int
    due_at: datetime


class Notify(Record):
    """The coordinator is owed a notice that round `tour` began."""

    agent: str
    tour: int


class Archive(Record):
    """The conversation is finished: its minutes are owed."""


def current_phase(state: Conversation) -> Phase:
    """Return the row of the procedure table for the phase under way."""
    return PROCEDURES[state.procedure].phase(state.phase)


def is_blind(state: Conversation) -> bool:
    """Tell whether contributions of this round are sealed until it closes (C0-048)."""
    return state.sealed_phases and current_phase(state).sight == "blind"


def next_phase(state: Conversation) -> str:
    """Return the name of the phase after the current one; the synthesis follows itself."""
    at = state.phases.index(state.phase)
    return state.phases[min(at + 1, len(state.phases) - 1)]


def pending(
    state: Conversation,
    now: datetime,
    *,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
) -> tuple[Wake | Notify | Archive, ...]:
    """Return what is owed to the world at `now`, from the saved state alone."""
    if state.finished_at is not None:
        return (Archive(),)
    if state.paused_at is not None:
        return ()
    owed: list[Wake | Notify | Archive] = []
    if state.coordinator and state.notified_tour < state.tour:
        owed.append(Notify(agent=state.coordinator, tour=state.tour))
    for agent in owing(state):
        wake = _wake(state, agent, now, backoff)
        if wake is not None:
            owed.append(wake)
    return tuple(owed)


def owing(state: Conversation) -> tuple[str, ...]:
    """Return the agents who owe an answer in this round, in order."""
    if state.finished_at is not None:
        return ()
    if current_phase(state).speakers == "synthesizer":
        return () if is_synthesized(state) else synthesizers(state)[:1]
    return tuple(one.id for one in state.participants.values() if not has_answered(one))


def is_synthesized(state: Conversation) -> bool:
    """Tell whether a synthesis stands."""
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
    # Who has left for good is asked only when nobody else is there.
    present.sort(key=lambda one: one.status is ParticipantStatus.DONE)
    order = dict.fromkeys(named + [one.id for one in present])
    return tuple(agent for agent in order if not attempts_used_up(state, agent))


def attempts_used_up(state: Conversation, agent: str) -> bool:
    """Tell whether no other run of `agent` will be started in this round."""
    failed = [one for one in tasks_of(state, agent) if one.state is TaskState.F]
    return len(failed) >= MAX_ATTEMPTS or any(one.final for one in failed)


def tasks_of(state: Conversation, agent: str) -> list[Task]:
    """Return the tasks of `agent` in this round, in the order of their attempts."""
    mine = [one for one in state.tasks.values() if one.agent == agent and one.tour == state.tour]
    return sorted(mine, key=lambda one: one.attempt)


def _wake(
    state: Conversation, agent: str, now: datetime, backoff: tuple[timedelta, ...]
) -> Wake | None:
    due_at = state.rounds[-1].started_at if state.rounds else state.created_at
    mine = tasks_of(state, agent)
    if mine and mine[-1].state is TaskState.R:
        return None
    # One that waits for a place keeps the rank it had when it began to wait.
    queued = mine.pop() if mine and mine[-1].state is TaskState.N else None
    failures = sum(1 for one in mine if one.state is TaskState.F)
    if failures and backoff:
        due_at = mine[-1].at + backoff[min(failures, len(backoff)) - 1]
    if queued is not None:
        return Wake(agent=agent, task=queued.id, attempt=queued.attempt, due_at=due_at)
    if attempts_used_up(state, agent):
        return None
    if due_at > now and failures:
        return None
    attempt = mine[-1].attempt + 1 if mine else 1
    task = task_id(state.conversation_id, state.tour, agent, attempt)
    return Wake(agent=agent, task=task, attempt=attempt, due_at=due_at)
