"""The runs of an exchange: queued, started, refused, failed, lost, set aside.

A run is claimed in the exchange before it starts, with a lease. What it says
is taken by `orchestrator.receive`; here stands what becomes of one that says
nothing. A task has at most one run under way for each of its attempts.

Source: XC-016, PR-309, PR-410, PR-580, `cli.md` section 5.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.protocol.attempts import fail
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import (
    COMPOSE,
    ENDED,
    RULES,
    SPLIT,
    WORK,
    Attempt,
    Exchange,
    ExchangeStep,
    Hop,
    Run,
    Task,
    TaskRules,
)
from council.core.protocol.exchange_owed import Compose, Split, Work, runs_owed
from council.core.protocol.parts import give_parts

_URGENT = "P0"


def run_queued(
    exchange: Exchange, due: Work | Split | Compose, *, driver: str, now: datetime
) -> ExchangeStep:
    """Write down that a run is due and waits for a place; no deadline begins."""
    desk = Desk(exchange, now)
    if due.run in desk.exchange.runs or not _is_due(exchange, due):
        return desk.step()
    desk.exchange.runs[due.run] = _run(due, TaskState.N, driver, now)
    desk.tell("task.queued", _task_of(desk, due), agent=due.worker, task=due.run)
    return desk.step("queued")


def run_started(
    exchange: Exchange,
    due: Work | Split | Compose,
    *,
    driver: str,
    now: datetime,
    ends_at: datetime | None,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Claim a run; its deadline begins. `outcome` is `claimed`, "" if it is not due any more.

    `ends_at` is the end of its lease, None for who answers by itself: then `worker_timeout` holds.
    """
    desk = Desk(exchange, now, rules=rules)
    if not _is_due(exchange, due):
        return desk.step()
    started = _run(due, TaskState.R, driver, now)
    started.ends_at = ends_at
    desk.exchange.runs[due.run] = started
    label = f"council-{exchange.context}-{due.worker}"
    desk.tell(
        "task.started", _task_of(desk, due), agent=due.worker,
        task=due.run, driver=driver, attempt=due.number, label=label,
    )  # fmt: skip
    part = _part_of(desk.exchange, started)
    if part is not None:
        task, _, attempt = part
        task.ends_at = task.ends_at or now + rules.task_timeout
        attempt.ends_at = now + rules.worker_timeout if ends_at is None else None
    elif ends_at is None:
        started.ends_at = now + rules.worker_timeout
    return desk.step("claimed")


def run_refused(
    exchange: Exchange,
    due: Work | Split | Compose,
    reason: str,
    *,
    driver: str,
    now: datetime,
    elsewhere: bool = False,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Write down, once for each reason, that a due run may not be started.

    It stays owed; with `elsewhere` the attempt fails (E30), and another worker is asked.
    """
    desk = Desk(exchange, now, rules=rules)
    known = desk.exchange.runs.get(due.run)
    if not _is_due(exchange, due) or (known and known.reason == reason and not elsewhere):
        return desk.step()
    refused = _run(due, TaskState.N, driver, now)
    refused.reason = reason
    desk.exchange.runs[due.run] = refused
    task = _task_of(desk, due)
    desk.tell("task.refused", task, agent=due.worker, task=due.run, reason=reason)
    if elsewhere:
        _fail(desk, refused, "E30", reason)
    return desk.step("refused")


def run_failed(
    exchange: Exchange,
    run: str,
    reason: str,
    *,
    now: datetime,
    timed_out: bool = False,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Write down that a run brought no answer: its attempt fails with E30, or E21 out of time.

    A request that could not be split goes whole, an answer that could not be composed is made
    of the results. `advance` goes on from there.
    """
    desk = Desk(exchange, now, rules=rules)
    failed = desk.exchange.runs.get(run)
    if failed is None or failed.state is not TaskState.R:
        return desk.step()
    task = desk.exchange.tasks.get(failed.task)
    desk.tell("task.failed", task, agent=failed.worker, task=run, reason=reason, final=False)
    _fail(desk, failed, "E21" if timed_out else "E30", reason)
    return desk.step("failed")


def run_ended(
    exchange: Exchange, run: str, *, now: datetime, why: str = "", rules: TaskRules = RULES
) -> ExchangeStep:
    """Note that a run is over whose messages were taken one by one with `receive`.

    One that only told of its progress, left parts of its answer out or said nothing that could
    be taken is a failed attempt; `why` says what was wrong with it. `outcome` is then `failed`.
    """
    desk = Desk(exchange, now, rules=rules)
    ended = desk.exchange.runs.get(run)
    part = None if ended is None else _part_of(desk.exchange, ended)
    if ended is None or part is None or ended.state not in (TaskState.R, TaskState.D):
        desk.end_run(run)
        return desk.step("ended" if part else "")
    task, _, attempt = part
    if attempt.state in ENDED or attempt.asked != ended.message:
        desk.end_run(run)
        return desk.step("ended")
    said = why or (f"parts {', '.join(attempt.parts)} alone" if attempt.parts else "")
    reason = "no answer that can be taken" + (f": {said}" if said else "")
    desk.tell("task.failed", task, agent=ended.worker, task=run, reason=reason, final=False)
    _fail(desk, ended, "E30", reason)
    return desk.step("failed")


def set_aside(exchange: Exchange, run: str, *, now: datetime, reason: str = "") -> ExchangeStep:
    """Interrupt a run for one of P0: it is owed again, and no attempt is lost (PR-309, PR-410).

    `outcome` is `set-aside`, "" for a run that is over or atomic.
    """
    desk = Desk(exchange, now)
    one = desk.exchange.runs.get(run)
    if one is None or one not in in_the_way(desk.exchange, one.worker):
        return desk.step()
    one.state, one.at, one.ends_at = TaskState.X, now, None
    one.reason = reason or "set aside for P0"
    part = _part_of(desk.exchange, one)
    if part is not None:
        part[2].ends_at = None
    task = desk.exchange.tasks.get(one.task)
    desk.tell("task.set-aside", task, agent=one.worker, task=run, reason=one.reason)
    return desk.step("set-aside")


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


def expire_leases(desk: Desk) -> None:
    """Give up runs whose lease is over: their process died without a word."""
    for one in list(desk.exchange.runs.values()):
        if one.state is TaskState.R and one.ends_at is not None and desk.now >= one.ends_at:
            task = desk.exchange.tasks.get(one.task)
            desk.tell("task.lost", task, agent=one.worker, task=one.id)
            _fail(desk, one, "E21", "lost: no word from the run")


def _fail(desk: Desk, run: Run, code: str, reason: str) -> None:
    """End a run without an answer, and go on with what it was for."""
    run.state, run.at, run.ends_at, run.reason = TaskState.F, desk.now, None, reason
    part = _part_of(desk.exchange, run)
    if part is not None:
        task, hop, attempt = part
        if hop.attempt is attempt and attempt.asked == run.message:
            fail(desk, task, hop, code, reason)
    whole = desk.exchange.tasks.get(run.task)
    if run.purpose == SPLIT and whole is not None and not (whole.divided or whole.is_over):
        whole.divided = True
        give_parts(desk, whole)
    if run.purpose == COMPOSE:
        desk.exchange.composed = True


def _part_of(exchange: Exchange, run: Run) -> tuple[Task, Hop, Attempt] | None:
    task = exchange.tasks.get(run.task)
    if task is None or run.purpose != WORK:
        return None
    hop = task.hop(run.hop)
    return task, hop, hop.attempts[run.attempt - 1]


def _task_of(desk: Desk, due: Work | Split | Compose) -> Task | None:
    return desk.exchange.tasks.get(due.task)


def _is_due(exchange: Exchange, due: Work | Split | Compose) -> bool:
    """Tell whether a run that was owed some time ago still is."""
    return any(one.run == due.run for one in runs_owed(exchange))


def _run(due: Work | Split | Compose, state: TaskState, driver: str, now: datetime) -> Run:
    run = Run(id=due.run, worker=due.worker, number=due.number, state=state, at=now, driver=driver)
    if isinstance(due, Work):
        run.purpose, run.task, run.hop = WORK, due.task, due.hop
        run.attempt, run.message = due.attempt, due.message
    elif isinstance(due, Split):
        run.purpose, run.task = SPLIT, due.task
    else:
        run.purpose, run.task = COMPOSE, due.task
    return run
