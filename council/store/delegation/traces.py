"""The ledgers of delegation on the disk, under `.council/delegation/`.

Each trace has a file of its own with its accepted calls, under a lock of its
own: a process that is about to call decides and writes within it, so that a ceiling
holds however many call at once. What was let pass lately, over all traces,
stands in one small file that is pruned as it is written. A note in `calls/`
says of each call or message that is under way what it is; its process holds
the kernel lock of the note. A note that no process holds was left behind by
one that died, and the next process finishes it.

Source: P8-053 to P8-057, XC-001, XC-106.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

from council.core.delegation.delegation import (
    SCHEMA_VERSION,
    Sent,
    Trace,
    checked_trace,
    sent_from_record,
    sent_to_record,
    trace_from_record,
    trace_to_record,
)
from council.core.errors import CouncilError
from council.core.record import Any
from council.store import files
from council.store.delegation.line import Mark, marked
from council.store.documents.stored import Stored, lock_path
from council.store.lock import try_lock
from council.store.paths import Workspace, record_files, record_names, resolve_inside
from council.store.slots import is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Result = TypeVar("_Result")

_MODE = 0o600
_END = ".json"
_DAMAGED = ".damaged"


def delegation_folder(workspace: Workspace) -> str:
    """Return the folder of all ledgers."""
    return resolve_inside(workspace.control, "delegation")


def trace_path(workspace: Workspace, trace_id: str) -> str:
    """Return the ledger of a trace."""
    folder = os.path.join(delegation_folder(workspace), "traces")
    return resolve_inside(folder, f"{checked_trace(trace_id)}.jsonl")


def trace_files(workspace: Workspace, trace_id: str) -> list[str]:
    """Return the files of the ledger of a trace, with its lock."""
    path = trace_path(workspace, trace_id)
    return [*record_files(path), *filter(os.path.lexists, [lock_path(path)])]


def traces(workspace: Workspace) -> list[str]:
    """Return the ids of all traces that have a ledger."""
    return record_names(files.names_in(f"{delegation_folder(workspace)}/traces"))


def read_trace(workspace: Workspace, trace_id: str) -> Trace:
    """Return the ledger of a trace; of one that no agent has called in, an empty one.

    Raises:
        InvalidStateError: The file cannot be understood: it guards, so it is not begun anew.
        NewerVersionError: It was written by a newer version.
    """
    return _trace(_ledger(workspace, trace_id), trace_id)


def _trace(ledger: Stored, trace_id: str) -> Trace:
    value = ledger.read()
    return Trace(trace_id=trace_id) if value is None else trace_from_record(value, ledger.path)


def _ledger(workspace: Workspace, trace_id: str) -> Stored:
    fix = "put back a copy, or remove it: the trace then counts from 0"
    return Stored(trace_path(workspace, trace_id), fix, version=SCHEMA_VERSION, mode=_MODE)


def edit_trace(
    workspace: Workspace, trace_id: str, change: Callable[[Trace], _Result], *, anew: bool = False
) -> _Result:
    """Change the ledger of a trace under its lock; what stays the same is not written.

    With `anew`, nothing of what stood in it before is kept.

    Raises:
        LockTimeoutError: Another process held it all the time.
        CouncilError: The change or the system refuses; nothing was written.
    """
    ledger = _ledger(workspace, trace_id)
    files.make_folder(os.path.dirname(ledger.path), mode=0o700)
    return ledger.edit(lambda one: _trace(one, trace_id), trace_to_record, change, anew=anew)


def edit_sent(
    workspace: Workspace,
    change: Callable[[list[Sent]], tuple[list[Sent], _Result]],
    *,
    anew: bool = False,
) -> _Result:
    """Change what was let pass lately, under its lock.

    A file that cannot be understood begins anew: it says what was in the last minute only.

    Raises:
        CouncilError: The system refuses, or the lock was not free in time.
    """
    folder = delegation_folder(workspace)
    files.make_folder(folder, mode=0o700)
    with Stored(f"{folder}/sent.jsonl", "remove it", mode=_MODE) as stored:
        try:
            sent = sent_from_record(stored.read() or sent_to_record([]), stored.path)
        except CouncilError:
            sent = []
        kept, result = change([one.copy() for one in sent])
        if kept != sent or (anew and record_files(stored.path)):
            stored.write(sent_to_record(kept), anew=anew)
        return result


class Note(Mark):
    """Something that is under way, or was when its process died; we hold its lock."""

    record: dict[str, Any]

    def set_aside(self) -> None:
        """Keep a note that cannot be understood, out of the way; `doctor` names it."""
        with files.explaining("set aside", self.path):
            os.rename(self.path, self.path + _DAMAGED)
        self.let_go()


def begin_note(workspace: Workspace, record: dict[str, Any]) -> Note:
    """Note durably that something is under way, until `end` or until this process is gone.

    Raises:
        CouncilError: The system refuses.
    """
    folder = _notes(workspace)
    files.make_folder(folder, mode=0o700)
    mark = marked(f"{folder}/", _END)
    try:
        with files.explaining("write", mark.path):
            data = json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
            files.write_all(mark.descriptor, data)
            files.sync(mark.descriptor)
            files.sync_folder(folder)
    except BaseException:
        mark.end()
        raise
    return Note(path=mark.path, record=record, descriptor=mark.descriptor)


def notes_left_behind(workspace: Workspace) -> Iterator[Note]:
    """Yield the notes whose processes are gone, each under our lock."""
    for path in _note_files(workspace, _END):
        descriptor = try_lock(path)
        if descriptor is None:
            continue
        record = _record_of(path, descriptor)
        if record is None:  # it was done while we looked, or its writer did not come to write
            os.close(descriptor)
        else:
            yield Note(path=path, record=record, descriptor=descriptor)


def held_notes(workspace: Workspace, *, held: bool = True) -> Iterator[dict[str, Any]]:
    """Yield what is under way now: the notes whose processes live. It only reads.

    With `held` false it yields instead what was left behind.
    """
    for path in _note_files(workspace, _END):
        record = files.json_object(files.content_of(path)) if is_held(path) == held else None
        if record is not None:
            yield record


def damaged_notes(workspace: Workspace) -> list[str]:
    """Return the notes that could not be understood and were set aside."""
    return _note_files(workspace, _DAMAGED)


def _note_files(workspace: Workspace, end: str) -> list[str]:
    return [path for path in files.paths_in(_notes(workspace)) if path.endswith(end)]


def _record_of(path: str, descriptor: int) -> dict[str, Any] | None:
    """Return what a note of ours says; one that says nothing is taken away."""
    ours = os.fstat(descriptor)
    try:
        named = os.lstat(path)
    except FileNotFoundError:
        return None
    if not os.path.samestat(ours, named):
        return None
    os.lseek(descriptor, 0, os.SEEK_SET)
    record = files.json_object(files.read_all(descriptor, ours.st_size))
    if record is None:
        files.remove(path)
    return record


def _notes(workspace: Workspace) -> str:
    return os.path.join(delegation_folder(workspace), "calls")
