"""Orchestrating: how a heartbeat scans the contexts of document 002.

The loop of the orchestrator. Open the contexts of which the survey does not
vouch that nothing is due; work off, in one revision each, whatever needs no
run, and find the runs that are due. Those are claimed in `task_claims`, in one
queue with those of conversations and rooms. What waits stays in the survey
and is opened when a place is free.

Source: PR-309, PR-410, PR-422, PR-501, PR-553 to PR-557, PR-644, XC-016, `architecture.md`
section 3.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from council.core.conversations.conversation import TaskState
from council.core.errors import CouncilError, NotFoundError
from council.core.protocol import orchestrator
from council.core.protocol.exchange import Exchange, ExchangeStep
from council.core.protocol.exchange_due import (
    Answer,
    AskUser,
    Continue,
    Deliver,
    RunDue,
    deadlines,
    next_due,
    pending,
)
from council.core.protocol.transaction import Transaction
from council.core.record import Record
from council.operations.gone_runs import has_runs, without_gone_runs
from council.operations.place import Place
from council.operations.protocol.exchanging import GOES_ON_IN, change, contexts
from council.operations.protocol.roster import Roster
from council.operations.protocol.task_due import MANUAL, OUTSIDE, Due
from council.operations.report import Report
from council.store.heartbeat.survey import ContextSurvey
from council.store.protocol.contexts import Contexts, Kept

# --- Going on in a new context when the numbers of one are used up


def succeed(roster: Roster, exchange: Exchange) -> Kept:
    """Let a context go on in a new one, whose id it notes before that one is made.

    Any number of processes may do so at once, and be killed at any point: the first id that
    is noted counts, and each change of the context, this one too, first goes on in that one.
    """

    def announced(tx: Transaction) -> ExchangeStep:
        if tx.exchange.is_open:
            tx.exchange.extra[GOES_ON_IN] = contexts(roster.place).reserve()
        return tx.step()

    change(roster, exchange.context, announced)
    return change(roster, exchange.context, Transaction.step).kept


_RESCAN_AFTER = timedelta(minutes=1)
_AT_HAND = (Deliver, AskUser, Answer, Continue)
_UNDER_WAY = (TaskState.N, TaskState.R)


class Beaten(Record):
    """What a heartbeat found and did in one context.

    It is `awaited` while something goes on there by itself: a run, or the pause before one.
    """

    name: str
    status: str = ""
    tasks: dict[str, str] = {}
    waiting: list[str] = []
    woken: list[str] = []
    moved: bool = False
    awaited: bool = False

    @property
    def changed(self) -> bool:
        """Whether anything was done there."""
        return bool(self.moved or self.woken)

    def to_record(self) -> dict[str, Any]:
        """Return its part of `heartbeat --json`."""
        return self.as_json("name:context status tasks woken waiting changed")

    def to_text(self) -> str:
        """Return the line that reports it to a person."""
        said = [", ".join(f"{task} {state}" for task, state in self.tasks.items()) or "no task"]
        if self.woken:
            said.append(f"woke {', '.join(self.woken)}")
        waiting = [one for one in self.waiting if one not in self.woken]
        if waiting:
            said.append(f"waiting for {', '.join(waiting)}")
        return f"{self.name}: {'; '.join(said)}" + ("" if self.status == "open" else " (closed)")


class ContextScanner:
    """One scan of contexts: does in them what needs no run, and finds the runs that are due.

    Args:
        place: The workspace.
        now: The time of the scan.
        report: Takes what goes wrong.
        survey: Where to note which contexts are idle.

    Attributes:
        roster: The registered agents and the rules.
        seen: What was found in each context, and done there.

    Raises:
        CouncilError: The registry or the settings cannot be read.
    """

    def __init__(self, place: Place, now: datetime, report: Report, survey: ContextSurvey) -> None:
        self.roster = Roster(place, now)
        self.seen: dict[str, Beaten] = {}
        self._report = report
        self._survey = survey
        self._contexts: Contexts = contexts(place)

    def with_due_runs(self, names: list[str]) -> list[str]:
        """Work off what is due in these contexts; return those with due runs."""
        return [name for name in names if self._worked_off(name)]

    def dues(self, name: str) -> list[Due]:
        """Return the runs that are due in a context now.

        Raises:
            CouncilError: It cannot be read.
        """
        return self._runs_of(self._contexts.read(name).exchange)

    def scan_again(self, name: str) -> None:
        """Note a context that was served, if it is idle now."""
        try:
            self._survey.look(name, name)
            self._note(name, self._contexts.read(name), moved=True)
        except CouncilError:
            return  # the next scan reports it

    def _worked_off(self, name: str) -> bool:
        """Do what needs no run in one context; return true if runs are due."""
        try:
            self._survey.look(name, name)
            kept = self._contexts.read(name)
            if not self._contexts.is_told(kept):
                self._contexts.catch_up(name)
                kept = self._contexts.read(name)
            before = kept.exchange.rev
            if kept.exchange.is_open and self._is_at_hand(kept.exchange):
                kept = change(self.roster, name, Transaction.step).kept
                due = pending(kept.exchange, self.roster.now)
                if any(isinstance(one, Continue) for one in due):  # its numbers are used up
                    kept = succeed(self.roster, kept.exchange)
                self._survey.look(name, name)
            return self._note(name, kept, moved=kept.exchange.rev != before)
        except NotFoundError:
            return False  # it was closed during the scan
        except CouncilError as error:
            self._report.errors.append((name, error))
            return False

    def _is_at_hand(self, exchange: Exchange) -> bool:
        """Return true if a context has something to be done that needs no run."""
        if any(isinstance(one, _AT_HAND) for one in pending(exchange, self.roster.now)):
            return True
        roster = self.roster
        exchange = without_gone_runs(
            roster.place, exchange, self.roster.now, roster.registry.agents
        )
        step = orchestrator.advance(roster.on(exchange))
        return bool(step.events or step.messages) or step.exchange != exchange

    def _note(self, name: str, kept: Kept, *, moved: bool) -> bool:
        """Report a context; note it if nothing is due there. Return true if runs are due."""
        exchange = kept.exchange
        runs = self._runs_of(exchange) if exchange.is_open else []
        waits = [
            [one.action.priority, one.action.due_at.isoformat(), one.agent.id if one.agent else ""]
            for one in runs
            # What a bound keeps back wants no place that others wait for as well.
            if not ((run := exchange.runs.get(one.action.run)) and run.reason)
        ]
        seen = self.seen.setdefault(name, Beaten(name=exchange.context))
        seen.tasks = {task.id: str(task.state) for task in exchange.tasks.values()}
        seen.status, seen.moved = str(exchange.status), seen.moved or moved
        seen.waiting = _waiting_for(exchange)
        seen.awaited = exchange.is_open and _goes_on(exchange)
        if exchange.is_open and self._contexts.is_told(kept):
            queued = all(one.action.run in exchange.runs for one in runs)
            # That a process is gone changes no file: what runs is opened at each scan.
            if (not runs or queued) and not has_runs(exchange.runs):
                due_at = _quiet_until(exchange, self.roster.now)
                self._survey.note(name, name, due_at, waits)
        return bool(runs)

    def _runs_of(self, exchange: Exchange) -> list[Due]:
        about: dict[str, Any] = {"context": exchange.context, "exchange": exchange}
        found = [
            Due(**about, action=one, agent=self.roster.agent(one.worker))
            for one in pending(exchange, self.roster.now)
            if isinstance(one, RunDue)
        ]
        place = self.roster.place
        return [one for one in found if one.agent is None or place.has(one.agent.id)]


def _waiting_for(exchange: Exchange) -> list[str]:
    """Return whom a context waits for: workers that have to act, the user who has to choose."""
    found: dict[str, None] = {}
    for task in exchange.open_tasks:
        if any(not question.answer for question in task.questions):
            found["User"] = None
        for hop in task.hops:
            attempt = hop.attempt
            if attempt is not None and hop.is_open and attempt.asked:
                found[attempt.worker] = None
    return list(found)


def _goes_on(exchange: Exchange) -> bool:
    """Return true if something is under way that needs no one's word."""
    by_hand = (MANUAL, OUTSIDE)
    runs = any(
        one.state in _UNDER_WAY and one.driver not in by_hand for one in exchange.runs.values()
    )
    return runs or any(hop.again is not None for task in exchange.open_tasks for hop in task.hops)


def _quiet_until(exchange: Exchange, now: datetime) -> datetime | None:
    """Return until when time alone changes nothing, None for ever.

    What waits for a place is opened when one is free; what waits for a worker
    is scanned again after a while, for the registry can change.
    """
    due_at = next_due(exchange)
    if due_at is None or due_at > now:
        return due_at
    return min(one for one in (now + _RESCAN_AFTER, *deadlines(exchange)) if one > now)
