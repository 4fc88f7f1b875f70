"""What the user says to the orchestrator: requests, and answers to what was asked.

A request opens a context, or goes into one that is kept open.

Source: PR-553, PR-576, PR-577, PR-581, XC-015, XC-110, `cli.md` section 2.
"""

from __future__ import annotations

from council.core.errors import ConflictError, InvalidInputError, NotFoundError, RefusedError
from council.core.protocol import orchestrator
from council.core.protocol.exchange import DEFAULT_COMPLEXITY, Exchange, ExchangeStep
from council.core.protocol.messages import COORDINATOR, USER, compose, is_inline
from council.core.protocol.transaction import Transaction
from council.operations.delegation.routing import FROM_USER, by_rule, write_down
from council.operations.place import Place
from council.operations.protocol.crew import Crew
from council.operations.protocol.exchanging import (
    Sent,
    change,
    done_before,
    new_trace,
    open_new,
    sent_of,
)
from council.operations.protocol.registry_looks import check_capabilities
from council.operations.protocol.tasks import find
from council.store.settings import language

_ANSWER_CHARS = 150


def request(
    place: Place,
    text: str,
    *,
    caps: tuple[str, ...] = (),
    complexity: str = DEFAULT_COMPLEXITY,
    priority: str = "P1",
    context: str = "",
    lang: str = "",
) -> Sent:
    """Send a user's request to the orchestrator.

    Args:
        place: The workspace.
        text: What is wanted, in full.
        caps: The capabilities that it needs, () for any worker.
        complexity: `simple`, `medium`, `complex` or `unlimited`: the budget.
        priority: `P0`, `P1` or `P2`.
        context: An open context that it belongs to, "" for a new one.
        lang: The language of the answer, "" for that of the workspace.

    Raises:
        InvalidInputError: The text is empty, or an option or a capability cannot be so.
        NotFoundError: There is no such context.
        ConflictError: The context is closed, or has no number left.
        RefusedError: A run asks for it.
    """
    _refuse_in_run(place, "asks")
    check_capabilities(caps)
    crew = Crew(place, place.now(), place.operation(context, text))
    before = done_before(crew)
    if before is not None:
        return sent_of("", before, task=before.task)
    spoken = language(place.settings, lang, place.environ)
    routed = by_rule(place, FROM_USER)

    def asked(tx: Transaction) -> ExchangeStep:
        who = routed.agent if routed else crew.orchestrator
        return orchestrator.request(
            tx, text, caps=caps, complexity=complexity, priority=priority, orchestrator=who
        )

    def first(chosen: str) -> ExchangeStep:
        opened = orchestrator.open_context(chosen, crew.now, trace_id=new_trace(place), lang=spoken)
        return opened.then(asked(crew.on(opened.exchange)))

    done = change(crew, context, asked) if context else open_new(crew, first)
    exchange = done.kept.exchange
    if routed is not None:
        trace = exchange.trace_id
        write_down(place, FROM_USER, routed, owner=exchange.context, trace=trace)
    task = max(exchange.tasks, key=lambda one: int(one[1:]), default="")
    return sent_of("sent", done, task=task)


def choose(place: Place, where: str, choice: str) -> Sent:
    """Give the user's answer to a question of a task.

    Args:
        place: The workspace.
        where: What asks: `S1/T1`, `T1`, or a context.
        choice: `opt2`, the number of an option, its label, or free text for an open question.

    Raises:
        NotFoundError: Nothing is asked there.
        InvalidInputError: There is no such option.
        ConflictError: Several tasks ask.
        RefusedError: A run asks for it.
    """
    _refuse_in_run(place, "answers")
    crew = Crew(place, place.now(), place.operation(where, choice))
    before = done_before(crew)
    if before is not None:
        return sent_of("", before)
    kept, wanted = find(place, where)
    exchange = kept.exchange
    context = exchange.context
    asking = [
        task
        for task in exchange.tasks.values()
        if (not wanted or task.id == wanted) and any(not one.answer for one in task.questions)
    ]
    if not asking:
        raise NotFoundError(f"nothing is asked in {where}", "see: council msg inbox --as User")
    if len(asking) > 1:
        raise ConflictError(
            f"several tasks ask in {where}: {', '.join(task.id for task in asking)}",
            f"say which: {context}/{asking[0].id}",
        )
    task = asking[0]
    question = next(one for one in task.questions if not one.answer)
    options = question.options
    said = choice.strip()
    if not said:
        raise InvalidInputError("an empty answer", "say which option, or what you want")
    labels = {label.lower(): f"opt{number}" for number, label in enumerate(options, start=1)}
    if options:
        said = labels.get(said.lower(), f"opt{said}" if said.isdigit() else said.lower())
        if said not in labels.values():
            told = ", ".join(f"{number} {label}" for number, label in enumerate(options, start=1))
            raise InvalidInputError(f"no option {choice!r}", f"choose: {told}")
    understood = options[int(said[3:]) - 1] if options else said
    pairs = {"choice": said} if options else {"answer": _fitting(crew, exchange, said)}
    message = compose(
        USER, COORDINATOR, "C", pairs=pairs, task=task.id, priority=task.priority, state="R",
        context=context,
    )  # fmt: skip
    done = change(crew, context, lambda tx: orchestrator.receive(tx, message))
    return sent_of("taken", done, task=task.id).copy(answers=[f"understood: {understood}"])


def _refuse_in_run(place: Place, doing: str) -> None:
    """Let nobody speak as the user from inside a run (XC-015)."""
    if place.is_in_run:
        raise RefusedError(
            f"inside a run nobody {doing} as the user", "a worker sends a line: council msg send"
        )


def _fitting(crew: Crew, exchange: Exchange, text: str) -> str:
    """Return a free answer as DATA can hold it: itself, or an artifact that holds it whole."""
    if is_inline(text, _ANSWER_CHARS):
        return text
    return f"#REF:{crew.published(text, USER, exchange.trace_id)}"
