"""Why calls of one agent to another stand where they stand.

A run that has called somebody waits inside its own process: of that nothing
stands in the conversation, room or context that it works for. The ledger of
the trace knows it.

Source: `cli.md` section 2 (`explain`), P8-023, P8-052, P8-061, XC-016.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.delegation import delegation as rules
from council.core.delegation.delegation import Call, Trace
from council.core.errors import CouncilError
from council.core.reporting import meanings
from council.operations.delegation.chains import call_task
from council.operations.place import Place
from council.operations.reporting.explained import (
    Explained,
    Tried,
    not_open,
    of_failure,
    of_places,
    said,
)
from council.operations.reporting.run_logs import read_run_log
from council.store.agents import agent as agent_of
from council.store.delegation.traces import held_notes, read_trace, traces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.operations.reporting.story import Subject

_MEANINGS = {
    rules.OK: meanings.ENDED_WELL,
    rules.TIMED_OUT: meanings.OUT_OF_TIME,
    rules.WAITING: meanings.UNDER_WAY,
    rules.RUNNING: meanings.UNDER_WAY,
}
# How a trace ended in which some calls came to something and others did not.
_IN_PART = "ended-in-part"
# Codes of answers that nothing else can explain, and which sentence tells of them.
_OWN_KINDS = {"E10": "call-form", "E17": "call-tools", "E20": "call-too-slow"}


def explain_trace(place: Place, about: Subject) -> Explained:
    """Explain the calls of a trace: those under way, and what came of the others.

    Raises:
        NotFoundError: Nobody has called anybody in it.
        InvalidStateError: Its ledger cannot be understood.
    """
    ledger = _ledger(place, about.also) or _ledger(place, about.id)
    if ledger is None:
        if about.also in traces(place.paths):
            read_trace(place.paths, about.also)  # it raises what is wrong with it
        raise not_open(about.also)
    trace = ledger.trace_id
    shown = [f"{rules.shown_path([one.caller, one.target])} {one.state}" for one in ledger.calls]
    found = Explained(
        place=place,
        now=place.now(),
        kind="trace",
        id=trace,
        name=trace,
        trace=trace,
        status=", ".join(dict.fromkeys(one.state for one in ledger.calls)),
        meaning=_meaning(ledger.calls),
        where=said("where-trace", calls=shown),
    )
    for call in ledger.calls:
        found.tried.append(_tried(place, trace, call))
        if not call.is_under_way and call.state != rules.OK:
            _failure(found, call)
    _under_way(found, ledger.calls, trace)
    if not found.waits:
        found.then("over")
    return found


def _meaning(calls: list[Call]) -> str:
    """Return what a trace has come to: under way, or what its calls have in common."""
    found = {_MEANINGS.get(one.state, meanings.FAILED) for one in calls}
    if meanings.UNDER_WAY in found:
        return meanings.UNDER_WAY
    return found.pop() if len(found) == 1 else _IN_PART


def of_calls(found: Explained) -> None:
    """Add the calls that a run of a conversation, room or context waits for."""
    ledger = _ledger(found.place, found.trace) or _ledger(found.place, found.id)
    if ledger is not None:
        mine = [one for one in ledger.calls if one.owner == found.id and one.is_under_way]
        found.tried += [_tried(found.place, ledger.trace_id, one) for one in mine]
        _under_way(found, mine, ledger.trace_id)


def _ledger(place: Place, trace: str) -> Trace | None:
    """Return the ledger of a trace in which somebody was called, None where there is none."""
    try:
        ledger = read_trace(place.paths, trace) if trace else None
    except CouncilError:  # no name of a trace, or `doctor` tells what is wrong with it
        return None
    return ledger if ledger is not None and ledger.calls else None


def _under_way(found: Explained, calls: list[Call], trace: str) -> None:
    notes = held_notes(found.place.paths)
    alive = {(one.get("trace"), one.get("number")) for one in notes}
    for call in (one for one in calls if one.is_under_way):
        # `of` is the run that waits: what keeps a called agent keeps that one.
        told = {"caller": call.caller, "of": call.path[0], "trace": trace}
        since = call.started_at or call.at
        until = since + _most(found.place, call)
        if (trace, call.number) not in alive:
            found.wait_for("call-end", call.target, since, None, **told)
            found.hinder("call-left", call.target, **told)
            found.then("next-call-end")
        elif call.state == rules.WAITING:
            found.wait_for("call-place", call.target, since, until, **told)
            of_places(found, call.target, **told)
            found.then("next-call-refused", until, agent=call.target, **told)
        else:
            found.wait_for("call", call.target, since, until, **told)
            found.then("next-call-timeout", until, agent=call.target, **told)
    found.in_order()


def _most(place: Place, call: Call) -> timedelta:
    """Return how long a call may wait for its place, or run, whichever it does."""
    limit = timedelta(milliseconds=call.limits.get(rules.TIMEOUT, rules.DEFAULTS[rules.TIMEOUT]))
    if call.state == rules.WAITING:
        return limit
    own = agent_of(place.root, place.settings, call.target).settings
    return min(limit, place.settings.timeout_of(own))


def _failure(found: Explained, call: Call) -> None:
    """Add why a call came to nothing."""
    error = _error(call)
    reason = str(error.get("message", "")).removeprefix(f"{call.target}: ")
    log = read_run_log(found.place, call_task(found.trace, call.number, call.target))
    kind = "call-lost" if call.state == rules.LOST else _OWN_KINDS.get(str(error.get("code")))
    if kind is None:
        of_failure(found, call.target, reason or call.state, log)
    else:
        found.hinder(kind, call.target, caller=call.caller, reason=reason, log=log.path)


def _error(call: Call) -> dict[str, object]:
    return (call.result or {}).get("error") or {}


def _tried(place: Place, trace: str, call: Call) -> Tried:
    task = call_task(trace, call.number, call.target)
    error = _error(call)
    came = " ".join(str(error[one]) for one in ("code", "message") if error.get(one))
    if call.is_under_way:
        came = "@under-way-run" if call.state == rules.RUNNING else "@waits-for-place"
    return Tried(
        agent=call.target,
        caller=call.caller,
        task=task,
        state=call.state,
        at=call.started_at or call.at,
        driver=agent_of(place.root, place.settings, call.target).driver,
        came_back=came,
        run=read_run_log(place, task),
    )
