"""Finishing what somebody else began: calls and messages whose process died.

A note says what was under way. What the ledger or the note holds is brought
to its end: a message reaches transcript and inbox, a call that nobody waits
for any more ends with an error, and each start gets the one end it is owed.
All of it can be repeated.

Source: P8-028, P8-061, XC-001, XC-008.
"""

from __future__ import annotations

import os

from council.core.delegation.delegation import BUSY, ERROR, LOST, RUNNING, WAITING, Refusal, Trace
from council.core.errors import CouncilError
from council.core.events import Event
from council.core.times import parse_instant
from council.drivers import run_log
from council.operations.delegation import handing_over
from council.operations.delegation.chains import call_task
from council.operations.place import Place
from council.store import files
from council.store.delegation.traces import edit_trace, notes_left_behind
from council.store.delegation.transcripts import add_utterance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.delegation.delegation import Call

CALL = "call"
MESSAGE = "message"
_LOST: dict[str, Any] = {
    "status": ERROR,
    "summary": "",
    "artifacts": [],
    "error": {"code": "E99", "message": "the caller ended before the answer came"},
}


def finish_all(place: Place) -> list[CouncilError]:
    """Finish whatever was left behind in the workspace; return what could not be.

    It costs one look into an empty folder where nothing was. What cannot be
    finished now is left to whoever comes next, and stops nobody.
    """
    troubles: list[CouncilError] = []
    for note in notes_left_behind(place.paths):
        try:
            finish(place, note.record)
        except CouncilError as error:
            troubles.append(error)
            note.let_go()
        except (KeyError, TypeError, ValueError):  # somebody else has written in it
            note.set_aside()
        except BaseException:
            note.let_go()
            raise
        else:
            note.end()
    return troubles


def finish(place: Place, note: dict[str, Any]) -> None:
    """Bring to its end what a note tells of."""
    if note.get("kind") == MESSAGE:
        deliver(place, note, again=True)
    elif note.get("kind") == CALL:
        _finish_call(place, note)


def _finish_call(place: Place, note: dict[str, Any]) -> None:
    trace, number = str(note["trace"]), int(note["number"])
    now = place.now()

    def change(ledger: Trace) -> Call | None:
        call = ledger.call(number)
        if call is None or call.task_hash != note.get("taskHash"):
            return None  # it was refused, or never written down
        if call.state == WAITING:
            ledger.calls.remove(call)
        elif call.state == RUNNING:
            call.state, call.ended_at, call.result = LOST, now, dict(_LOST)
        return call.copy()

    call = edit_trace(place.paths, trace, change)
    if call is None:
        return
    _clear_up(place, trace, call)
    if call.state == WAITING:
        _tell_of_waiting(place, trace, call)
        return
    tell_of_start(place, trace, call, since=note.get("since", 0))
    tell_of_end(place, trace, call, since=note.get("since", 0))


def _clear_up(place: Place, trace: str, call: Call) -> None:
    """Take away what a run leaves that did not come to its end, and end its log."""
    task = call_task(trace, call.number, call.target)
    for kind in ("prompt.md", "report"):
        files.remove(place.paths.run_file(task, kind))
    log = place.paths.run_file(task, "log")
    if call.state == LOST and os.path.lexists(log):
        run_log.append(log, f"outcome: {_LOST['error']['message']}\n")


def _tell_of_waiting(place: Place, trace: str, call: Call) -> None:
    refusal = Refusal(guard=BUSY, code="E31", message="the caller ended while it waited")
    data = {**refusal.to_record(), "depth": call.depth}
    event = handing_over.event_of("guard.rejected", call.caller, call, data)
    event_id = f"{handing_over.event_of_start(trace, call)[1]}:refused"
    handing_over.write_event(place, event, event_id, trace, call.owner, place.now())


def tell_of_start(place: Place, trace: str, call: Call, *, since: int | None = None) -> None:
    """Write down that a call began: its event, and what was asked in the transcript.

    `since` is the size of the transcript before somebody who died may have done it.
    """
    event, event_id = handing_over.event_of_start(trace, call)
    handing_over.write_event(place, event, event_id, trace, call.owner, call.started_at or call.at)
    line = handing_over.line_of_call(trace, call)
    add_utterance(place.paths, call.target, call.session, line, since=since)


def tell_of_end(place: Place, trace: str, call: Call, *, since: int | None = None) -> None:
    """Write down how a call ended, under the conditions of `tell_of_start`."""
    line = handing_over.line_of_answer(trace, call)
    add_utterance(place.paths, call.target, call.session, line, since=since)
    event, event_id = handing_over.event_of_end(trace, call)
    handing_over.write_event(place, event, event_id, trace, call.owner, call.ended_at or call.at)


def deliver(place: Place, note: dict[str, Any], *, again: bool = False) -> None:
    """Put a message where its receiver finds it, and write its event.

    `again` says that somebody who died may have done a part of it.
    """
    from council.store.delegation.transcripts import Utterance
    from council.store.protocol.inboxes import Letter
    from council.store.protocol.inboxes import deliver as put_into

    said = Utterance(**note["line"])
    receiver, session = said.receiver, str(note["session"])
    add_utterance(place.paths, receiver, session, said, since=int(note["since"]) if again else None)
    letter = Letter(
        id=said.id,
        at=said.at,
        sender=said.sender,
        receiver=receiver,
        text=said.text,
        priority=said.priority,
        trace=said.trace,
        refs=tuple(said.refs),
    )
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
    handing_over.write_event(place, event, said.id, said.trace, owner, parse_instant(said.at))
