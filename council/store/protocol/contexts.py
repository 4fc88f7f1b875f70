"""The contexts of document 002 on the disk: one record each, one lock each.

`protocol/contexts/<CTX>.jsonl` while a context is open, under `closed/` once it
is over. Everything that follows from a revision for other files (events, lines
of log, letters in inboxes, the answer to the user) stands in the record
together with the revision and is copied after it. A process that finds that a
copy is missing makes it up before anything else happens to that context; a
small note beside the records says which revision has been delivered. It is a cache:
when in doubt, it is looked up what is there already.

Source: XC-001, XC-008, PR-571, PR-585, `store.md` section 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from council.core.errors import ConflictError, CouncilError, InvalidStateError, NotFoundError
from council.core.ids import text_digest
from council.core.protocol.exchange import Exchange
from council.core.protocol.exchange_records import exchange_from_record
from council.core.protocol.protocol_ids import is_context
from council.core.record import Any, Record
from council.store import files, notes, shared
from council.store.documents.stored import Stored
from council.store.lock import Lock, engine_of
from council.store.paths import Workspace, record_files, record_names, resolve_inside
from council.store.protocol.context_outbox import Change, checked_outbox, outbox_of, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    Rule = Callable[[Exchange], "Change"]

SCHEMA_VERSION = 1
CLOSED = "closed"
_MOST_DIGITS = 20
_FIX = "put back what it held, or move it away"


class Kept(Record):
    """A context as it stands on the disk; `outbox` is what follows from its revision."""

    exchange: Exchange
    is_closed: bool
    outbox: dict[str, Any]


class Contexts:
    """The contexts of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.folder = resolve_inside(workspace.protocol, "contexts")
        self.closed_folder = resolve_inside(self.folder, CLOSED)

    def ids(self) -> list[str]:
        """Return the ids of the open contexts, in no order.

        Raises:
            CouncilError: The system refuses.
        """
        return _ids_in(self.folder)

    def closed_ids(self) -> list[str]:
        """Return the ids of those that are over, in no order."""
        return _ids_in(self.closed_folder)

    def exists(self, context: str) -> bool:
        """Return true if there is or was such a context."""
        return any(record_files(path) for path in self._paths(context))

    def answer_path(self, context: str) -> str:
        """Return the file of the answer to the user."""
        return self._beside("answers", f"{context}.md")

    def answer(self, context: str) -> str:
        """Return the last answer that the user got, "" before the first.

        Raises:
            CouncilError: The system refuses.
        """
        standing = files.read_stable(self.answer_path(context))
        return "" if standing is None else standing.data.decode("utf-8", "replace").rstrip("\n")

    def read(self, context: str) -> Kept:
        """Return a context as it stands, without lock and without writing.

        Raises:
            NotFoundError: There is no such context.
            InvalidStateError: Its document is broken; it is left as it is.
        """
        return self._found(context)[1]

    def _found(self, context: str, lock: Lock | None = None) -> tuple[Stored, Kept]:
        live, closed = self._paths(context)
        # It may be put among those that are over between the first scan and the second.
        for path in (live, closed, live):
            stored = Stored(path, _FIX, version=SCHEMA_VERSION, lock=lock)
            value = stored.read()
            if value is not None:
                return stored, _kept(value, stored, is_closed=path == closed)
        raise self._unknown(context)

    def open(self, make: Callable[[str], Change], now: datetime, *, context: str = "") -> Kept:
        """Make a new context.

        Args:
            make: Makes its first revision, given its id.
            now: The present.
            context: The id it is to have, "" for the next free number.

        Raises:
            InvalidStateError: There is one with that id.
            CouncilError: The system refuses.
        """
        while True:
            chosen = context or self.reserve()
            self._make_folders()
            with self._lock(chosen) as lock:
                if not self._was_given(chosen):
                    stored = Stored(self._paths(chosen)[0], _FIX, lock=lock)
                    return self._commit(stored, make(chosen), 1, now)
            if context:
                raise InvalidStateError(f"there is a context {context}", "choose another id")

    def edit(self, context: str, rule: Rule, now: datetime) -> Kept:
        """Change a context while no other process does; what stays the same is not written.

        Raises:
            NotFoundError: There is no such context.
            InvalidStateError: Its document is broken; it is left as it is.
            CouncilError: The rule or the system refuses.
        """
        if not self.exists(context):
            raise self._unknown(context)
        with self._lock(context) as lock:
            stored, kept = self._found(context, lock)
            self._tell(kept, context)
            change = rule(kept.exchange)
            follows = change.events or change.log or change.posts or change.answer
            if not follows and change.exchange == kept.exchange:
                return self._put_away(kept, context)
            return self._commit(stored, change, kept.exchange.rev + 1, now)

    def is_told(self, kept: Kept) -> bool:
        """Return true if everything that follows from a revision is known to be done."""
        exchange = kept.exchange
        is_put_away = exchange.is_open or kept.is_closed
        return is_put_away and _number_in(self._told_path(exchange.context)) == exchange.rev

    def catch_up(self, context: str) -> None:
        """Do what a process that died has left undone. Repeatable.

        Raises:
            CouncilError: The system refuses.
        """
        self._make_folders()
        with self._lock(context) as lock:
            _, kept = self._found(context, lock)
            self._tell(kept, context)
            self._put_away(kept, context)

    def _commit(self, stored: Stored, change: Change, rev: int, now: datetime) -> Kept:
        """Write a revision, then deliver it."""
        context, trace = change.exchange.context, change.exchange.trace_id
        stamp = f"{context}:{rev}-{text_digest(trace)[:8]}"
        kept = Kept(
            exchange=change.exchange.copy(rev=rev, updated_at=now),
            is_closed=stored.path == self._paths(context)[1],
            outbox=outbox_of(self.workspace, change, stamp, trace, now, context),
        )
        value = {
            "schemaVersion": SCHEMA_VERSION,
            "exchange": kept.exchange.to_record(),
            "outbox": kept.outbox,
        }
        # A line that is added changes nothing in the stamp of the folder, by which `ContextSurvey`
        # knows that nothing has changed: so before, for a process that is killed, and after it.
        os.utime(self.folder)
        stored.write(value)
        os.utime(self.folder)
        self._tell(kept, context, is_fresh=True)
        return self._put_away(kept, context)

    def _tell(self, kept: Kept, context: str, *, is_fresh: bool = False) -> None:
        """Deliver a revision to others, unless it is known that this was done."""
        told_path = self._told_path(context)
        if is_fresh or _number_in(told_path) != kept.exchange.rev:
            path = self.answer_path(context)
            tell(self.workspace, kept.outbox, is_fresh=is_fresh, answer_path=path)
            notes.write_text(told_path, str(kept.exchange.rev))

    def _put_away(self, kept: Kept, context: str) -> Kept:
        """Put a context that is over among the others that are."""
        if kept.is_closed or kept.exchange.is_open:
            return kept
        live, _ = self._paths(context)
        files.make_folder(self.closed_folder)  # git keeps no empty folder
        with files.explaining("move", live):
            for path in reversed(record_files(live)):  # the one that is read goes last
                os.rename(path, f"{self.closed_folder}/{os.path.basename(path)}")
        return kept.copy(is_closed=True)

    def reserve(self) -> str:
        """Return the id of a context that is to be made: the next number that was not given."""
        self._make_folders()
        counter = self._beside(".told", "next")
        with Lock(self._beside(".locks", "next")):
            while True:
                shared.bring(counter)
                number = _number_in(counter) or self._last_number() + 1
                while self._was_given(f"S{number}"):
                    number += 1
                if shared.publish(counter, str(number + 1).encode()):
                    break
            if engine_of(counter) is None:  # else the next one brings what was published
                # A power cut may take it back: the loop above finds what was given out.
                notes.write_text(counter, str(number + 1))
        return f"S{number}"

    def _was_given(self, context: str) -> bool:
        """Return true if there is or was such a context, even if its document is pruned."""
        return self.exists(context) or os.path.lexists(self.answer_path(context))

    def _unknown(self, context: str) -> NotFoundError:
        if not self._was_given(context):
            return NotFoundError(f"no context {context}", "see: council task list --all")
        return NotFoundError(
            f"{context} was pruned; its answer stands in {self.answer_path(context)}",
            f"what happened: council events story {context}",
        )

    def _last_number(self) -> int:
        """Return the highest number that a context has, 0 for none."""
        ids = (*self.ids(), *self.closed_ids(), *_ids_in(self._folder("answers"), (".md",)))
        return max((int(one[1:]) for one in ids if one[1:].isdigit()), default=0)

    def closed_files(self, context: str) -> list[str]:
        """Return the files in which a context lies once it is over."""
        return record_files(self._paths(context)[1])

    def keep_numbers(self) -> None:
        """Let no number be given twice, whatever is dropped from now on.

        Raises:
            CouncilError: The system refuses.
        """
        counter = self._beside(".told", "next")
        with Lock(self._beside(".locks", "next")):
            while True:
                shared.bring(counter)
                after = str(max(_number_in(counter), self._last_number() + 1)).encode()
                if shared.publish(counter, after):
                    break
            files.replace(counter, after)

    def drop(self, context: str) -> None:
        """Take away the document of a context that is over; the answer to the user stays.

        Raises:
            CouncilError: The system refuses; repeated, it goes on.
        """
        with self._lock(context) as lock:
            stored, kept = self._found(context, lock)
            self._tell(kept, context)
            if not kept.is_closed:
                return
            with files.explaining("remove", stored.path):
                files.remove(self._told_path(context))
                for path in reversed(self.closed_files(context)):
                    os.unlink(path)
                # A process that waits for it sees that the lock has gone, and that the context has.
                files.remove(self._beside(".locks", context))

    def forget(self, context: str) -> list[tuple[str, int]]:
        """Take away all that is kept under the id of a context; return files and sizes. Repeatable.

        Raises:
            ConflictError: It is open.
            CouncilError: The system refuses.
        """
        if not os.path.isdir(self._folder(".locks")):
            return []
        lock = self._beside(".locks", context)
        with Lock(lock), files.explaining("remove", self.folder):
            self.refuse_open(context)
            own = [path for one in self._paths(context) for path in record_files(one)]
            own += filter(os.path.lexists, [self.answer_path(context), self._told_path(context)])
            gone = [(path, os.lstat(path).st_size) for path in own]
            for path, _ in gone:
                files.remove(path)
            for folder in {os.path.dirname(path) for path, _ in gone}:
                files.sync_folder(folder)
            # A process that waits for it sees that the lock has gone, and that the context has.
            files.remove(lock)
        return [one for one in gone if one[0] != self._told_path(context)]

    def refuse_open(self, context: str) -> None:
        """Refuse while a context is open; of one that cannot be read this is unknown.

        Raises:
            ConflictError: It is.
        """
        try:
            is_open = self.read(context).exchange.is_open
        except CouncilError:
            return
        if is_open:
            raise ConflictError(f"{context} is still open", f"first: council ctx close {context}")

    def _make_folders(self) -> None:
        for folder in (self.closed_folder, *map(self._folder, (".locks", ".told"))):
            files.make_folder(folder)

    def _lock(self, context: str) -> Lock:
        self._paths(context)  # its id names a file
        return Lock(self._beside(".locks", context))

    def _told_path(self, context: str) -> str:
        return self._beside(".told", context)

    def _folder(self, name: str) -> str:
        return resolve_inside(self.workspace.protocol, name)

    def _beside(self, folder: str, name: str) -> str:
        return resolve_inside(self._folder(folder), name)

    def _paths(self, context: str) -> tuple[str, str]:
        """Return the record of a context while it is open, and the one once it is over."""
        if not is_context(context):
            raise NotFoundError(f"no context {context!r}", "a context is called S1 or so")
        name = f"{context}.jsonl"
        return os.path.join(self.folder, name), os.path.join(self.closed_folder, name)


def _ids_in(folder: str, forms: tuple[str, ...] = (".jsonl", ".json")) -> list[str]:
    with files.explaining("list", folder):
        names = record_names(files.names_in(folder), forms)
    return [one for one in names if is_context(one)]


def _kept(value: Any, stored: Stored, *, is_closed: bool) -> Kept:
    """Return what a record holds.

    Raises:
        InvalidStateError: It is broken.
    """
    try:
        exchange = exchange_from_record(value["exchange"])
        outbox = checked_outbox(value["outbox"])
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise stored.broken(f"is no context: {error}") from None
    return Kept(exchange=exchange, is_closed=is_closed, outbox=outbox)


def _number_in(path: str) -> int:
    """Return the number that a note holds, 0 when there is none that can be used."""
    text = notes.text_in(path)
    return int(text) if text.isdigit() and len(text) < _MOST_DIGITS else 0
