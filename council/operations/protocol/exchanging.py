"""One change of one context: a rule, all that is due after it, and what others learn.

Delivering a message means that its letter stands in the same revision as the
word that it was delivered: the store copies it into the inbox, and does so
again when it was killed in between. So whatever can be done without running
anybody is done here, in one revision.

Runs that a change has given up are ended, as their task is cancelled or out of
time, their context closed, or they are set aside for one of P0. That is written
down first, so the end of the program counts as no failure.

Source: PR-304, PR-309, PR-410, PR-503, PR-517, PR-551, PR-553 to PR-557, PR-571, PR-585, PR-586,
PR-594, PR-598, `architecture.md` section 3, `cli.md` section 2 (`task cancel`, `ctx close`).
"""

from __future__ import annotations

import os
from collections.abc import Callable

from council.core.agents import Agent
from council.core.conversations.conversation import TaskState
from council.core.errors import CouncilError
from council.core.events import Event, trace_around
from council.core.protocol import orchestrator, succession
from council.core.protocol.answering import answer_of, answered
from council.core.protocol.exchange import WORK, Exchange, ExchangeStep, Run
from council.core.protocol.exchange_due import Answer, AskUser, Deliver, pending
from council.core.protocol.messages import USER
from council.core.protocol.receiving import MOST_REFUSED
from council.core.record import Record
from council.operations.ended_runs import end_run
from council.operations.gone_runs import without_gone_runs
from council.operations.protocol import task_prompts
from council.operations.protocol.payloads import payload_of
from council.operations.protocol.roster import Roster
from council.operations.protocol.task_due import MANUAL, Due
from council.store import files
from council.store.outbox import KEPT_S, Operation
from council.store.protocol.context_outbox import Change, Post
from council.store.protocol.contexts import Contexts, Kept
from council.wire.carried import line_of
from council.wire.log_lines import log_line
from council.wire.messages import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.protocol.transaction import Transaction
    from council.operations.place import Place

    Rule = Callable[[Transaction], ExchangeStep]


_TRACE_BYTES = 16
# What was done in a context while its caller had no answer yet, by the id of the operation.
_OPERATIONS = "operations"
# The context in which one goes on whose numbers are used up, noted before that one is made.
GOES_ON_IN = "goesOnIn"
# The router by way of which a message goes, noted beside it.
VIA = "via"


class Changed(Record):
    """A context after a change, the step that led there, and the newest task it had then."""

    kept: Kept
    step: ExchangeStep
    task: str = ""


def contexts(place: Place) -> Contexts:
    """Return the contexts of a workspace."""
    return Contexts(place.paths)


def latest(place: Place, context: str) -> Exchange:
    """Return the context in which one went on in the end, itself if it did not.

    Raises:
        CouncilError: One of them cannot be read.
    """
    exchange = contexts(place).read(context).exchange
    while exchange.successor:
        exchange = contexts(place).read(exchange.successor).exchange
    return exchange


def done_before(roster: Roster) -> Changed | None:
    """Return what an earlier attempt came to whose caller got no answer, None of any other.

    It is looked for in all contexts, as it may have made or closed one (OP-008).
    """
    store, operation = contexts(roster.place), roster.operation
    for context in (*store.ids(), *store.closed_ids()) if operation.is_repeat else ():
        kept = store.read(context)
        found = kept.exchange.extra.get(_OPERATIONS, {}).get(operation.id)
        if found is not None:
            store.catch_up(context)
            roster.place.warnings.append(roster.place.stood(operation))
            posted = [kept.exchange.posted_as(number) for number in found["messages"]]
            step = ExchangeStep(
                exchange=kept.exchange,
                messages=tuple(one.message for one in posted if one is not None),
                outcome="already-recorded",
            )
            return Changed(kept=kept, step=step, task=found["task"])
    return None


def _noted(operation: Operation, exchange: Exchange, step: ExchangeStep) -> Exchange:
    """Return a context that notes an operation, and forgets those that are too old to come back."""
    since = f"{operation.begun_s - KEPT_S:08x}"
    known = exchange.extra.get(_OPERATIONS, {})
    task = max(exchange.tasks, key=lambda one: int(one[1:]), default="")
    noted = {"messages": [one.number for one in step.messages], "task": task}
    kept = {name: one for name, one in known.items() if name > since}
    return exchange.copy(extra={**exchange.extra, _OPERATIONS: {**kept, operation.id: noted}})


def change(roster: Roster, context: str, rule: Rule) -> Changed:
    """Change a context by a rule and do everything that is due after it but runs.

    Runs that are given up by it are ended. A context that is to go on in a new one does so
    first, and the rule finds it closed.

    Raises:
        NotFoundError: There is no such context.
        CouncilError: The rule or the system refuses.
    """
    steps: list[ExchangeStep] = []
    before: set[str] = set()
    goes_on = False

    def revised(exchange: Exchange) -> Change:
        nonlocal goes_on
        before.update(dropped(exchange))
        standing = without_gone_runs(roster.place, exchange, roster.now, roster.registry.agents)
        goes_on = exchange.is_open and GOES_ON_IN in exchange.extra
        if goes_on:  # that is nothing that the caller asked for, and noted as no operation
            by = Roster(roster.place, roster.now)
            made = _worked_off(by, _gone_on(by, standing), steps, exchange)
        else:
            made = _worked_off(roster, rule(roster.on(standing)), steps, exchange)
        made.taken_back = _settled(roster, exchange, made.exchange)
        return made

    kept = contexts(roster.place).edit(context, revised, roster.now)
    roster.note(steps[-1].events)
    for name, run in dropped(kept.exchange).items():
        if name not in before:
            end_program(roster, run)
    return change(roster, context, rule) if goes_on else Changed(kept=kept, step=steps[-1])


def _gone_on(roster: Roster, exchange: Exchange) -> ExchangeStep:
    """Make the context in which one goes on, unless it is there, and return how that one ends.

    What was said to the old one cannot come in between: its lock is held.
    """
    name = str(exchange.extra[GOES_ON_IN])
    made = succession.succeed(roster.on(exchange), name)
    if not contexts(roster.place).exists(name):
        open_new(roster, lambda _: made.new, context=name)
    return made.old


def open_new(roster: Roster, make: Callable[[str], ExchangeStep], *, context: str = "") -> Changed:
    """Open a context and do everything that is due in it but runs.

    Args:
        roster: The registered agents and the rules.
        make: Makes it, given its id.
        context: The id, "" for the next free number.
    """
    steps: list[ExchangeStep] = []

    def first(chosen: str) -> Change:
        return _worked_off(roster, make(chosen), steps)

    kept = contexts(roster.place).open(first, roster.now, context=context)
    roster.note(steps[-1].events)
    return Changed(kept=kept, step=steps[-1])


def _worked_off(
    roster: Roster, step: ExchangeStep, steps: list[ExchangeStep], before: Exchange | None = None
) -> Change:
    """Return what follows from a step once all is done that needs no run; note that step."""
    posts: list[Post] = []
    answer = ""
    tx = roster.after(step)
    if tx.exchange.is_open:
        orchestrator.advance(tx)
    while True:
        due = pending(tx.exchange, roster.now)
        actions = [one for one in due if isinstance(one, Deliver | AskUser | Answer)]
        if not actions:
            break
        for one in actions:
            if isinstance(one, Answer):
                lang = tx.exchange.lang
                answer = answer_of(tx.exchange, lambda one: payload_of(roster.place, one), lang)
                answered(tx, text=answer)
                continue
            told, events = _letters(roster, tx.exchange, one)
            posts += told
            tx.events += events
            orchestrator.delivered(tx, one.number)
    step = tx.step(step.outcome, code=step.code, reason=step.reason)
    steps.append(step)
    exchange = step.exchange
    if roster.operation.id and exchange != before:
        exchange = _noted(roster.operation, exchange, step)
    log = [log_line(parse(line_of(one)), roster.now) for one in step.messages]
    answer = f"{answer.rstrip()}\n" if answer else ""
    return Change(exchange=exchange, events=step.events, log=log, posts=posts, answer=answer)


def _letters(
    roster: Roster, exchange: Exchange, action: Deliver | AskUser
) -> tuple[list[Post], list[Event]]:
    """Return a message as it goes into each inbox, in the version that is read there."""
    posted = exchange.posted_as(action.number)
    assert posted is not None  # what is not delivered is kept
    via = posted.extra.get(VIA)
    message = posted.message.copy(receiver=str(via)) if via else posted.message
    inboxes = action.to if isinstance(action, Deliver) else (USER,)
    posts, events = [], []
    for inbox in (str(via), *inboxes) if via else inboxes:
        version = roster.version_of(inbox)
        try:
            text = line_of(message, version)
        except CouncilError as error:
            text = line_of(message)
            data = {"message": message.number, "to": inbox, "version": version}
            told = {**data, "reason": error.message}
            events.append(Event(type="message.unconverted", agent=inbox, data=told))
        facts = {"text": text, "priority": message.priority or "P1"}
        posts.append(Post(inbox=inbox, **facts, **message.as_json("sender receiver task")))
    return posts, events


class Sent(Record):
    """What became of a message.

    Args:
        outcome: `sent`, `taken`, `duplicate`, `ignored`, `refused`, `registered`, `relayed`, or
            `already-recorded` where an earlier attempt had done it.
        context: The context it belongs to, "" for the registry.
        task: Its task, "" for none.
        message: Its id there, "" for none.
        to: Who got it.
        code: Why it was refused, as a code of V5.
        reason: The same in words.
        answers: What was answered to the sender at once.
    """

    _keys = "context? task? message? code? reason?"

    outcome: str
    context: str = ""
    task: str = ""
    message: str = ""
    to: tuple[str, ...] = ()
    code: str = ""
    reason: str = ""
    answers: list[str] = []


def new_trace(place: Place) -> str:
    """Return the trace of something that begins now: that of the caller, else a new one."""
    return trace_around(place.environ) or os.urandom(_TRACE_BYTES).hex()


def sent_of(outcome: str, done: Changed, *, task: str = "") -> Sent:
    """Return what a change of a context came to for the sender of the message."""
    step, exchange = done.step, done.kept.exchange
    numbers = {one.number for one in step.messages}
    posted = [one for one in exchange.posted if one.message.number in numbers]
    to = dict.fromkeys(who for one in posted for who in one.to)
    return Sent(
        outcome=step.outcome or outcome,
        context=exchange.context,
        task=task,
        message=step.messages[0].id if step.messages else "",
        to=tuple(to),
        code=step.code,
        reason=step.reason,
    )


def dropped(exchange: Exchange) -> dict[str, Run]:
    """Return the runs that were given up with what they were for; one that answered is none."""
    return {
        one.id: one
        for one in exchange.runs.values()
        if one.state is TaskState.X and not _has_answered(exchange, one)
    }


def _has_answered(exchange: Exchange, run: Run) -> bool:
    """Return true if the worker ended its attempt itself, by a message sent from within the run."""
    task = exchange.tasks.get(run.task)
    if task is None or run.purpose != WORK:
        return False
    attempt = task.attempt(run)
    failed = attempt.state is TaskState.F
    by_itself = attempt.own_words or attempt.refused > MOST_REFUSED
    return attempt.state is TaskState.D or (failed and by_itself)


def end_program(roster: Roster, run: Run) -> None:
    """End the program of a run, if it is under way."""
    agent = roster.agent(run.worker)
    if agent is not None:
        end_run(roster.place, agent.id, run.id)


def hand_over(roster: Roster, due: Due, agent: Agent) -> None:
    """Put what a worker has to read where a person finds it.

    Raises:
        CouncilError: The system refuses.
    """
    folder = roster.place.paths.tasks(agent.id)
    files.make_folder(folder)
    text = task_prompts.prompt_of(roster, due.exchange, due.action, agent)
    files.replace(f"{folder}/{due.action.run}.md", text.encode("utf-8", "replace"))


def take_back(roster: Roster, due: Due, agent: Agent) -> None:
    """Take away again what is not due any more."""
    files.remove(f"{roster.place.paths.tasks(agent.id)}/{due.action.run}.md")


def _settled(roster: Roster, before: Exchange, after: Exchange) -> list[tuple[str, str]]:
    """Return what no one has to read any more after a change: each agent and run.

    What went on in another context is to be read there.
    """
    gone = [
        after.runs[one.id]
        for one in before.runs.values()
        if one.id in after.runs and _counts(before, one) and not _counts(after, after.runs[one.id])
    ]
    agents = [(roster.agent(one.worker), one.id) for one in gone]
    return [(agent.id, run) for agent, run in agents if agent is not None]


def _counts(exchange: Exchange, run: Run) -> bool:
    """Return true if a person is still to act on what was handed over for a run."""
    if run.driver != MANUAL or run.state is not TaskState.R or not exchange.is_open:
        return False
    task = exchange.tasks.get(run.task)
    if run.purpose != WORK or task is None:
        return True
    return task.attempt(run).asked == run.message
