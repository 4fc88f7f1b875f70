"""The runs of an exchange: queued, started, refused, failed, lost, set aside.

A run is claimed in the exchange before it starts, with a lease. What it says
is taken by `orchestrator.receive`; here stands what becomes of one that says
nothing. A task has at most one run under way for each of its attempts.

Source: XC-016, PR-309, PR-410, PR-580, `cli.md` section 5.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.protocol.assigning import fail, give_parts
from council.core.protocol.exchange import (
    COMPOSE,
    SPLIT,
    WORK,
    Attempt,
    Exchange,
    ExchangeStep,
    Hop,
    Run,
    Task,
)
from council.core.protocol.exchange_due import RunDue, Work, runs_due
from council.core.protocol.registry import Registry
from council.core.protocol.transaction import Transaction
from council.core.reasons import LOST, Reason

_URGENT = "P0"
# The words of messages of the protocol, which are English.
_UNUSABLE = "no answer that can be taken"
_LOST = "lost: no word from the run"


def run_queued(tx: Transaction, due: RunDue, *, driver: str) -> ExchangeStep:
    """Write down that a run is due and waits for a place; no deadline begins."""
    if due.run in tx.exchange.runs or not _is_due(tx, due):
        return tx.step()
    _note(tx, due, TaskState.N, driver)
    tx.tell("task.queued", tx.exchange.tasks.get(due.task), agent=due.worker, task=due.run)
    return tx.step("queued")


def run_started(
    tx: Transaction, due: RunDue, *, driver: str, ends_at: datetime | None
) -> ExchangeStep:
    """Claim a run; its deadline begins. `outcome` is `claimed`, "" if it is not due any more.

    `ends_at` is the end of its lease, None for who answers by itself: then `worker_timeout` holds.
    """
    if not _is_due(tx, due):
        return tx.step()
    started = _note(tx, due, TaskState.R, driver)
    started.ends_at = ends_at
    tx.tell(
        "task.started", tx.exchange.tasks.get(due.task), agent=due.worker, task=due.run,
        driver=driver, attempt=due.number, label=f"council-{tx.exchange.context}-{due.worker}",
    )  # fmt: skip
    part = _part_of(tx.exchange, started)
    if part is not None:
        task, _, attempt = part
        task.ends_at = task.ends_at or tx.now + tx.rules.task_timeout
        attempt.ends_at = tx.now + tx.rules.worker_timeout if ends_at is None else None
    elif ends_at is None:
        started.ends_at = tx.now + tx.rules.worker_timeout
    return tx.step("claimed")


def run_refused(
    tx: Transaction,
    due: RunDue,
    reason: Reason,
    *,
    driver: str,
    words: str,
    elsewhere: bool = False,
) -> ExchangeStep:
    """Write down, once for each reason, that a due run may not be started.

    It stays due; with `elsewhere` the attempt fails (E30) for `words`, and another worker is asked.
    """
    known = tx.exchange.runs.get(due.run)
    if not _is_due(tx, due) or (known and known.reason == reason and not elsewhere):
        return tx.step()
    refused = _note(tx, due, TaskState.N, driver)
    refused.reason = reason
    task = tx.exchange.tasks.get(due.task)
    tx.tell("task.refused", task, agent=due.worker, task=due.run, reason=reason.to_record())
    if elsewhere:
        _fail(tx, refused, "E30", reason, words)
    return tx.step("refused")


def run_failed(
    tx: Transaction, run: str, reason: Reason, *, words: str, timed_out: bool = False
) -> ExchangeStep:
    """Write down that a run brought no answer: its attempt fails with E30, or E21 out of time.

    `words` say the reason in messages of the protocol.

    A request that could not be split goes whole, an answer that could not be composed is made
    of the results. `advance` goes on from there.
    """
    failed = tx.exchange.runs.get(run)
    if failed is None or failed.state is not TaskState.R:
        return tx.step()
    return _failed(tx, failed, "E21" if timed_out else "E30", reason, words)


def _failed(tx: Transaction, run: Run, code: str, reason: Reason, words: str) -> ExchangeStep:
    task = tx.exchange.tasks.get(run.task)
    tx.tell(
        "task.failed", task, agent=run.worker, task=run.id, reason=reason.to_record(), final=False
    )
    tx.registry = Registry()  # whom to ask instead is decided later
    _fail(tx, run, code, reason, words)
    return tx.step("failed")


def run_ended(tx: Transaction, run: str, *, why: str = "") -> ExchangeStep:
    """Note that a run is over whose messages were taken one by one with `receive`.

    One that only reported its progress, left parts of its answer out or said nothing that could
    be taken is a failed attempt; `why` says what was wrong with it. `outcome` is then `failed`.
    """
    ended = tx.exchange.runs.get(run)
    part = None if ended is None else _part_of(tx.exchange, ended)
    if ended is None or part is None or ended.state not in (TaskState.R, TaskState.D):
        tx.end_run(run)
        return tx.step("ended" if part else "")
    attempt = part[2]
    if attempt.is_over or attempt.asked != ended.message:
        tx.end_run(run)
        return tx.step("ended")
    said = why or (f"parts {', '.join(attempt.parts)} alone" if attempt.parts else "")
    words = _UNUSABLE + (f": {said}" if said else "")
    return _failed(tx, ended, "E30", Reason.of("unusable", output=said), words)


def set_aside(tx: Transaction, run: str, *, context: str) -> ExchangeStep:
    """Interrupt a run for one of P0: it is due again, and no attempt is lost (PR-309, PR-410).

    `outcome` is `set-aside`, "" for a run that is over or atomic.
    """
    one = tx.exchange.runs.get(run)
    if one is None or one not in in_the_way(tx.exchange, one.worker):
        return tx.step()
    one.end(TaskState.X, tx.now, Reason.of("set-aside", context=context))
    part = _part_of(tx.exchange, one)
    if part is not None:
        part[2].ends_at = None
    task = tx.exchange.tasks.get(one.task)
    tx.tell("task.set-aside", task, agent=one.worker, task=run, reason=one.reason.to_record())
    return tx.step("set-aside")


def in_the_way(exchange: Exchange, worker: str) -> tuple[Run, ...]:
    """Return the runs of a worker that one of P0 may interrupt: under way, P1 or P2, not atomic."""
    found = []
    for one in exchange.runs.values():
        task = exchange.tasks.get(one.task)
        if one.worker != worker or one.state is not TaskState.R or one.purpose != WORK:
            continue
        if task is not None and task.priority != _URGENT and not task.atomic:
            found.append(one)
    return tuple(found)


def expire_leases(tx: Transaction) -> None:
    """Give up runs whose lease is over: their process died without a word."""
    for one in list(tx.exchange.runs.values()):
        if one.state is TaskState.R and one.ends_at is not None and tx.now >= one.ends_at:
            task = tx.exchange.tasks.get(one.task)
            tx.tell("task.lost", task, agent=one.worker, task=one.id)
            _fail(tx, one, "E21", LOST, _LOST)


def _fail(tx: Transaction, run: Run, code: str, reason: Reason, words: str) -> None:
    """End a run without an answer, and go on with what it was for."""
    run.end(TaskState.F, tx.now, reason)
    part = _part_of(tx.exchange, run)
    if part is not None:
        task, hop, attempt = part
        if hop.attempt is attempt and attempt.asked == run.message:
            fail(tx, task, hop, code, words)
    whole = tx.exchange.tasks.get(run.task)
    if run.purpose == SPLIT and whole is not None and not (whole.divided or whole.is_over):
        whole.divided = True
        give_parts(tx, whole)
    if run.purpose == COMPOSE:
        tx.exchange.composed = True


def _part_of(exchange: Exchange, run: Run) -> tuple[Task, Hop, Attempt] | None:
    task = exchange.tasks.get(run.task)
    if task is None or run.purpose != WORK:
        return None
    return task, task.hop(run.hop), task.attempt(run)


def _is_due(tx: Transaction, due: RunDue) -> bool:
    """Return true if a run that was due some time ago still is."""
    return any(one.run == due.run for one in runs_due(tx.exchange))


def _note(tx: Transaction, due: RunDue, state: TaskState, driver: str) -> Run:
    """Write down a run, in the place of what was known of it."""
    run = Run(
        id=due.run, purpose=due.purpose, worker=due.worker, task=due.task, number=due.number,
        state=state, at=tx.now, driver=driver,
    )  # fmt: skip
    if isinstance(due, Work):
        run.hop, run.attempt, run.message = due.hop, due.attempt, due.message
    tx.exchange.runs[due.run] = run
    return run
