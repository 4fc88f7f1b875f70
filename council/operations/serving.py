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
from council.core.errors import CouncilError, NotFoundError
from council.core.events import Event
from council.core.owed import Notify, Wake, current_phase
from council.core.procedures import SYNTHESIZE
from council.core.record import Record
from council.core.step import Step
from council.core.tasks import task_queued, task_refused, task_started
from council.operations import prompting
from council.operations.gate import RESTS, Gate, charge, heard_at
from council.operations.launching import LEASE_MARGIN
from council.operations.place import Place
from council.operations.report import Beaten, Report, owed_by, seen_of
from council.operations.runs import Job
from council.store.agents import agent as agent_of
from council.store.slots import Slot, Slots


class _Owed(Record):
    """A wake that is due in a conversation; `by_hand` for an agent that answers by itself.

    `halted` lets it wait, `refusal` is why no run may be started for it; `final`
    if nobody waits for it then.
    """

    name: str
    wake: Wake
    agent: Agent
    halted: bool = False
    refusal: str = ""
    final: bool = False

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
            if not isinstance(error, NotFoundError):  # else somebody else has archived it
                report.errors.append((seen.name, error))
    owed = [
        _Owed(name=name, wake=one, agent=agent_of(place.root, place.settings, one.agent))
        for name, state in states.items()
        for one in owed_by(place, state, now)
        if isinstance(one, Wake)
    ]
    owed.sort(key=lambda one: (one.wake.due_at, one.name))
    _pass_gate(place, owed, states, now)
    slots = Slots(place.paths.places, place.settings.max_runs)
    places: dict[str, Slot] = {}
    jobs: list[Job] = []
    try:
        places = _take_places([one for one in owed if not one.halted and not one.refusal], slots)
        for seen in busy:
            if seen.name in states:
                mine = [one for one in owed if one.name == seen.name]
                jobs += _claim_reporting(place, seen, states[seen.name], mine, places, report)
        charge(place, [job.state.conversation_id for job in jobs])
    except CouncilError:
        jobs.clear()  # what cannot be counted is not started; its leases end
        raise
    finally:
        started = {job.wake.task for job in jobs}
        for task, slot in places.items():
            if task not in started:
                slot.release()
    return jobs


def _pass_gate(
    place: Place, owed: list[_Owed], states: dict[str, Conversation], now: datetime
) -> None:
    """Say of each who is due whether a run may be started; the oldest use up what is left."""
    gate = Gate(place, now)
    for one in owed:
        one.halted = gate.halted
        if not one.halted and not one.by_hand:
            state = states[one.name]
            heard = heard_at(state, one.agent.id)
            one.refusal = gate.admits(state.conversation_id, one.agent.id, heard)
            # The synthesis is handed on, a turn is skipped; another round waits for its deadline.
            nobody_waits = state.phase == SYNTHESIZE or current_phase(state).skips
            one.final = nobody_waits and one.refusal.startswith(RESTS)


def _claim_reporting(
    place: Place,
    seen: Beaten,
    state: Conversation,
    mine: list[_Owed],
    places: dict[str, Slot],
    report: Report,
) -> list[Job]:
    """Claim for one conversation; what goes wrong there stops no other one."""
    handed: list[_Owed] = []
    for one in mine:
        try:
            if one.by_hand and not one.halted:
                _hand_over(place, state, one.wake)
            handed.append(one)
        except CouncilError as error:  # a broken template, say: owed until it is mended
            report.errors.append((seen.name, error))
    try:
        jobs = _claim(place, seen, state, handed, places)
        report.passed_over = report.passed_over or any(one.final for one in handed)
        return jobs
    except NotFoundError:
        return []  # it was cancelled while we looked
    except CouncilError as error:
        report.errors.append((seen.name, error))
        return []


def _hand_over(place: Place, state: Conversation, wake: Wake) -> None:
    claimed = task_started(state, wake, driver="manual", now=place.now(), ends_at=None)
    prompting.hand_over(place, claimed.state, wake)


def _take_places(owed: list[_Owed], slots: Slots) -> dict[str, Slot]:
    """Take places in the order given, by task; nobody gets one that an older wake was refused.

    A place may become free while we go through the list: whoever was refused
    one, or runs elsewhere, is served first by the next heartbeat.
    """
    places: dict[str, Slot] = {}
    refused: set[str] = set()
    for one in owed:
        if one.by_hand or one.agent.id in refused:
            continue
        slot = slots.take(one.agent.id)
        if slot is not None:
            places[one.wake.task] = slot
        elif slots.taken() >= slots.max_runs:
            break
        refused.add(one.agent.id)
    return places


def _advance(place: Place, seen: Beaten, now: datetime) -> Conversation:
    """Take the steps that are due in one conversation, and archive it when it has ended."""

    def change(state: Conversation) -> Step:
        step = machine.advance(state, now)
        fresh = seen_of(seen.name, state, step)
        for field in ("status", "phase", "tour", "moved_from", "moved_to", "reason", "waiting"):
            setattr(seen, field, getattr(fresh, field))
        return step

    # With many conversations in the queue, most want a place and nothing else.
    view = place.conversations.page(seen.name, now)
    untouched = view.standing == "clean" and view.state.finished_at is None
    if untouched and not machine.advance(view.state, now).events:
        return view.state
    edited = place.conversations.edit(seen.name, change, actor="heartbeat", now=now)
    seen.edited = seen.edited and edited.state.rev != seen.rev
    if edited.state.finished_at is not None:
        from council.operations import archive  # minutes are the matter of an end alone

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
    queued = [
        not (one.by_hand or one.final)
        and one.wake.task in state.tasks
        and one.wake.task not in places
        for one in mine
    ]
    if all(queued) and not notices:
        return []
    for notice in notices:
        prompting.write_notice(place, state, notice)
    prompting.take_back(place, state, before=state.tour)
    started: list[_Owed] = []

    def change(state: Conversation) -> Step:
        started.clear()
        step = Step(state=state.copy())
        for notice in notices:
            if step.state.notified_tour < notice.tour:
                step.state.notified_tour = notice.tour
                data = {"tour": notice.tour}
                step.events.append(
                    Event(type="coordinator.notified", agent=notice.agent, data=data)
                )
        for one in mine:
            if one.wake not in owed_by(place, step.state, now):
                continue  # it answered, or the round went on, while we looked
            taken = _take(place, step.state, one, one.wake.task in places, now)
            step = step.then(taken)
            task = taken.state.tasks.get(one.wake.task)
            if task is not None and task.state is TaskState.R:
                started.append(one)
        if any(one.final for one in mine):
            step = step.then(machine.advance(step.state, now))
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
