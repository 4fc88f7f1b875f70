"""What follows from a message that a worker or the user sent.

A message is first judged: does it name what exists, may its sender send it,
does it fit the state of the attempt. What fails is answered with an E, and
the worker is asked once more; what was heard already changes nothing.

Source: PR-548, PR-551, PR-552, PR-554, PR-558, PR-559, PR-562, PR-563, PR-571, PR-574 to PR-578,
PR-582.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from council.core.conversations.conversation import TaskState
from council.core.protocol import questions
from council.core.protocol.assigning import fail
from council.core.protocol.exchange import (
    DUPLICATE,
    ENDED,
    INVALID,
    OK,
    Attempt,
    Exchange,
    Hop,
    Task,
    transition,
)
from council.core.protocol.hops import (
    approve,
    cancel_task,
    drop_hops,
    hand_back,
    handoff_refusal,
    source_of,
)
from council.core.protocol.messages import (
    COORDINATOR,
    DATA_CHARS,
    MOST_PARTS,
    REGISTRY_CONTEXT,
    USER,
    Message,
    compose,
    inline,
)
from council.core.protocol.payload import flags_and_pairs
from council.core.protocol.transaction import Transaction
from council.core.record import Record

TAKEN, REPEATED, IGNORED, REFUSED = "taken", "duplicate", "ignored", "refused"
MOST_REFUSED = 2
# Two values of this length, their names and their signs fit into DATA.
_TOLD_CHARS = 90
_FIELDS_KEPT = 100
_NOT_HEARD = {
    **dict.fromkeys("RBD", "only an orchestrator sends it"),
    **dict.fromkeys("JLKQH", "it is for the registry"),
}
_TOLD = {"S": TaskState.D, "E": TaskState.F}
RESULT = "result"
_LONGEST_NUMBER = 12


class Verdict(Record):
    """What became of a message: `taken`, `duplicate`, `ignored` or `refused`, and why."""

    outcome: str
    code: str = ""
    reason: str = ""


def take_in(tx: Transaction, message: Message, run: str = "") -> Verdict:
    """Take a message into a context, with all that follows at once."""
    exchange = tx.exchange
    strange = message.context not in ("", REGISTRY_CONTEXT, exchange.context)
    if strange or not exchange.is_open:
        pairs = {"desc": "unknown session", "ctx": message.context}
        is_known = not strange and _stands(tx, message)
        return _repeated(tx, message) if is_known else _refuse(tx, message, "E42", pairs)
    if message.sender == USER:
        return _from_user(tx, message)
    if tx.registry.get(message.sender) is None:
        return _refuse(tx, message, "E41", {"desc": "unknown agent", "id": message.sender})
    if message.kind in _NOT_HEARD:
        return _ignore(tx, message, _NOT_HEARD[message.kind])
    task = exchange.tasks.get(message.task)
    found = None if task is None else _part_of(tx, task, message, run)
    if task is None or found is None:
        return _refuse(tx, message, "E40", {"desc": "unknown task", "id": message.task})
    return _from_worker(tx, task, *found, message, run)


def refuse_line(
    tx: Transaction, message: Message, code: str, details: str, run: str, explanation: str = ""
) -> Verdict:
    """Answer a line with faults by the code of the first one (PR-537)."""
    task = tx.exchange.tasks.get(message.task)
    part = None if task is None else _part_of(tx, task, message, run)
    tx.end_run(run)
    pairs = {"desc": details or "invalid message"}
    if explanation:
        key = f"r{tx.exchange.next_message}"
        tx.exchange.values[key] = explanation
        pairs["see"] = f"#CTX:{key}"
    # A depth that has no form is no hand-off that went too deep: the user reads what is true.
    fails_as = "E10" if code == "E16" else code
    return _refuse(tx, message, code, pairs, task, part, fails_as=fails_as)


def _ignore(tx: Transaction, message: Message, reason: str) -> Verdict:
    task = tx.exchange.tasks.get(message.task)
    tx.tell(
        "message.ignored", task, agent=message.sender, kind=message.kind, said=message.id,
        reason=reason,
    )  # fmt: skip
    return Verdict(outcome=IGNORED, reason=reason)


def _refuse(
    tx: Transaction,
    message: Message,
    code: str,
    pairs: Mapping[str, object],
    task: Task | None = None,
    part: tuple[Hop, Attempt] | None = None,
    *,
    fails_as: str = "",
) -> Verdict:
    """Answer a message with an E; the worker is asked once more, but not for ever.

    In the end its attempt fails with `fails_as`, "" for `code`.
    """
    reason = str(pairs.get("desc", ""))
    tx.tell_refused(message, code, reason, task)
    verdict = Verdict(outcome=REFUSED, code=code, reason=reason)
    if message.sender == USER or tx.registry.get(message.sender) is None:
        return verdict
    hop, attempt = part if part else (None, None)
    told = {name: inline(str(value), _TOLD_CHARS) for name, value in pairs.items() if str(value)}
    depth, budget = (hop.depth, hop.left) if hop else (message.depth, message.budget)
    reply = compose(
        COORDINATOR, message.sender, "E", pairs=told, task=message.task,
        priority=message.priority or "P1", code=code, depth=depth, budget=budget,
    )  # fmt: skip
    parent = attempt.asked if attempt else 0
    number = tx.post(reply, to=(message.sender,), parent=parent, hop=hop.number if hop else 0)
    if task is None or hop is None or attempt is None or attempt.state is not TaskState.R:
        return verdict
    attempt.refused += 1
    if attempt.refused > MOST_REFUSED:
        fail(tx, task, hop, fails_as or code, reason)
    elif attempt.asked:
        attempt.asked = number
    return verdict


def _part_of(tx: Transaction, task: Task, message: Message, run: str) -> tuple[Hop, Attempt] | None:
    """Return the hop and the attempt of a task in which a worker speaks."""
    known = tx.exchange.runs.get(run)
    if known is not None and known.task == task.id and known.attempt:
        return task.hop(known.hop), task.attempt(known)
    mine = [(hop, one) for hop in task.hops for one in hop.attempts if one.worker == message.sender]
    if not mine:
        return None

    def fits(part: tuple[Hop, Attempt]) -> tuple[bool, bool, bool, int, int]:
        hop, one = part
        is_deep = hop.depth == message.depth
        return not one.is_over, is_deep, one.asked > 0, hop.number, one.number

    return max(mine, key=fits)


def _from_worker(
    tx: Transaction, task: Task, hop: Hop, attempt: Attempt, message: Message, run: str
) -> Verdict:
    """Judge a message of a worker by the state of its attempt, and take it."""
    if message.kind == "A":
        tx.take(message, parent=attempt.message, hop=hop.number)
        tx.end_run(run)
        return Verdict(outcome=TAKEN)
    expected = _TOLD.get(message.kind)
    # A busy worker may answer without a state (PR-578).
    told = TaskState(message.state) if message.state else expected or TaskState.R
    follows = transition(attempt.state, told)
    if follows != DUPLICATE and (
        (expected is not None and told is not expected) or (expected is None and told in ENDED)
    ):
        follows = INVALID
    tx.end_run(run)
    # A worker may repeat what it said while nothing is asked of it.
    was_heard = not attempt.asked and message.kind != "S" and _stands(tx, message)
    if follows == DUPLICATE or was_heard:
        return _repeated(tx, message)
    if follows == INVALID:
        pairs = {"desc": "invalid state", "from": str(attempt.state), "to": str(told)}
        return _refuse(tx, message, INVALID, pairs, task, (hop, attempt))
    if follows == OK and told is TaskState.R:
        tx.change(task, hop, attempt, TaskState.R)
    if message.kind != "X":
        _spend(tx, task, hop, message)
    return _BRANCHES[message.kind](tx, task, hop, attempt, message)


def _repeated(tx: Transaction, message: Message) -> Verdict:
    task = tx.exchange.tasks.get(message.task)
    tx.tell("message.repeated", task, agent=message.sender, kind=message.kind, said=message.id)
    return Verdict(outcome=REPEATED)


def _stands(tx: Transaction, message: Message) -> bool:
    """Return true if the very same message was taken before."""
    return any(
        (one.said or one.message.number) == message.number
        and (one.message.sender, one.message.kind) == (message.sender, message.kind)
        and (one.message.task, one.message.data) == (message.task, message.data)
        for one in tx.exchange.posted
    )


def _spend(tx: Transaction, task: Task, hop: Hop, message: Message) -> None:
    """Lower the budget to what a worker says is left; it never grows by that (PR-582)."""
    if message.budget is None or hop.left is None:
        return
    if message.budget > hop.left:
        tx.tell(
            "message.warned", task, agent=message.sender, said=message.id,
            warning="W_BUDGET_GREW", budget=message.budget, left=hop.left,
        )  # fmt: skip
        return
    hop.left = message.budget


def _keep_fields(task: Task, pairs: Iterable[tuple[str, str]]) -> None:
    for name, value in pairs:
        if name in task.fields or len(task.fields) < _FIELDS_KEPT:
            task.fields[name] = value


def _success(tx: Transaction, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    part = number_of_part(message.data)
    if part is None:
        return _done(tx, task, hop, attempt, message, message.data)
    number, count = part
    fault = "" if 1 <= number <= count else f"part {number} of {count}"
    fault = f"{MOST_PARTS} parts at most" if count > MOST_PARTS else fault
    if fault:
        return _refuse(tx, message, "E10", {"desc": fault}, task, (hop, attempt))
    whole = hold(attempt, message.data, part)
    if whole:
        key = f"{task.id}h{hop.number}s".lower()
        told = whole_message(tx.exchange, message, whole, key)
        return _done(tx, task, hop, attempt, told, whole)
    _take(tx, hop, attempt, message)
    return _give_time(tx, task, hop, attempt)


def _take(
    tx: Transaction, hop: Hop, attempt: Attempt, message: Message, to: tuple[str, ...] = ()
) -> int:
    return tx.take(message, to=to, parent=attempt.asked or attempt.message, hop=hop.number)


def number_of_part(data: str) -> tuple[int, int] | None:
    """Return which part of how many DATA is, None when it is no part."""
    head, semicolon, _ = data.partition(";")
    number, slash, count = head.removeprefix("part=").partition("/")
    is_part = head.startswith("part=") and semicolon and slash and number and count
    numbers = number + count
    if not is_part or not (numbers.isascii() and numbers.isdigit()):
        return None
    return (int(number), int(count)) if len(numbers) <= _LONGEST_NUMBER else None


def hold(attempt: Attempt, data: str, part: tuple[int, int]) -> str:
    """Keep a part of an answer; return the whole once nothing is missing, else "".

    A part of another number of parts begins the answer anew. Where each part names its text,
    the texts are joined under the name of the first one.
    """
    number, count = part
    if any(not key.endswith(f"/{count}") for key in attempt.parts):
        attempt.parts = {}
    attempt.parts[f"{number}/{count}"] = data
    if len(attempt.parts) < count:
        return ""
    texts = [attempt.parts[f"{one}/{count}"].partition(";")[2] for one in range(1, count + 1)]
    head = f"{RESULT}="
    if all(one.startswith(head) for one in texts):
        texts = [texts[0], *(one.removeprefix(head) for one in texts[1:])]
    attempt.parts = {}
    return "".join(texts)


def whole_message(exchange: Exchange, message: Message, data: str, key: str) -> Message:
    """Return the message that says all of `data`; what is too long lies in the context.

    Args:
        exchange: The context; a value of it holds the text that no DATA can.
        message: The part that came last.
        data: The joined text.
        key: The key of that value.
    """
    if len(data) > DATA_CHARS:
        flags, pairs = flags_and_pairs(data)
        is_one = list(pairs) == [RESULT] and not flags
        exchange.values[key] = pairs[RESULT] if is_one else data
        data = f"{RESULT}=#CTX:{key}"
    return message.saying(data)


def _give_time(tx: Transaction, task: Task, hop: Hop, attempt: Attempt) -> Verdict:
    """Let the time of a worker that was heard begin anew; a run has all the time of its lease."""
    if attempt.asked and not tx.is_run(task, hop):
        attempt.ends_at = tx.now + tx.rules.worker_timeout
    return Verdict(outcome=TAKEN)


def _done(
    tx: Transaction, task: Task, hop: Hop, attempt: Attempt, message: Message, result: str
) -> Verdict:
    _keep_fields(task, flags_and_pairs(result)[1].items())
    task.fields["S"] = result
    hop.result, hop.returned = result, True
    to = _home(tx, task, hop, message)
    message = message.copy(receiver=hop.source) if hop.parent else message
    number = _take(tx, hop, attempt, message, to)
    tx.change(task, hop, attempt, TaskState.D)
    drop_hops(tx, task, hop, attempt, "its source is done")
    if to:
        hand_back(task, hop, number)
    return Verdict(outcome=TAKEN)


def _home(tx: Transaction, task: Task, hop: Hop, message: Message) -> tuple[str, ...]:
    """Return to whose inbox an answer goes: the source of a hand-off that still waits for it."""
    if not hop.parent:
        return ()
    if message.receiver != hop.source:
        tx.tell(
            "message.warned", task, agent=message.sender, said=message.id,
            warning="W_RECEIVER", to=message.receiver, source=hop.source,
        )  # fmt: skip
    return () if source_of(task, hop) is None else (hop.source,)


def _error(tx: Transaction, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    code = message.code if message.code not in ("", "E00") else "E99"
    _take(tx, hop, attempt, message.copy(code=code))
    needed = message.pair("needed")
    fail(
        tx, task, hop, code, message.pair("desc") or message.data,
        needed=int(needed) if needed.isdecimal() and len(needed) < 10 else 0, own_words=True,
    )  # fmt: skip
    return Verdict(outcome=TAKEN)


def _clarify(tx: Transaction, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    if task.clarifications >= tx.rules.max_clarifications:
        pairs: dict[str, object] = {"desc": "max_clarify", "max": tx.rules.max_clarifications}
        return _refuse(tx, message, "E18", pairs, task, (hop, attempt))
    task.clarifications += 1
    number = _take(tx, hop, attempt, message)
    attempt.asked, attempt.ends_at = 0, None
    options = tuple(one.strip() for one in message.pair("options").split(",") if one.strip())
    text = message.pair("question") or message.data
    questions.ask(tx, task, text, options, hop=hop, parent=number)
    return Verdict(outcome=TAKEN)


def _progress(tx: Transaction, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    _keep_fields(task, message.pairs)
    _take(tx, hop, attempt, message)
    attempt.progress = message.data
    return _give_time(tx, task, hop, attempt)


def _hand_on(tx: Transaction, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    refused = handoff_refusal(tx, message, hop)
    if refused is None:
        approve(tx, task, hop, attempt, message)
        return Verdict(outcome=TAKEN)
    code, pairs = refused
    tx.tell(
        "handoff.refused", task, agent=message.sender, hop=hop.number, target=message.receiver,
        code=code, reason=str(pairs["desc"]),
    )  # fmt: skip
    return _refuse(tx, message, code, pairs, task, (hop, attempt))


_BRANCHES = {
    "S": _success,
    "E": _error,
    "C": _clarify,
    "U": _progress,
    "X": _hand_on,
}


def _from_user(tx: Transaction, message: Message) -> Verdict:
    """Take what the user says: the answer to an open question (PR-577), or that a task be ended."""
    named = tx.exchange.tasks.get(message.task)
    if message.kind == "U" and message.state == TaskState.X and named and not named.is_over:
        tx.take(message)
        cancel_task(tx, named, message.pair("reason") or "cancelled by the user")
        return Verdict(outcome=TAKEN)
    open_ones = [
        (task, one)
        for task in tx.exchange.open_tasks
        if message.task in ("", task.id)
        for one in task.questions
        if one.is_open
    ]
    if message.kind not in ("C", "S") or not open_ones:
        reason = "nobody has asked" if message.kind in ("C", "S") else "the user answers by C"
        return _refuse(tx, message, "E40", {"desc": reason})
    task, question = open_ones[0]
    given = message.pair("choice") or message.pair("answer") or message.data
    text = questions.chosen(question, given)
    if not text:
        return _refuse(tx, message, "E10", {"desc": "no such option"}, task)
    number = tx.take(message, parent=question.message, hop=question.hop)
    questions.answer(tx, task, question, text, USER, number)
    return Verdict(outcome=TAKEN)
