"""How events change a context. A line of an event is a message of V5; all that it says counts."""

from __future__ import annotations

from council.agents.registry import Worker
from council.kernel import times
from council.kernel.times import timedelta
from council.runs import work
from council.tasks import model as m
from council.tasks.model import Context, Event, Hop, Task
from council.tasks.wire.conversion import from_line
from council.tasks.wire.model import Message

_TYPES = "opened known valued warned closed"
_OF_TASKS = "created sent answered noted told asked unread passed unanswered failed given-up ended"
EVENTS = frozenset(f"context.{one}" for one in _TYPES.split()) | {*work.TYPES}
EVENTS |= {f"task.{one}" for one in _OF_TASKS.split()}
LATE = timedelta(seconds=60)  # after which a person is late (document 002, 7.2)


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
        while len(state.lines) > m.MOST_LINES:
            del state.lines[next(iter(state.lines))]
        _said(state, kind[5:], event, message)
    elif kind == "task.created":
        of = {name: event[name] for name in ("text", "caps", "priority")}
        state.tasks[event["task"]] = Task(**of)
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
        state.rules, state.carrier = m.Rules.from_json(event["rules"]), event.get("carrier", {})
    elif kind == "known":
        rows = event["workers"].items()
        state.workers = {ident: Worker.from_json(row) for ident, row in rows}
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
        task.state = m.RUNNING
    elif kind == "told":
        if message.state == m.CANCELLED or message.sender == "User":
            state.tasks[message.task].question = ""
        for one in state.open_hops(message.task) if message.state == m.CANCELLED else []:
            one.state = m.CANCELLED
        if hop:
            hop.rejections += message.kind == "E"
            _act(state, hop, message, at)
    elif kind == "failed" and hop:
        hop.state, hop.code, hop.words = m.FAILED, message.code, event["words"]
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
    task.state, task.is_raised = m.RUNNING, task.is_raised or event.get("reason") == "E17"
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
    hop.state = m.DONE if message.kind == "S" else m.FAILED
    if message.kind == "S":
        hop.result, values = event["text"], {"S": event["text"], **message.pairs}
        state.fields |= {f"{hop.task}:{name}": value for name, value in values.items()}
    else:
        hop.code, hop.words = message.code, event["text"]
        hop.failure = "" if hop.source else message.code
        amount = message.pairs.get("needed", "")
        hop.need = int(amount) if amount.isdecimal() else 0
    source = state.hops.get(str(hop.source))
    if source and source.state == m.RUNNING:
        _act(state, source, message, event["at"])


def _act(state: Context, hop: Hop, message: Message, at: str) -> None:
    """Let a worker act on a message, once all have answered to whom it handed its task on."""
    is_new = hop.number == message.number  # nobody has it from this hop yet
    waits = not is_new and any(one.state in m.OPEN for one in state.children(hop))
    hop.asked, hop.refusal = 0 if waits else message.number, ""
    hop.until = times.later(at, timedelta(seconds=state.rules.reply_timeout))
