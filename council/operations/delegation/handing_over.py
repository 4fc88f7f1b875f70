"""What goes from one agent to another: the request, the events, the lines of transcripts.

Whatever a request has caused can be written again from what is saved, by a
process that finishes what another one began; ids follow from the call or the
message, so that nothing counts twice. A note says what was under way. What the
ledger or the note holds is brought to its end: a message reaches transcript and
inbox, a call that no process waits for any more ends with an error, and each
start gets its one end. All of it can be repeated.

Source: P8-011, P8-014, P8-021, P8-028, P8-061, P8-083, XC-001, XC-008.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from council.core.delegation import delegation as rules
from council.core.delegation.artifacts import checked_id, reference_to
from council.core.delegation.delegation import Call, Chain, Refusal, Trace
from council.core.errors import CouncilError, InvalidInputError
from council.core.events import Event
from council.core.record import Record
from council.core.times import parse_instant, render_instant
from council.drivers.run_log import add_to_log
from council.operations.agent_profiles import must_be_known
from council.operations.delegation.chains import call_task
from council.operations.delegation.routing import meant_by
from council.operations.place import Place
from council.store import files
from council.store.delegation import artifacts
from council.store.delegation.traces import edit_trace, notes_left_behind
from council.store.delegation.transcripts import ANSWER, CALL, MESSAGE, Utterance, add_utterance
from council.store.events import append
from council.store.rooms import identities

_LOST = "the caller ended before the answer came"
_BEGINNING_CHARS = 160


class Request(Record):
    """What one agent wants of another, as it was given.

    `receiver` is an agent, or `cap:WORD` for who can do that. `session` is ""
    for the usual one. `priority` is of messages alone, `limits` and `schema`
    are of calls alone; a schema of None expects no form of the result.
    """

    sender: str = ""
    receiver: str
    trace: str = ""
    session: str = ""
    message: str
    refs: list[str] = []
    priority: str = "P1"
    limits: dict[str, int] = {}
    schema: Any = None


class Answered(Record):
    """What the caller gets, in the shape of P8-024.

    For people besides: `told`, and the `trace` of a call that was made.
    """

    _keys = "error~ told:- trace:-"

    status: str
    summary: str = ""
    artifacts: list[str] = []
    error: dict[str, Any] | None = None
    told: dict[str, Any] = {}
    trace: str = ""


def answered(record: dict[str, Any]) -> Answered:
    """Return an answer that was written down."""
    return Answered(
        status=str(record.get("status", "")),
        summary=str(record.get("summary", "")),
        artifacts=[str(one) for one in record.get("artifacts") or []],
        error=record.get("error") or None,
    )


def addressed(place: Place, chain: Chain, request: Request) -> Request:
    """Return a request with the agent it is for, who may be named by what it can do.

    Raises:
        InvalidInputError: It is no legal id.
        NotFoundError: Nothing is known of it, or no agent can do that.
    """
    receiver = meant_by(place, request.receiver, owner=chain.owner, trace=chain.trace)
    must_be_known(place, receiver, identities.load(place.paths))
    return request.copy(receiver=receiver)


def checked_refs(place: Place, given: list[str]) -> list[str]:
    """Return the ids of artifacts that are there, each once.

    Raises:
        InvalidInputError: One is no id.
        NotFoundError: One is not there.
    """
    wanted = list(dict.fromkeys(checked_id(one) for one in given))
    for one in wanted:
        artifacts.find(place.paths, one)
    return wanted


def compact(
    place: Place, text: str, refs: list[str], sender: str, trace: str
) -> tuple[str, list[str]]:
    """Return a message and its references; one that is too long becomes a reference (P8-042).

    Raises:
        InvalidInputError: It says nothing, or is no text.
    """
    if not text.strip():
        raise InvalidInputError("the message says nothing", "say what you want of the agent")
    short, whole = artifacts.published_if_long(
        place.paths, text, publisher=sender, trace=trace, now=place.now()
    )
    if not whole:
        return short, refs
    begins = " ".join(text[: 2 * _BEGINNING_CHARS].split())[:_BEGINNING_CHARS]
    said = f"{reference_to(whole)} ({len(text)} characters; it begins: {begins} …)"
    return said, [*refs, *([] if whole in refs else [whole])]


def write_event(
    place: Place, event: Event, event_id: str, trace: str, owner: str, at: datetime
) -> None:
    """Write an event of a call or a message, which has an id of its own."""
    append(place.paths, [event.to_line(event_id, trace, owner, render_instant(at))])


def reject(
    place: Place,
    chain: Chain | None,
    request: Request,
    refusal: Refusal,
    *,
    limits: dict[str, int] | None = None,
    task_hash: str = "",
) -> Answered:
    """Answer a refusal, and write down that a guard has refused (P8-061)."""
    trace = chain.trace if chain else request.trace or place.environ.get("COUNCIL_TRACE", "")
    sender = chain.path[-1] if chain else request.sender or place.environ.get("COUNCIL_AGENT", "")
    event = Event(
        type="guard.rejected",
        agent=sender,
        from_agent=sender,
        to_agent=request.receiver,
        limits=limits or {},
        task_hash=task_hash,
        data={**refusal.to_record(), "depth": chain.depth if chain else 0},
    )
    drawn = os.urandom(8).hex()
    owner = chain.owner if chain else ""
    # A disk that takes no event must not turn a refusal into a pass.
    with suppress(CouncilError):
        write_event(place, event, f"guard:{drawn}", trace or drawn * 2, owner, place.now())
    return Answered(status=rules.REJECTED, error=refusal.to_record())


def event_of(
    kind: str, agent: str, call: Call, data: dict[str, Any], refs: Sequence[str] = ()
) -> Event:
    """Return an event of a call; `agent` is who did it."""
    return Event(
        type=kind,
        agent=agent,
        from_agent=call.caller,
        to_agent=call.target,
        limits=dict(call.limits),
        task_hash=call.task_hash,
        artifacts=list(refs),
        data=data,
    )


def session_of(request: Request, trace: str, *, for_call: bool) -> str:
    """Return the session of a request: the one that was named, else the usual one."""
    if request.session:
        return rules.checked_session(request.session, for_call=for_call)
    if for_call:
        return rules.workflow_session(request.receiver, trace)
    return rules.inbox_session(request.receiver)


# --- Finishing what was begun


def finish_all(place: Place) -> list[CouncilError]:
    """Finish whatever was left behind in the workspace; return what could not be.

    It costs one read of an empty folder where nothing was. What cannot be
    finished now is left to the next process, and stops no one.
    """
    troubles: list[CouncilError] = []
    for note in notes_left_behind(place.paths):
        try:
            finish(place, note.record)
        except CouncilError as error:
            troubles.append(error)
            note.let_go()
        except (KeyError, TypeError, ValueError):  # another program has written in it
            note.set_aside()
        except BaseException:
            note.let_go()
            raise
        else:
            note.end()
    return troubles


def finish(place: Place, note: dict[str, Any]) -> None:
    """Bring to its end what a note names.

    Raises:
        CouncilError: The engine or the system refuses.
    """
    if note.get("kind") == MESSAGE:
        deliver(place, note, again=True)
    elif note.get("kind") == CALL:
        _finish_call(place, note)
        tell_other_machine(place, note, None)


def tell_other_machine(place: Place, note: dict[str, Any], done: Answered | None) -> None:
    """Say that a call is over that was taken up for another machine; nothing for any other.

    Raises:
        CouncilError: The engine or the system refuses.
    """
    if note.get("machine"):
        from council.operations.delegation.elsewhere import let_caller_know

        let_caller_know(place, note, done)


def _finish_call(place: Place, note: dict[str, Any]) -> None:
    trace, number = str(note["trace"]), int(note["number"])
    now, why = place.now(), str(note.get("why") or _LOST)
    error = {"code": "E99", "message": why}
    lost = {"status": rules.ERROR, "summary": "", "artifacts": [], "error": error}

    def change(ledger: Trace) -> Call | None:
        call = ledger.call(number)
        if call is None or call.task_hash != note.get("taskHash"):
            return None  # it was refused, or never written down
        if call.state == rules.WAITING and note.get("machine"):
            return None  # another machine may run it
        if call.state == rules.WAITING:
            ledger.calls.remove(call)
        elif call.state == rules.RUNNING:
            call.state, call.ended_at, call.result = rules.LOST, now, lost
        return call.copy()

    call = edit_trace(place.paths, trace, change)
    if call is None:
        return
    _clear_up(place, trace, call, why)
    if call.state == rules.WAITING:
        refusal = Refusal(guard=rules.BUSY, code="E31", message="the caller ended while it waited")
        data = {**refusal.to_record(), "depth": call.depth}
        event = event_of("guard.rejected", call.caller, call, data)
        event_id = f"{call_task(trace, call.number, call.target)}:start:refused"
        write_event(place, event, event_id, trace, call.owner, place.now())
        return
    tell_of_start(place, trace, call, since=note.get("since", 0))
    tell_of_end(place, trace, call, since=note.get("since", 0))


def _clear_up(place: Place, trace: str, call: Call, why: str) -> None:
    """Take away what a run leaves that did not come to its end, and end its log."""
    task = call_task(trace, call.number, call.target)
    for kind in ("prompt.md", "report"):
        files.remove(place.paths.run_file(task, kind))
    log = place.paths.run_file(task, "log")
    if call.state == rules.LOST and os.path.lexists(log):
        add_to_log(log, f"outcome: {why}\n")


def tell_of_start(place: Place, trace: str, call: Call, *, since: int | None = None) -> None:
    """Write down that a call began: its event, and what was asked in the transcript.

    `since` is the size of the transcript before a process that died may have done it.
    """
    task = call_task(trace, call.number, call.target)
    data = {
        "sessionKey": call.session,
        "task": task,
        "depth": call.depth,
        "path": [*call.path, call.target],
        "brief": call.brief,
    }
    event = event_of("agent.call.start", call.caller, call, data, call.refs)
    at = call.started_at or call.at
    write_event(place, event, f"{task}:start", trace, call.owner, at)
    line = Utterance(
        id=task,
        at=render_instant(at),
        kind=CALL,
        trace=trace,
        sender=call.caller,
        receiver=call.target,
        text=call.message,
        refs=list(call.refs),
    )
    add_utterance(place.paths, call.target, call.session, line, since=since)


def tell_of_end(place: Place, trace: str, call: Call, *, since: int | None = None) -> None:
    """Write down how a call ended, under the conditions of `tell_of_start`."""
    task = call_task(trace, call.number, call.target)
    at, result = call.ended_at or call.at, answered(call.result or {})
    line = Utterance(
        id=f"{task}:end",
        at=render_instant(at),
        kind=ANSWER,
        trace=trace,
        sender=call.target,
        receiver=call.caller,
        text=result.summary,
        refs=result.artifacts,
        status=result.status,
        error=result.error,
    )
    add_utterance(place.paths, call.target, call.session, line, since=since)
    data: dict[str, Any] = {"task": task, "status": result.status, "toolCalls": call.tool_calls}
    kind = "agent.call.end"
    if result.status != rules.OK:
        kind = "agent.call.error"
        data.update(result.error or {"code": "E99", "message": ""})
    event = event_of(kind, call.target, call, data, result.artifacts)
    write_event(place, event, f"{task}:end", trace, call.owner, at)


def deliver(place: Place, note: dict[str, Any], *, again: bool = False) -> None:
    """Put a message where its receiver finds it, and write its event.

    `again` says that a process that died may have done a part of it.
    """
    from council.store.protocol.inboxes import Letter
    from council.store.protocol.inboxes import deliver as put_into

    said = Utterance(**note["line"])
    receiver, session = said.receiver, str(note["session"])
    add_utterance(place.paths, receiver, session, said, since=int(note["since"]) if again else None)
    common = ("id", "at", "sender", "receiver", "text", "priority", "trace")
    letter = Letter(**{name: getattr(said, name) for name in common}, refs=tuple(said.refs))
    put_into(place.paths, receiver, [letter], since=int(note["inboxSince"]) if again else None)
    event = Event(
        type="agent.message",
        agent=said.sender,
        from_agent=said.sender,
        to_agent=receiver,
        limits=dict(note["limits"]),
        task_hash=str(note["taskHash"]),
        artifacts=list(said.refs),
        data={"sessionKey": session, "chars": len(said.text), "priority": said.priority},
    )
    owner = str(note["owner"])
    write_event(place, event, said.id, said.trace, owner, parse_instant(said.at))
