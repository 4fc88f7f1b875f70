"""What is known of a context, and how events change it; all that their lines of V5 say counts."""

from __future__ import annotations

from council.agents.registry import Worker
from council.kernel import times
from council.kernel.record import Any, Record
from council.kernel.times import timedelta
from council.runs import work
from council.runs.work import Runs
from council.tasks.wire.model import REFERENCE, Message
from council.tasks.wire.writing import from_line

Event = dict[str, Any]
NEW, RUNNING, DONE, FAILED, CANCELLED = "NRDFX"
OPEN = (NEW, RUNNING)
BUDGETS = {"simple": 100, "medium": 500, "complex": 2000}
MOST_LINES = 200
FULL = 100  # a load in percent at which a worker is busy
SILENT = timedelta(minutes=3)  # after which a worker that sent a liveness message is gone
LAST_MESSAGE, LAST_TASK = 9_900, 999  # of a context; open tasks may use up to M9950
SYNTHESIS = "synthesis"  # the run of an orchestrator that makes one answer of several results
_TYPES = "opened known valued warned closed"
_OF_TASKS = "created sent answered noted told asked unread passed unanswered failed given-up ended"
EVENTS = frozenset(f"context.{one}" for one in _TYPES.split()) | {*work.TYPES}
EVENTS |= {f"task.{one}" for one in _OF_TASKS.split()}
LATE = timedelta(seconds=60)  # after which a person is late (document 002, 7.2)


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

    def is_full(self) -> bool:
        """Return whether further requests need a new context."""
        return self.count >= LAST_MESSAGE or len(self.tasks) >= LAST_TASK

    def values(self, data: str) -> dict[str, str | None]:
        """Return what references in DATA mean (PR-545): of a stored text its id, else None."""
        named = REFERENCE.findall(data)
        lines = {f"M{number}": line for number, line in (self.lines if named else {}).items()}
        stored = {name: name for _, name in named if ":" not in name}
        known = {"MSG": lines, "CTX": self.keys, "REF": stored | self.fields}
        return {f"#{kind}:{name}": known[kind].get(name) for kind, name in named}

    def pending(self) -> list[str]:
        """Return the tasks that wait for a person."""
        return [ident for ident, one in self.tasks.items() if one.question]


def evolve(state: Context, event: Event) -> None:
    """Fold one event."""
    kind, at = event["type"], event["at"]
    if kind[:4] == "run.":
        work.evolve(state.runs, event)
        return
    state.updated_at = at
    if kind[:8] == "context.":
        _of_context(state, kind[8:], event)
    elif "line" in event:
        message = from_line(event["line"])
        state.count = max(state.count, message.number)
        state.lines[str(message.number)] = event["line"]
        while len(state.lines) > MOST_LINES:
            del state.lines[next(iter(state.lines))]
        _said(state, kind[5:], event, message)
    elif kind == "task.created":
        state.tasks[event["task"]] = Task(**{k: event[k] for k in ("text", "caps", "priority")})
        state.fields[f"{event['task']}:text"] = event["text"]
    elif kind == "task.ended":
        task = state.tasks[event["task"]]
        task.state, task.result, task.question = event["state"], event["result"], ""
        task.code, task.words = event["code"], event["words"]
    elif kind == "task.unanswered":
        state.tasks[event["task"]].is_late = True
    elif kind == "task.passed":
        for hop in [hop for hop in state.open_hops() if hop.asked == event["tour"]]:
            hop.failure, hop.words = "E30", event["words"]
    else:  # unread, given-up
        hop = state.hops[str(event["hop"])]
        hop.failure = "E10" if kind == "task.unread" and hop.refusal else ""
        hop.refusal = event.get("text", "")


def _of_context(state: Context, kind: str, event: Event) -> None:
    if kind == "opened":
        state.name, state.lang, state.created_at = event["name"], event["lang"], event["at"]
        state.rules, state.carrier = Rules.from_json(event["rules"]), event.get("carrier", {})
    elif kind == "known":
        state.workers = {key: Worker.from_json(one) for key, one in event["workers"].items()}
        state.down, state.groups = event["down"], event["groups"]
    elif kind == "valued":
        state.keys |= event["values"]
    elif kind == "warned":
        state.warnings = [*state.warnings[-49:], event["words"]]
    else:
        state.closed_at, state.answer = event["at"], event["answer"]


def _said(state: Context, kind: str, event: Event, message: Message) -> None:
    """Fold a message; `hop` of the event is who has said it, or has to act on it."""
    at, hop = event["at"], state.hops.get(str(event.get("hop")))
    if before := state.hops.get(str(event.get("after"))):
        before.failure = ""
    if kind == "sent":
        _sent(state, event, message)
    elif kind == "asked":
        task, pairs = state.tasks[message.task], message.pairs
        task.question, task.is_late = pairs.get("question", message.data), False
        task.options = [pairs[f"opt{n}"] for n in range(1, 5) if f"opt{n}" in pairs]
        task.asker, task.until = hop.number if hop else 0, times.later(at, LATE)
        task.state = RUNNING
    elif kind == "told":
        if message.state == CANCELLED or message.sender == "User":
            state.tasks[message.task].question = ""
        for one in state.open_hops(message.task) if message.state == CANCELLED else []:
            one.state = CANCELLED
        if hop:
            hop.rejections += message.kind == "E"
            _act(state, hop, message, at)
    elif kind == "failed" and hop:
        hop.state, hop.code, hop.words = FAILED, message.code, event["words"]
        hop.failure, task = message.code, state.tasks[hop.task]
        task.question = "" if task.asker == hop.number else task.question
    elif hop:
        _answered(state, event, hop, message)


def _sent(state: Context, event: Event, message: Message) -> None:
    hop = Hop(
        agent=event["agent"], source=event.get("source", 0), retry=event.get("retry", 0),
        number=message.number, task=message.task, worker=message.receiver, depth=message.depth,
        budget=message.budget, grant=message.budget, data=message.data,
    )  # fmt: skip
    state.hops[str(hop.number)] = hop
    _act(state, hop, message, event["at"])
    task = state.tasks[hop.task]
    task.state, task.is_raised = RUNNING, task.is_raised or event.get("reason") == "E17"
    if source := state.hops.get(str(hop.source)):
        source.asked, source.refusal = 0, ""
        if source.budget is not None and hop.budget is not None:
            source.budget -= hop.budget


def _answered(state: Context, event: Event, hop: Hop, message: Message) -> None:
    if message.budget is not None and hop.budget is not None:
        hop.budget = min(hop.budget, message.budget)
    if message.kind == "C":
        state.tasks[hop.task].questions += 1
        hop.asked, hop.refusal = 0, ""
    if message.kind not in "SE":
        return
    hop.state = DONE if message.kind == "S" else FAILED
    if message.kind == "S":
        hop.result, values = event["text"], {"S": event["text"], **message.pairs}
        state.fields |= {f"{hop.task}:{name}": value for name, value in values.items()}
    else:
        hop.code, hop.words = message.code, event["text"]
        hop.failure = "" if hop.source else message.code
        amount = message.pairs.get("needed", "")
        hop.need = int(amount) if amount.isdecimal() else 0
    source = state.hops.get(str(hop.source))
    if source and source.state == RUNNING:
        _act(state, source, message, event["at"])


def _act(state: Context, hop: Hop, message: Message, at: str) -> None:
    """Let a worker act on a message, once all have answered to whom it handed its task on."""
    is_new = hop.number == message.number  # nobody has it from this hop yet
    waits = not is_new and any(one.source == hop.number for one in state.open_hops())
    hop.asked, hop.refusal = 0 if waits else message.number, ""
    hop.until = times.later(at, timedelta(seconds=state.rules.reply_timeout))
