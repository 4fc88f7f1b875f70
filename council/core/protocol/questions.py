"""Questions: of workers, and those that are put to the user.

A worker may ask; the user is given a choice where there are two to four short
options, and an open question otherwise. A question counts its time from when
it was put. What follows when that is over, the settings say: it goes on
waiting, which is usual; the first option is taken, and the answer says so; or
the task is given up. While a question waits the task uses up none of its time.

Source: PR-554, PR-574 to PR-577, OP-007, A-65 to A-67.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import NOBODY, Hop, Question, Task
from council.core.protocol.hops import cancel_hop, end_task
from council.core.protocol.messages import COORDINATOR, DATA_CHARS, USER, compose, inline, is_inline
from council.core.protocol.selection import candidates_of
from council.core.protocol.transaction import Transaction
from council.core.reading_answers.protocol_lines import without_lines

MOST_OPTIONS = 4
MOST_WORDS = 3
WAIT, FIRST, ABANDON = "wait", "first", "abandon"
DECIDE = "decide yourself"
_ANSWER_CHARS = 120
_WHO = ("No capability is named. Who is to do this?", "Aucune capacité n’est nommée. Qui le fera ?")
_TIMED_OUT = "E23"


def are_offered(options: tuple[str, ...]) -> bool:
    """Return true if these options can be put to the user as a choice (PR-576)."""
    return 2 <= len(options) <= MOST_OPTIONS and all(
        is_inline(one, 40) and 1 <= len(one.split()) <= MOST_WORDS for one in options
    )


def ask(
    tx: Transaction,
    task: Task,
    text: str,
    options: tuple[str, ...] = (),
    *,
    hop: Hop | None = None,
    parent: int = 0,
) -> Question:
    """Put a question to the user: a choice (D) where the options allow it, else an open one."""
    text, options = without_lines(text), tuple(without_lines(one) for one in options)
    pairs: dict[str, object] = {}
    if are_offered(options):
        pairs = {f"opt{number}": one for number, one in enumerate(options, 1)}
    elif options:
        pairs = {"options": inline(",".join(options), 60)}
    used = sum(len(name) + len(str(value)) + 2 for name, value in pairs.items())
    told = {"question": inline(text, DATA_CHARS - used - len("question=")), **pairs}
    message = compose(
        COORDINATOR, USER, "D" if are_offered(options) else "C", pairs=told, task=task.id,
        priority=task.priority, state=TaskState.R,
    )  # fmt: skip
    number = tx.post(message, to=(USER,), parent=parent, hop=hop.number if hop else 0)
    return note(tx, task, number, text, options, hop=hop)


def ask_who(tx: Transaction, task: Task) -> None:
    """Ask the user which worker is to do a task that names no capability, if there is any."""
    here = candidates_of(tx.registry)
    names = [inline(one.agent or one.id, 40) for one in here]
    if not here:
        return
    text = _WHO[tx.exchange.lang == "fr"]
    abilities = (", ".join(one.capabilities) for one in here)
    told = [f"{name} ({caps})" for name, caps in zip(names, abilities, strict=True)]
    question = ask(tx, task, f"{text} {', '.join(told)}", tuple(names))
    question.workers = tuple(one.id for one in here)


def workers_of(task: Task) -> tuple[str, ...]:
    """Return the worker that the user said is to do a task, () where any may."""
    for one in reversed(task.questions):
        if one.workers and one.answer in one.options:
            return (one.workers[one.options.index(one.answer)],)
    return ()


def note(
    tx: Transaction,
    task: Task,
    number: int,
    text: str,
    options: tuple[str, ...],
    *,
    hop: Hop | None = None,
) -> Question:
    """Write down that message `number` is a question to the user."""
    attempt = hop.attempt if hop else None
    question = Question(
        message=number, text=text, options=options, hop=hop.number if hop else 0,
        attempt=attempt.number if attempt else 0, asked_at=tx.now,
    )  # fmt: skip
    task.questions.append(question)
    if task.state is TaskState.N:
        # A task that is first seen in R counts as N, then R (PR-552).
        task.state, task.at, task.started_at = TaskState.R, tx.now, tx.now
    tx.tell("question.asked", task, msg=f"M{number}", text=text, options=list(options))
    return question


def waits_for_choice(task: Task) -> bool:
    """Return true if the user has to choose before anybody is asked to do the task."""
    return any(one.hop == 0 and one.is_open for one in task.questions)


def chosen(question: Question, given: str) -> str:
    """Return the option that an answer means, by its number, name or label; "" for none of them.

    An open question takes any text.
    """
    answer = given.strip()
    if not question.options:
        return answer
    for number, label in enumerate(question.options, 1):
        if answer.lower() in (f"opt{number}", str(number), label.lower()):
            return label
    return ""


def close(tx: Transaction, task: Task, question: Question, text: str, by: str) -> None:
    """Write down who answered what, and report it."""
    tx.close_question(task, question, text, by)
    tx.tell("question.answered", task, agent=by, msg=f"M{question.message}", answer=text, by=by)


def answer(
    tx: Transaction, task: Task, question: Question, text: str, by: str, parent: int = 0
) -> None:
    """Take an answer: the worker that asked gets it, or the task goes on with the choice."""
    close(tx, task, question, text, by)
    if question.workers:
        return
    if not question.hop:
        task.choice = text
        for hop in task.hops:
            if hop.again is not None and not hop.attempts:
                hop.data = f"{hop.data};choice={inline(text, 40)}" if text else hop.data
        return
    hop, attempt = task.hop(question.hop), task.attempt(question)
    if attempt.is_over:
        return
    told = text
    if not is_inline(text, _ANSWER_CHARS):
        told = f"#CTX:a{question.message}"
        tx.exchange.values[f"a{question.message}"] = text
    attempt.asked = tx.say(
        task, attempt.worker, "C", pairs={"answer": told}, state=TaskState.R, hop=hop,
        parent=parent or question.message,
    )  # fmt: skip


def expire(tx: Transaction, task: Task, question: Question) -> None:
    """Say that the time for a question is over, and do what the settings want then (PR-576)."""
    policy = tx.rules.choice_policy
    tx.tell("question.expired", task, msg=f"M{question.message}", code=_TIMED_OUT, policy=policy)
    question.ends_at = question.late_at = None
    if policy == WAIT:
        return
    if policy == FIRST and not question.workers:  # a request never goes to just anybody
        fallback = question.options[0] if question.options else ""
        answer(tx, task, question, fallback or (DECIDE if question.hop else ""), NOBODY)
        return
    tx.close_question(task, question, "", NOBODY)
    reason = "nobody chose in time"
    for hop in task.hops:
        if hop.is_open and hop.source == COORDINATOR:
            cancel_hop(tx, task, hop, reason)
    end_task(tx, task, TaskState.F, code=_TIMED_OUT, reason=reason)
