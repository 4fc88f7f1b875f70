"""Why a context of document 002, or one task in it, stands where it stands.

Source: `cli.md` section 2 (`explain`), PR-551, PR-576, PR-580.
"""

from __future__ import annotations

from contextlib import suppress

from council.core.conversations.conversation import TaskState
from council.core.errors import CouncilError, NotFoundError
from council.core.protocol.exchange import Attempt, Exchange, Hop, Run, Task
from council.core.protocol.questions import waits_for_choice
from council.core.reasons import NO_REASON, read_reason
from council.core.record import Any
from council.core.reporting import meanings
from council.operations.place import Place
from council.operations.protocol.task_due import OUTSIDE
from council.operations.reporting.explained import (
    Explained,
    Tried,
    begun,
    broken,
    of_cap,
    of_failure,
    of_places,
    of_run,
    said,
    then_started,
)
from council.operations.reporting.explaining_conversations import LATE_PHASE, MANUAL, of_calls
from council.operations.reporting.run_logs import RunLog, read_run_log
from council.store.protocol.task_settings import task_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.reporting.story import Subject


def explain_context(place: Place, about: Subject, *, brief: bool = False) -> Explained:
    """Explain a context, open or closed."""
    from council.store.protocol.contexts import Contexts

    try:
        exchange = Contexts(place.paths).read(about.id).exchange
    except NotFoundError:
        raise
    except CouncilError as error:
        return broken(place, about, error, "")
    tasks = [f"{one.id} {one.state}" for one in exchange.tasks.values()]
    found = begun(place, "context", exchange.context, ctx=exchange.context, brief=brief)
    found.trace, found.status = exchange.trace_id or about.trace, str(exchange.status)
    found.meaning, found.where = _meaning(exchange), said("where-context", tasks=tasks)
    explaining = _Explaining(found, exchange)
    if not exchange.is_open:
        explaining.ended()
        return found
    explaining.still_open()
    of_calls(found)
    if exchange.ends_at is not None:
        found.then("next-close", exchange.ends_at)
    return found.in_order()


def refuse_unknown(place: Place, context: str, task: str) -> None:
    """Refuse to explain a task that a context never had.

    Raises:
        NotFoundError: It never had it.
    """
    from council.store.protocol.contexts import Contexts

    try:
        exchange = Contexts(place.paths).read(context).exchange
    except CouncilError:
        return  # what explains it says so
    if task not in exchange.tasks and task not in exchange.moved:
        raise NotFoundError(f"no task {task} in {context}", "see: council task list --all")


def only_task(whole: Explained, task: str) -> Explained:
    """Return of the explanation of a context what concerns one task."""

    def concerns(values: dict[str, object]) -> bool:
        return values.get("tid", task) == task

    return whole.copy(
        kind="task",
        id=f"{whole.id}/{task}",
        waits=[one for one in whole.waits if concerns(one.said.values)],
        hindrances=[one for one in whole.hindrances if concerns(one.values)],
        tried=[one for one in whole.tried if one.task in ("", task)],
        nexts=[one for one in whole.nexts if concerns(one.said.values)],
    )


def _meaning(exchange: Exchange) -> str:
    if exchange.is_open:
        return meanings.UNDER_WAY if exchange.tasks else meanings.CREATED
    found = (meanings.of_task(str(one.state), one.code) for one in exchange.tasks.values())
    return next((one for one in found if one != meanings.ENDED_WELL), meanings.ENDED_WELL)


class _Explaining:
    """One context, its explanation so far, and the agents of the workspace by their ids in it."""

    def __init__(self, found: Explained, exchange: Exchange) -> None:
        self.found = found
        self.exchange = exchange
        self.place = found.place
        self.names = _names(found.place)

    def ended(self) -> None:
        """Add why tasks of a context that is over came to nothing."""
        for task in self.exchange.tasks.values():
            if task.state is TaskState.F:
                about, reason = f"{self.exchange.context}/{task.id}", task.reason or task.result
                told = {"tid": task.id, "task": about, "code": task.code, "reason": reason}
                self.found.hinder("task-failed", **told)
                for hop in task.hops:
                    self._add_tried(task.id, hop)
        self.found.then("over")

    def still_open(self) -> None:
        """Add what its tasks wait for; without any, what it waits for itself."""
        open_tasks = [one for one in self.exchange.tasks.values() if not one.is_over]
        for task in open_tasks:
            self._task(task)
        if open_tasks:
            return
        if self.exchange.kept_open:
            self.found.wait_for("closing", since=self.exchange.opened_at)
            self.found.then("next-person")
        else:
            self.found.wait_for("answer-to-user", since=self.exchange.updated_at)
            self.found.then("next-heartbeat", agents=[self.exchange.context])

    def _task(self, task: Task) -> None:
        """Add what one task waits for."""
        found = self.found
        question = next((one for one in task.questions if not one.answer), None)
        told: dict[str, Any] = {"tid": task.id, "task": f"{self.exchange.context}/{task.id}"}
        if question is not None:
            asked: dict[str, Any] = {"question": question.text, "options": [*question.options]}
            found.wait_for("choice", "", question.asked_at, question.ends_at, **told, **asked)
            found.hinder("choice-open", **told, **asked)
            if question.ends_at is None:
                found.then("next-person", **told)
            else:
                takes_first = task_rules(self.place.settings).choice_policy == "first"
                policy = "@first-option" if takes_first else "@gives-up"
                found.then("next-choice", question.ends_at, policy=policy, **told)
        for hop in task.hops:
            if hop.is_open and not (hop.again is not None and waits_for_choice(task)):
                self._hop(hop, told)
        if not task.hops and question is None:
            found.wait_for("worker", "", task.at, task.ends_at, **told)
        if task.ends_at is not None and question is None:  # else its time stands still
            if task.ends_at + LATE_PHASE <= found.now:
                found.hinder("late-task", late=found.now - task.ends_at, **told)
            found.then("next-task-timeout", task.ends_at, **told)

    def _hop(self, hop: Hop, told: dict[str, Any]) -> None:
        found, again, last = self.found, hop.again, hop.attempt
        if not found.brief:
            self._add_tried(told["tid"], hop)
        failed = [one for one in hop.attempts if one.state is TaskState.F]
        for one in failed[-1:]:
            run = self._newest(self._runs_of(told["tid"], hop, one))
            why = (run.reason if run else NO_REASON) or read_reason(one.reason or one.code)
            of_failure(found, self._name(one.worker), why, self._log_of(run))
        if again is None:
            if last is not None and last.state in (TaskState.N, TaskState.R):
                self._attempt(self._runs_of(told["tid"], hop, last), last, told)
        elif again.blocked:
            found.wait_for("worker", "", again.since, **told, reason=again.blocked)
            found.hinder("no-worker", **told, reason=again.blocked)
            found.then("next-look", again.due_at, **told)
            given_up_at = again.since + task_rules(self.place.settings).task_timeout
            found.then("next-no-worker", given_up_at, **told)
        elif again.due_at > found.now:
            agent = self._name(again.worker)
            found.wait_for("retry", agent, again.since, **told)
            told_of = {"agent": agent or told["task"], "tid": told["tid"]}
            then_started(found, agent, "next-retry", again.due_at, **told_of)
        else:
            found.wait_for("worker", "", again.since, **told)
            found.then("next-heartbeat", agents=[told["task"]])

    def _name(self, worker: str) -> str:
        return self.names.get(worker, worker)

    def _runs_of(self, task: str, hop: Hop, attempt: Attempt) -> list[Run]:
        """Return the runs of one attempt at a hop."""
        part = (task, hop.number, attempt.number)
        runs = self.exchange.runs.values()
        return [one for one in runs if (one.task, one.hop, one.attempt) == part]

    def _newest(self, runs: list[Run]) -> Run | None:
        return max(runs, key=lambda one: (one.at, one.number), default=None)

    def _log_of(self, run: Run | None) -> RunLog:
        return read_run_log(self.place, run.id if run else "")

    def _attempt(self, mine: list[Run], last: Attempt, told: dict[str, Any]) -> None:
        place, found, agent = self.place, self.found, self._name(last.worker)
        run = next((one for one in mine if one.state is TaskState.R), None)
        waiting = next((one for one in mine if one.state is TaskState.N), None)
        if last.state is TaskState.R and not last.asked and run is None:
            return  # it waits itself: for the user, or for whom it handed a part on to
        if waiting is not None:
            found.wait_for("place", agent, waiting.at, **told)
            of_places(found, agent)
            then_started(found, agent, "next-place", agent=agent, **told)
        elif run is not None and run.driver not in (MANUAL, OUTSIDE):
            of_run(found, run, agent, self.names, **told)
        else:
            found.wait_for("worker-answer", agent, last.started_at or last.at, last.ends_at, **told)
            known = last.worker in self.names
            if not known or place.agent(agent).driver == MANUAL:
                found.hinder("worker-by-hand", agent, **told)
        of_cap(found)
        if last.ends_at is not None:
            found.then("next-worker-timeout", last.ends_at, agent=agent, tid=told["tid"])

    def _add_tried(self, task: str, hop: Hop) -> None:
        """Add the attempts of a hop."""
        for one in hop.attempts:
            runs = self._runs_of(task, hop, one)
            log = self._log_of(self._newest(runs))
            came = " ".join(said for said in (one.code, one.reason) if said)
            tried = Tried(
                agent=self._name(one.worker),
                task=task,
                state=str(one.state),
                at=one.started_at or one.at,
                attempt=one.number,
                came_back=came or _stands(runs, one) or log.outcome,
                run=log,
            )
            self.found.tried.append(tried)


def _names(place: Place) -> dict[str, str]:
    """Return the agents of the workspace by their protocol ids."""
    from council.store.protocol.protocol_registry import load

    with suppress(CouncilError):
        return load(place.paths).agents
    return {}


def _stands(runs: list[Run], attempt: Attempt) -> str:
    """Return how the run of an attempt stands that has not come to its end."""
    if attempt.state is not TaskState.R:
        return ""
    if any(one.state is TaskState.N for one in runs):
        return "@waits-for-place"
    by_hand = all(one.driver in (MANUAL, OUTSIDE) for one in runs)
    return "@handed-line" if by_hand else "@under-way"
