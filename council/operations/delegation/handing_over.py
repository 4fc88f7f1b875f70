"""What goes from one agent to another: the request, the events, the lines of transcripts.

Whatever a request has caused can be written again from what is saved, by
whoever finishes what another process began; ids follow from the call or the
message, so that nothing counts twice.

Source: P8-011, P8-014, P8-021, P8-028, P8-061, P8-083, XC-008.
"""

from __future__ import annotations

import os

from council.core.delegation import session_keys
from council.core.delegation.artifacts import checked_id, reference_to
from council.core.delegation.delegation import OK, REJECTED, Refusal
from council.core.errors import CouncilError, InvalidInputError, ignoring
from council.core.events import Event
from council.core.record import Record
from council.core.times import render_instant
from council.operations.delegation.chains import call_task
from council.operations.delegation.routing import meant_by
from council.operations.place import Place
from council.operations.profiles import must_be_known
from council.store.delegation import artifacts
from council.store.delegation.transcripts import ANSWER, CALL, Utterance
from council.store.events import append
from council.store.rooms import identities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from council.core.delegation.delegation import Call, Chain

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
    """What the caller is told, in the shape of P8-024.

    For people besides: `told`, and the `trace` of a call that was made.
    """

    status: str
    summary: str = ""
    artifacts: list[str] = []
    error: dict[str, Any] | None = None
    told: dict[str, Any] = {}
    trace: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `agent call` and of a refused message."""
        record: dict[str, Any] = self.as_json("status summary artifacts")
        if self.error:
            record["error"] = self.error
        return record


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
        NotFoundError: Nothing is known of it, or nobody can do that.
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
    append(place.paths, [event.to_record(event_id, trace, owner, render_instant(at))])


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
    with ignoring(CouncilError):
        write_event(place, event, f"guard:{drawn}", trace or drawn * 2, owner, place.now())
    return Answered(status=REJECTED, error=refusal.to_record())


def event_of_start(trace: str, call: Call) -> tuple[Event, str]:
    """Return the event of a call that began, and its id."""
    task = call_task(trace, call.number, call.target)
    data = {
        "sessionKey": call.session,
        "task": task,
        "depth": call.depth,
        "path": [*call.path, call.target],
        "brief": call.brief,
    }
    return event_of("agent.call.start", call.caller, call, data, call.refs), f"{task}:start"


def event_of_end(trace: str, call: Call) -> tuple[Event, str]:
    """Return the event of a call that ended, well or not, and its id."""
    task = call_task(trace, call.number, call.target)
    result = answered(call.result or {})
    data: dict[str, Any] = {"task": task, "status": result.status, "toolCalls": call.tool_calls}
    if result.status == OK:
        return event_of("agent.call.end", call.target, call, data, result.artifacts), f"{task}:end"
    data.update(result.error or {"code": "E99", "message": ""})
    return event_of("agent.call.error", call.target, call, data, result.artifacts), f"{task}:end"


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


def line_of_call(trace: str, call: Call) -> Utterance:
    """Return the line of a transcript that says what was asked."""
    return Utterance(
        id=call_task(trace, call.number, call.target),
        at=render_instant(call.started_at or call.at),
        kind=CALL,
        trace=trace,
        sender=call.caller,
        receiver=call.target,
        text=call.message,
        refs=list(call.refs),
    )


def line_of_answer(trace: str, call: Call) -> Utterance:
    """Return the line of a transcript that says what was answered."""
    result = answered(call.result or {})
    return Utterance(
        id=f"{call_task(trace, call.number, call.target)}:end",
        at=render_instant(call.ended_at or call.at),
        kind=ANSWER,
        trace=trace,
        sender=call.target,
        receiver=call.caller,
        text=result.summary,
        refs=result.artifacts,
        status=result.status,
        error=result.error,
    )


def session_of(request: Request, trace: str, *, for_call: bool) -> str:
    """Return the session of a request: the one that was named, else the usual one."""
    if request.session:
        return session_keys.checked_session(request.session, for_call=for_call)
    if for_call:
        return session_keys.workflow_session(request.receiver, trace)
    return session_keys.inbox_session(request.receiver)
