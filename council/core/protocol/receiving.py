"""What follows from a message that a worker or the user sent.

A message is first judged: does it name what exists, may its sender send it,
does it fit the state of the attempt. What fails is answered with an E, and
the worker is asked once more; what was heard already changes nothing.

Source: PR-548, PR-551, PR-552, PR-554, PR-558, PR-559, PR-562, PR-563, PR-571, PR-574 to PR-578,
PR-582.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol import handoffs, questions
from council.core.protocol.attempts import fail
from council.core.protocol.chunks import fault_of_part, hold, number_of_part, whole_message
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import ENDED, Attempt, Hop, Task
from council.core.protocol.hops import cancel_task, drop_hops, hand_back, source_of
from council.core.protocol.messages import (
    COORDINATOR,
    REGISTRY_CONTEXT,
    USER,
    Message,
    compose,
    inline,
)
from council.core.protocol.payload import flags_and_pairs
from council.core.protocol.transitions import DUPLICATE, INVALID, OK, state_told, transition
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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


class Verdict(Record):
    """What became of a message: `taken`, `duplicate`, `ignored` or `refused`, and why."""

    outcome: str
    code: str = ""
    reason: str = ""


def take_in(desk: Desk, message: Message, run: str = "") -> Verdict:
    """Take a message into a context, with all that follows at once."""
    exchange = desk.exchange
    strange = message.context not in ("", REGISTRY_CONTEXT, exchange.context)
    if strange or not exchange.is_open:
        return _without_context(desk, message, strange=strange)
    if message.sender == USER:
        return _from_user(desk, message)
    if desk.registry.get(message.sender) is None:
        return _refuse(desk, message, "E41", {"desc": "unknown agent", "id": message.sender})
    if message.kind in _NOT_HEARD:
        return _ignore(desk, message, _NOT_HEARD[message.kind])
    task = exchange.tasks.get(message.task)
    found = None if task is None else _part_of(desk, task, message, run)
    if task is None or found is None:
        return _refuse(desk, message, "E40", {"desc": "unknown task", "id": message.task})
    return _from_worker(desk, task, *found, message, run)


def _without_context(desk: Desk, message: Message, *, strange: bool) -> Verdict:
    """Judge what belongs to another context, or to one that is over."""
    if not strange and _stands(desk, message):
        return _repeated(desk, message)
    return _refuse(desk, message, "E42", {"desc": "unknown session", "ctx": message.context})


def refuse_line(
    desk: Desk, message: Message, code: str, details: str, run: str, explanation: str = ""
) -> Verdict:
    """Answer a line with faults by the code of the first one (PR-537)."""
    task = desk.exchange.tasks.get(message.task)
    part = None if task is None else _part_of(desk, task, message, run)
    desk.end_run(run)
    pairs = {"desc": details or "invalid message"}
    if explanation:
        key = f"r{desk.exchange.next_message}"
        desk.exchange.values[key] = explanation
        pairs["see"] = f"#CTX:{key}"
    # A depth that has no form is no hand-off that went too deep: the user is told what is true.
    fails_as = "E10" if code == "E16" else code
    return _refuse(desk, message, code, pairs, task, part, fails_as=fails_as)


def _ignore(desk: Desk, message: Message, reason: str) -> Verdict:
    task = desk.exchange.tasks.get(message.task)
    desk.tell(
        "message.ignored", task, agent=message.sender, kind=message.kind, said=message.id,
        reason=reason,
    )  # fmt: skip
    return Verdict(outcome=IGNORED, reason=reason)


def _refuse(
    desk: Desk,
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
    desk.tell(
        "message.refused", task, agent=message.sender, kind=message.kind, said=message.id,
        code=code, reason=reason,
    )  # fmt: skip
    verdict = Verdict(outcome=REFUSED, code=code, reason=reason)
    if message.sender == USER or desk.registry.get(message.sender) is None:
        return verdict
    hop, attempt = part if part else (None, None)
    told = {name: inline(str(value), _TOLD_CHARS) for name, value in pairs.items() if str(value)}
    reply = compose(
        COORDINATOR, message.sender, "E", pairs=told, task=message.task,
        priority=message.priority or "P1", code=code, depth=hop.depth if hop else message.depth,
        budget=hop.left if hop else message.budget,
    )  # fmt: skip
    parent = attempt.asked if attempt else 0
    number = desk.post(reply, to=(message.sender,), parent=parent, hop=hop.number if hop else 0)
    if task is None or hop is None or attempt is None or attempt.state is not TaskState.R:
        return verdict
    attempt.refused += 1
    if attempt.refused > MOST_REFUSED:
        fail(desk, task, hop, fails_as or code, reason)
    elif attempt.asked:
        attempt.asked = number
    return verdict


def _part_of(desk: Desk, task: Task, message: Message, run: str) -> tuple[Hop, Attempt] | None:
    """Return the hop and the attempt of a task in which a worker speaks."""
    known = desk.exchange.runs.get(run)
    if known is not None and known.task == task.id and known.attempt:
        hop = task.hop(known.hop)
        return hop, hop.attempts[known.attempt - 1]
    mine = [(hop, one) for hop in task.hops for one in hop.attempts if one.worker == message.sender]
    if not mine:
        return None

    def fits(part: tuple[Hop, Attempt]) -> tuple[bool, bool, bool, int, int]:
        hop, attempt = part
        return (
            attempt.state not in ENDED,
            hop.depth == message.depth,
            attempt.asked > 0,
            hop.number,
            attempt.number,
        )

    return max(mine, key=fits)


def _from_worker(
    desk: Desk, task: Task, hop: Hop, attempt: Attempt, message: Message, run: str
) -> Verdict:
    """Judge a message of a worker by the state of its attempt, and take it."""
    if message.kind == "A":
        desk.take(message, parent=attempt.message, hop=hop.number)
        desk.end_run(run)
        return Verdict(outcome=TAKEN)
    told = state_told(message.kind, message.state)
    follows = transition(attempt.state, told)
    expected = _TOLD.get(message.kind)
    if follows != DUPLICATE and (
        (expected is not None and told is not expected) or (expected is None and told in ENDED)
    ):
        follows = INVALID
    if follows == DUPLICATE or _was_heard(desk, message, attempt):
        desk.end_run(run)
        return _repeated(desk, message)
    if follows == INVALID:
        desk.end_run(run)
        pairs = {"desc": "invalid state", "from": str(attempt.state), "to": str(told)}
        return _refuse(desk, message, INVALID, pairs, task, (hop, attempt))
    if follows == OK and told is TaskState.R:
        desk.change(task, hop, attempt, TaskState.R)
    desk.end_run(run)
    if message.kind != "X":
        _spend(desk, task, hop, message)
    return _BRANCHES[message.kind](desk, task, hop, attempt, message)


def _was_heard(desk: Desk, message: Message, attempt: Attempt) -> bool:
    """Tell whether a worker repeats what it said, while nothing is asked of it."""
    return not attempt.asked and message.kind != "S" and _stands(desk, message)


def _repeated(desk: Desk, message: Message) -> Verdict:
    task = desk.exchange.tasks.get(message.task)
    desk.tell("message.repeated", task, agent=message.sender, kind=message.kind, said=message.id)
    return Verdict(outcome=REPEATED)


def _stands(desk: Desk, message: Message) -> bool:
    """Tell whether the very same message was taken before."""
    return any(
        (one.said or one.message.number) == message.number
        and (one.message.sender, one.message.kind) == (message.sender, message.kind)
        and (one.message.task, one.message.data) == (message.task, message.data)
        for one in desk.exchange.posted
    )


def _spend(desk: Desk, task: Task, hop: Hop, message: Message) -> None:
    """Lower the budget to what a worker says is left; it never grows by that (PR-582)."""
    if message.budget is None or hop.left is None:
        return
    if message.budget > hop.left:
        desk.tell(
            "message.warned", task, agent=message.sender, said=message.id,
            warning="W_BUDGET_GREW", budget=message.budget, left=hop.left,
        )  # fmt: skip
        return
    hop.left = message.budget


def _keep_fields(task: Task, pairs: Iterable[tuple[str, str]]) -> None:
    for name, value in pairs:
        if name in task.fields or len(task.fields) < _FIELDS_KEPT:
            task.fields[name] = value


def _success(desk: Desk, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    part = number_of_part(message.data)
    if part is None:
        return _done(desk, task, hop, attempt, message, message.data)
    fault = fault_of_part(part)
    if fault:
        return _refuse(desk, message, "E10", {"desc": fault}, task, (hop, attempt))
    whole = hold(attempt, message.data, part)
    if whole:
        key = f"{task.id}h{hop.number}s".lower()
        told = whole_message(desk.exchange, message, whole, key)
        return _done(desk, task, hop, attempt, told, whole)
    desk.take(message, parent=attempt.asked or attempt.message, hop=hop.number)
    _give_time(desk, task, hop, attempt)
    return Verdict(outcome=TAKEN)


def _give_time(desk: Desk, task: Task, hop: Hop, attempt: Attempt) -> None:
    """Let the time of a worker that was heard begin anew; a run has all the time of its lease."""
    if attempt.asked and not desk.is_run(task, hop):
        attempt.ends_at = desk.now + desk.rules.worker_timeout


def _done(
    desk: Desk, task: Task, hop: Hop, attempt: Attempt, message: Message, result: str
) -> Verdict:
    _keep_fields(task, flags_and_pairs(result)[1].items())
    task.fields["S"] = result
    hop.result, hop.returned = result, True
    to = _home(desk, task, hop, message)
    number = desk.take(
        message.copy(receiver=hop.source if hop.parent else message.receiver),
        to=to, parent=attempt.asked or attempt.message, hop=hop.number,
    )  # fmt: skip
    desk.change(task, hop, attempt, TaskState.D)
    drop_hops(desk, task, hop, attempt, "its source is done")
    if to:
        hand_back(task, hop, number)
    return Verdict(outcome=TAKEN)


def _home(desk: Desk, task: Task, hop: Hop, message: Message) -> tuple[str, ...]:
    """Return to whose inbox an answer goes: the source of a hand-off that still waits for it."""
    if not hop.parent:
        return ()
    if message.receiver != hop.source:
        desk.tell(
            "message.warned", task, agent=message.sender, said=message.id,
            warning="W_RECEIVER", to=message.receiver, source=hop.source,
        )  # fmt: skip
    return () if source_of(task, hop) is None else (hop.source,)


def _error(desk: Desk, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    code = message.code if message.code not in ("", "E00") else "E99"
    desk.take(message.copy(code=code), parent=attempt.asked or attempt.message, hop=hop.number)
    needed = message.pair("needed")
    fail(
        desk, task, hop, code, message.pair("desc") or message.data,
        needed=int(needed) if needed.isdecimal() and len(needed) < 10 else 0, own_words=True,
    )  # fmt: skip
    return Verdict(outcome=TAKEN)


def _clarify(desk: Desk, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    if task.clarifications >= desk.rules.max_clarifications:
        pairs: dict[str, object] = {"desc": "max_clarify", "max": desk.rules.max_clarifications}
        return _refuse(desk, message, "E18", pairs, task, (hop, attempt))
    task.clarifications += 1
    number = desk.take(message, parent=attempt.asked or attempt.message, hop=hop.number)
    attempt.asked, attempt.ends_at = 0, None
    options = tuple(one.strip() for one in message.pair("options").split(",") if one.strip())
    questions.ask(
        desk, task, message.pair("question") or message.data, options, hop=hop, parent=number
    )
    return Verdict(outcome=TAKEN)


def _progress(desk: Desk, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    _keep_fields(task, message.pairs)
    desk.take(message, parent=attempt.asked or attempt.message, hop=hop.number)
    attempt.progress = message.data
    _give_time(desk, task, hop, attempt)
    return Verdict(outcome=TAKEN)


def _hand_on(desk: Desk, task: Task, hop: Hop, attempt: Attempt, message: Message) -> Verdict:
    refused = handoffs.refusal(message, hop, desk.registry, desk.rules)
    if refused is None:
        handoffs.approve(desk, task, hop, attempt, message)
        return Verdict(outcome=TAKEN)
    code, pairs = refused
    desk.tell(
        "handoff.refused", task, agent=message.sender, hop=hop.number, target=message.receiver,
        code=code, reason=str(pairs["desc"]),
    )  # fmt: skip
    return _refuse(desk, message, code, pairs, task, (hop, attempt))


_BRANCHES = {
    "S": _success,
    "E": _error,
    "C": _clarify,
    "U": _progress,
    "X": _hand_on,
}


def _from_user(desk: Desk, message: Message) -> Verdict:
    """Take what the user says: the answer to an open question (PR-577), or that a task be ended."""
    tasks = desk.exchange.tasks.values()
    named = desk.exchange.tasks.get(message.task)
    if message.kind == "U" and message.state == TaskState.X and named and not named.is_over:
        desk.take(message)
        cancel_task(desk, named, message.pair("reason") or "cancelled by the user")
        return Verdict(outcome=TAKEN)
    open_ones = [
        (task, one)
        for task in tasks
        if not task.is_over and message.task in ("", task.id)
        for one in task.questions
        if one.is_open
    ]
    if message.kind not in ("C", "S") or not open_ones:
        reason = "nobody has asked" if message.kind in ("C", "S") else "the user answers by C"
        return _refuse(desk, message, "E40", {"desc": reason})
    task, question = open_ones[0]
    given = message.pair("choice") or message.pair("answer") or message.data
    text = questions.chosen(question, given)
    if not text:
        return _refuse(desk, message, "E10", {"desc": "no such option"}, task)
    number = desk.take(message, parent=question.message, hop=question.hop)
    questions.answer(desk, task, question, text, USER, number)
    return Verdict(outcome=TAKEN)
