"""Serving tasks: what a heartbeat does for the contexts of document 002.

The loop of the orchestrator. Look at the contexts of which the survey does not
vouch that nothing is due; work off, in one revision each, whatever needs no
run; then claim the runs that are owed, P0 before P1 before P2 and the oldest
first, as many as there are places, which are those of conversations and rooms,
too. Whoever waits stays in the survey and is opened when a place is free.

Source: PR-309, PR-410, PR-422, PR-501, PR-553 to PR-557, PR-644, XC-016, `architecture.md`
section 3.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.conversations.conversation import TaskState
from council.core.errors import CouncilError, NotFoundError
from council.core.protocol import orchestrator
from council.core.protocol.exchange import Exchange, ExchangeStep
from council.core.protocol.exchange_owed import (
    Answer,
    AskUser,
    Compose,
    Continue,
    Deliver,
    Split,
    Work,
    next_due,
    pending,
)
from council.core.record import Record
from council.operations.gate import RESTS, Gate, charge
from council.operations.place import Place
from council.operations.protocol import task_runs
from council.operations.protocol.crew import Crew
from council.operations.protocol.exchanging import change, contexts
from council.operations.protocol.succeeding import succeed
from council.operations.protocol.task_due import MANUAL, OUTSIDE, Due
from council.store.files import make_folder
from council.store.lock import Lock
from council.store.protocol.context_survey import ContextSurvey
from council.store.slots import Slot, Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from council.operations.report import Report
    from council.store.protocol.contexts import Contexts, Kept

_LOOK_AGAIN = timedelta(minutes=1)
_AT_HAND = (Deliver, AskUser, Answer, Continue)
_RUNS = (Work, Split, Compose)
_UNDER_WAY = (TaskState.N, TaskState.R)


class Beaten(Record):
    """What a heartbeat found and did in one context.

    It is `awaited` while something goes on there by itself: a run, or the pause before one.
    """

    name: str
    status: str
    tasks: dict[str, str]
    waiting: list[str] = []  # noqa: RUF012 - Record copies it
    woken: list[str] = []  # noqa: RUF012 - Record copies it
    moved: bool = False
    awaited: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything was done there."""
        return bool(self.moved or self.woken)

    def to_record(self) -> dict[str, Any]:
        """Return its part of `heartbeat --json`."""
        return {
            "context": self.name,
            "status": self.status,
            "tasks": self.tasks,
            "woken": self.woken,
            "waiting": self.waiting,
            "changed": self.changed,
        }

    def to_text(self) -> str:
        """Return the line that tells a person of it."""
        said = [", ".join(f"{task} {state}" for task, state in self.tasks.items()) or "no task"]
        if self.woken:
            said.append(f"woke {', '.join(self.woken)}")
        waiting = [one for one in self.waiting if one not in self.woken]
        if waiting:
            said.append(f"waiting for {', '.join(waiting)}")
        return f"{self.name}: {'; '.join(said)}" + ("" if self.status == "open" else " (closed)")


def serve_those(
    place: Place,
    now: datetime,
    report: Report,
    survey: ContextSurvey,
    names: list[str],
    afterwards: Callable[[Place], object],
) -> None:
    """Do what is due in these contexts, and start the runs that are owed.

    `afterwards` is done whenever such a run is over: the heartbeat that passes its place on.

    Raises:
        CouncilError: The registry or the settings cannot be read.
    """
    slots = Slots(place.paths.places, place.settings.max_runs)
    _Beat(place, now, report, survey, slots).serve(names, afterwards)


class _Beat:
    """One heartbeat at work over some contexts."""

    def __init__(
        self, place: Place, now: datetime, report: Report, survey: ContextSurvey, slots: Slots
    ) -> None:
        self._place = place
        self._now = now
        self._report = report
        self._survey = survey
        self._slots = slots
        self._crew = Crew(place, now)
        self._contexts: Contexts = contexts(place)
        self._seen: dict[str, Beaten] = {}

    def serve(self, names: list[str], afterwards: Callable[[Place], object]) -> None:
        """Work off what is due in these contexts, claim what is owed and start it."""
        owing = [name for name in names if self._worked_off(name)]
        claimed: list[tuple[Due, Slot]] = []
        if owing:
            make_folder(self._place.paths.control)
            with Lock(self._place.paths.heartbeat_lock):
                claimed = self._claim(owing)
        for due, slot in claimed:
            task_runs.start(self._crew, due, slot, afterwards)
        for name in owing:
            self._look_again(name)
        self._report.tasks += sorted(self._seen.values(), key=lambda one: one.name)

    def _worked_off(self, name: str) -> bool:
        """Do what needs no run in one context; tell whether it owes runs."""
        try:
            self._survey.look(name)
            kept = self._contexts.read(name)
            if not self._contexts.is_told(kept):
                self._contexts.catch_up(name)
                kept = self._contexts.read(name)
            before = kept.exchange.rev
            if kept.exchange.is_open and self._is_at_hand(kept.exchange):
                kept = change(self._crew, name, _as_it_is).kept
                kept = self._continued(kept)
                self._survey.look(name)
            return self._note(name, kept, moved=kept.exchange.rev != before)
        except NotFoundError:
            return False  # it was closed while we looked
        except CouncilError as error:
            self._report.errors.append((name, error))
            return False

    def _is_at_hand(self, exchange: Exchange) -> bool:
        """Tell whether a context has something to be done that needs no run."""
        if any(isinstance(one, _AT_HAND) for one in pending(exchange, self._now)):
            return True
        step = orchestrator.advance(
            exchange, self._crew.registry, self._now, rules=self._crew.rules
        )
        return bool(step.events or step.messages) or step.exchange != exchange

    def _continued(self, kept: Kept) -> Kept:
        """Go on in a new context where the numbers of this one are used up (PR-644)."""
        owed = pending(kept.exchange, self._now)
        if not any(isinstance(one, Continue) for one in owed):
            return kept
        return succeed(self._crew, kept.exchange)

    def _note(self, name: str, kept: Kept, *, moved: bool) -> bool:
        """Report a context; note it if nothing is due there. Tell whether runs are due."""
        exchange = kept.exchange
        runs = self._runs_of(exchange) if exchange.is_open else []
        waits = [
            [one.owed.priority, one.owed.due_at.isoformat(), one.agent.id if one.agent else ""]
            for one in runs
        ]
        seen = self._seen.setdefault(name, beaten(exchange))
        seen.tasks, seen.status = _tasks_of(exchange), str(exchange.status)
        seen.moved = seen.moved or moved
        seen.waiting = _waiting_for(exchange)
        seen.awaited = exchange.is_open and _goes_on(exchange)
        if exchange.is_open and self._contexts.is_told(kept):
            queued = all(one.owed.run in exchange.runs for one in runs)
            if not runs or queued:
                due_at = _quiet_until(exchange, self._now)
                self._survey.note(name, due_at, seen.to_record(), waits)
        return bool(runs)

    def _runs_of(self, exchange: Exchange) -> list[Due]:
        return [
            Due(
                context=exchange.context,
                exchange=exchange,
                owed=one,
                agent=self._crew.agent(one.worker),
            )
            for one in pending(exchange, self._now)
            if isinstance(one, _RUNS)
        ]

    def _look_again(self, name: str) -> None:
        try:
            self._survey.look(name)
            self._note(name, self._contexts.read(name), moved=True)
        except CouncilError:
            return  # whoever looks next reports it

    def _claim(self, names: list[str]) -> list[tuple[Due, Slot]]:
        """Claim the runs that are owed in these contexts, who comes first before the others."""
        dues: list[Due] = []
        for name in names:
            try:
                dues += self._runs_of(self._contexts.read(name).exchange)
            except CouncilError as error:
                self._report.errors.append((name, error))
        dues.sort(key=lambda one: one.order)
        gate = Gate(self._place, self._now)
        claimed: list[tuple[Due, Slot]] = []
        refused: set[str] = set()
        for due in dues:
            try:
                slot = self._claimed(due, gate, refused)
            except CouncilError as error:
                self._report.errors.append((due.context, error))
                continue
            if slot is not None:
                claimed.append((due, slot))
                self._seen[due.context].woken.append(due.owed.worker)
        charge(self._place, [due.context for due, _ in claimed])
        return claimed

    def _claimed(self, due: Due, gate: Gate, refused: set[str]) -> Slot | None:
        """Claim one run if it may be started now; return its place."""
        if due.by_hand and not gate.halted:
            if task_runs.claim(self._crew, due):
                self._seen[due.context].woken.append(due.owed.worker)
            return None
        waits = due.owed.run in due.exchange.runs
        agent = due.agent.id if due.agent else ""
        if not gate.halted and agent not in refused:
            due.refusal = gate.refuses(due.context, agent)
            due.elsewhere = due.refusal.startswith(RESTS)
            if due.refusal:
                task_runs.refuse(self._crew, due)
                return None
            slot = self._slots.take(agent)
            if slot is not None:
                return self._with_place(due, gate, slot)
            if agent not in refused:
                task_runs.interrupt(self._crew, due)
            refused.add(agent)
        if not waits:
            task_runs.queue(self._crew, due)
        return None

    def _with_place(self, due: Due, gate: Gate, slot: Slot) -> Slot | None:
        agent = due.agent.id if due.agent else ""
        try:
            if task_runs.claim(self._crew, due):
                gate.admits(due.context, agent)
                return slot
        except CouncilError:
            slot.release()
            raise
        slot.release()
        return None


def _as_it_is(exchange: Exchange) -> ExchangeStep:
    return ExchangeStep(exchange=exchange)


def beaten(exchange: Exchange) -> Beaten:
    """Return what there is to report of a context in which nothing was done."""
    return Beaten(
        name=exchange.context,
        status=str(exchange.status),
        tasks=_tasks_of(exchange),
        waiting=_waiting_for(exchange),
    )


def _tasks_of(exchange: Exchange) -> dict[str, str]:
    return {task.id: str(task.state) for task in exchange.tasks.values()}


def _waiting_for(exchange: Exchange) -> list[str]:
    """Return whom a context waits for: workers that have to act, the user who has to choose."""
    found: dict[str, None] = {}
    for task in exchange.tasks.values():
        if task.is_over:
            continue
        if any(not question.answer for question in task.questions):
            found["User"] = None
        for hop in task.hops:
            attempt = hop.attempt
            if attempt is not None and hop.is_open and attempt.asked:
                found[attempt.worker] = None
    return list(found)


def _goes_on(exchange: Exchange) -> bool:
    """Tell whether something is under way that needs nobody's word."""
    by_hand = (MANUAL, OUTSIDE)
    runs = any(
        one.state in _UNDER_WAY and one.driver not in by_hand for one in exchange.runs.values()
    )
    return runs or any(
        hop.again is not None
        for task in exchange.tasks.values()
        if not task.is_over
        for hop in task.hops
    )


def _quiet_until(exchange: Exchange, now: datetime) -> datetime | None:
    """Return until when time alone changes nothing, None for ever.

    What waits for a place is opened when one is free; what waits for a worker
    is looked at again after a while, for the registry can change.
    """
    due_at = next_due(exchange)
    if due_at is None or due_at > now:
        return due_at
    deadlines = [now + _LOOK_AGAIN, exchange.ends_at]
    for task in exchange.tasks.values():
        if task.is_over:
            continue
        deadlines.append(task.ends_at)
        deadlines += [question.ends_at for question in task.questions if not question.answer]
        for hop in task.hops:
            deadlines += [one.ends_at for one in hop.attempts]
            deadlines.append(hop.again.due_at if hop.again else None)
    deadlines += [run.ends_at for run in exchange.runs.values()]
    return min(one for one in deadlines if one is not None and one > now)
