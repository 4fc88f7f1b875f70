"""The values of an exchange: one context of document 002, with the tasks that run in it.

A context holds what one request to the orchestrator led to. A task is what is
to be done; a hop is one worker's part in it, the first for the orchestrator,
each further one for the worker that handed it on; an attempt is one try of a
hop, with the states N R D F X. Every message of the context is numbered in
one sequence. What happens with all this is decided in `orchestrator` and the
modules that it names, what is due in `exchange_due`, the JSON
form in `exchange_records`.

Source: PR-501, PR-551, PR-571, PR-581, PR-585, A-59, A-62.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from council.core.conversations.conversation import TaskState
from council.core.events import Event
from council.core.protocol.messages import Message
from council.core.reasons import NO_REASON, Reason
from council.core.record import Any, Record

SCHEMA_VERSION = 1
LAST_MESSAGE = 9999
LAST_TASK = 999
LARGEST_BUDGET = 9999
MESSAGES_KEPT = 200
RUNS_KEPT = 100
EXCEPTIONAL_DEPTH = 5

# What a request may use up, in tokens; None is no limit (PR-581).
BUDGETS: dict[str, int | None] = {
    "simple": 100,
    "medium": 500,
    "complex": 2000,
    "unlimited": None,
}
DEFAULT_COMPLEXITY = "medium"
PRIORITIES = ("P0", "P1", "P2")

# What a run is for.
WORK, SPLIT, COMPOSE = "work", "split", "compose"

# Who answers a question that is dropped or has expired, and what it says.
NOBODY, NO_ANSWER = "nobody", "-"

ENDED = (TaskState.D, TaskState.F, TaskState.X)


OK, SAME, DUPLICATE, INVALID = "ok", "same", "duplicate", "E15"
# Which states of an attempt may follow which; the arrow of the drawing that leads up from X is
# no transition.
_NEXT = {
    TaskState.N: (TaskState.R, TaskState.X),
    TaskState.R: (TaskState.D, TaskState.F, TaskState.X),
}


def transition(old: TaskState, new: TaskState) -> str:
    """Return what it is to go from one state to another.

    Returns:
        `ok`, `same` for N or R repeated, `duplicate` for an end repeated, else the code `E15`.

    Source: PR-312, PR-412, PR-551, PR-552, A-41, A-59.
    """
    if new in _NEXT.get(old, ()):
        return OK
    if new is not old:
        return INVALID
    return SAME if old in _NEXT else DUPLICATE


class ContextStatus(StrEnum):
    """Whether a context still takes messages."""

    OPEN = "open"
    CLOSED = "closed"


class TaskRules(Record):
    """What may be chosen of tasks, once for all contexts of a workspace.

    Args:
        task_timeout: How long a task may take with one first worker and all it hands on (E20).
        worker_timeout: How long a worker that answers by itself may take (E21).
        choice_timeout: After how long it is noted that a person has not chosen (E23).
        choice_policy: What happens then: `wait` waits on, `first` takes the first option,
            `abandon` gives up.
        budget_policy: What follows on E17: `raise-once`, `simpler` or `give-up`.
        max_depth: Deepest hand-off without a reason, from 1 to 5.
        max_clarifications: Most questions of the workers of one task.
        max_retries: Most retries after a time-out, for one worker.
        backoff: The pauses before a retry; () for none.
        threshold: From 0 to 1, least share of the wanted capabilities a worker must have.
        parallel: How many workers get a task at once.
    """

    task_timeout: timedelta = timedelta(hours=1)
    worker_timeout: timedelta = timedelta(minutes=15)
    choice_timeout: timedelta = timedelta(seconds=60)
    choice_policy: str = "wait"
    budget_policy: str = "raise-once"
    max_depth: int = 3
    max_clarifications: int = 2
    max_retries: int = 2
    backoff: tuple[timedelta, ...] = (timedelta(seconds=10), timedelta(seconds=60))
    threshold: float = 0.5
    parallel: int = 1


RULES = TaskRules()


class Attempt(Record):
    """One try of a hop by one worker.

    Args:
        number: From 1 within its hop.
        worker: Who is asked.
        state: N until its request is delivered, then R, at last D, F or X.
        at: Since when it is in that state.
        message: The number of the message that asks for it.
        started_at: When it became R.
        ends_at: Its deadline now; None while no worker has been started, while it
            waits for another one, and when it is over.
        asked: The message that the worker has to act on, 0 while it waits for another one.
        progress: What it last reported of its progress.
        code: Why it failed, as a code of V5.
        reason: The same in words.
        own_words: Whether the reason is what its worker wrote.
        parts: What is there of an answer in parts, by `i/n`.
        why: Why this worker was chosen, as selection explains it.
        retry: Which retry after a time-out this is, 0 for none.
        fallback_from: The worker in whose place this one was asked, "" for none.
        refused: How many of its messages were refused.
    """

    _keys = "message:msg"

    number: int
    worker: str
    state: TaskState
    at: datetime
    message: int = 0
    started_at: datetime | None = None
    ends_at: datetime | None = None
    asked: int = 0
    progress: str = ""
    code: str = ""
    reason: str = ""
    own_words: bool = False
    parts: dict[str, str] = {}
    why: dict[str, Any] = {}
    retry: int = 0
    fallback_from: str = ""
    refused: int = 0
    extra: dict[str, Any] = {}

    @property
    def is_over(self) -> bool:
        """Return true if it is done, failed or cancelled."""
        return self.state in ENDED


class Again(Record):
    """Another attempt that is due to a hop, from `due_at` on.

    Args:
        since: Since when it is due; no worker is waited for longer than the time of a task.
        due_at: From when on; it is looked for a worker no earlier.
        worker: Who is asked, "" for the best one that was not asked yet.
        code: Why another attempt is needed, "" for a first one.
        pairs: What is added to the request.
        retry: Which retry after a time-out it is, 0 for none.
        fallback_from: The worker in whose place another one is asked, "" for none.
        blocked: Why no worker could be asked yet.
    """

    since: datetime
    due_at: datetime
    worker: str = ""
    code: str = ""
    pairs: dict[str, str] = {}
    retry: int = 0
    fallback_from: str = ""
    blocked: str = ""
    extra: dict[str, Any] = {}


class Hop(Record):
    """One worker's part in a task.

    Args:
        number: From 1 within its task.
        source: Who asked for it and gets the answer: `O1`, or the worker that handed it on.
        parent: The hop of that worker, 0 for the orchestrator's own.
        parent_attempt: The attempt of that hop that handed it on, 0 for none.
        depth: 0 for a request of the orchestrator, one more for each hand-off.
        budget: The tokens that it was given, None for no limit.
        left: What is left of them for this worker.
        call: The capability that is wanted, "" for any.
        data: What is asked, as DATA without what belongs to a single attempt.
        caps: All capabilities that are wanted.
        attempts: Its tries, the last one counts.
        again: The next try, where one is due.
        raised: Whether its budget was raised, or a simpler version asked for.
        result: DATA of the answer that ended it well.
        returned: Whether it is over and its source was informed how it ended.
    """

    number: int
    source: str
    parent: int = 0
    parent_attempt: int = 0
    depth: int = 0
    budget: int | None = None
    left: int | None = None
    call: str = ""
    data: str = ""
    caps: tuple[str, ...] = ()
    attempts: list[Attempt] = []
    again: Again | None = None
    raised: bool = False
    result: str = ""
    returned: bool = False
    extra: dict[str, Any] = {}

    @property
    def attempt(self) -> Attempt | None:
        """Return the attempt that counts, None before the first."""
        return self.attempts[-1] if self.attempts else None

    @property
    def under_way(self) -> Attempt | None:
        """Return the attempt that is under way, None where none is."""
        return self.attempts[-1] if self.attempts and not self.attempts[-1].is_over else None

    @property
    def is_open(self) -> bool:
        """Return true if the hop is not over: an attempt is under way, or one is due."""
        if self.returned:
            return False
        return self.again is not None or not self.attempts or self.under_way is not None


class Question(Record):
    """A question that is put to the user: of a worker (`hop` above 0), or before a worker is asked.

    `options` are the labels in order; () for an open question. `ends_at` is when
    it goes on without an answer, None for never; `late_at` when it is noted that
    none was given; both are None until it was put. `answer` is the label or the
    text: "" while it is open, `-` where none was given. `workers` are those that
    the options stand for, where it asks who is to do the task.
    """

    _keys = "message:msg"

    message: int
    text: str
    options: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    hop: int = 0
    attempt: int = 0
    asked_at: datetime
    ends_at: datetime | None = None
    late_at: datetime | None = None
    answer: str = ""
    answered_at: datetime | None = None
    by: str = ""
    extra: dict[str, Any] = {}

    @property
    def is_open(self) -> bool:
        """Return true if it waits for an answer; one that was not given in time does not."""
        return self.answered_at is None

    @property
    def is_default(self) -> bool:
        """Return true if it was answered by a default, since no answer came in time."""
        return self.by == NOBODY and self.answer != NO_ANSWER

    def close(self, answer: str, by: str, now: datetime) -> None:
        """Write down who answered what, and when."""
        self.answer, self.by, self.answered_at = answer or NO_ANSWER, by, now


class Task(Record):
    """What is to be done, and who did what for it.

    Args:
        id: `T1`.
        text: What the user wants, in full; "" for a task that was sent as a line.
        caps: The capabilities it needs.
        priority: `P0`, `P1` or `P2`.
        budget: The tokens for all of it, None for no limit.
        atomic: Whether its runs may not be interrupted.
        divided: Whether it is the part of the request that it will stay; False while the
            orchestrator's agent is asked how to split it.
        state: N, R, D, F or X.
        at: Since when it is in that state.
        started_at: When it became R.
        ends_at: When its time is over (E20); None before anybody was started. While the user
            has a question of it to answer it stands still, and is put off by that long.
        ended_at: When it was over.
        hops: Everybody's part in it.
        questions: What the user was asked.
        clarifications: How many questions its workers had.
        choice: What the user chose before a worker was asked.
        fields: What workers reported as pairs, by name; `S` is the whole result.
        result: DATA of its result.
        code: Why it failed, as a code of V5.
        reason: The same in words.
        told: Whether the user was informed of its end.
    """

    id: str
    text: str = ""
    caps: tuple[str, ...] = ()
    priority: str = "P1"
    budget: int | None = None
    atomic: bool = False
    divided: bool = True
    state: TaskState = TaskState.N
    at: datetime
    created_at: datetime
    started_at: datetime | None = None
    ends_at: datetime | None = None
    ended_at: datetime | None = None
    hops: list[Hop] = []
    questions: list[Question] = []
    clarifications: int = 0
    choice: str = ""
    fields: dict[str, str] = {}
    result: str = ""
    code: str = ""
    reason: str = ""
    told: bool = False
    extra: dict[str, Any] = {}

    @property
    def is_over(self) -> bool:
        """Return true if the task is done, failed or cancelled."""
        return self.state in ENDED

    @property
    def waits_for_user(self) -> bool:
        """Return true if the user has not answered yet; its own time stands still meanwhile."""
        return any(one.is_open for one in self.questions)

    def hop(self, number: int) -> Hop:
        """Return a hop by its number."""
        return self.hops[number - 1]

    def attempt(self, of: Question | Run) -> Attempt:
        """Return the attempt that a question or a run belongs to."""
        return self.hop(of.hop).attempts[of.attempt - 1]


class Posted(Record):
    """One message of the context.

    Args:
        message: What it says.
        at: When it was sent, or came in.
        to: Who gets it, each once; for a group, its members.
        delivered_at: When it was put into the inboxes, None while that is due.
        parent: The message that it follows from, 0 for none.
        said: The number its sender gave it, where it bears another one here.
        hop: The hop of its task that it belongs to, 0 for none.
    """

    _keys = "parent:pid"

    message: Message
    at: datetime
    to: tuple[str, ...] = ()
    delivered_at: datetime | None = None
    parent: int = 0
    said: int = 0
    hop: int = 0
    extra: dict[str, Any] = {}


class Run(Record):
    """One run of an agent: of a worker for a message, or of the orchestrator's agent.

    Its states: N waits for a place, R is under way, D answered, F failed, X was set aside.
    `number` counts the runs for one message.
    """

    _keys = "message:msg"

    id: str
    purpose: str = WORK
    worker: str = ""
    task: str = ""
    hop: int = 0
    attempt: int = 0
    message: int = 0
    number: int = 1
    state: TaskState
    at: datetime
    ends_at: datetime | None = None
    driver: str = ""
    reason: Reason = NO_REASON
    extra: dict[str, Any] = {}

    @property
    def agent(self) -> str:
        """Who is run, by its protocol id or its own: what a task of a council calls so."""
        return self.worker

    @property
    def part(self) -> tuple[str, int, int]:
        """Return task, hop and attempt that it works on."""
        return self.task, self.hop, self.attempt

    @property
    def is_under_way(self) -> bool:
        """Return true if it runs or waits for a place."""
        return self.state in (TaskState.N, TaskState.R)

    def end(self, state: TaskState, now: datetime, reason: Reason) -> None:
        """Write down how it ended."""
        self.state, self.at, self.ends_at, self.reason = state, now, None, reason


class Exchange(Record):
    """One context and everything in it.

    Args:
        context: `S1`.
        trace_id: The trace of the request.
        request: What the user wants, "" for a context that was opened for lines.
        kept_open: Whether it stays open when all its tasks are over (`ctx open`).
        ends_at: When it is closed whatever is open in it, None for never.
        orchestrator: The agent that splits requests and composes answers, "" for none.
        values: What `#CTX:key` means in it.
        posted: Its last messages, and all that are not delivered yet.
        runs: Its last runs by id, and all that are under way.
        composed: Whether `answer` is the text for the user.
        answer: That text, in full.
        answered_at: When the user got it.
        successor: The context in which it goes on, "" for none.
        moved: The tasks that went on there, by their ids here.
    """

    _keys = "context:ctx"

    schema_version: int = SCHEMA_VERSION
    rev: int = 0
    context: str
    trace_id: str = ""
    request: str = ""
    lang: str = "en"
    complexity: str = DEFAULT_COMPLEXITY
    kept_open: bool = False
    status: ContextStatus = ContextStatus.OPEN
    opened_at: datetime
    updated_at: datetime
    ends_at: datetime | None = None
    closed_at: datetime | None = None
    closed_reason: str = ""
    orchestrator: str = ""
    values: dict[str, str] = {}
    tasks: dict[str, Task] = {}
    posted: list[Posted] = []
    runs: dict[str, Run] = {}
    next_message: int = 1
    next_task: int = 1
    composed: bool = False
    answer: str = ""
    answered_at: datetime | None = None
    successor: str = ""
    moved: dict[str, str] = {}
    extra: dict[str, Any] = {}

    @property
    def is_open(self) -> bool:
        """Return true if the context still takes messages."""
        return self.status is ContextStatus.OPEN

    @property
    def open_tasks(self) -> list[Task]:
        """Return the tasks that are not over, in their order."""
        return [one for one in self.tasks.values() if not one.is_over]

    def posted_as(self, number: int) -> Posted | None:
        """Return a message by its number, None when it is not kept any more."""
        for one in reversed(self.posted):
            if one.message.number == number:
                return one
        return None


class ExchangeStep(Record):
    """The result of one rule: the next state of a context and what happened on the way.

    `messages` are those that were posted by it, numbered. `outcome` is a word for the caller,
    `code` and `reason` say why something was refused; each rule says which.
    """

    exchange: Exchange
    events: list[Event] = []
    messages: tuple[Message, ...] = ()
    outcome: str = ""
    code: str = ""
    reason: str = ""
