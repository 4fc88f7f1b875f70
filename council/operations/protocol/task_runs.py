"""Runs for tasks: claimed in the context, started, and what came back taken in.

A worker of the workspace is run for each message that asks something of it. It
reads one line, or a prompt with that line at its end, and what it prints is
taken for messages; mere words are its answer. Whatever becomes of the run, it
ends in the context: with messages, or failed with its reason.

Source: PR-503, PR-536, PR-554, PR-558, PR-559, PR-598, C0-046, XC-016, `cli.md` section 5.
"""

from __future__ import annotations

from council.core.errors import CouncilError, NotFoundError
from council.core.protocol import exchange_runs
from council.core.protocol.answering import composed
from council.core.protocol.exchange import Exchange, ExchangeStep
from council.core.protocol.exchange_owed import Compose, Split, Work
from council.core.protocol.orchestrator import divided
from council.core.protocol.protocol_ids import is_context
from council.core.protocol.transaction import Transaction
from council.core.reading_answers.cleaning import clean
from council.core.trust import run_token
from council.drivers.runs import Answer, failed
from council.operations.launching import LEASE_MARGIN, Launch, Settled, launch
from council.operations.place import Place
from council.operations.protocol import task_prompts
from council.operations.protocol.crew import Crew
from council.operations.protocol.dropped_runs import dropped, end_program
from council.operations.protocol.exchanging import change, contexts
from council.operations.protocol.handed_over import hand_over, take_back
from council.operations.protocol.task_answers import taken_in
from council.operations.protocol.task_due import MANUAL, Due
from council.store import files
from council.store.keys import run_key
from council.store.protocol import under_way
from council.store.slots import Slot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from council.core.protocol.exchange import Again, Run
    from council.operations.protocol.exchanging import Rule
    from council.store.protocol.under_way import UnderWay

# The phase that a run for a task shows to a driver, by the type of what a worker acts on.
PHASES = {"R": "TASK", "X": "TASK", "C": "ANSWER", "S": "ANSWER", "E": "REFUSED"}
_URGENT = "P0"


def queue(crew: Crew, due: Due) -> None:
    """Write down that a run waits for a place."""
    driver = due.driver
    change(crew, due.context, lambda tx: exchange_runs.run_queued(tx, due.owed, driver=driver))


def refuse(crew: Crew, due: Due) -> bool:
    """Write down that a run may not be started; tell whether that is new."""

    def rule(tx: Transaction) -> ExchangeStep:
        return exchange_runs.run_refused(
            tx, due.owed, due.refusal, driver=due.driver, elsewhere=due.elsewhere
        )

    return change(crew, due.context, rule).step.outcome == "refused"


def claim(crew: Crew, due: Due) -> bool:
    """Claim a run; who answers by itself gets what it has to read. False: it is owed no more."""
    agent = due.agent
    if agent is not None and agent.driver == MANUAL:
        hand_over(crew, due, agent)
    ends_at = None
    if not due.by_hand:
        assert agent is not None
        ends_at = crew.now + crew.place.settings.timeout_of(agent.settings) + LEASE_MARGIN

    def rule(tx: Transaction) -> ExchangeStep:
        return exchange_runs.run_started(tx, due.owed, driver=due.driver, ends_at=ends_at)

    changed = change(crew, due.context, rule)
    if agent is not None and due.owed.run not in changed.kept.exchange.runs:
        take_back(crew, due, agent)
    return changed.step.outcome == "claimed"


def start(crew: Crew, due: Due, slot: Slot, afterwards: Callable[[Place], object]) -> bool:
    """Start a claimed run in a process of its own; the place goes over to it.

    Returns:
        False when it could not be started: a failed run with its reason.
    """
    place, agent, owed = crew.place, due.agent, due.owed
    assert agent is not None

    def settle(answer: Answer) -> Settled:
        return _settled(place, due, answer)

    try:
        prompt = task_prompts.prompt_of(crew, due.exchange, owed, agent)
    except CouncilError as error:  # a template of the workspace is broken
        slot.release()
        settle(failed(error.message))
        return False
    wanted = Launch(
        agent=agent,
        owner=due.context,
        name=due.context,
        task=owed.run,
        phase=_phase_of(due),
        tour=owed.number,
        prompt=prompt,
        token=run_token(run_key(place.paths), due.context, 0, agent.id, owed.number),
        traceparent=task_prompts.traceparent_of(due.exchange, owed),
        variables=task_prompts.variables_of(crew, due.exchange, owed),
        mark=under_way.mark_path(place.paths.runs, agent.id),
        slot=slot,
    )
    return launch(place, wanted, settle, afterwards)


def interrupt(crew: Crew, due: Due) -> bool:
    """End a run of the same agent that nobody wants any more, or that a run of P0 may interrupt.

    The latter is set aside in its context first, so that its end counts as no
    failure; whoever supervises it frees the place and beats (PR-309, PR-410).
    """
    if due.agent is None:
        return False
    found = under_way.under_way(under_way.mark_path(crew.place.paths.runs, due.agent.id))
    if found is None or not is_context(found.owner):
        return False
    given_up = _given_up(crew, found)
    if given_up is not None:
        end_program(crew, given_up)
        return True
    if due.owed.priority != _URGENT:
        return False

    def rule(tx: Transaction) -> ExchangeStep:
        return exchange_runs.set_aside(tx, found.task, reason=f"set aside for {due.context}")

    return change(crew, found.owner, rule).step.outcome == "set-aside"


def _given_up(crew: Crew, found: UnderWay) -> Run | None:
    """Return a run under way that was given up while it had no mark yet, None if it is wanted."""
    store = contexts(crew.place)
    try:
        exchange = store.read(found.owner).exchange
        while exchange.successor:
            exchange = store.read(exchange.successor).exchange
    except CouncilError:  # who looks after that context reports it
        return None
    return dropped(exchange).get(found.task)


def _phase_of(due: Due) -> str:
    if isinstance(due.owed, Work):
        posted = due.exchange.posted_as(due.owed.message)
        return PHASES.get(posted.message.kind, "TASK") if posted is not None else "TASK"
    return "SPLIT" if isinstance(due.owed, Split) else "COMPOSE"


def _settled(place: Place, due: Due, answer: Answer) -> Settled:
    """Write down what came back of a run."""
    crew = Crew(place, place.now())
    failure = "" if answer.ok else answer.reason
    due = _where_it_went_on(crew, due)
    if isinstance(due.owed, Work) and answer.ok and not answer.by_tool:
        rule = taken_in(crew, due, answer)
    elif isinstance(due.owed, Work) and answer.ok:
        rule = _ended(due)
    elif answer.ok:
        rule = _by_orchestrator(due, answer.text)
    else:
        rule = _failed(due, answer)
    try:
        changed = change(crew, due.context, rule)
    except NotFoundError:  # purged meanwhile: nobody waits for it any more
        return Settled(failure=failure)
    finally:
        files.remove(place.paths.run_file(due.owed.run, "prompt.md"))
    follow = _again(changed.kept.exchange)
    pause_s = min(((one.due_at - crew.now).total_seconds() for one in follow), default=0.0)
    again = any(one.worker == due.owed.worker for one in follow)
    return Settled(failure=failure, again=again, retry_s=pause_s)


def _where_it_went_on(crew: Crew, due: Due) -> Due:
    """Return a run as it stands in the context in which that of its start went on, if it did."""
    store = contexts(crew.place)
    if not store.exists(due.context):
        return due
    exchange = store.read(due.context).exchange
    while exchange.successor:
        exchange = store.read(exchange.successor).exchange
    run = exchange.runs.get(due.owed.run)
    if exchange.context == due.context or run is None:
        return due
    owed = due.owed.copy(task=run.task)
    if isinstance(owed, Work):
        owed = owed.copy(message=run.message)
    return due.copy(context=exchange.context, exchange=exchange, owed=owed, started_in=due.context)


def _again(exchange: Exchange) -> list[Again]:
    """Return the attempts that are owed from some instant on."""
    found = [hop.again for task in exchange.tasks.values() for hop in task.hops]
    return [one for one in found if one is not None and exchange.is_open]


def _failed(due: Due, answer: Answer) -> Rule:
    reason = answer.reason or "no answer"
    return lambda tx: exchange_runs.run_failed(tx, due.owed.run, reason, timed_out=answer.timed_out)


def _ended(due: Due) -> Rule:
    return lambda tx: exchange_runs.run_ended(tx, due.owed.run)


def _by_orchestrator(due: Due, text: str) -> Rule:
    """Take what the orchestrator's agent said of how to split a request, or its answer."""
    run = due.owed.run
    text = clean(text)

    def rule(tx: Transaction) -> ExchangeStep:
        if isinstance(due.owed, Compose):
            return composed(tx, text.strip(), run=run)
        return divided(tx, task_prompts.parts_in(text), run=run)

    return rule
