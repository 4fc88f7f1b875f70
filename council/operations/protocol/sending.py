"""Lines sent by hand or by a program: to whom they go, and what follows from them.

A line of an orchestrator is sent in its context, a line of a worker is taken in;
what concerns the registry goes there, what goes to a router is passed on. A
line of an older version is read as what it means in V5, and each receiver
reads its own version. Where the settings ask for it, `[protocol] signed = true`, a line
that no run sends has to be signed with the shared key; else it is answered with E90.

Source: PR-303, PR-304, PR-503, PR-516, PR-517, PR-545, PR-559, PR-571, PR-589, PR-590, PR-598,
PR-644, XC-008, XC-014, XC-015, A-68, `cli.md` section 2.
"""

from __future__ import annotations

from functools import partial

from council.core.errors import NotFoundError, RefusedError, UsageError
from council.core.events import Event
from council.core.protocol import grouping, orchestrator, succession
from council.core.protocol.exchange import Exchange, ExchangeStep
from council.core.protocol.messages import COORDINATOR, REGISTRY_CONTEXT, USER, Message
from council.core.protocol.protocol_ids import WORKER, role_of
from council.core.protocol.registry import number_after
from council.core.protocol.registry_messages import concerns_registry
from council.core.protocol.transaction import Transaction
from council.operations.place import Place, can_wait, is_shown_run, own_agent
from council.operations.protocol import registry
from council.operations.protocol.exchanging import (
    VIA,
    Sent,
    change,
    contexts,
    done_before,
    new_trace,
    open_new,
    sent_of,
)
from council.operations.protocol.payloads import (
    known_in,
    nothing_there,
    says_nothing_else,
    unknown_in,
    warn_of,
)
from council.operations.protocol.roster import Roster
from council.store.events import append, loose_records
from council.wire.carried import line_of, message_of
from council.wire.meaning import missing
from council.wire.messages import parse
from council.wire.parsed import Parsed

_CODE = "E90"
_REASONS = {
    "missing": "it is not signed; sign it with: council msg sign",
    "malformed": "its signature has the wrong form",
    "forged": "its signature does not fit the message and the key",
    "replayed": "its signature was used before",
}


@can_wait
def send(place: Place, line: str) -> Sent:
    """Send a line of any version on behalf of whom it names as its sender.

    Raises:
        InvalidMessageError: The line has faults, or names what does not exist.
        RefusedError: A run sends as another one.
        NotFoundError: Its context, or whom it goes to, is unknown; or it must be signed, and
            there is no key.
        UsageError: It does not say enough to be sent.
    """
    found = parse(line).require_valid()
    message = message_of(found)
    roster = Roster(place, place.now(), place.operation(line))
    _may_send_as(roster, message.sender)
    before = done_before(roster)
    if before is not None:
        return sent_of("", before, task=message.task)
    refused = _unsigned(roster, message, found)
    if refused is not None:
        return refused
    if concerns_registry(message):
        speaks = found.version if found.version in ("V4", "V5") else "V4"
        done = registry.receive(place, message, speaks=speaks)
        outcome = "refused" if done.code else done.outcome
        return Sent(outcome=outcome, code=done.code, reason=done.reason, answers=done.answers)
    return sent_in_context(roster, message, found)


def _may_send_as(roster: Roster, sender: str) -> None:
    """Let a run send as itself alone, and a person as anybody, unless trust is strict (XC-014).

    Raises:
        RefusedError: A run sends as another one, or nothing shows who a worker is.
    """
    place = roster.place
    own = place.environ.get("COUNCIL_AGENT", "")
    if place.paths.strict and sender[:1] == "W" and not is_shown_run(place, own, by_context=True):
        raise RefusedError(
            f"nothing shows that {sender} sends this, and trust is strict",
            "workers answer from the run that the heartbeat starts",
        )
    if not place.is_in_run:
        return
    own = own_agent(place)
    entry = roster.registry.of_agent(own)
    if entry is None or not entry.is_here or sender.partition(".")[0] != entry.id:
        told = entry.id if entry is not None and entry.is_here else own
        raise RefusedError(f"this run is {told}'s and cannot send as {sender}", f"send as {told}")


def _unsigned(roster: Roster, message: Message, found: Parsed) -> Sent | None:
    """Return how a line is refused that had to be signed and is not, else None (PR-590).

    A run shows by its token whose line it is. A good signature is used up, whatever becomes
    of the line; only V5 can be signed.

    Raises:
        NotFoundError: There is no key.
        InvalidStateError: The note of what was used cannot be understood.
    """
    place = roster.place
    own = place.environ.get("COUNCIL_AGENT", "")
    if not place.settings.protocol.signed or is_shown_run(place, own, by_context=True):
        return None
    if found.version == "V5":
        from council.operations.protocol.messages import verify

        (verdict,) = verify(place, [found])
        if verdict.valid:
            return None
        reason = _REASONS[verdict.reason]
    else:
        reason = f"{found.version} cannot be signed; write it in V5"
    data: dict[str, str | None] = {"code": _CODE, "reason": reason}
    data |= {"kind": message.kind, "said": message.id}
    if message.context:
        data["ctx"] = message.context
    fault = message.saying(
        "desc=auth", number=number_after(message.number), sender=COORDINATOR,
        receiver=message.sender, kind="E", state="F", code=_CODE,
    )  # fmt: skip
    return _refused(roster, message, fault, data)


def _refused(roster: Roster, message: Message, fault: Message, data: dict[str, str | None]) -> Sent:
    """Return how a message is answered that belongs to no context: the events report it."""
    event = Event(type="message.refused", agent=message.sender, data=data)
    append(roster.place.paths, loose_records([event], message.context, roster.now))
    line = line_of(fault, roster.version_of(message.sender))
    return Sent(outcome="refused", code=fault.code, reason=data["reason"] or "", answers=[line])


def sent_in_context(roster: Roster, message: Message, found: Parsed) -> Sent:
    """Send or take in a message of a task or to many, in the context that it belongs to.

    What goes to a router is for whom its DATA names; that one gets it as the router got it.
    """
    via = ""
    if grouping.is_for_router(message):
        relay = grouping.relay_target(roster.registry, message, roster.now)
        if relay.fault is not None:
            data = message.as_json("context:ctx? task:tid? kind id:said")
            reason = "; ".join(f"{name}={value}" for name, value in relay.fault.pairs)
            data |= {"code": relay.fault.code, "reason": reason}
            return _refused(roster, message, relay.fault, data)
        via, message = message.receiver, message.copy(receiver=relay.target)
    context = _context_of(roster, message)
    if not context:
        return _in_new_context(roster, message, found, via)
    message = message.copy(context=context)
    while True:
        exchange = contexts(roster.place).read(message.context).exchange
        if exchange.successor:
            message = succession.forwarded(exchange, message)
            continue
        if exchange.is_open:
            _check_meaning(roster, exchange, found, message)
        rule = partial(_rule, roster, message=message, via=via)
        done = change(roster, message.context, rule)
        if not done.kept.exchange.successor:  # else it went on in another one meanwhile
            return sent_of("sent", done, task=message.task)


def _rule(roster: Roster, tx: Transaction, *, message: Message, via: str) -> ExchangeStep:
    if tx.exchange.successor:
        return tx.step()
    if not message.sender.startswith("O"):
        if _is_of_worker(message):
            warn_of(tx, message, unknown_in(roster, tx.exchange, message))
        return orchestrator.receive(tx, message)
    step = orchestrator.send(tx, message, to=_targets(roster, message))
    if via and step.messages:
        posted = step.exchange.posted_as(step.messages[0].number)
        if posted is not None:
            posted.extra[VIA] = via
    return step


def _is_of_worker(message: Message) -> bool:
    return role_of(message.sender) == WORKER


def _targets(roster: Roster, message: Message) -> tuple[str, ...]:
    """Return whom a line of an orchestrator reaches.

    Raises:
        NotFoundError: It reaches no one.
    """
    found = grouping.targets(roster.registry, message.sender, message.receiver)
    if not found:
        raise NotFoundError(
            f"E41: {message.receiver} is nobody who is registered", "see: council agent query"
        )
    return found


def _context_of(roster: Roster, message: Message) -> str:
    """Return the context of a message; where the line has none, that of its task.

    Raises:
        NotFoundError: There is no such context.
        UsageError: Its task is open in several contexts.
    """
    store = contexts(roster.place)
    named = message.context if message.context != REGISTRY_CONTEXT else ""
    if named:
        if not store.exists(named):
            raise NotFoundError(f"E42: no context {named}", "see: council task list")
        return named
    if not message.task or message.kind == "R":
        return ""
    own = [
        one
        for one in store.ids()
        if _takes_part(store.read(one).exchange, message.task, message.sender)
    ]
    if len(own) > 1:
        raise UsageError(
            f"{message.task} is open in {', '.join(sorted(own))}", "write the context into the line"
        )
    if not own:
        raise NotFoundError(f"E40: no open task {message.task}", "see: council task list")
    return own[0]


def _takes_part(exchange: Exchange, task: str, who: str) -> bool:
    standing = exchange.tasks.get(task)
    if standing is None or standing.is_over:
        return False
    if who == USER or who.startswith("O"):
        return True
    return any(one.worker == who for hop in standing.hops for one in hop.attempts)


def _in_new_context(roster: Roster, message: Message, found: Parsed, via: str) -> Sent:
    """Open a context for a line of an orchestrator that names none; only it may do so (PR-571).

    One that asks for nothing is over once it is delivered.

    Raises:
        UsageError: A worker sends something that belongs to no context.
    """
    if not message.sender.startswith("O"):
        raise UsageError(
            f"{message.sender} opens no context",
            "a request of the user is no line: council msg send --user TEXT"
            if message.sender == USER
            else "write the context and the task into the line",
        )
    _check_meaning(roster, None, found, message)
    trace = new_trace(roster.place)

    def first(chosen: str) -> ExchangeStep:
        tx = roster.after(orchestrator.open_context(chosen, roster.now, trace_id=trace))
        step = _rule(roster, tx, message=message.copy(context=chosen), via=via)
        if not tx.exchange.tasks:
            orchestrator.close(tx, reason="delivered")
        return tx.step(step.outcome, code=step.code, reason=step.reason)

    return sent_of("sent", open_new(roster, first), task=message.task)


def _check_meaning(
    roster: Roster, exchange: Exchange | None, found: Parsed, message: Message
) -> None:
    """Let a line pass that names only what exists; a worker may refer to nothing beside a result.

    Raises:
        InvalidMessageError: It names an unknown agent, context or reference.
    """
    unknown = missing(found, known_in(roster, exchange))
    if exchange is not None and _is_of_worker(message):
        is_empty = says_nothing_else(roster, exchange, message)
        unknown = [one for one in unknown if one.what != "reference" or is_empty]
    if unknown:
        raise nothing_there(unknown, exchange.context if exchange is not None else "")
