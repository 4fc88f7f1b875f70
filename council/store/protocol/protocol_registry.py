"""The registry of document 002 on the disk: one JSON document under one lock.

`protocol/registry.json`. What follows from a revision for other files (events,
lines of log, letters) stands in the document with it and is copied afterwards;
a process that dies in between is made up for by whoever comes next. A file
that is broken is never written over.

Source: XC-001, XC-008, PR-404, `cli.md` section 5, `store.md` section 2.
"""

from __future__ import annotations

import json
import os

from council.core.errors import InvalidStateError
from council.core.events import Event
from council.core.protocol.liveness import next_due
from council.core.protocol.registry import Registry
from council.core.protocol.registry_records import registry_from_record, registry_to_record
from council.core.record import Record
from council.core.times import render_instant
from council.store import events as event_log
from council.store import files, notes
from council.store.lock import Lock
from council.store.paths import resolve_inside
from council.store.protocol import inboxes, liveness_note, protocol_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

    from council.core.protocol.protocol_rules import ProtocolRules
    from council.store.paths import Workspace

_OWNER = "registry"
_OUTBOX = "outbox"


class Mail(Record):
    """A line on its way from O1: whose inbox it goes to, and whom it names as receiver."""

    inbox: str
    sender: str
    receiver: str
    text: str


class RegistryChange(Record):
    """What follows from one act on the registry.

    `registry` is None where it stays as it is; `log` are lines of the message log.
    """

    registry: Registry | None
    events: list[Event] = []  # noqa: RUF012 - Record copies it
    log: list[str] = []  # noqa: RUF012 - Record copies it
    mail: list[Mail] = []  # noqa: RUF012 - Record copies it


def load(workspace: Workspace) -> Registry:
    """Read the registry; without a file nobody has joined yet.

    Raises:
        InvalidStateError: The file cannot be understood.
        CouncilError: The system refuses.
    """
    return _read(workspace)[0]


def change(
    workspace: Workspace,
    rule: Callable[[Registry], RegistryChange],
    now: datetime,
    rules: ProtocolRules,
) -> None:
    """Change the registry while nobody else does; what stays the same is not written.

    Args:
        workspace: Where it lies.
        rule: What is to be done with the registry as it stands.
        now: The present instant.
        rules: By which it is told when the next agent falls silent.

    Raises:
        InvalidStateError: The file cannot be understood; it is left as it is.
        LockTimeoutError: Somebody else held it all the time.
        CouncilError: The rule or the system refuses.
    """
    for folder in (".locks", ".told"):
        files.make_folder(_beside(workspace, folder))
    with _lock(workspace):
        standing, outbox = _read(workspace)
        _tell(workspace, outbox)
        done = rule(standing)
        if done.registry is not None:
            _commit(workspace, done, standing.rev + 1, now)
            note_due(workspace, rules)
        else:
            _tell_loosely(workspace, done, now)


def note_due(workspace: Workspace, rules: ProtocolRules) -> None:
    """Note when somebody falls silent next, for heartbeats that have nothing else to do."""
    # What the file is comes first: of one that is changed in between the note says nothing.
    facts = liveness_note.facts_of(registry_path(workspace))
    if facts is not None:
        liveness_note.write(workspace.protocol, facts, next_due(load(workspace), rules))


def registry_path(workspace: Workspace) -> str:
    """Return the file of the registry."""
    return resolve_inside(workspace.protocol, liveness_note.REGISTRY)


def _beside(workspace: Workspace, name: str) -> str:
    return resolve_inside(workspace.protocol, name)


def _lock(workspace: Workspace) -> Lock:
    return Lock(_beside(workspace, os.path.join(".locks", _OWNER)))


def _read(workspace: Workspace) -> tuple[Registry, dict[str, Any]]:
    """Return the registry and what follows from its revision."""
    path = registry_path(workspace)
    standing = files.read_stable(path)
    if standing is None:
        return Registry(), {}
    try:
        record = json.loads(standing.data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _broken(path, "is not UTF-8") from None
    except ValueError as error:
        raise _broken(path, f"is not JSON: {error}") from None
    except RecursionError:
        raise _broken(path, "is nested too deeply") from None
    if not isinstance(record, dict):
        raise _broken(path, "is not a JSON object")
    outbox = record.pop(_OUTBOX, {})
    if not _is_outbox(outbox):
        raise _broken(path, "has an outbox that cannot be understood")
    return registry_from_record(record), outbox


def _broken(path: str, what: str) -> InvalidStateError:
    return InvalidStateError(f"{path} {what}", "correct it or move it away; it was not written")


def _is_outbox(outbox: object) -> bool:
    """Tell whether what follows from a revision can be told: a person may have edited the file."""
    if outbox == {}:
        return True
    try:
        assert isinstance(outbox, dict)
        told = [one["eventId"] + one["at"] for one in outbox["events"]]
        letters = [inboxes.letter_of(one["letter"]) for one in outbox["letters"]]
        sizes = [outbox["since"]["log"], *(outbox["since"]["inbox"].values())]
        whole = all(isinstance(one, int) for one in sizes)
        named = [outbox["since"]["inbox"][one["inbox"]] for one in outbox["letters"]]
        words = "".join([outbox["day"], *outbox["log"], *told])
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return whole and len(named) == len(letters) and bool(words or not told)


def _commit(workspace: Workspace, done: RegistryChange, rev: int, now: datetime) -> None:
    assert done.registry is not None
    registry = done.registry.copy(rev=rev)
    record = registry_to_record(registry)
    digest = os.urandom(4).hex()
    outbox = _outbox(workspace, done, f"{rev}-{digest}", now)
    files.replace(registry_path(workspace), _as_json({**record, _OUTBOX: outbox}))
    _tell(workspace, outbox, is_fresh=True)


def _as_json(document: dict[str, Any]) -> bytes:
    try:
        return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        return (json.dumps(document, indent=1) + "\n").encode("ascii")


def _outbox(workspace: Workspace, done: RegistryChange, rev: str, now: datetime) -> dict[str, Any]:
    """Return what is to be copied to other files, each with an id of its own."""
    day = render_instant(now)[:10]
    trace = os.urandom(16).hex()
    owners = sorted({one.inbox for one in done.mail})
    return {
        "rev": rev,
        "day": day,
        "events": [
            event.to_record(f"{_OWNER}:{rev}:{number}", trace, "", render_instant(now))
            for number, event in enumerate(done.events)
        ],
        "log": done.log,
        "letters": [
            {"inbox": one.inbox, "letter": _letter(one, f"{_OWNER}:{rev}:{number}", trace, now)}
            for number, one in enumerate(done.mail)
        ],
        # From where on a copy can stand that a process made before it died.
        "since": {
            "log": protocol_log.log_size(workspace, day) if done.log else 0,
            "inbox": {one: inboxes.inbox_size(workspace, one) for one in owners},
        },
    }


def _letter(mail: Mail, letter_id: str, trace: str, now: datetime) -> dict[str, Any]:
    return inboxes.Letter(
        id=letter_id,
        at=render_instant(now),
        sender=mail.sender,
        receiver=mail.receiver,
        text=mail.text,
        trace=trace,
    ).to_record()


def _tell(workspace: Workspace, outbox: dict[str, Any], *, is_fresh: bool = False) -> None:
    """Copy what follows from a revision to where it belongs, unless that is known to be done.

    `is_fresh`: it was written a moment ago by ourselves, so no copy can be there.
    """
    if not outbox:
        return
    told = _beside(workspace, os.path.join(".told", _OWNER))
    if not is_fresh and notes.text_in(told) == outbox["rev"]:
        return
    event_log.append(workspace, outbox["events"])
    since = outbox["since"]
    protocol_log.log(
        workspace, outbox["day"], outbox["log"], since=None if is_fresh else since["log"]
    )
    by_inbox: dict[str, list[inboxes.Letter]] = {}
    for one in outbox["letters"]:
        by_inbox.setdefault(one["inbox"], []).append(inboxes.letter_of(one["letter"]))
    for owner, letters in by_inbox.items():
        known = None if is_fresh else since["inbox"][owner]
        inboxes.deliver(workspace, owner, letters, since=known)
    notes.write_text(told, outbox["rev"])


def _tell_loosely(workspace: Workspace, done: RegistryChange, now: datetime) -> None:
    """Tell of what changed nothing: refusals, questions and their answers."""
    outbox = _outbox(workspace, done, f"x{os.urandom(6).hex()}", now)
    event_log.append(workspace, outbox["events"])
    protocol_log.log(workspace, outbox["day"], outbox["log"])
    for one in outbox["letters"]:
        inboxes.deliver(workspace, one["inbox"], [inboxes.letter_of(one["letter"])])
