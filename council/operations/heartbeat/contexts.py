"""A context as a heartbeat serves it: the runs that are due in it are claimed, made and taken in.

Called by `queue`, under the heartbeat's lock. A run for which there is no
place ends a run of the same agent that is in its way, if it may. A worker of
the workspace is run for each message that asks something of it. It reads one
line, or a prompt with that line at its end, and what it prints is taken for
messages; mere words are its answer. Whatever becomes of the run, it ends in the
context: with messages, or failed with its reason.

Source: PR-309, PR-410, PR-501, PR-503, PR-536, PR-553 to PR-559, PR-598, C0-046, XC-016,
`architecture.md` section 3, `cli.md` section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from council.core.conversations.due import Wake
from council.core.errors import CouncilError, NotFoundError
from council.core.protocol import exchange_runs, orchestrator
from council.core.protocol.answering import composed
from council.core.protocol.exchange import Again, Exchange, ExchangeStep, Run
from council.core.protocol.exchange_due import Compose, Split, Work
from council.core.protocol.protocol_ids import is_context
from council.core.protocol.transaction import Transaction
from council.core.reading_answers.cleaning import clean
from council.core.reasons import NO_ANSWER, NO_REASON
from council.core.record import Any
from council.drivers.runs import Answer
from council.operations.heartbeat.gate import is_halted
from council.operations.heartbeat.queue import DueRun, Served
from council.operations.heartbeat.running import Settled
from council.operations.protocol import task_prompts
from council.operations.protocol.exchanging import (
    Changed,
    change,
    contexts,
    dropped,
    end_program,
    hand_over,
    latest,
    take_back,
)
from council.operations.protocol.orchestrating import ContextScanner
from council.operations.protocol.roster import Roster
from council.operations.protocol.task_answers import taken_in
from council.operations.protocol.task_due import MANUAL, Due
from council.operations.report import Report
from council.store import files
from council.store.reason_words import reason_words
from council.store.slots import Slot, UnderWay, mark_path, under_way

Rule = Callable[[Transaction], ExchangeStep]

# The phase that a run for a task shows to a driver, by the type of what a worker acts on.
PHASES = {"R": "TASK", "X": "TASK", "C": "ANSWER", "S": "ANSWER", "E": "REFUSED"}
_URGENT = "P0"


class ServedContext(Served):
    """One context in which runs are due; its name is the id.

    Args:
        lookout: The scan that found it; what is done is added to what it saw.
        name: The id of the context.
        tried: Agents whose runs were to make room in this heartbeat already; it is added to.
    """

    def __init__(self, scanner: ContextScanner, name: str, tried: set[tuple[str, str]]) -> None:
        super().__init__(scanner.roster.place, name, scanner.roster.now)
        self._scanner = scanner
        self._roster = scanner.roster
        self._tried = tried
        self._report: Report
        self._dues: dict[str, Due]

    def advance(self, report: Report) -> None:
        """Read which runs are due now: what needs none was worked off before.

        Raises:
            CouncilError: It cannot be read.
        """
        self._report = report
        self._dues = {due.action.run: due for due in self._scanner.dues(self.name)}

    def withdraw(self, report: Report) -> None:  # noqa: ARG002
        """Take it out of the report."""
        self._scanner.seen.pop(self.name, None)

    def due_runs(self) -> list[DueRun]:
        """Return the runs that want a place."""
        found = []
        for due in self._dues.values():
            if due.agent is not None and not due.by_hand:
                run = due.action
                wake = Wake(agent=run.worker, task=run.run, attempt=run.number, due_at=run.due_at)
                found.append(DueRun(of=self, wake=wake, agent=due.agent, priority=run.priority))
        return found

    def claim(self, mine: list[DueRun], places: Mapping[str, Slot]) -> list[DueRun]:
        """Claim what has a place or needs none, write down what waits or is refused.

        What goes wrong with one run stops no other.
        """
        wanted = {one.wake.task: one for one in mine}
        claimed: list[DueRun] = []
        for run, due in self._dues.items():
            one = wanted.get(run)
            try:
                if self._claims(due, one, has_place=run in places) and one is not None:
                    claimed.append(one)
            except CouncilError as error:
                self._report.errors.append((self.name, error))
        return claimed

    def _claims(self, due: Due, wanted: DueRun | None, *, has_place: bool) -> bool:
        """Write down what becomes of one run; return true if it was claimed and has a place."""
        roster = self._roster
        if wanted is None and not is_halted(roster.place):
            self._started(due)
            return False
        if wanted is not None and wanted.refusal:
            refusal, away = wanted.refusal, wanted.refusal.code == "rests"
            words = reason_words(refusal)

            def rule(tx: Transaction) -> ExchangeStep:
                run, driver = due.action, due.driver
                return exchange_runs.run_refused(
                    tx, run, refusal, driver=driver, words=words, elsewhere=away
                )

            refused = self._changed(due, rule)
            self._report.passed_over = self._report.passed_over or refused == "refused"
            return False
        if has_place:
            if self._started(due):
                return True
            self._report.passed_over = True  # it is due no more, and its place is free
            return False
        if wanted is not None and not wanted.halted:
            tried = (wanted.agent.id, due.action.priority)
            if tried not in self._tried:  # once for all that wait with the same right to it
                self._tried.add(tried)
                self._interrupt(due)
        if due.action.run not in due.exchange.runs:
            driver = due.driver
            self._changed(due, lambda tx: exchange_runs.run_queued(tx, due.action, driver=driver))
        return False

    def _changed(self, due: Due, rule: Rule) -> str:
        """Apply a rule to the context of a run; return the outcome."""
        return change(self._roster, due.context, rule).step.outcome

    def _started(self, due: Due) -> bool:
        """Claim a run; a person gets what there is to read. False: it is due no more."""
        roster, agent = self._roster, due.agent
        if agent is not None and agent.driver == MANUAL:
            hand_over(roster, due, agent)
        ends_at = None if agent is None or due.by_hand else self.lease(agent)

        def rule(tx: Transaction) -> ExchangeStep:
            return exchange_runs.run_started(tx, due.action, driver=due.driver, ends_at=ends_at)

        changed = change(roster, due.context, rule)
        if agent is not None and due.action.run not in changed.kept.exchange.runs:
            take_back(roster, due, agent)
        claimed = changed.step.outcome == "claimed"
        if claimed:
            self._scanner.seen[self.name].woken.append(due.action.worker)
        return claimed

    def _interrupt(self, due: Due) -> None:
        """End a run of the same agent that is not wanted any more, or that P0 may interrupt.

        The latter is set aside in its context first, so that its end counts as no
        failure; its supervisor frees the place and beats (PR-309, PR-410).
        """
        roster = self._roster
        if due.agent is None:
            return
        found = under_way(mark_path(roster.place.paths.runs, due.agent.id))
        if found is None or not is_context(found.owner):
            return
        given_up = _given_up(roster, found)
        if given_up is not None:
            end_program(roster, given_up)
        elif due.action.priority == _URGENT:
            task, by = found.task, due.context
            change(roster, found.owner, lambda tx: exchange_runs.set_aside(tx, task, context=by))

    # A claimed run, to what came of it.

    def details(self, one: DueRun) -> dict[str, Any]:
        """Return what the agent reads, what names the run, the mark by which it may be ended."""
        due = self._dues[one.wake.task]
        return {
            "prompt": task_prompts.prompt_of(self._roster, due.exchange, due.action, one.agent),
            "phase": _phase_of(due),
            "tour": due.action.number,
            "traceparent": task_prompts.traceparent_of(due.exchange, due.action),
            "variables": task_prompts.variables_of(self._roster, due.exchange, due.action),
            "mark": mark_path(self.place.paths.runs, one.agent.id),
        }

    def settle(self, one: DueRun, prompt: str, answer: Answer) -> Settled:  # noqa: ARG002
        """Write down what came back of a run."""
        place = self.place
        roster = Roster(place, place.now())
        failure = NO_REASON if answer.ok else answer.reason
        due = self._dues[one.wake.task]
        moved: Due | None = _where_it_went_on(roster, due)
        try:
            while moved is not None:
                due = moved
                changed, moved = _taken(roster, due, answer)
        except NotFoundError:  # purged meanwhile: it is not waited for any more
            return Settled(failure=failure)
        finally:
            files.remove(place.paths.run_file(due.action.run, "prompt.md"))
        follow = _again(changed.kept.exchange)
        pause_s = min(((one.due_at - roster.now).total_seconds() for one in follow), default=0.0)
        again = any(one.worker == due.action.worker for one in follow)
        return Settled(failure=failure, again=again, retry_s=pause_s)


def _taken(roster: Roster, due: Due, answer: Answer) -> tuple[Changed, Due | None]:
    """Write down what came back of a run; return the change.

    Nothing is written where its context went on in another one after we looked; that run is
    returned as well.
    """
    rule = _rule_for(roster, due, answer)
    moved: Due | None = None

    def written(tx: Transaction) -> ExchangeStep:
        nonlocal moved
        latest = _where_it_went_on(roster, due) if tx.exchange.successor else due
        moved = None if latest.context == due.context else latest
        return rule(tx) if moved is None else tx.step()

    return change(roster, due.context, written), moved


def _given_up(roster: Roster, found: UnderWay) -> Run | None:
    """Return a run under way that was given up while it had no mark yet, None if it is wanted."""
    try:
        return dropped(latest(roster.place, found.owner)).get(found.task)
    except CouncilError:  # the scan of that context reports it
        return None


def _phase_of(due: Due) -> str:
    if isinstance(due.action, Work):
        posted = due.exchange.posted_as(due.action.message)
        return PHASES.get(posted.message.kind, "TASK") if posted is not None else "TASK"
    return "SPLIT" if isinstance(due.action, Split) else "COMPOSE"


def _where_it_went_on(roster: Roster, due: Due) -> Due:
    """Return a run as it stands in the context in which that of its start went on, if it did."""
    if not contexts(roster.place).exists(due.context):
        return due
    exchange = latest(roster.place, due.context)
    run = exchange.runs.get(due.action.run)
    if exchange.context == due.context or run is None:
        return due
    action = due.action.copy(task=run.task)
    if isinstance(action, Work):
        action = action.copy(message=run.message)
    began_in = due.started_in or due.context
    return due.copy(context=exchange.context, exchange=exchange, action=action, started_in=began_in)


def _again(exchange: Exchange) -> list[Again]:
    """Return the attempts that are due from some instant on."""
    found = [hop.again for task in exchange.tasks.values() for hop in task.hops]
    return [one for one in found if one is not None and exchange.is_open]


def _rule_for(roster: Roster, due: Due, answer: Answer) -> Rule:
    """Return what an answer does to a context: it is taken in, or the run has failed."""
    run = due.action.run
    if not answer.ok:
        why, late = answer.reason or NO_ANSWER, answer.timed_out
        words = reason_words(why)
        return lambda tx: exchange_runs.run_failed(tx, run, why, words=words, timed_out=late)
    if isinstance(due.action, Work):
        if not answer.by_tool:
            return taken_in(roster, due, answer)
        return lambda tx: exchange_runs.run_ended(tx, run)
    text = clean(answer.text)
    if isinstance(due.action, Compose):
        return lambda tx: composed(tx, text.strip(), run=run)
    return lambda tx: orchestrator.divided(tx, task_prompts.parts_in(text), run=run)
