"""Delegating: `agent message` and `agent call`, from the request to what the caller gets.

A message is put down and no agent is run. A call is judged by every guard and
written into the ledger of its trace before anything starts; `calling` runs
it. A refusal is an answer with a code, and an event.

Source: P8-011 to P8-015, P8-021 to P8-024, P8-051 to P8-061.
"""

from __future__ import annotations

import os
from typing import Any

from council.core.agents import Agent
from council.core.delegation import delegation as rules
from council.core.delegation.delegation import Call, Chain, Refusal, Sent, Trace
from council.core.delegation.policies import Policy
from council.core.errors import InvalidStateError, UsageError
from council.core.times import render_instant
from council.operations.delegation import handing_over
from council.operations.delegation.chains import chain_of
from council.operations.delegation.expected_results import check_schema, judged_again
from council.operations.delegation.handing_over import Answered, Request, answered, reject
from council.operations.place import Place, can_wait
from council.store.agent_folders import read_policy
from council.store.delegation.traces import Note, begin_note, edit_sent, edit_trace, read_trace
from council.store.delegation.transcripts import (
    CALL,
    MESSAGE,
    Utterance,
    holds_utterance,
    transcript_size,
)
from council.store.protocol.inboxes import inbox_size

_SENT_NAME_BYTES = 8


@can_wait
def message(place: Place, request: Request) -> Answered:
    """Leave an agent a message in its transcript and inbox; nothing is run (P8-013).

    Raises:
        UsageError: The sender or the trace is not known, or the priority is none.
        NotFoundError: There is no such agent or artifact.
        CouncilError: A value cannot be what it is, or the system refuses.
    """
    if request.priority not in rules.PRIORITIES:
        raise UsageError(
            f"no priority {request.priority!r}", f"choose: {', '.join(rules.PRIORITIES)}"
        )
    handing_over.finish_all(place)
    chain = chain_of(place, request.sender, request.trace)
    if isinstance(chain, Refusal):
        return reject(place, None, request, chain)
    request = handing_over.addressed(place, chain, request)
    sender = chain.path[-1]
    refusal = policy_of(place, chain, request).refuses(rules.MESSAGE, sender)
    if refusal is not None:
        return reject(place, chain, request, refusal)
    session = handing_over.session_of(request, chain.trace, for_call=False)
    refs = handing_over.checked_refs(place, request.refs)
    limits = rules.base_limits(place.settings.limits, chain)
    wanted = rules.task_hash(request.receiver, request.message, refs, session)
    text, refs = handing_over.compact(place, request.message, refs, sender, chain.trace)
    operation = place.operation(sender, request.receiver, session, chain.trace, text)
    drawn = operation.id or os.urandom(_SENT_NAME_BYTES).hex()
    is_there = operation.is_repeat and holds_utterance(
        place.paths, request.receiver, session, f"message:{drawn}"
    )
    refusal = None if is_there else _count_message(place, chain, request.receiver, limits)
    if refusal is not None:
        return reject(place, chain, request, refusal, limits=limits, task_hash=wanted)
    said = Utterance(
        id=f"message:{drawn}",
        at=render_instant(place.now()),
        kind=MESSAGE,
        trace=chain.trace,
        sender=sender,
        receiver=request.receiver,
        text=text,
        refs=refs,
        priority=request.priority,
    )
    if not is_there:
        _leave(place, chain, said, {"session": session, "limits": limits, "taskHash": wanted})
    told = said.as_json("id:messageId trace:traceId receiver:toAgentId")
    told |= {"sessionKey": session, "priority": said.priority}
    if is_there:
        told["stood"] = place.stood(operation)
    return Answered(status=rules.OK, summary=text, artifacts=refs, told=told)


def _leave(place: Place, chain: Chain, said: Utterance, facts: dict[str, Any]) -> None:
    """Deliver a message; a note says how, until it is done."""
    session = str(facts["session"])
    record = {
        "kind": MESSAGE,
        "since": transcript_size(place.paths, said.receiver, session),
        "inboxSince": inbox_size(place.paths, said.receiver),
        "owner": chain.owner,
        "line": {name: getattr(said, name) for name in said._fields},
        **facts,
    }
    note = begin_note(place.paths, record)
    try:
        handing_over.deliver(place, record)
    except BaseException:
        note.let_go()
        raise
    note.end()


def _count_message(
    place: Place, chain: Chain, receiver: str, limits: dict[str, int]
) -> Refusal | None:
    now = place.now()
    sender = chain.path[-1]

    def judge(sent: list[Sent]) -> tuple[list[Sent], Refusal | None]:
        kept = rules.still_matters(sent, limits[rules.DEDUPE], now)
        refusal = rules.refuse_rate(kept, sender, receiver, limits, now)
        if refusal is None:
            kept.append(Sent(at=now, sender=sender, receiver=receiver, trace=chain.trace))
        return kept, refusal

    return edit_sent(place.paths, judge)


def policy_of(place: Place, chain: Chain, request: Request) -> Policy:
    """Return the policy of the receiver; one that cannot be read lets no one pass.

    Raises:
        InvalidStateError: It cannot be read; that it refused is an event.
    """
    try:
        return read_policy(place.paths, request.receiver)
    except InvalidStateError as error:
        refusal = Refusal(guard=rules.POLICY, code="E30", message=error.message)
        reject(place, chain, request, refusal)
        raise


def call(place: Place, request: Request) -> Answered:
    """Have an agent do something and wait for what it answers, under every guard.

    Raises:
        UsageError: The caller or the trace is not known.
        NotFoundError: There is no such agent or artifact.
        CouncilError: A value cannot be what it is, or the system refuses.
    """
    check_schema(request.schema)
    handing_over.finish_all(place)
    chain = chain_of(place, request.sender, request.trace)
    if isinstance(chain, Refusal):
        return reject(place, None, request, chain)
    request = handing_over.addressed(place, chain, request)
    session = handing_over.session_of(request, chain.trace, for_call=True)
    refs = handing_over.checked_refs(place, request.refs)
    wanted = rules.task_hash(request.receiver, request.message, refs, session)
    agent = place.agent(request.receiver)
    policy = policy_of(place, chain, request)
    limits = rules.agreed_limits(
        rules.base_limits(place.settings.limits, chain), request.limits, policy.limits
    )
    if isinstance(limits, Refusal):
        return reject(place, chain, request, limits, task_hash=wanted)
    refusal = refused_at_once(place, chain, agent, policy, limits)
    if refusal is not None:
        return reject(place, chain, request, refusal, limits=limits, task_hash=wanted)
    text, refs = handing_over.compact(place, request.message, refs, chain.path[-1], chain.trace)
    asked = Call(
        number=1,
        caller=chain.path[-1],
        target=request.receiver,
        depth=chain.depth,
        path=list(chain.path),
        owner=chain.owner,
        session=session,
        task_hash=wanted,
        message=text,
        refs=refs,
        limits=limits,
        at=place.now(),
        expected={} if place.has(agent.id) else {"schema": request.schema},
    )
    from council.operations.delegation.calling import carry_out  # no time to load it once accepted

    accepted = _accept(place, chain.trace, asked)
    if isinstance(accepted, Refusal):
        return reject(place, chain, request, accepted, limits=limits, task_hash=wanted)
    if isinstance(accepted, Call):
        return _repeated(place, chain, accepted, request)
    lender = asked.caller if chain.in_run else ""

    def refused(agent: Agent) -> Refusal | None:
        return _refused_by_hand(place, agent) or _refused_by_gate(place, chain, agent.id)

    return carry_out(place, chain, asked, accepted, request, lender=lender, check=refused)


def refused_at_once(
    place: Place, chain: Chain, agent: Agent, policy: Policy, limits: dict[str, int]
) -> Refusal | None:
    """Return why a call may not be made, as far as that needs no ledger."""
    return (
        policy.refuses(rules.CALL, chain.path[-1])
        or rules.refuse_cycle([*chain.path, agent.id])
        or rules.refuse_depth(chain, agent.id, limits)
        or _refused_by_hand(place, agent)
        or _refused_by_gate(place, chain, agent.id)
    )


def _refused_by_hand(place: Place, agent: Agent) -> Refusal | None:
    if agent.driver != "manual" or not place.has(agent.id):
        return None
    said = f"{agent.id} answers by hand and cannot be run; leave it a message"
    return Refusal(guard="driver", code="E30", message=f"{said}: council agent message")


def _refused_by_gate(place: Place, chain: Chain, agent: str) -> Refusal | None:
    from council.operations.heartbeat.gate import Gate
    from council.store.reason_words import reason_words

    gate = Gate(place, place.now())
    if gate.halted:
        halted = "the workspace is halted: no run is started (council resume --all)"
        return Refusal(guard=rules.HALT, code="E30", message=place.host_guard or halted)
    reason = gate.refuses(chain.counted_for, agent)
    if not reason:
        return None
    words = reason_words(reason)
    if reason.code == "rests":
        return Refusal(guard=rules.REST, code="E31", message=f"{agent}: {words}")
    return Refusal(guard=rules.CAP, code="E17", message=words)


def _accept(place: Place, trace: str, asked: Call) -> Note | Call | Refusal:
    """Write a call into the ledger of its trace, or refuse it.

    Returns:
        The note that the call is under way, an earlier call that has answered the
        same task, or the refusal.
    """
    notes: list[Note] = []

    def change(ledger: Trace) -> Note | Call | Refusal:
        asked.number = ledger.next_number
        found = edit_sent(place.paths, lambda sent: _judged(place, ledger, asked, sent))
        if found is not None:
            return found
        record = {
            "kind": CALL,
            "trace": trace,
            "number": asked.number,
            "taskHash": asked.task_hash,
            "since": transcript_size(place.paths, asked.target, asked.session),
        }
        notes.append(begin_note(place.paths, record))
        ledger.next_number += 1
        ledger.calls.append(asked)
        return notes[0]

    try:
        return edit_trace(place.paths, trace, change)
    except BaseException:
        for note in notes:
            note.end()
        raise


def _judged(
    place: Place, ledger: Trace, asked: Call, sent: list[Sent]
) -> tuple[list[Sent], Call | Refusal | None]:
    """Return what is remembered as let pass, and what stands in the way of a call."""
    limits, now = asked.limits, asked.at
    kept = rules.still_matters(sent, limits[rules.DEDUPE], now)
    before = rules.asked_before(kept, asked.task_hash, limits, now)
    earlier = _call_of(place, ledger, before) if before is not None else None
    if earlier is not None:
        under_way = earlier.is_under_way
        return kept, rules.refuse_repeat(earlier, limits, now) if under_way else earlier
    refusal = rules.refuse_calls(ledger, limits, [*asked.path, asked.target])
    refusal = refusal or rules.refuse_rate(kept, asked.caller, asked.target, limits, now)
    if refusal is None:
        kept.append(
            Sent(
                at=now,
                sender=asked.caller,
                receiver=asked.target,
                task_hash=asked.task_hash,
                trace=ledger.trace_id,
                number=asked.number,
            )
        )
    return kept, refusal


def _call_of(place: Place, ledger: Trace, sent: Sent) -> Call | None:
    """Return the call that was let pass, None where it came to no answer of its own."""
    same = sent.trace == ledger.trace_id
    found = (ledger if same else read_trace(place.paths, sent.trace)).call(sent.number)
    if found is None or found.task_hash != sent.task_hash or found.state == rules.LOST:
        return None
    return found


def _repeated(place: Place, chain: Chain, earlier: Call, request: Request) -> Answered:
    """Answer what was answered before, and say so (P8-057)."""
    caller = chain.path[-1]
    result = answered(judged_again(place, earlier.result or {}, request.schema))
    data = {"number": earlier.number, "status": result.status}
    again = earlier.copy(caller=caller)
    event = handing_over.event_of("agent.call.repeated", caller, again, data, result.artifacts)
    drawn = os.urandom(_SENT_NAME_BYTES).hex()
    handing_over.write_event(place, event, f"repeat:{drawn}", chain.trace, chain.owner, place.now())
    result.told = {"repeated": True}
    return result
