"""What an exchange owes to the world, read from its saved state alone.

Which messages have to be put into inboxes, whose run is due, what the user has
to be asked, whether the answer is due. Nothing here changes anything. Each
thing is owed until the exchange says that it was done, so whoever does it may
die in between: it is done again, and never forgotten.

    Deliver   →  `orchestrator.delivered`
    AskUser   →  `orchestrator.delivered`, and its time begins
    Work      →  `exchange_runs.run_started` (or `run_queued`, `run_refused`), then
                 `orchestrator.receive`, or `exchange_runs.run_failed`, `run_ended`
    Split     →  the same for the run, then `splitting.divided` or `undivided`
    Compose   →  the same for the run, then `answering.composed`
    Answer    →  `answering.answered`, which closes the context
    Continue  →  `succession.succeed`

Who works next is chosen by `orchestrator.advance`, which needs the registry.

Source: PR-309, PR-410, PR-553 to PR-557, PR-576, PR-644, XC-016.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversation import TaskState
from council.core.exchange import (
    Exchange,
)
from council.core.record import Record

_UNDER_WAY = (TaskState.N, TaskState.R)
_OPEN_STATES = (TaskState.N, TaskState.R)


class Deliver(Record):
    """Message `number` is to be put into the inbox of each of `to`."""

    number: int
    to: tuple[str, ...]
    priority: str
    due_at: datetime


class AskUser(Record):
    """Message `number` is to be shown to the user, who may answer it until its time is over."""

    number: int
    task: str
    text: str
    options: tuple[str, ...]
    priority: str
    due_at: datetime


class Work(Record):
    """Worker `worker` is owed a run for message `message`, under the run id `run`."""

    run: str
    worker: str
    task: str
    hop: int
    attempt: int
    message: int
    number: int
    priority: str
    atomic: bool
    due_at: datetime


class Split(Record):
    """The orchestrator's agent is to be asked into which tasks a request falls."""

    run: str
    worker: str
    task: str
    number: int
    priority: str
    due_at: datetime


class Compose(Record):
    """The orchestrator's agent is to be asked for the text of the answer."""

    run: str
    worker: str
    number: int
    priority: str
    due_at: datetime


class Answer(Record):
    """The user is to get the answer; then the context is closed."""

    priority: str
    due_at: datetime


class Continue(Record):
    """The numbers of the context are used up: it goes on in a new one (PR-644)."""

    priority: str
    due_at: datetime


Owed = Deliver | AskUser | Work | Split | Compose | Answer | Continue


def pending(exchange: Exchange, now: datetime) -> tuple[Owed, ...]:
    """Return what is owed to the world at `now`: P0, then P1, then P2, the oldest first."""
    raise NotImplementedError


def next_due(exchange: Exchange) -> datetime | None:
    """Return when time alone will make something due in an exchange where nothing is due now.

    Until then neither `orchestrator.advance` nor `pending` finds anything, as long as
    the registry stays as it is. It is an instant in the past when something is owed
    already, waits for a place or for a worker, and None when only a message can go on.
    """
    raise NotImplementedError
