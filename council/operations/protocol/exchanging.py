"""One change of one context: a rule, all that is due after it, and what others are told.

Delivering a message means that its letter stands in the same revision as the
word that it was delivered: the store copies it into the inbox, and does so
again when it was killed in between. So whatever can be done without running
anybody is done here, in one revision.

Source: PR-304, PR-503, PR-517, PR-553 to PR-557, PR-585, PR-586, PR-598, `architecture.md`
section 3.
"""

from __future__ import annotations

from council.core.errors import CouncilError
from council.core.events import Event
from council.core.protocol import orchestrator
from council.core.protocol.answering import answer_of, answered
from council.core.protocol.exchange import Exchange, ExchangeStep
from council.core.protocol.exchange_owed import Answer, AskUser, Deliver, pending
from council.core.protocol.messages import USER, Message
from council.core.record import Record
from council.operations.gone_runs import without_gone_runs
from council.operations.protocol.crew import Crew
from council.operations.protocol.payloads import payload_of
from council.operations.protocol.task_due import dropped, end_program, settled
from council.store.outbox import KEPT_S
from council.store.protocol.context_outbox import Change, Post
from council.store.protocol.contexts import Contexts
from council.wire.carried import line_of
from council.wire.log_lines import log_line
from council.wire.messages import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.operations.place import Place
    from council.store.outbox import Operation
    from council.store.protocol.contexts import Kept

    Rule = Callable[[Exchange], ExchangeStep]


# What was done in a context while its caller was not told yet, by the id of the operation.
_OPERATIONS = "operations"
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


def done_before(crew: Crew) -> Changed | None:
    """Return what an earlier attempt came to whose caller was not told, None of any other.

    It is looked for in all contexts, as it may have made or closed one (OP-008).
    """
    store, operation = contexts(crew.place), crew.operation
    for context in (*store.ids(), *store.closed_ids()) if operation.is_repeat else ():
        kept = store.read(context)
        found = kept.exchange.extra.get(_OPERATIONS, {}).get(operation.id)
        if found is not None:
            store.catch_up(context)
            crew.place.warnings.append(crew.place.stood(operation))
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


def change(crew: Crew, context: str, rule: Rule) -> Changed:
    """Change a context by a rule and do everything that is due after it but runs.

    Runs that are given up by it are ended.

    Raises:
        NotFoundError: There is no such context.
        CouncilError: The rule or the system refuses.
    """
    steps: list[ExchangeStep] = []
    before: set[str] = set()

    def revised(exchange: Exchange) -> Change:
        before.update(dropped(exchange))
        standing = without_gone_runs(crew.place, exchange, crew.now, crew.registry.agents)
        made, step = worked_off(crew, rule(standing))
        steps.append(step)
        made.taken_back = settled(crew, exchange, made.exchange)
        if crew.operation.id and made.exchange != exchange:
            made.exchange = _noted(crew.operation, made.exchange, step)
        return made

    kept = contexts(crew.place).edit(context, revised, crew.now)
    crew.note(steps[-1].events)
    for name, run in dropped(kept.exchange).items():
        if name not in before:
            end_program(crew, run)
    return Changed(kept=kept, step=steps[-1])


def open_new(crew: Crew, make: Callable[[str], ExchangeStep], *, context: str = "") -> Changed:
    """Open a context and do everything that is due in it but runs.

    Args:
        crew: Who is there.
        make: Makes it, given its id.
        context: The id, "" for the next free number.
    """
    steps: list[ExchangeStep] = []

    def first(chosen: str) -> Change:
        made, step = worked_off(crew, make(chosen))
        steps.append(step)
        if crew.operation.id:
            made.exchange = _noted(crew.operation, made.exchange, step)
        return made

    kept = contexts(crew.place).open(first, crew.now, context=context)
    crew.note(steps[-1].events)
    return Changed(kept=kept, step=steps[-1])


def worked_off(crew: Crew, step: ExchangeStep) -> tuple[Change, ExchangeStep]:
    """Return what follows from a step once all is done that needs no run."""
    posts: list[Post] = []
    answer = ""
    if step.exchange.is_open:
        step = step.then(
            orchestrator.advance(step.exchange, crew.registry, crew.now, rules=crew.rules)
        )
    while True:
        owed = [
            one
            for one in pending(step.exchange, crew.now)
            if isinstance(one, Deliver | AskUser | Answer)
        ]
        if not owed:
            break
        for one in owed:
            if isinstance(one, Answer):
                answer = _answer(crew, step.exchange)
                step = step.then(answered(step.exchange, crew.now, text=answer))
                continue
            told, events = _letters(crew, step.exchange, one)
            posts += told
            done = orchestrator.delivered(step.exchange, one.number, crew.now, rules=crew.rules)
            step = step.then(ExchangeStep(exchange=step.exchange, events=events)).then(done)
    made = Change(
        exchange=step.exchange,
        events=step.events,
        log=[log_line(parse(line_of(one)), crew.now) for one in step.messages],
        posts=posts,
        answer=f"{answer.rstrip()}\n" if answer else "",
    )
    return made, step


def _letters(
    crew: Crew, exchange: Exchange, owed: Deliver | AskUser
) -> tuple[list[Post], list[Event]]:
    """Return a message as it goes into each inbox, in the version that is read there."""
    posted = exchange.posted_as(owed.number)
    assert posted is not None  # what is not delivered is kept
    via = posted.extra.get(VIA)
    message = posted.message.copy(receiver=str(via)) if via else posted.message
    inboxes = owed.to if isinstance(owed, Deliver) else (USER,)
    posts, events = [], []
    for inbox in (str(via), *inboxes) if via else inboxes:
        version = crew.version_of(inbox)
        try:
            text = line_of(message, version)
        except CouncilError as error:
            text = line_of(message)
            data = {"message": message.number, "to": inbox, "version": version}
            told = {**data, "reason": error.message}
            events.append(Event(type="message.unconverted", agent=inbox, data=told))
        posts.append(post_of(message, inbox, text))
    return posts, events


def post_of(message: Message, inbox: str, text: str) -> Post:
    """Return the letter that carries a message."""
    return Post(
        inbox=inbox,
        sender=message.sender,
        receiver=message.receiver,
        text=text,
        priority=message.priority or "P1",
        task=message.task,
    )


def _answer(crew: Crew, exchange: Exchange) -> str:
    return answer_of(exchange, lambda name: payload_of(crew.place, name), exchange.lang)
