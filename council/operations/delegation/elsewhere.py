"""Calls to agents that live on another machine: asked for here, run there, answered here.

The call stands in the ledger of its trace as any other, and in the record of those that run
elsewhere. One machine on which the agent lives takes it up, with its next heartbeat, and runs it
by the code, the bounds and the policy that hold there. No token travels: the run has its own.
The caller waits until its time is up, which is written down with the call, so that what
outlives its caller ends by itself.

Source: EN-006.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from datetime import timedelta

from council.core.agents import Agent
from council.core.delegation import delegation as rules
from council.core.delegation.delegation import Call, Chain, Refusal, Trace
from council.core.errors import InvalidStateError, LockTimeoutError, TimedOutError
from council.operations.delegation import handing_over
from council.operations.delegation.chains import call_task
from council.operations.delegation.handing_over import Answered, Request, answered
from council.operations.detach import detach
from council.operations.engine.leases import leased_tasks
from council.operations.engine.living import machines_of
from council.operations.place import Place
from council.store.delegation.elsewhere import (
    Elsewhere,
    calls_elsewhere,
    edit_call,
    edit_elsewhere,
)
from council.store.delegation.line import waiting
from council.store.delegation.traces import Note, begin_note, edit_trace
from council.store.delegation.transcripts import transcript_size
from council.store.slots import Slots

_ASKED_EVERY_S = 0.2
_LEASES_EVERY_S = 5.0
_GRACE_S = 5.0  # so that an end by the deadline is told by the machine that ends it


def ask(place: Place, chain: Chain, call: Call, note: Note, left: timedelta) -> Answered | Refusal:
    """Have another machine run an accepted call, and wait for what comes of it.

    Returns:
        The answer, or why no machine has begun to run it.

    Raises:
        CouncilError: The engine or the system refuses.
    """
    wanted = Elsewhere(
        trace=chain.trace,
        number=call.number,
        target=call.target,
        until=place.now() + timedelta(seconds=math.ceil(left.total_seconds())),
        in_run=chain.in_run,
    )
    edit_elsewhere(place.paths, lambda calls: calls.append(wanted), place.now())
    found = _waited_for(place, wanted, left.total_seconds())
    found = edit_elsewhere(place.paths, lambda calls: _taken_out(calls, found), place.now())
    if found.refusal:
        return Answered(status=rules.REJECTED, error=found.refusal)
    if not found.machine:
        return Refusal(guard=rules.BUSY, code="E31", message=_not_taken_up(place, call, left))
    standing = _call_of(place, wanted)
    why = f"machine {found.machine}, which took the call up, does not answer"
    if standing is not None and standing.state == rules.RUNNING:
        handing_over.finish(place, {**note.record, "why": why})
        standing = _call_of(place, wanted)
    if standing is None or standing.result is None:
        return Refusal(guard=rules.BUSY, code="E31", message=why)
    done = answered(standing.result)
    done.trace = chain.trace
    return done


def _waited_for(place: Place, call: Elsewhere, seconds: float) -> Elsewhere:
    """Wait for a call; return how it stands at last: done, given up there, or the time is up."""
    checked_at = time.monotonic()
    ends_at = checked_at + seconds
    while time.monotonic() < ends_at + (_GRACE_S if call.machine else 0):
        with suppress(TimedOutError, LockTimeoutError):  # it may be reached again in time
            found = edit_call(place.paths, call.trace, call.number, Elsewhere.copy, place.now())
            call = found or call.copy(is_done=True)  # it was taken out
            if call.is_done:
                break
            if time.monotonic() - checked_at >= _LEASES_EVERY_S:
                checked_at = time.monotonic()
                if _has_stopped(place, call):
                    break
        time.sleep(_ASKED_EVERY_S)
    return call


def _has_stopped(place: Place, one: Elsewhere) -> bool:
    """Return true where the run has begun and has no lease: it may have ended just now."""
    call = _call_of(place, one)
    leased = leased_tasks(place) if call and call.state == rules.RUNNING else None
    return leased is not None and call_task(one.trace, one.number, one.target) not in leased


def _taken_out(calls: list[Elsewhere], known: Elsewhere) -> Elsewhere:
    """Take a call out; return how it stood at last."""
    own = [one for one in calls if (one.trace, one.number) == (known.trace, known.number)]
    calls[:] = [one for one in calls if one not in own]
    return own[0].copy() if own else known


def _call_of(place: Place, one: Elsewhere) -> Call | None:
    """Return how the call stands in the ledger that all machines share."""

    def copied(ledger: Trace) -> Call | None:
        call = ledger.call(one.number)
        return None if call is None else call.copy()

    return edit_trace(place.paths, one.trace, copied)


def _not_taken_up(place: Place, call: Call, left: timedelta) -> str:
    told = place.settings.agent(call.target).machines or machines_of(place, call.target)
    where = f"{call.target} lives on {', '.join(told)}"
    return f"no machine took the call up within {left.total_seconds():g} s: {where}"


# --- On the machine that runs it


def take_up(place: Place) -> None:
    """Begin to run, each in a process of its own, the calls to agents that live here.

    Raises:
        CouncilError: The engine or the system refuses; the next heartbeat tries again.
    """
    if place.engine is None or place.host_guard:
        return
    for one in calls_elsewhere(place.paths):
        is_free = not one.machine and not one.is_done and place.now() < one.until
        if is_free and place.has(one.target):
            _take(place, place.engine.machine, one)


def _take(place: Place, machine: str, one: Elsewhere) -> None:
    def take(found: Elsewhere) -> bool:
        is_ours = not found.machine and not found.is_done
        if is_ours:
            found.machine = machine
        return is_ours

    call = _call_of(place, one)
    if call is None or call.state != rules.WAITING:
        return  # its caller has gone
    record = {
        "kind": rules.CALL,
        "trace": one.trace,
        "number": one.number,
        "taskHash": call.task_hash,
        "since": transcript_size(place.paths, call.target, call.session),
        "machine": machine,
        "why": f"what ran it on machine {machine} ended before the answer came",
    }
    note = begin_note(place.paths, record)
    try:
        if not edit_call(place.paths, one.trace, one.number, take, place.now()):
            note.end()
            return
    except BaseException:
        note.let_go()
        raise
    with suppress(OSError):  # the next heartbeat finds the note, and lets the call go
        detach(
            lambda: _run(place, one, call, note),
            log_file=place.paths.failure_log,
            keep=(note.descriptor,),
        )


def _run(place: Place, one: Elsewhere, call: Call, note: Note) -> None:
    """Run a call that was taken up; what comes of it stands in its ledger."""
    from council.operations.delegation.calling import carry_out
    from council.operations.delegation.delegating import policy_of, refused_at_once

    chain = Chain(
        trace=one.trace,
        owner=call.owner,
        depth=call.depth,
        path=call.path,
        in_run=one.in_run,
        ends_at=one.until,
    )
    request = Request(
        sender=call.caller,
        receiver=call.target,
        message=call.message,
        refs=call.refs,
        schema=call.expected.get("schema"),
    )

    def refused(agent: Agent) -> Refusal | None:
        try:
            policy = policy_of(place, chain, request)
        except InvalidStateError as error:
            return Refusal(guard=rules.POLICY, code="E30", message=error.message)
        return refused_at_once(place, chain, agent, policy, call.limits)

    carry_out(place, chain, call, note, request, lender=_lender(place, call), check=refused)


def _lender(place: Place, call: Call) -> str:
    """Return the nearest agent in line whose run, on this machine, waits for this call."""
    slots = Slots(place.paths.places, place.settings.max_runs)
    lending = waiting(slots.directory).intersection(slots.running_agents())
    return next((one for one in reversed(call.path) if one in lending), "")


def let_caller_know(place: Place, note: dict[str, object], done: Answered | None) -> None:
    """Say that a call is over; without an answer, one that was not begun is free again."""
    trace, number = str(note["trace"]), int(str(note["number"]))
    state = edit_trace(place.paths, trace, lambda ledger: getattr(ledger.call(number), "state", ""))

    def change(found: Elsewhere) -> None:
        if found.machine != note["machine"]:
            return
        if done is None and state == rules.WAITING:
            found.machine = ""
            return
        found.is_done = True
        if done is not None and done.status == rules.REJECTED:
            found.refusal = done.error or {}

    edit_call(place.paths, trace, number, change, place.now())
