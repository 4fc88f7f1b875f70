"""What follows from a line that an orchestrator sends itself: a person's, or its agent's.

The coordinator writes most lines; a worker that acts as an orchestrator may send
further ones in the same context. They are judged as those of workers are, and
one that is refused is not sent.

Source: PR-304, PR-517, PR-551, PR-552, PR-571, PR-574, PR-576, A-65.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol import questions
from council.core.protocol.assigning import fail
from council.core.protocol.exchange import (
    INVALID,
    LAST_TASK,
    Hop,
    Task,
    transition,
)
from council.core.protocol.hops import cancel_hop, conclude
from council.core.protocol.messages import (
    COORDINATOR,
    REGISTRY_CONTEXT,
    REGISTRY_TASK,
    USER,
    Message,
)
from council.core.protocol.protocol_ids import WORKER, role_of
from council.core.protocol.receiving import REFUSED, Verdict
from council.core.protocol.registry import FULL_LOAD, EntryStatus
from council.core.protocol.transaction import Transaction

SENT = "sent"
_INTRODUCES = ("R", "D", "B", "A")


def send_out(tx: Transaction, message: Message, to: tuple[str, ...]) -> Verdict:
    """Judge a line of an orchestrator and send it, with all that follows at once."""
    receivers = to or (message.receiver,)
    code = _fault_of(tx, message, receivers)
    if code:
        return Verdict(outcome=REFUSED, code=code, reason=_WORDS[code])
    if message.kind in ("R", "D"):
        message = _introduced(tx, message)
    task = tx.exchange.tasks.get(message.task)
    if message.kind == "R":
        for receiver in receivers:
            fault = _request(tx, tx.exchange.tasks[message.task], message, receiver)
            if fault:
                return Verdict(outcome=REFUSED, code=fault, reason=_WORDS[fault])
    elif task is not None and message.kind in _BRANCHES:
        return _BRANCHES[message.kind](tx, task, message, receivers)
    else:
        tx.post(message, to=receivers)
    return Verdict(outcome=SENT)


_WORDS = {
    "E13": "the user is asked by C or D",
    "E15": "the task is in another state",
    "E19": "the worker has no such capability",
    "E30": "the worker is unavailable",
    "E31": "the worker is busy",
    "E40": "there is no such task in this context",
    "E41": "there is no such agent",
    "E42": "there is no such context, or it is closed",
    "E99": "the context has no number left for a task",
}


def _fault_of(tx: Transaction, message: Message, receivers: tuple[str, ...]) -> str:
    """Return the code of what is wrong with a line before it meets its task, "" for nothing."""
    exchange = tx.exchange
    if not exchange.is_open or message.context not in ("", REGISTRY_CONTEXT, exchange.context):
        return "E42"
    anew = message.task in ("", REGISTRY_TASK) and message.kind in ("R", "D")
    if anew and exchange.next_task > LAST_TASK:
        return "E99"
    if message.kind == "R" and USER in receivers:
        return "E13"
    for one in receivers:
        if role_of(one) == WORKER and one != "W*" and tx.registry.get(one) is None:
            return "E41"
    if message.kind not in _INTRODUCES and message.task not in ("", REGISTRY_TASK, *exchange.tasks):
        return "E40"
    return _fault_of_target(tx, message) if message.kind == "R" else ""


def _fault_of_target(tx: Transaction, message: Message) -> str:
    """Return the code of what keeps a worker from a request, "" for nothing."""
    entry = tx.registry.get(message.receiver)
    call = message.pair("call")
    if entry is None or role_of(entry.id) != WORKER:
        return ""
    if call and entry.capabilities and call not in entry.capabilities:
        return "E19"
    if entry.status is not EntryStatus.ACTIVE:
        return "E30"
    return "E31" if entry.load >= FULL_LOAD else ""


def _introduced(tx: Transaction, message: Message) -> Message:
    """Make the task that a line names for the first time, the next one where it names none."""
    exchange = tx.exchange
    if message.task in ("", REGISTRY_TASK):
        message = message.copy(task=f"T{exchange.next_task}")
    if message.task in exchange.tasks:
        return message
    task = tx.new_task(
        message.task, priority=message.priority or "P1", budget=message.budget,
        atomic=message.says("atomic"),
    )  # fmt: skip
    tx.tell("task.created", task, priority=task.priority, caps=[])
    tx.tell("budget.set", task, budget=task.budget)
    return message


def _request(tx: Transaction, task: Task, message: Message, receiver: str) -> str:
    """Open an attempt for a request, or go on with the one under way; return a code or ""."""
    if task.is_over:
        return INVALID
    told = TaskState.R if message.state == TaskState.R else TaskState.N
    mine = [
        hop
        for hop in task.hops
        if not hop.parent and any(one.worker == receiver for one in hop.attempts)
    ]
    for hop in mine:
        attempt = hop.under_way
        if attempt is None:
            continue
        if transition(attempt.state, told) == INVALID:
            return INVALID
        number = _post(tx, message, receiver, hop)
        if told is TaskState.R and attempt.state is TaskState.N:
            tx.change(task, hop, attempt, TaskState.R)
        attempt.asked = number
        return ""
    hop = mine[-1] if mine else _free_hop(tx, task, message)
    number = _post(tx, message, receiver, hop)
    said, replaced = message.pair("retry"), message.pair("fallback_from")
    attempt = tx.new_attempt(
        hop, receiver, {"sentBy": message.sender}, message=number, asked=number,
        retry=int(said) if said.isdecimal() and len(said) < 4 else 0, fallback_from=replaced,
    )  # fmt: skip
    hop.again, hop.returned = None, False
    if told is TaskState.R:
        tx.change(task, hop, attempt, TaskState.R)
    return ""


def _free_hop(tx: Transaction, task: Task, message: Message) -> Hop:
    """Return the part that a request is for: one that lost its worker, or a new one."""
    replaced = message.pair("fallback_from")
    for hop in task.hops:
        last = hop.attempt
        is_free = hop.again is not None or (last is not None and last.worker == replaced)
        if not hop.parent and is_free and (replaced or last is None):
            return hop
    call, budget = message.pair("call"), message.budget
    return tx.new_hop(task, COORDINATOR, budget, call, message.data, depth=message.depth)


def _post(tx: Transaction, message: Message, receiver: str, hop: Hop) -> int:
    return tx.post(message.copy(receiver=receiver), to=(receiver,), hop=hop.number)


def _answer(tx: Transaction, task: Task, message: Message, receivers: tuple[str, ...]) -> Verdict:
    """Answer the question of a worker in the place of the user; an S counts as well (A-65)."""
    number = tx.post(message, to=receivers)
    given = message.pair("answer") or message.data
    for question in task.questions:
        if not (question.hop and question.is_open):
            continue
        attempt = task.attempt(question)
        if attempt.worker in receivers and not attempt.is_over:
            questions.close(tx, task, question, given, message.sender)
            attempt.asked = number
            break
    return Verdict(outcome=SENT)


def _tell(tx: Transaction, task: Task, message: Message, receivers: tuple[str, ...]) -> Verdict:
    """Inform a worker of something; with state X its part of the task is cancelled."""
    if message.state != TaskState.X:
        tx.post(message, to=receivers)
        return Verdict(outcome=SENT)
    parts = _parts_of(task, receivers)
    if not parts:
        return Verdict(outcome=REFUSED, code=INVALID, reason=_WORDS[INVALID])
    for hop in parts:
        cancel_hop(tx, task, hop, message.pair("reason") or "cancelled", message)
    conclude(tx, task)
    return Verdict(outcome=SENT)


def _parts_of(task: Task, workers: tuple[str, ...]) -> list[Hop]:
    """Return the parts of a task that these workers are at."""
    return [hop for hop in task.hops if hop.under_way and hop.under_way.worker in workers]


def _give_up(tx: Transaction, task: Task, message: Message, receivers: tuple[str, ...]) -> Verdict:
    """Inform a worker of an error: its attempt has failed, and what follows on the code follows."""
    tx.post(message, to=receivers)
    for hop in _parts_of(task, receivers):
        reason = message.pair("desc") or message.data
        fail(tx, task, hop, message.code or "E99", reason, over=True)
    return Verdict(outcome=SENT)


def _ask(tx: Transaction, task: Task, message: Message, receivers: tuple[str, ...]) -> Verdict:
    """Put a choice to the user (PR-576)."""
    number = tx.post(message, to=receivers)
    text = message.pair("question") or message.data
    options = tuple(
        value for name, value in message.pairs if name[:3] == "opt" and name[3:].isdecimal()
    )
    if receivers == (USER,):
        questions.note(tx, task, number, text, options)
    return Verdict(outcome=SENT)


_BRANCHES = {"C": _answer, "S": _answer, "U": _tell, "E": _give_up, "D": _ask}
