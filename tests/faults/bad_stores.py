"""Stores that are bad on purpose: the harness must notice each of them.

Each function makes the store of the process that calls it a bad one. They are
called in processes that are started for it, never in the tests themselves.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from council.store import files, lock, outbox
from council.store.conversations import closing
from council.store.conversations.session import Session
from council.store.documents import journal, lines, live
from council.store.documents.document import Document

_PIECES = 8


def _spoil(owner: Any, name: str, worse: Any) -> None:
    """Put something worse in the place of what is there; that it is there is part of the test."""
    getattr(owner, name)
    setattr(owner, name, worse)


def writes_in_place() -> None:
    """Opens the live file for writing and writes, instead of exchanging it."""

    def publish(prepared: str, path: str, displaced: str, seen: object) -> None:
        reading = files.read_stable(prepared)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        _write_slowly(descriptor, reading.data if reading else b"")
        os.close(descriptor)
        files.remove(prepared)

    _spoil(live, "publish", publish)


def _write_slowly(descriptor: int, data: bytes) -> None:
    piece = len(data) // _PIECES + 1
    for start in range(0, len(data), piece):
        os.write(descriptor, data[start : start + piece])


def removes_before_it_writes() -> None:
    """Takes the old file away first, so that for a moment there is none."""
    real = live.publish

    def publish(prepared: str, path: str, displaced: str, seen: Any) -> None:
        if os.path.exists(path):
            os.unlink(path)
            files.sync_folder(os.path.dirname(path))
            files.sync_folder(displaced)
        real(prepared, path, displaced, None)

    _spoil(live, "publish", publish)


def acknowledges_before_the_journal() -> None:
    """Writes the journal line only when everything was said to the caller."""
    real = journal.append
    left: list[Callable[[], object]] = []

    def append(path: str, end: int, data: bytes, again: int = 0, *_: Any) -> None:
        left.append(lambda: real(path, end, data, again))

    _spoil(journal, "append", append)
    _spoil(live, "publish", lambda *_: None)
    at_the_end(lambda: [one() for one in left])


def at_the_end(work: Callable[[], object]) -> None:
    """Do something after the command has printed what it has to say."""
    real = sys.exit

    def ending(code: object = None) -> None:
        work()
        real(code)

    sys.exit = ending


def loses_edits() -> None:
    """Writes its own revision over whatever a person has saved."""
    _spoil(Session, "take_in", lambda self, theirs: None)


def forgets_what_it_did() -> None:
    """Knows no operation again, so each retry is done again."""
    from council.core.conversations import answers

    _spoil(journal, "find_operation", lambda path, op_id: None)
    _spoil(answers, "_standing_text", lambda state, participant: None)
    _spoil(answers, "_tour_of", lambda state, agent, task: state.tour)
    real = answers._contribute

    def contribute(state: Any, answer: Any) -> Any:
        return real(state, answer)

    _spoil(answers, "_contribute", contribute)
    _spoil(answers, "has_answered", lambda participant: False)


def forgets_its_outbox() -> None:
    """Draws a new id for each attempt, also of what a process had asked for and died."""
    _spoil(outbox, "operation", lambda folder, *facts: outbox.Operation(id=os.urandom(8).hex()))


def writes_minutes_without_a_plan() -> None:
    """Writes minutes under the first free name and only then notes where."""
    real = Session.note_closing

    def note(self: Session, closing_: dict[str, Any], events: list[Any]) -> None:
        if closing_["done"]:
            real(self, closing_, events)

    _spoil(Session, "note_closing", note)
    _spoil(closing, "_is_ours", lambda *_: False)


def leaves_torn_lines() -> None:
    """Writes behind the torn end of a journal instead of cutting it off."""

    def append(path: str, end: int, data: bytes, again: int = 0, *_: Any) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        _write_slowly(descriptor, data)
        os.fdatasync(descriptor)
        os.close(descriptor)

    _spoil(journal, "append", append)


def swallows_errors() -> None:
    """Takes a failed write or sync for a good one."""

    def quiet(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            try:
                return real(*args)
            except OSError:
                return None

        return call

    _spoil(files, "write_all", quiet(files.write_all))
    _spoil(files, "sync", quiet(files.sync))
    _spoil(files, "sync_data", quiet(files.sync_data))


def explains_nothing() -> None:
    """Lets the errors of the system out as they are."""
    _spoil(files.explaining, "__exit__", lambda self, kind, error, trace: None)


def syncs_nothing() -> None:
    """Renames and appends without ever bringing anything to the disk."""
    _spoil(files, "sync", lambda descriptor: None)
    _spoil(files, "sync_data", lambda descriptor: None)
    _spoil(files, "sync_folder", lambda path: None)


def syncs_no_journal() -> None:
    """Brings everything to the disk but the line that counts."""
    _spoil(files, "sync_data", lambda descriptor: None)
    _spoil(journal.files, "sync_data", files.sync_data)


def dies_before_it_syncs() -> None:
    """Is killed when its line is written and not on the disk yet: no bad store, a bad end."""
    _spoil(files, "sync_data", lambda descriptor: os.kill(os.getpid(), signal.SIGKILL))


def syncs_what_it_shows() -> None:
    """Brings the folder of the live file to the disk, too, which the journal can make again."""
    real = live.publish

    def publish(prepared: str, path: str, displaced: str, seen: Any) -> None:
        real(prepared, path, displaced, seen)
        files.sync_folder(os.path.dirname(path))

    _spoil(live, "publish", publish)


def syncs_edits_apart() -> None:
    """Brings the line of an edit to the disk on its own, before the answer that met it."""
    real = Session.take_in

    def take_in(self: Session, theirs: bytes) -> None:
        real(self, theirs)
        self.finish()

    _spoil(Session, "take_in", take_in)


def locks_nothing() -> None:
    """Takes every lock at once, even one that is held."""
    _spoil(lock, "_take", lambda descriptor: True)


def reads_before_it_locks() -> None:
    """Decides on what it read before it had the lock."""
    real = Session.enter

    def enter(self: Session) -> None:
        before = journal.read_tail(self.places.journal)
        real(self)
        self.tail = self._durable = before

    _spoil(Session, "enter", enter)


def escapes_nothing() -> None:
    """Writes contributions as they are, so that their lines can be taken for ours."""
    from council.store.statefile import marks

    _spoil(marks, "escape", lambda text: text)
    _spoil(marks, "unescape", lambda text: text)


def trusts_edits() -> None:
    """Leaves changed and deleted contributions as others saved them."""
    from council.store.statefile import edits

    real = edits.take_in

    def take_in(base: str, theirs: str, ours: str, **given: Any) -> Any:
        taken = real(base, theirs, ours, **given)
        texts = edits.parse(theirs).texts
        taken.state.entries = [one for one in taken.state.entries if one.id in texts]
        return taken

    _spoil(edits, "take_in", take_in)
    fuzzed = sys.modules.get("__main__")
    if fuzzed is not None and hasattr(fuzzed, "take_in"):
        fuzzed.take_in = take_in


def starves() -> None:
    """Polls for its lock with long pauses instead of waiting in the kernel."""

    def poll(self: lock.Lock, descriptor: int, started: float) -> Any:
        ends_at = started + self._timeout_s
        return self._poll(descriptor, ends_at, ends_at)

    _spoil(lock.Lock, "_wait", poll)
    _spoil(lock, "_POLL_S", 3.0)


def commits_after_the_exchange() -> None:
    """Shows a revision first and only then adds its line to the journal."""
    real = Document._commit

    def commit(self: Document, prepared: Any, before_publishing: Any) -> None:
        if prepared is not None:
            self.publish(prepared, self.text)
        real(self, None, before_publishing)

    _spoil(Document, "_commit", commit)


def loses_a_byte_of_patches() -> None:
    """Writes patches whose last new byte is missing."""
    real = lines._body

    def body(before: bytes | None, text: bytes, spent: int, saved: bytes | None) -> bytes:
        patch = lines.difference(before, text) if before else []
        if not patch:
            return real(before, text, spent, saved)
        start, end, new = patch[-1]
        change = {"patch": lines._written([*patch[:-1], (start, end, new[:-1])])}
        if before is not None and saved is not None:
            change["saved"] = lines._written(lines.difference(before, saved))
        return lines.dumped(change)

    _spoil(lines, "_body", body)


def affirms_nothing() -> None:
    """Takes a line for one that is on the disk, whether its writer brought it there or not."""
    _spoil(Document, "affirm", lambda self: None)


def takes_steps_back_for_behind() -> None:
    """Undoes in silence what was put back."""
    _mistake(live.BACK, live.BEHIND)


def takes_damage_for_edits() -> None:
    """Merges what a power cut has left of a file."""
    _mistake(live.DAMAGED, live.EDITED)


def _mistake(right: str, wrong: str) -> None:
    real = live.standing

    def standing(*given: Any) -> str:
        found = real(*given)
        return wrong if found == right else found

    _spoil(live, "standing", standing)
