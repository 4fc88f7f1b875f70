"""What is due to the world from an exchange, read from its saved state alone.

Which messages have to be put into inboxes, whose run is due, what the user has
to be asked, whether the answer is due. Nothing here changes anything. Each
thing is due until the exchange says that it was done, so a process may
die in between: it is done again, and never forgotten.

    Deliver   →  `orchestrator.delivered`
    AskUser   →  `orchestrator.delivered`, and its time begins
    Work      →  `exchange_runs.run_started` (or `run_queued`, `run_refused`), then
                 `orchestrator.receive`, or `exchange_runs.run_failed`, `run_ended`
    Split     →  the same for the run, then `orchestrator.divided`
    Compose   →  the same for the run, then `answering.composed`
    Answer    →  `answering.answered`, which closes the context
    Continue  →  `succession.succeed`

Who works next is chosen by `orchestrator.advance`, which needs the registry.

Source: PR-309, PR-410, PR-553 to PR-557, PR-576, PR-644, XC-016.
"""

from __future__ import annotations

from datetime import UTC, datetime

from council.core.conversations.conversation import TaskState
from council.core.ids import task_id
from council.core.protocol.exchange import (
    COMPOSE,
    LAST_MESSAGE,
    SPLIT,
    WORK,
    Exchange,
    Hop,
    Run,
    Task,
)
from council.core.record import Any, Record

_USUAL = "P1"
_THE_END = datetime.max.replace(tzinfo=UTC)


class Action(Record):
    """Something that is due to the world since `due_at`."""

    priority: str
    due_at: datetime


class Deliver(Action):
    """Message `number` is to be put into the inbox of each of `to`."""

    number: int
    to: tuple[str, ...]


class AskUser(Action):
    """Message `number` is to be shown to the user, who may answer it until its time is over."""

    number: int
    task: str
    text: str
    options: tuple[str, ...]


class RunDue(Action):
    """A run, under the id `run`, is due; `number` counts the runs for the same thing."""

    purpose = ""
    run: str
    worker: str
    task: str
    number: int


class Work(RunDue):
    """A worker is to be run for message `message`."""

    purpose = WORK
    hop: int
    attempt: int
    message: int
    atomic: bool


class Split(RunDue):
    """The orchestrator's agent is to be asked into which tasks a request falls."""

    purpose = SPLIT


class Compose(RunDue):
    """The orchestrator's agent is to be asked for the text of the answer.

    `task` is the newest of those that the answer is about.
    """

    purpose = COMPOSE


class Answer(Action):
    """The user is to get the answer; then the context is closed."""


class Continue(Action):
    """The numbers of the context are used up: it goes on in a new one (PR-644)."""


def pending(exchange: Exchange, now: datetime) -> tuple[Action, ...]:
    """Return what is due to the world at `now`: P0, then P1, then P2, the oldest first.

    Each message is delivered before the run that it asks for is due.
    """
    if not exchange.is_open:
        return tuple(_deliveries(exchange))
    found = [*_deliveries(exchange), *runs_due(exchange), *_ends(exchange)]
    due = [one for one in found if one.due_at <= now]
    return tuple(sorted(due, key=lambda one: (one.priority, one.due_at)))


def _deliveries(exchange: Exchange) -> list[Action]:
    found: list[Action] = []
    for one in exchange.posted:
        message = one.message
        if one.delivered_at is not None or message.number > LAST_MESSAGE:
            continue
        priority = message.priority or _USUAL
        task = exchange.tasks.get(message.task)
        asked = [one for one in task.questions if one.message == message.number] if task else []
        told: dict[str, Any] = {"number": message.number, "priority": priority, "due_at": one.at}
        if not asked:
            found.append(Deliver(to=one.to, **told))
            continue
        text, options = asked[0].text, asked[0].options
        found.append(AskUser(task=message.task, text=text, options=options, **told))
    return found


def runs_due(exchange: Exchange) -> list[RunDue]:
    """Return the runs that are due whatever the time, those that wait for a place among them."""
    if not exchange.is_open:
        return []
    due: list[RunDue] = []
    for task in exchange.open_tasks:
        if not task.divided:
            # No message asks for it: its run is named after the task.
            due += _orchestrators(exchange, Split, task.id, task.priority, task.created_at)
        works = (_work_due(exchange, task, hop) for hop in task.hops)
        due += [one for one in works if one is not None]
    return due + _compose_due(exchange)


def _work_due(exchange: Exchange, task: Task, hop: Hop) -> Work | None:
    """Return the run of the worker that has to act on a message, once it was delivered."""
    attempt = hop.attempt
    if attempt is None or attempt.state is not TaskState.R or not attempt.asked:
        return None
    posted = exchange.posted_as(attempt.asked)
    if posted is None or posted.delivered_at is None:
        return None
    part = (task.id, hop.number, attempt.number)
    mine = [one for one in exchange.runs.values() if one.part == part]
    known = [one for one in mine if one.message == attempt.asked]
    if any(
        one.state is TaskState.R and one.ends_at is not None and one not in known for one in mine
    ):
        return None  # its run for an earlier message is still to end
    number = _next_number(known)
    if not number:
        return None
    return Work(
        run=run_id(exchange, attempt.asked, attempt.worker, number), worker=attempt.worker,
        task=task.id, hop=hop.number, attempt=attempt.number, message=attempt.asked, number=number,
        priority=task.priority, atomic=task.atomic, due_at=posted.delivered_at,
    )  # fmt: skip


def _next_number(known: list[Run]) -> int:
    """Return which run for the same thing is due, 0 for none: one is under way or has ended it."""
    if not known:
        return 1
    last = max(known, key=lambda one: one.number)
    if last.state is TaskState.N:
        return last.number
    return last.number + 1 if last.state is TaskState.X else 0


def _compose_due(exchange: Exchange) -> list[RunDue]:
    ended_at = answer_due_at(exchange)
    if ended_at is None or exchange.composed or not exchange.orchestrator:
        return []
    # Named after the newest request: one that joins those which wait is composed with them anew.
    newest = [task.id for task in exchange.tasks.values() if not task.told][-1]
    return _orchestrators(exchange, Compose, newest, _most_urgent(exchange), ended_at)


def _orchestrators(
    exchange: Exchange, kind: type[Split | Compose], task: str, priority: str, due_at: datetime
) -> list[RunDue]:
    """Return the run of the orchestrator's agent, [] where one is under way or has ended it."""
    runs = exchange.runs.values()
    number = _next_number([one for one in runs if (one.purpose, one.task) == (kind.purpose, task)])
    who = exchange.orchestrator
    run = f"{exchange.context}.{kind.purpose}-{task.lower()}.{who}.{number}"
    due = kind(run=run, worker=who, task=task, number=number, priority=priority, due_at=due_at)
    return [due] if number else []


def run_id(exchange: Exchange, message: int, worker: str, number: int) -> str:
    """Return the id of the `number`-th run for a message; it can be part of a file name."""
    return task_id(exchange.context, message, worker.replace(".", "-"), number)


def answer_due_at(exchange: Exchange) -> datetime | None:
    """Return since when an answer is due, None while something is open or all is delivered."""
    tasks = exchange.tasks.values()
    if all(one.told for one in tasks) or exchange.open_tasks:
        return None
    return max((one.ended_at for one in tasks if one.ended_at), default=exchange.opened_at)


def _most_urgent(exchange: Exchange) -> str:
    return min((one.priority for one in exchange.tasks.values() if not one.told), default=_USUAL)


def _ends(exchange: Exchange) -> list[Action]:
    if exchange.next_message > LAST_MESSAGE + 1:
        return [Continue(priority=_most_urgent(exchange), due_at=exchange.updated_at)]
    ended_at = answer_due_at(exchange)
    undelivered = any(one.delivered_at is None for one in exchange.posted)
    if ended_at is None or undelivered or (exchange.orchestrator and not exchange.composed):
        return []
    return [Answer(priority=_most_urgent(exchange), due_at=ended_at)]


def next_due(exchange: Exchange) -> datetime | None:
    """Return when time alone will make something due in an exchange where nothing is due now.

    Until then neither `orchestrator.advance` nor `pending` finds anything, as long as
    the registry stays as it is. It is an instant in the past when something is due
    already or waits for a place, and None when only a message can go on.
    """
    if pending(exchange, _THE_END):
        return exchange.opened_at
    return min(deadlines(exchange), default=None) if exchange.is_open else None


def deadlines(exchange: Exchange) -> list[datetime]:
    """Return the instants at which time alone makes something due in an open exchange."""
    instants = [exchange.ends_at]
    for task in exchange.open_tasks:
        instants += [] if task.waits_for_user else [task.ends_at]
        instants += [one.ends_at or one.late_at for one in task.questions if one.is_open]
        waits = any(one.hop == 0 and one.is_open for one in task.questions)
        for hop in task.hops:
            if hop.again is not None and not waits and task.divided:
                instants.append(hop.again.due_at)
            instants += [one.ends_at for one in hop.attempts[-1:]]
    instants += [one.ends_at for one in exchange.runs.values() if one.state is TaskState.R]
    return [one for one in instants if one is not None]
