"""What depends on more than one message: what exists, the states of tasks, questions, depth."""

from __future__ import annotations

from council.agents.registry import Worker
from council.tasks.model import FULL, Context
from council.tasks.wire import data
from council.tasks.wire.model import Message

MOST_QUESTIONS = 2
_DEPTH, _DEEPEST = 3, 5  # of hand-offs, without and with `reason=`
_ANY = Worker(agent_id="")


def transition(old: str, new: str) -> str:
    """Return what a change of a task's state is: `ok`, `same`, `duplicate` or `E15` (PR-412)."""
    if old == new:
        return "same" if old in "NR" else "duplicate"
    return "ok" if old + new in ("NR", "RD", "RF", "NX", "RX") else "E15"


def judge(message: Message, state: Context) -> str:
    """Return the V5 code of what is wrong with a valid message, "" for nothing."""
    workers, task, kind = state.workers, message.task, message.kind
    ends = {end for end in (message.sender, message.receiver) if end[:1] == "W" and end != "W*"}
    if kind not in ("J", "A") and not ends <= workers.keys():
        return "E41"
    if task not in ("", "T0", *state.tasks) and kind not in ("R", "D"):
        return "E40"
    if not all(_exists(*one, state) for one in data.references(message.data)):
        return "E43"
    if kind in ("R", "X"):  # another attempt: its state is that of a new hop
        return _unfit(message, state)
    if task in ("", "T0"):
        return ""
    is_question = kind == "C" and message.sender[:1] == "W"
    if is_question and state.tasks[task].questions >= MOST_QUESTIONS:
        return "E18"
    who = message.receiver if message.sender[:1] == "O" else message.sender
    hops = [hop.state for hop in state.hops.values() if (hop.task, hop.worker) == (task, who)]
    old = [message.state if message.state == "R" else "N", *hops][-1]
    return "E15" if message.state and transition(old, message.state) == "E15" else ""


def _unfit(message: Message, state: Context) -> str:
    """Return why a worker cannot take a request or a hand-off, "" where it can."""
    capability, worker = message.pairs.get("call", ""), state.workers.get(message.receiver, _ANY)
    limit = _DEEPEST if message.pairs.get("reason") else _DEPTH
    if message.depth > min(limit, worker.max_depth - 1):
        return "E16"
    if capability and worker.caps and capability not in worker.caps:
        return "E19"
    if message.receiver in state.down:
        return "E30"
    return "E31" if worker.load >= FULL else ""


def _exists(kind: str, name: str, state: Context) -> bool:
    known = {
        "CTX": state.keys,
        "REF": state.fields,
        "MSG": [f"M{number}" for number in state.lines],
    }
    return name in known[kind] or (kind == "REF" and ":" not in name)  # a stored text
