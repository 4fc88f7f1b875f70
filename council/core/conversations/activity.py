"""What each participant is doing: one value, which every view of a conversation shows.

A participant is at work only while a process runs for it. What else is known of the world (which
processes are gone, what keeps runs from being started) comes in as `Surroundings`.

Source: FW-004.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from council.core.conversations.conversation import (
    Conversation,
    Participant,
    ParticipantStatus,
    Task,
    TaskState,
    has_answered,
)
from council.core.conversations.due import (
    RETRY_BACKOFF,
    asked_at,
    due_agents,
    is_asked_again,
    passed_over,
    pause,
    tasks_of,
    used_up,
)
from council.core.conversations.procedures import SYNTHESIZE
from council.core.reasons import LOST, NO_REASON, Reason
from council.core.record import Record

MANUAL = "manual"

# At work: a process runs for it.
RUNNING, WRITING = "running", "writing"
# Its answer is due, and no process runs for it.
BY_HAND, QUEUED, ASKED, TO_WRITE, RETRY = "by-hand", "queued", "asked", "to-write", "retry"
GONE, ELSEWHERE = "gone", "elsewhere"
HALTED, PAUSED, CAPPED, RESTING, FAILED = "halted", "paused", "capped", "resting", "failed"
# No answer of it is due.
OVER, ANSWERED, SEALED, LEFT, PASSED, LATER, WAITS = (
    *("over", "answered", "sealed", "left", "passed", "later", "waits"),
)
AT_WORK = (RUNNING, WRITING)
# The last run came to nothing.
IN_TROUBLE = (RETRY, GONE, FAILED)
# No run is started for these before somebody or some time changes it.
KEPT_BACK = (HALTED, PAUSED, CAPPED, RESTING)
CODES = (
    *(*AT_WORK, BY_HAND, QUEUED, ASKED, TO_WRITE, RETRY, GONE, ELSEWHERE, *KEPT_BACK, FAILED),
    *(OVER, ANSWERED, SEALED, LEFT, PASSED, LATER, WAITS),
)


class Surroundings(Record):
    """What is known beside the state, when one looks at a conversation.

    Args:
        refusals: By agent, why no run of it may be started now.
        gone: The tasks that are claimed and whose process is gone.
        elsewhere: By agent that lives on other machines, which.
    """

    refusals: dict[str, Reason] = {}
    gone: tuple[str, ...] = ()
    elsewhere: dict[str, str] = {}


class Activity(Record):
    """What a participant is doing.

    Args:
        agent: The participant, or who is to write the synthesis.
        code: One of `CODES`.
        task: The last task for its answer, "" for none.
        reason: Why no run is started, or why the last one failed.
        since: Since when.
        until: When that ends by itself, None where it does not.
        attempt: The number of the run, 0 for no run.
        machines: Where it lives, "" for here.
        again: Whether it has answered and is asked once more.
    """

    _keys = "agent:- task:- code:doing reason~ since~ until~ attempt~ machines~ again~"

    agent: str
    code: str
    task: str = ""
    reason: Reason = NO_REASON
    since: datetime | None = None
    until: datetime | None = None
    attempt: int = 0
    machines: str = ""
    again: bool = False


def activities(
    state: Conversation,
    now: datetime,
    surroundings: Surroundings,
    *,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
) -> dict[str, Activity]:
    """Return what each participant does, and who else is to write the synthesis."""
    due = due_agents(state)
    found = {
        one.id: _of_participant(state, one, due, now, surroundings, backoff)
        for one in state.participants.values()
    }
    others = (agent for agent in due if agent not in found)
    return found | {one: _asked(state, one, now, surroundings, backoff) for one in others}


def _of_participant(
    state: Conversation,
    one: Participant,
    due: Iterable[str],
    now: datetime,
    surroundings: Surroundings,
    backoff: tuple[timedelta, ...],
) -> Activity:
    if state.finished_at is not None:
        return Activity(agent=one.id, code=OVER)
    absent = passed_over(state)
    if one.id in absent:
        return Activity(agent=one.id, code=PASSED, reason=absent[one.id])
    again = is_asked_again(state, one.id)
    is_sealed = bool(one.sealed) and not again
    if one.id in due and not is_sealed:
        return _asked(state, one.id, now, surroundings, backoff).copy(again=again)
    code = ANSWERED if has_answered(one) else LATER
    if is_sealed:
        code = SEALED
    elif one.status is ParticipantStatus.DONE:
        code = LEFT
    elif state.phase == SYNTHESIZE:
        code = WAITS
    return Activity(agent=one.id, code=code)


def _asked(
    state: Conversation,
    agent: str,
    now: datetime,
    surroundings: Surroundings,
    backoff: tuple[timedelta, ...],
) -> Activity:
    """Return what an agent does whose answer is due."""
    tasks = tasks_of(state, agent)
    last = tasks[-1] if tasks else None
    if last is not None and last.state is TaskState.R:
        return _of_run(state, last, now, surroundings)
    code = TO_WRITE if state.phase == SYNTHESIZE else ASKED
    task = last.id if last is not None else ""
    about = Activity(agent=agent, code=code, task=task, since=asked_at(state, agent))
    failed = [one for one in tasks if one.is_failed_run]
    if used_up(tasks):
        end = [one for one in tasks if one.state is TaskState.F][-1]
        return about.copy(code=_failure(end.reason), reason=end.reason, since=end.at)
    kept = _kept_back(state, about, surroundings)
    if kept is not None:
        return kept
    if last is not None and last.state is TaskState.N:
        return about.copy(code=QUEUED, since=last.at)
    if last is not None and last.is_failed_run:
        again_at = last.at + pause(len(failed), backoff)
        return about.copy(code=RETRY, reason=last.reason, since=last.at, until=again_at)
    return about


def _of_run(state: Conversation, run: Task, now: datetime, surroundings: Surroundings) -> Activity:
    """Return what a claimed run comes to: at work only while its process is."""
    about = Activity(agent=run.agent, task=run.id, code=RUNNING, since=run.at)
    about.until, about.attempt = run.ends_at, run.attempt
    if run.driver == MANUAL:
        return about.copy(code=BY_HAND)
    if not run.driver:  # of a member behind a pseudonym it is not told how it is run
        return about.copy(code=ASKED)
    if run.id in surroundings.gone or (run.ends_at is not None and run.ends_at <= now):
        return about.copy(code=GONE, reason=LOST)
    return about.copy(code=WRITING if state.phase == SYNTHESIZE else RUNNING)


def _kept_back(state: Conversation, about: Activity, surroundings: Surroundings) -> Activity | None:
    """Return why no run of an agent is started now, None where nothing keeps it back."""
    agent = about.agent
    if state.paused_at is not None:
        return about.copy(code=PAUSED, since=state.paused_at)
    if agent in surroundings.elsewhere:
        return about.copy(code=ELSEWHERE, machines=surroundings.elsewhere[agent])
    refusal = surroundings.refusals.get(agent)
    if refusal is None:
        return None
    return about.copy(code=_failure(refusal), reason=refusal, until=refusal.rests_until)


def _failure(reason: Reason) -> str:
    """Return what an agent comes to for which no run is started, by the reason."""
    if reason.is_start:
        return FAILED
    return {"rests": RESTING, "halted": HALTED}.get(reason.code, CAPPED)
