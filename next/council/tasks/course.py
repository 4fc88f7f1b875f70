"""What depends on more than one message: what exists, the states of tasks, questions, depth."""

from __future__ import annotations

from council.kernel.record import Any, Record
from council.tasks.wire import data, tables
from council.tasks.wire.model import Message

MOST_QUESTIONS = 2
_UNDECLARED_DEPTH = 4
_DEEPEST = 5


class Course(Record):
    """What is known when a message arrives; None means that it is not checked.

    Attributes:
        agents: The registered workers by id, with `caps` and `maxDepth`; `down` are unavailable,
            `busy` saturated.
        max_depth: How deep hand-offs may go; two deeper with `reason=`, never above 5.
        states: The state of each hop, by task and worker (`T1 W1`).
        asked: How many questions workers asked, by task.
        fields: Fields of tasks that can be referred to, as `T1:name`; `keys` those of the context,
            `payloads` the ids of stored texts.
    """

    agents: dict[str, Any] | None = None
    down: list[str] = []
    busy: list[str] = []
    max_depth: int = 3
    states: dict[str, str] = {}
    asked: dict[str, int] = {}
    contexts: list[str] | None = None
    messages: list[str] | None = None
    fields: list[str] | None = None
    keys: list[str] | None = None
    payloads: list[str] | None = None


def transition(old: str, new: str) -> str:
    """Return what a change of a task's state is: `ok`, `same`, `duplicate` or `E15` (PR-412)."""
    if old == new:
        return "same" if old in "NR" else "duplicate"
    return "ok" if old + new in ("NR", "RD", "RF", "NX", "RX") else "E15"


def judge(message: Message, course: Course) -> str:
    """Return the V5 code of what is wrong with a valid message, "" for nothing."""
    agents, task, kind = course.agents, message.task, message.kind
    ends = [end for end in (message.sender, message.receiver) if end[:1] == "W" and end != "W*"]
    if agents is not None and kind not in ("J", "A") and not agents.keys() >= set(ends):
        return "E41"
    tasks = [key.partition(" ")[0] for key in course.states]
    if task not in ("", "T0", *tasks) and kind not in ("R", "D"):
        return "E40"
    if course.contexts is not None and message.context not in ("", "S0", *course.contexts):
        return "E42"
    if not all(_exists(one, course) for one in data.references(message.data)):
        return "E43"
    if kind in ("R", "X"):  # another attempt: its state is that of a new hop
        return _unfit(message, (agents or {}).get(message.receiver, {}), course)
    asks = kind == "C" and message.sender[:1] == "W"
    if asks and course.asked.get(task, 0) >= MOST_QUESTIONS:
        return "E18"
    old = course.states.get(_hop(message), message.state if message.state == "R" else "N")
    is_kept = task not in ("", "T0") and message.state != ""
    return "E15" if is_kept and transition(old, message.state) == "E15" else ""


def _hop(message: Message) -> str:
    assigned = message.kind == "X" or message.sender[:1] == "O"
    return f"{message.task} {message.receiver if assigned else message.sender}"


def _unfit(message: Message, worker: dict[str, Any], course: Course) -> str:
    """Return why a worker cannot take a request or a hand-off, "" where it can."""
    called, limit = data.call(message.data)[0], course.max_depth
    limit = max(limit, min(limit + 2, _DEEPEST)) if message.pairs.get("reason") else limit
    if message.depth > min(limit, worker.get("maxDepth", _UNDECLARED_DEPTH) - 1):
        return "E16"
    if called and worker.get("caps") and called not in worker["caps"]:
        return "E19"
    if message.receiver in course.down:
        return "E30"
    return "E31" if message.receiver in course.busy else ""


def _exists(one: data.Reference, course: Course) -> bool:
    name = f"{one.task}:{one.name}" if one.kind == "FIELD" else one.name
    names = {"CTX": course.keys, "MSG": course.messages, "FIELD": course.fields}.get(
        one.kind, course.payloads
    )
    return names is None or name in names


def note(message: Message, course: Course) -> None:
    """Add a message that was accepted to what is known."""
    if course.messages is not None:
        course.messages.append(f"M{message.number}")
    if message.task not in ("", "T0"):
        asks = message.kind == "C" and message.sender[:1] == "W"
        course.asked[message.task] = course.asked.get(message.task, 0) + asks
        state = message.state or course.states.get(_hop(message), "N")
        course.states[_hop(message)] = state


def in_version(code: str, version: str) -> str:
    """Return a code of V5 as an older version writes it."""
    for source, target in (("V5", "V4"), ("V4", "V3"), ("V3", "V2")):
        code = tables.mapped(code, source, target)[0] if version < source else code
    return code


def follows(code: str) -> str:
    """Return the rule that follows on a code of V5, such as `retry-auto-max-2` (PR-580)."""
    return tables.described("!", code, "")
