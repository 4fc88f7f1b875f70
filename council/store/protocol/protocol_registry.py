"""The registry of document 002 on the disk: one record under one lock.

`protocol/registry.jsonl`. What follows from a revision for other files (events,
lines of log, letters) stands in the record with it and is copied afterwards; a
process that dies in between is made up for by the next one that comes. A file
that is broken is never written over.

Source: XC-001, XC-008, PR-404, `cli.md` section 5, `store.md` section 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from council.core.protocol.liveness import next_due
from council.core.protocol.registry import Registry, registry_from_record
from council.core.record import Any
from council.store import files, notes
from council.store.documents.stored import Stored
from council.store.lock import Lock
from council.store.paths import Workspace, resolve_inside
from council.store.protocol.context_outbox import Follows, checked_outbox, outbox_of, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.core.bounds import ProtocolRules

_OWNER = "registry"
_OUTBOX = "outbox"
_FIX = "put back a copy, or move it away; it was not written"


class RegistryChange(Follows):
    """What follows from one act on the registry, which is None where it stays as it is."""

    registry: Registry | None


def load(workspace: Workspace) -> Registry:
    """Read the registry; without a file no agent has joined yet.

    Raises:
        InvalidStateError: The file cannot be understood.
        CouncilError: The system refuses.
    """
    return _read(_stored(workspace))[0]


def change(
    workspace: Workspace,
    rule: Callable[[Registry], RegistryChange],
    now: datetime,
    rules: ProtocolRules,
) -> None:
    """Change the registry while no other process does; what stays the same is not written.

    Args:
        workspace: Where it lies.
        rule: What is to be done with the registry as it stands.
        now: The present instant.
        rules: By which it is known when the next agent falls silent.

    Raises:
        InvalidStateError: The file cannot be understood; it is left as it is.
        LockTimeoutError: Another process held it all the time.
        CouncilError: The rule or the system refuses.
    """
    with _opened(workspace) as stored:
        standing = _caught_up(workspace, stored)
        done = rule(standing)
        rev = "x" if done.registry is None else f"{standing.rev + 1}-"
        stamp = f"{_OWNER}:{rev}{os.urandom(6).hex()}"
        outbox = outbox_of(workspace, done, stamp, os.urandom(16).hex(), now)
        if done.registry is None:
            tell(workspace, outbox, is_fresh=True)
            return
        record = done.registry.copy(rev=standing.rev + 1).to_record()
        stored.write({**record, _OUTBOX: outbox})
        tell(workspace, outbox, is_fresh=True)
        notes.write_text(_beside(workspace, f".told/{_OWNER}"), stamp)
        note_due(workspace, rules)


def catch_up(workspace: Workspace) -> None:
    """Do what a process that died has left undone, or what another machine has begun. Repeatable.

    Raises:
        CouncilError: The system refuses.
    """
    with _opened(workspace) as stored:
        _caught_up(workspace, stored)


def _opened(workspace: Workspace) -> Stored:
    for folder in (".locks", ".told"):
        files.make_folder(_beside(workspace, folder))
    return _stored(workspace)


def _caught_up(workspace: Workspace, stored: Stored) -> Registry:
    """Return the registry as it stands, once all that follows from it is done."""
    standing, outbox = _read(stored)
    told = _beside(workspace, f".told/{_OWNER}")
    if outbox and notes.text_in(told) != outbox.get("rev"):
        tell(workspace, outbox, is_fresh=False)
        notes.write_text(told, outbox.get("rev", ""))
    return standing


def note_due(workspace: Workspace, rules: ProtocolRules) -> None:
    """Note when an agent falls silent next, for heartbeats that have nothing else to do."""
    # What the file is comes first: of one that is changed in between the note says nothing.
    facts = notes.registry_facts(workspace.protocol)
    if facts is not None:
        notes.note_liveness(workspace.protocol, facts, next_due(load(workspace), rules))


def registry_path(workspace: Workspace) -> str:
    """Return the record of the registry."""
    return _beside(workspace, notes.REGISTRY)


def _beside(workspace: Workspace, name: str) -> str:
    return resolve_inside(workspace.protocol, name)


def _stored(workspace: Workspace) -> Stored:
    lock = Lock(_beside(workspace, f".locks/{_OWNER}"))
    return Stored(registry_path(workspace), _FIX, lock=lock)


def _read(stored: Stored) -> tuple[Registry, dict[str, Any]]:
    """Return the registry and what follows from its revision."""
    record = stored.read()
    if record is None:
        return Registry(), {}
    try:
        outbox = record.pop(_OUTBOX, {})
        outbox = outbox if outbox == {} else checked_outbox(outbox)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise stored.broken(f"is no registry: {error}") from None
    return registry_from_record(record), outbox
