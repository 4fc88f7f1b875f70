"""Why a conversation stands where it stands.

Source: `cli.md` section 2 (`explain`), C0-026, C0-035, C0-076, XC-016, XC-102.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from council.core.agents import ANSWER_TOOL
from council.core.conversations import owed
from council.core.conversations.conversation import SCHEMA_VERSION, Conversation, TaskState
from council.core.conversations.procedures import SYNTHESIZE
from council.core.errors import CouncilError, NotAdoptedError, NotFoundError
from council.core.reporting import meanings
from council.core.reporting.trace_context import context_of
from council.operations.gone_runs import gone_runs
from council.operations.place import Place
from council.operations.reporting.explained import Explained, Said, Tried
from council.operations.reporting.explaining_calls import of_calls
from council.operations.reporting.run_causes import (
    of_cap,
    of_failure,
    of_lock,
    of_places,
    of_refusals,
)
from council.operations.reporting.run_logs import read_run_log
from council.store.agents import agent as agent_of
from council.store.conversations.unchanged import standing_digest
from council.store.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.conversations.conversation import Task
    from council.core.reporting.stories import Subject
    from council.operations.reporting.run_logs import RunLog

MANUAL = "manual"
LATE_PHASE = timedelta(minutes=1)
_THE_END = datetime.max.replace(tzinfo=UTC)


def explain_conversation(
    place: Place, about: Subject, *, brief: bool = False, state: Conversation | None = None
) -> Explained:
    """Explain a conversation, open or archived; `state` where it was read just now.

    Raises:
        RefusedError: It is anonymous, and a run asks.
    """
    live = place.paths.conversation_file(about.name)
    try:
        state = state or place.conversations.read(about.name)
    except NotFoundError:
        return _archived(place, about)
    except CouncilError as error:
        from council.operations.reporting.explained import broken

        return broken(place, about, error, os.path.relpath(live, place.root))
    if place.is_in_run:
        from council.core.conversations.anonymity import refuse_names

        refuse_names(state)
    found = _frame(place, state, about.trace, live)
    found.brief = brief
    _of_file(place, found, state.schema_version)
    if any(one.code == "not-adopted" for one in found.hindrances):
        found.wait_for("adoption")
        found.then("next-person")
    elif state.finished_at is not None:
        found.wait_for("minutes", since=state.finished_at)
        found.then("next-minutes")
    elif state.paused_at is not None:
        found.wait_for("resumption", since=state.paused_at)
        found.hinder("is-paused", since=state.paused_at)
        found.then("next-person")
    else:
        _under_way(place, found, state)
    _of_questions(found, state)
    lock = f"{place.paths.conversation_folder(state.conversation_id)}/lock"
    of_lock(found, lock)
    return found


def _of_questions(found: Explained, state: Conversation) -> None:
    """Add the questions that wait for an answer of people; they hold up nothing."""
    from council.core.deliberation.questions import open_to_people

    asked_at = {one.id: one.at for one in state.entries}
    for one in open_to_people(state):
        found.wait_for("people", one.asker, asked_at.get(one.entry), question=one.text)


def _of_file(place: Place, found: Explained, version: int) -> None:
    """Add what is wrong with the file: what stands in it may be read and still not go on."""
    from council.operations.conversations.checking import check

    if version > SCHEMA_VERSION:
        found.hinder("newer-file", version=version)
        return
    try:
        place.conversations.require_adopted(found.name)
        if found.brief and standing_digest(place.paths, found.name)[1]:
            return  # it is what we wrote last; of many, no more is looked at
        faults = check(place, found.name).faults
    except NotAdoptedError as error:
        found.hinder(error.code)
        return
    except CouncilError as error:
        faults = [error.message]
    if faults:
        found.hinder("broken-file", message="; ".join(faults))


def _frame(place: Place, state: Conversation, trace: str, path: str) -> Explained:
    return Explained(
        kind="conversation",
        id=state.conversation_id,
        name=state.name,
        now=place.now(),
        trace=trace,
        ctx=context_of(state.conversation_id),
        status=str(state.status),
        meaning=meanings.of_conversation(state),
        where=Said(kind="where-conversation", values={"phase": state.phase, "tour": state.tour}),
        path=os.path.relpath(path, place.root),
    )


def _archived(place: Place, about: Subject) -> Explained:
    from council.operations.conversations.recalling import recall

    recalled = recall(place, about.id)
    found = _frame(place, recalled.state, about.trace, recalled.path)
    found.then("over")
    return found


def _under_way(place: Place, found: Explained, state: Conversation) -> None:
    owing = owed.owing(state)
    backoff = place.settings.retry_backoff
    due = {
        one.agent: one
        for one in owed.pending(state, found.now, backoff=backoff)
        if isinstance(one, owed.Wake)
    }
    for agent in owing:
        tasks = owed.tasks_of(state, agent)
        if not found.brief:
            found.tried += [tried(place, task) for task in tasks]
        of_agent(
            place,
            found,
            agent,
            tasks,
            owner=state.conversation_id,
            asked_at=_asked_at(state, agent),
            until=state.timeout_at,
            due_now=agent in due,
            retry_at=_retry_at(place, state, agent),
        )
    queued = any(one.state is TaskState.N for one in state.tasks.values() if one.agent in owing)
    if state.timeout_at + LATE_PHASE <= found.now and not queued:
        told: dict[str, Any] = {"phase": state.phase, "tour": state.tour, "agents": few(owing)}
        found.hinder("overdue", late=found.now - state.timeout_at, **told)
    asked = {one: _asked_at(state, one) for one in owing}
    of_refusals(place, found, state.conversation_id, asked)
    of_calls(place, found, state.conversation_id)
    _what_next(found, state, owing)


def of_agent(
    place: Place,
    found: Explained,
    agent: str,
    tasks: list[Task],
    *,
    owner: str,
    asked_at: datetime | None,
    until: datetime | None,
    due_now: bool,
    retry_at: datetime | None,
) -> None:
    """Add what is waited for of one agent that owes an answer, why, and when it is tried again.

    Args:
        place: The workspace.
        found: Takes what is found.
        agent: Who.
        tasks: Its attempts so far, in order.
        owner: The conversation or channel it is for.
        asked_at: Since when it is waited for.
        until: How long it is waited for, None for no bound.
        due_now: Whether a start is owed to it now.
        retry_at: When another attempt is owed to it, None for never.
    """
    last = tasks[-1] if tasks else None
    failed = [one for one in tasks if one.is_failed_run]
    by_tool = place.settings.agent(agent).answer == ANSWER_TOOL
    for one in failed[-1:] if last is None or last.state is not TaskState.R else []:
        of_failure(found, agent, one.reason, read_run_log(place, one.id), by_tool=by_tool)
    if last is not None and last.state is TaskState.R:
        _of_run(place, found, agent, last, until)
    elif last is not None and last.state is TaskState.N:
        found.wait_for("place", agent, last.at)
        of_places(place, found, agent)
        of_cap(place, found, owner)
        found.then("next-place")
    elif due_now:
        found.wait_for("start", agent, asked_at, until)
        if agent_of(place.root, place.settings, agent).driver != MANUAL:
            of_cap(place, found, owner)
        found.then("next-heartbeat", agents=[agent])
    elif retry_at is not None:
        found.wait_for("retry", agent, last.at if last else asked_at, until)
        of_cap(place, found, owner)
        found.then("next-retry", retry_at, agent=agent)
    else:
        found.wait_for("answer", agent, asked_at, until)
        of_cap(place, found, owner)


def _of_run(place: Place, found: Explained, agent: str, task: Task, until: datetime | None) -> None:
    if task.ends_at is None:
        prompt = _prompt_of(place, agent, task.id)
        found.wait_for("answer-by-hand", agent, task.at, until, prompt=prompt)
        strict = place.settings.trust == "strict" and found.kind == "conversation"
        found.hinder("by-hand-strict" if strict else "by-hand", agent, prompt=prompt)
        return
    slots = Slots(place.paths.places, place.settings.max_runs)
    if agent in slots.running_agents():
        found.wait_for("run", agent, task.at, task.ends_at, attempt=task.attempt)
        return
    lost_at = found.now if gone_runs(place, {task.id: task}) else task.ends_at
    found.wait_for("run-gone", agent, task.at, lost_at)
    found.hinder("lost", agent, until=lost_at)
    found.then("next-lease", lost_at, agent=agent)


def tried(place: Place, task: Task) -> Tried:
    """Return one attempt with what the log of its run tells."""
    log = read_run_log(place, task.id)
    return Tried(
        agent=task.agent,
        task=task.id,
        state=str(task.state),
        at=task.at,
        attempt=task.attempt,
        driver=task.driver,
        command=log.argv,
        folder=log.folder,
        came_back=_came_back(task, log),
        seconds=log.seconds,
        output=log.output,
        log=log.path,
    )


def _came_back(task: Task, log: RunLog) -> str:
    if task.state is TaskState.F:
        return task.reason
    if task.state is TaskState.D:
        return log.outcome or "@answered"
    return "@handed" if task.driver == MANUAL else "@under-way-run" if task.state == "R" else ""


def few(agents: tuple[str, ...]) -> str:
    """Return the names of agents; of many, the first."""
    return ", ".join(agents[:3]) + (f" (+{len(agents) - 3})" if len(agents) > 3 else "")


def _prompt_of(place: Place, agent: str, task: str) -> str:
    """Return where the prompt lies that was handed over to an agent, "" when it does not."""
    path = os.path.join(place.paths.tasks(agent), f"{task}.md")
    return os.path.relpath(path, place.root) if os.path.isfile(path) else ""


def _asked_at(state: Conversation, agent: str) -> datetime:
    last = state.rounds[-1] if state.rounds else None
    if last is None:
        return state.created_at
    return (last.turn_at if last.speaker == agent else None) or last.started_at


def _retry_at(place: Place, state: Conversation, agent: str) -> datetime | None:
    """Return when an agent that failed is owed another attempt, None for never."""
    later = owed.pending(state, _THE_END, backoff=place.settings.retry_backoff)
    for one in later:
        if isinstance(one, owed.Wake) and one.agent == agent:
            return one.due_at
    return None


def _what_next(found: Explained, state: Conversation, owing: tuple[str, ...]) -> None:
    after = [one for one in owed.awaited(state) if one not in owing]
    if after and owed.takes_turns(state):
        found.then("next-after-turn-one" if len(after) == 1 else "next-after-turn", agents=after)
    following = owed.next_phase(state)
    if state.phase == SYNTHESIZE:
        found.then("next-digest", state.timeout_at)
    elif owed.takes_turns(state) and owing:
        found.then("next-skip", state.timeout_at, agent=owing[0])
    else:
        found.then("next-all", next=following)
        found.then(
            "next-phase",
            state.timeout_at,
            phase=state.phase,
            next=following,
            absent=list(owing),
        )
    if state.ends_at is not None:
        found.then("next-end", state.ends_at)
    found.nexts.sort(key=lambda one: one.at or found.now)
