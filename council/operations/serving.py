"""Serving: the conversations in which something is due are advanced, runs are claimed.

This is the part of a heartbeat that writes. It is called under the
heartbeat's own lock, and only when there is something to do: an idle
heartbeat does not even load it.

Source: C0-026 to C0-037, XC-016, `architecture.md` section 3.
"""

from __future__ import annotations

from datetime import datetime

from council.core import machine
from council.core.agents import Agent
from council.core.conversation import Conversation, TaskState
from council.core.errors import CouncilError
from council.core.owed import Notify, Wake
from council.core.record import Record
from council.core.step import Step
from council.core.tasks import task_queued, task_started
from council.operations import archive, prompting
from council.operations.place import Place
from council.operations.report import Beaten, Report, owed_by, seen_of
from council.operations.runs import LEASE_MARGIN, Job
from council.store.agents import agent as agent_of
from council.store.slots import Slot, Slots


class _Owed(Record):
    """A wake that is due in a conversation; `by_hand` for an agent that answers by itself."""

    name: str
    wake: Wake
    agent: Agent

    @property
    def by_hand(self) -> bool:
        """Whether nothing is run: the prompt is handed over."""
        return self.agent.driver == "manual"


def serve(place: Place, busy: list[Beaten], now: datetime, report: Report) -> list[Job]:
    """Advance the busy conversations and claim what they are owed, oldest first."""
    states: dict[str, Conversation] = {}
    for seen in busy:
        seen.woken = []
        try:
            states[seen.name] = _advance(place, seen, now)
        except CouncilError as error:
            report.conversations.remove(seen)
            report.errors.append((seen.name, error))
    owed = [
        _Owed(name=name, wake=one, agent=agent_of(place.root, place.settings, one.agent))
        for name, state in states.items()
        for one in owed_by(place, state, now)
        if isinstance(one, Wake)
    ]
    owed.sort(key=lambda one: (one.wake.due_at, one.name))
    slots = Slots(place.paths.places, place.settings.max_runs)
    places: dict[str, Slot] = {}
    for one in owed:
        slot = None if one.by_hand else slots.take(one.agent.id)
        if slot is not None:
            places[one.wake.task] = slot
    jobs: list[Job] = []
    for seen in busy:
        if seen.name in states:
            mine = [one for one in owed if one.name == seen.name]
            try:
                jobs += _claim(place, seen, states[seen.name], mine, places)
            except CouncilError as error:
                report.errors.append((seen.name, error))
    started = {job.wake.task for job in jobs}
    for task, slot in places.items():
        if task not in started:
            slot.release()
    return jobs


def _advance(place: Place, seen: Beaten, now: datetime) -> Conversation:
    """Take the steps that are due in one conversation, and archive it when it has ended."""

    def change(state: Conversation) -> Step:
        step = machine.advance(state, now)
        fresh = seen_of(seen.name, state, step)
        for field in ("status", "phase", "tour", "moved_from", "moved_to", "reason", "waiting"):
            setattr(seen, field, getattr(fresh, field))
        return step

    edited = place.conversations.edit(seen.name, change, actor="heartbeat", now=now)
    if edited.state.finished_at is not None:
        seen.archived = archive.archive(place, edited.state)
    return edited.state


def _claim(
    place: Place, seen: Beaten, state: Conversation, mine: list[_Owed], places: dict[str, Slot]
) -> list[Job]:
    """Claim the wakes that have a place, hand over those by hand, queue the rest.

    What is put down for people and agents to read is put down before the
    claim: killed in between, the next heartbeat writes the same files again.
    """
    now = place.now()
    notices = [one for one in owed_by(place, state, now) if isinstance(one, Notify)]
    if not mine and not notices:
        return []
    for notice in notices:
        prompting.write_notice(place, state, notice)
    for one in mine:
        if one.by_hand:
            claimed = task_started(state, one.wake, driver="manual", now=now, ends_at=None)
            prompting.hand_over(place, claimed.state, one.wake)
    started: list[_Owed] = []

    def change(state: Conversation) -> Step:
        started.clear()
        step = Step(state=state.copy())
        for notice in notices:
            step.state.notified_tour = max(step.state.notified_tour, notice.tour)
        for one in mine:
            if one.wake not in owed_by(place, step.state, now):
                continue  # it answered, or the round went on, while we looked
            taken = _take(place, step.state, one, one.wake.task in places, now)
            step = step.then(taken)
            if taken.state.tasks[one.wake.task].state is TaskState.R:
                started.append(one)
        return step

    state = place.conversations.edit(seen.name, change, actor="heartbeat", now=now).state
    seen.woken = [one.wake.agent for one in started]
    return [
        Job(
            name=seen.name,
            agent=one.agent,
            wake=one.wake,
            state=state,
            slot=places[one.wake.task],
        )
        for one in started
        if not one.by_hand
    ]


def _take(place: Place, state: Conversation, one: _Owed, has_place: bool, now: datetime) -> Step:
    driver = one.agent.driver
    if one.by_hand:
        return task_started(state, one.wake, driver=driver, now=now, ends_at=None)
    if has_place:
        ends_at = now + place.settings.timeout_of(one.agent.settings) + LEASE_MARGIN
        return task_started(state, one.wake, driver=driver, now=now, ends_at=ends_at)
    return task_queued(state, one.wake, driver=driver, now=now)
