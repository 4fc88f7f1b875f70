"""What a worker printed, taken in as its messages.

A line that is a message counts as one, repaired with a warning where its marks
are wrong. One that cannot be read is answered by the code of its first fault
and by an explanation; mere words are the answer. What DATA cannot hold is
published, and DATA refers to it. A reference to what does not exist is a
warning, unless a result says nothing else.

Source: HR-015 to HR-017, PR-503, PR-536, PR-537, PR-545, PR-554, PR-559, PR-598.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.events import Event
from council.core.protocol import exchange_runs, orchestrator
from council.core.protocol.exchange import ExchangeStep
from council.core.protocol.exchange_due import Work
from council.core.protocol.messages import Message, inline
from council.core.protocol.transaction import Transaction
from council.drivers.runs import Answer
from council.operations.protocol.payloads import (
    known_in,
    says_nothing_else,
    unknown_in,
    warn_of,
)
from council.operations.protocol.roster import Roster
from council.operations.protocol.task_due import Due
from council.wire.meaning import unknown_references
from council.wire.worker_lines import Line, refusal_text
from council.wire.working import Told, fits, read_output, referring, reply, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.protocol.exchanging import Rule

    Taken = Callable[[Transaction, str], ExchangeStep]

_ENDS_WORK = frozenset("SECX")
_REFUSED, _WARNED = "message.refused", "message.warned"
_UNKNOWN_REFERENCE = "E43"


def taken_in(roster: Roster, due: Due, answer: Answer) -> Rule:
    """Take what a worker printed as its messages."""
    action = due.action
    assert isinstance(action, Work)
    posted = due.exchange.posted_as(action.message)
    assert posted is not None  # a message that an agent has to act on is kept
    request = posted.message
    rules, events = _heard(roster, due, request, answer)

    def rule(tx: Transaction) -> ExchangeStep:
        tx.events += events
        why = [str(one.data["reason"]) for one in events if one.type == _REFUSED]
        for number, taken in enumerate(rules, start=1):
            # The last one ends the run: until then it may say more.
            told = taken(tx, action.run if number == len(rules) else "")
            why += [told.reason] if told.reason else []
        return exchange_runs.run_ended(tx, action.run, why=inline(", ".join(why), 80))

    return rule


def _heard(
    roster: Roster, due: Due, request: Message, answer: Answer
) -> tuple[list[Taken], list[Event]]:
    """Return what follows from each thing that a worker printed, and what was left out of it."""
    worker = due.action.worker
    lang = due.exchange.lang
    said = read_output(
        answer.text, request, worker=worker, version=roster.version_of(worker), lang=lang
    )
    events: list[Event] = []
    rules: list[Taken] = []
    ends = False
    for told in said.messages:
        if due.started_in and told.message.context == due.started_in:
            # It was asked in a context whose numbers were used up meanwhile (PR-644).
            told.message = told.message.copy(context=due.context, task=request.task)
        message = told.message
        if message.sender != worker:
            reason = f"sent as {message.sender} in a run of {worker}"
            events.append(_event(due, _REFUSED, message, code="E13", reason=reason))
            continue
        ends = ends or message.kind in _ENDS_WORK
        if told.repaired:
            warning = f"W_REPAIRED ({', '.join(told.repaired)})"
            events.append(_event(due, _WARNED, message, warning=warning))
        rules.append(_received(roster, _whole(roster, due, told)))
    for faulty in said.faulty:
        rules.append(_faulty(reply(request, "S", "-", worker=worker), faulty, lang))
    if said.words and not (ends or said.faulty):
        ref = "" if _can_stand(roster, due, said.words) else _published(roster, due, said.words)
        whole = wrapped(said.words, request, worker=worker, ref=ref, tokens=answer.tokens or 0)
        rules.append(_received(roster, whole))
    elif said.words:
        reason = f"{len(said.words)} letters beside a message"
        events.append(_event(due, "message.ignored", request, reason=reason))
    return rules, events


def _can_stand(roster: Roster, due: Due, words: str) -> bool:
    """Return true if words can be the result as they are: a text may speak of references."""
    is_text = len(words.split()) > 1
    return fits(words) and not (
        is_text and unknown_references(words, known_in(roster, due.exchange))
    )


def _received(roster: Roster, message: Message) -> Taken:
    def taken(tx: Transaction, run: str) -> ExchangeStep:
        unknown = unknown_in(roster, tx.exchange, message)
        if unknown and says_nothing_else(roster, tx.exchange, message):
            details = inline(f"unknown reference {unknown[0].text}", 80)
            return orchestrator.receive_fault(
                tx, message, _UNKNOWN_REFERENCE, details=details, run=run
            )
        warn_of(tx, message, unknown)
        return orchestrator.receive(tx, message, run=run)

    return taken


def _faulty(stands_for: Message, faulty: Line, lang: str) -> Taken:
    """Answer a line with faults by the code of the first one; its worker is asked once more."""
    found = faulty.found
    code = found.errors[0].code if found.errors and found.version == "V5" else "E10"
    explanation = refusal_text(faulty.said, faulty.fault, faulty.right, lang)

    def taken(tx: Transaction, run: str) -> ExchangeStep:
        return orchestrator.receive_fault(
            tx, stands_for, code, details=faulty.fault, explanation=explanation, run=run
        )

    return taken


def _event(due: Due, kind: str, message: Message, **data: str) -> Event:
    """Return the event of something that a worker said and that is not taken."""
    about = {"ctx": due.context, "tid": message.task or None}
    if kind != _WARNED:
        about["kind"] = message.kind
    return Event(type=kind, agent=due.action.worker, data={**about, "said": message.id, **data})


def _whole(roster: Roster, due: Due, told: Told) -> Message:
    """Return a message; what DATA cannot hold is published, and it refers to that."""
    if not told.whole:
        return told.message
    ref = _published(roster, due, told.whole)
    if told.name:
        pairs = {**dict(told.message.pairs), told.name: f"#REF:{ref}"}
    else:
        pairs = referring(told.whole, ref)
    return told.message.saying(";".join(f"{name}={value}" for name, value in pairs.items()))


def _published(roster: Roster, due: Due, text: str) -> str:
    publisher = due.agent.id if due.agent else due.action.worker
    return roster.published(text, publisher, due.exchange.trace_id)
