"""What is known of a context: its tasks, who has them in hand, what was said, what is asked."""

from __future__ import annotations

from council.agents.registry import Worker
from council.kernel.record import Any, Record
from council.kernel.times import timedelta
from council.runs.work import Runs

Event = dict[str, Any]
NEW, RUNNING, DONE, FAILED, CANCELLED = "NRDFX"
OPEN = (NEW, RUNNING)
BUDGETS = {"simple": 100, "medium": 500, "complex": 2000}
MOST_LINES = 200
FULL = 100  # a load in percent at which a worker is busy
SILENT = timedelta(minutes=3)  # after which a worker that sent a liveness message is gone
LAST_MESSAGE, LAST_TASK = 9_900, 999  # of a context; open tasks may use up to M9950
SYNTHESIS = "synthesis"  # the run of an orchestrator that makes one answer of several results


class Rules(Record, settled=True):
    """The table `[tasks]`; `reply_timeout` and `backoff` in seconds."""

    threshold: float = 0.5
    reply_timeout: int = 3600
    choice_policy: str = "wait"
    budgets: dict[str, int] = BUDGETS
    auth_key_env: str = ""
    backoff: list[int] = []


class Task(Record):
    """What was asked for, and what came of it: a result, or `code` and `words` of why it failed."""

    text: str
    caps: list[str] = []
    priority: str = "P1"
    state: str = NEW
    is_raised: bool = False  # its budget was raised already (E17)
    questions: int = 0  # how many its workers asked
    question: str = ""  # what a person is asked now, with `options`; "" is nothing
    options: list[str] = []
    asker: int = 0  # the hop that waits for the answer
    until: str = ""  # when the person is late (E23)
    is_late: bool = False  # this was noted
    result: str = ""
    code: str = ""
    words: str = ""


class Hop(Record):
    """A task in the hands of one worker; retries, fallbacks and hand-offs are hops of their own."""

    number: int  # of the message that gave it the task, with the DATA `data` and a budget `grant`
    task: str
    worker: str
    agent: str
    data: str = ""
    grant: int | None = None
    source: int = 0  # the hop that handed the task on, 0 where O1 gave it
    state: str = RUNNING
    depth: int = 0
    budget: int | None = None  # the tokens that are left, None for no limit
    asked: int = 0  # of the message that it has to act on until `until`; 0 while it waits
    until: str = ""
    retry: int = 0  # which one this is
    refusal: str = ""  # what its worker is told of a line that could not be read
    failure: str = ""  # the code of a failure that has not been followed yet
    need: int = 0  # the tokens that it asked for (E17)
    code: str = ""
    words: str = ""
    result: str = ""
    rejections: int = 0  # how many of its hand-offs were rejected


class Context(Record):
    """The state; `workers`, `down`, `groups` are what the registry said when it was last read."""

    rev: int = 0
    mark: str = ""
    name: str = ""  # its CTX, such as `S1`
    lang: str = "en"
    rules: Rules = Rules()
    created_at: str = ""
    updated_at: str = ""
    closed_at: str = ""
    workers: dict[str, Worker] = {}
    down: list[str] = []
    groups: dict[str, list[str]] = {}
    keys: dict[str, str] = {}  # values of `#CTX:key`
    fields: dict[str, str] = {}  # values of `#REF:T1:field`
    count: int = 0  # the number of the last message
    lines: dict[str, str] = {}  # the newest by number
    tasks: dict[str, Task] = {}
    hops: dict[str, Hop] = {}  # by number
    warnings: list[str] = []
    answer: str = ""  # what the user gets at the end
    carrier: dict[str, str] = {}  # the trace in which it was opened (`runs/tracing.py`)
    runs: Runs = Runs()

    def open_hops(self, task: str = "") -> list[Hop]:
        """Return the hops that are not over, those of the highest priority first."""
        hops = [one for one in self.hops.values() if one.state in OPEN and task in ("", one.task)]
        return sorted(hops, key=lambda one: (self.tasks[one.task].priority, one.number))

    def children(self, hop: Hop) -> list[Hop]:
        """Return the hops to which a hop handed its task on."""
        return [one for one in self.hops.values() if one.source == hop.number]

    def is_full(self) -> bool:
        """Return whether further requests need a new context."""
        return self.count >= LAST_MESSAGE or len(self.tasks) >= LAST_TASK

    def pending(self) -> list[str]:
        """Return the tasks that wait for a person."""
        return [ident for ident, one in self.tasks.items() if one.question]
