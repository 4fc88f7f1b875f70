"""A document: a journal, the state that it adds up to, and the page that people read and edit.

The state is always folded from the journal. The page is compared, by its digest, with what was
last made of the state. If it differs, its edits become events like any others, and our page is
published again: a stale save, a formatter or a sync tool cannot lose what others said.

A kind is a module of pure functions (any `kind.py`); its state is a `Record` with `rev` and `mark`.
Its `evolve` gets all events except `adopted` (the state as JSON) and `rendered` (no change), also
`kept` (`file` in `conflicts/`, `why`). `EVENTS` are the types that it knows: any other event is of
a newer version, and stops writing. Optional are `SETTLING` ones: after them the page has to survive
a power cut, too; and `added`, which reads what a page of an unknown revision adds.
"""

from __future__ import annotations

import os

from council.kernel import codec, files, shared, times
from council.kernel.errors import Conflict, Invalid, NotFound, Unexpected
from council.kernel.ids import digest
from council.kernel.journal import DAMAGED, SEGMENT, Line, Moved
from council.kernel.page import Taken, decoded, revision
from council.kernel.record import TYPE_CHECKING, Any, Record, copied
from council.kernel.times import UTC, datetime

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Generic, TypeVar

    S = TypeVar("S")
else:
    S, Generic = Any, {Any: object}  # so `Generic[S]` is a plain class: `typing` is slow to import

When = datetime | None
Event = dict[str, Any]
_BLANK = b"\0 \t\r\n"
_MOST = (1 << 20) + (1 << 16)  # bytes of new text on a page, with what a tool changed around it
_BROKEN = (LookupError, TypeError, ValueError, AttributeError, Invalid)


class Change(Record):
    """What a command did: the state after it, and the events with those that became due.

    If its `op` was there before, nothing was written: the events are those of the first time.
    """

    state: Any
    events: list[Any] = []


class Document(Generic[S]):
    """A document on disk: `folder` has its journal, lock and conflicts, `page` is a path or None.

    `now`: the time of hand edits that `read` finds, the system's clock if None. An OSError comes
    out as a refusal.
    """

    segment = 1 << 20  # bytes; a segment ends when it has these and four times the page's

    def __init__(self, folder: str, page: str | None, kind: Any, *, now: When = None) -> None:
        self.folder, self.page, self._kind = folder, page, kind
        self._now, self._at = now, datetime.min
        self._journal = shared.journal(folder)
        self._last: Any = None  # the newest line
        self._stamp: tuple[Any, ...] = ()
        self._state: Any = None
        self._newer = ""  # an event type of a newer version
        self._seen: files.Seen | None = None  # the live page; its words are taken in already
        self._made: bytes | None = None  # the page of the last line, if this version made it
        self._durable = False

    def exists(self) -> bool:
        """Return whether there is a journal, or a page that can be adopted or not be read."""
        try:
            with files.reported("read", self.folder):
                self._journal.fetch()
                return self._journal.is_begun() or bool(self._adopted(self._look())[0])
        except Invalid:
            return True

    def read(self) -> S:
        """Return the state; hand edits are taken in first, unless nothing can be written.

        NotFound if there is nothing.
        """
        try:
            with files.reported("read", self.folder):
                self._seen = self._look()
                self._load()
                is_ours = self._last and self._agrees() and not self._old()
                if not is_ours and not self._newer:
                    self._locked(self._open)
        except Unexpected as refusal:
            if refusal.code not in ("disk-full", "read-only") or not self._last:
                raise
            self._load()
        return self._state  # type: ignore[no-any-return]

    def peek(self, upto: int | None = None) -> S:
        """Return the state of the journal, now or at a revision (NotFound); nothing is written."""
        with files.reported("read", self.folder):
            self._journal.fetch()
            lines = self._journal.read(upto) or self._missing()
        if upto is not None and lines[-1].rev != upto:
            raise NotFound("no-revision", f"{self.folder} has no revision {upto}")
        return self._folded(lines)[0]  # type: ignore[no-any-return]

    def history(self) -> list[Line]:
        """Return all revisions, oldest first; NotFound if there are none."""
        with files.reported("read", self.folder):
            self._journal.fetch()
            return self._journal.history() or self._missing()

    def change(
        self, decide: Callable[[S], list[Event]], *, by: str, at: datetime, op: str = "",
        via: str = "cli", create: bool = False,
    ) -> Change:  # fmt: skip
        """Append what is decided, and all that is due then, as one revision.

        `decide` returns events for a state, or raises a refusal; it is pure and may be asked again.
        Nothing is written if a revision has the key `op` already.
        """
        with files.reported("write", self.folder):
            if create and not os.path.isdir(self.folder) and not self.exists():
                decide(self._kind.new())  # a refusal leaves no folder behind
            made: list[Any] = []  # it is committed once, however often we look again
            said = {"op": op, "by": by, "via": via}
            try:
                self._locked(lambda: self._change(made, decide, create, **said), at, create)
            except NotFound:  # another machine closed it after our commit
                if not made:
                    raise
        return Change(state=self._state, events=made[0])

    def close(self, ident: str, is_meant: Callable[[S], bool] | None = None) -> None:
        """Remove the page, and move the folder to `.council/closed/<ident>`.

        Where `is_meant` says that the state is another one's, nothing happens: the document was
        closed by somebody else, and its name was given anew.
        """
        with files.reported("close", self.folder):
            if os.path.isdir(self.folder) or not os.path.isdir(self._closed(ident)):
                self._locked(lambda: self._close(ident, is_meant))

    def redact(self, select: Callable[[Event], Event | None]) -> int:
        """Take words out of journal and page, not of `conflicts/`; return how many lines changed.

        `select` returns an event (also `adopted`, a whole state) without the words, or None.
        """
        with files.reported("write", self.folder):
            return int(self._locked(lambda: self._redact(select)))

    # Under the lock

    def _locked(self, act: Callable[[], Any], at: When = None, create: bool = False) -> Any:
        self._at = at or self._now or datetime.now(UTC)
        while True:
            try:
                with files.Lock(f"{self.folder}/lock"):
                    self._journal = shared.journal(self.folder, self._journal)
                    return act()
            except Moved:
                continue
            except NotFound as refusal:
                if refusal.code != "no-folder" or not (create or self.exists()):
                    raise
                os.makedirs(self.folder, exist_ok=True)

    def _open(self, create: bool = False) -> None:
        """Read the journal, adopt a page that has none, and take in hand edits."""
        self._load()
        if not self._last:
            self._adopt(create)
        if self._last and not self._newer:
            self._settle()

    def _change(
        self, made: list[Any], decide: Callable[[S], list[Event]], create: bool, **said: str
    ) -> None:
        self._open(create)
        if self._newer:
            message = f"{self.folder} has events of a newer version: {self._newer[:60]}"
            raise Conflict("newer-version", message, "update council; this one can only read it")
        if made:
            return
        done = self._journal.find("op", said["op"]) if said["op"] else None
        made.append(done.events if done else self._commit(decide(self._state), **said))
        if made[0] and not done:
            if not self._publish():
                self._settle()
        elif self._last:
            self._journal.sync()  # what is there already is acknowledged again

    def _settle(self) -> None:
        """Take in what others wrote, until page and journal agree."""
        for _ in range(20):
            self._take_old()
            self._seen = self._look()
            if self._agrees():
                return
            if self._seen is not None:
                self._take(self._seen)
            self._publish()
        message = f"{self.page} is being changed by another program all the time"
        raise Conflict("busy-page", message, "close it there, then run the command again")

    def _commit(self, decided: list[Event], **said: str) -> list[Event]:
        """Append events, and what is due after them, as one line; return them all."""
        state = self._state.copy()
        events: list[Event] = []
        more = list(decided) or self._kind.due(state, self._at)
        while more:
            for event in more:
                state = self._evolve(state, copied(event))
            events += more
            more = self._kind.due(state, self._at)
        if events:
            self._begin_segment()
            rev = self._last.rev + 1 if self._last else 1
            self._append(state, rev, os.urandom(16).hex(), events=events, **said)
        return events

    def _append(self, state: Any, rev: int, mark: str, **said: Any) -> None:
        state.rev, state.mark = rev, mark
        self._made = None if self.page is None else self._rendered(state)
        page = "" if self._made is None else digest(self._made)
        line = Line(rev=rev, mark=mark, at=times.text(self._at), page=page, **said)
        self._stamp = self._journal.append(line)
        self._last = line
        self._state = state
        settling = getattr(self._kind, "SETTLING", ())
        self._durable |= any(event["type"] in settling for event in line.events)

    def _begin_segment(self) -> None:
        weight = self._journal.weight
        if self._last and weight >= self.segment:
            state, last = self._state.to_json(), self._last
            if weight > 4 * len(self._seen.data if self._seen else codec.encoded(state)):
                events = [{"type": "adopted", "state": state}]
                self._journal.append(last.copy(op="", via=SEGMENT, events=events, was=""))

    def _publish(self) -> bool:
        """Publish the page; return False if the live file has to be looked at again."""
        if self.page is None:
            return True
        data = self._made or self._rendered(self._state)
        if data is not self._made and digest(data) != self._last.page:
            self._commit([{"type": "rendered"}], op="", by="council", via="render")  # anew by us
            data = self._made or b""
        seen, durable = self._seen, self._durable
        aside = f"{self.folder}/{seen.name if seen else 'page.new'}"
        try:
            done = files.publish(self.page, data, seen, aside, durable)
        except FileNotFoundError:
            if os.path.isdir(self.folder):
                raise
            return True  # another machine has closed it: there is no page any more
        self._durable = durable and not done
        return done

    # What others wrote

    def _take_old(self) -> None:
        """Take in what was written to pages after they were put aside."""
        for path in self._old():
            seen = None if files.discard(path, True) is not False else files.look(path)
            if seen is not None:
                self._take(seen)
                now = f"{self.folder}/{seen.name}"
                os.rename(path, now)
                files.discard(now)

    def _take(self, seen: files.Seen) -> None:
        """Append what was typed on a page; words that cannot be taken in go to `conflicts/`."""
        op = f"edit:{seen.digest}"
        known = self._journal.find("page", seen.digest) or self._journal.find("op", op)
        if known or not seen.data.strip(_BLANK):  # ours, taken in before, or lost in a power cut
            return
        text = decoded(seen.data)
        last, taken = self._last, Taken()
        rev, mark = revision(text) or ((last.rev, last.mark) if last.via == "adopt" else (0, ""))
        lines, now = self._journal.read(rev), self._rendered(self._state)
        if len(text.encode("utf-8", "replace")) > len(now) + _MOST:
            taken.refused = ["it has too much new text, over 1 MiB"]
        elif lines and (lines[-1].rev, lines[-1].mark) == (rev, mark):
            base = self._folded(lines)[0]
            ours = digest(self._rendered(base)) == lines[-1].page
            taken = self._kind.edits(base, self._state, text, self._at, ours)
        elif rev and hasattr(self._kind, "added"):
            taken = self._kind.added(self._state, text, self._at)
        elif not now.startswith(seen.data.rstrip(_BLANK)):
            taken.refused = ["the page names no revision that is known here"]
        events, refused = list(taken.events), list(taken.refused)
        if "\ufffd" in text and "\ufffd".encode() not in seen.data:
            refused.append("some bytes are letters in no encoding that is read")
        if refused:
            name = f"{seen.digest[:16]}.md"
            os.makedirs(f"{self.folder}/conflicts", exist_ok=True)
            path, by = f"{self.folder}/conflicts/{name}", f"{self.folder}/page.new"
            files.replace(path, seen.data, 0o600, durable=True, by=by)
            files.sync_folder(self.folder)
            events.append({"type": "kept", "file": name, "why": "; ".join(refused)})
        if events:
            self._commit(events, op=op, by="external", via="edit")

    def _adopt(self, create: bool) -> None:
        """Begin a journal with what a page without one says."""
        self._seen = seen = self._look()
        events, closed = self._adopted(seen)
        self._state = state = self._kind.new()
        if seen is not None and events:
            for event in events:
                state = self._evolve(state, copied(event))
            rev, mark = revision(decoded(seen.data)) or (1, os.urandom(16).hex())
            self._append(state, max(1, rev), mark, op="", by="external", via="adopt", events=events)
        elif not create:
            self._missing()
        elif seen is not None and self.page is not None:
            if not closed:
                hint = "move it away, or choose another name"
                raise Conflict("page-taken", f"{self.page} is another file", hint)
            os.rename(self.page, f"{closed}/late-{seen.digest[:16]}.md")
            self._seen = None

    def _adopted(self, seen: files.Seen | None) -> tuple[list[Event], str]:
        """Return how to adopt a page, or the closed folder of its conversation."""
        events = self._kind.adopt(decoded(seen.data), os.path.basename(self.folder)) if seen else []
        if events:
            closed = self._closed(str(events[0].get("state", {}).get("conversationId", "")))
            if os.path.isdir(closed):  # an editor had it open, and saved it late
                return [], closed
        return events, ""

    # Reading

    def _load(self) -> None:
        """Read the journal; not again where the newest segment is the one that was read."""
        stamp = self._journal.stamp()
        if self._last and stamp == self._stamp:
            return
        lines, self._stamp, self._made = self._journal.read(), stamp, None
        self._state, self._newer = self._folded(lines)
        self._last = lines[-1] if lines else None

    def _folded(self, lines: list[Line]) -> tuple[Any, str]:
        """Return the state that lines add up to, and an event type of a newer version if any."""
        state, newer = self._kind.new(), ""
        known = {*self._kind.EVENTS, "adopted", "rendered"}
        for line in lines:
            for event in line.events:
                try:
                    if event["type"] in known:
                        state = self._evolve(state, event)
                    else:
                        newer = event["type"]
                except _BROKEN as error:
                    where = f"{self.folder}/journal.jsonl: revision {line.rev}"
                    message = f"{where} is damaged: {event!r:.80}"
                    raise Invalid("damaged-journal", message, DAMAGED) from error
            state.rev, state.mark = line.rev, line.mark
        return state, newer

    def _evolve(self, state: Any, event: Event) -> Any:
        """Return the state after an event; it is folded in place except for `adopted`."""
        if event["type"] == "adopted":
            return type(state).from_json(event["state"])
        if event["type"] != "rendered":
            self._kind.evolve(state, event)
        return state

    def _look(self) -> files.Seen | None:
        return None if self.page is None else files.look(self.page)

    def _agrees(self) -> bool:
        """Return whether the page is what the last line says."""
        return self.page is None or (self._seen.digest if self._seen else "") == self._last.page

    def _old(self) -> list[str]:
        """Return the paths of pages that were put aside."""
        names = sorted(files.names(self.folder)) if self.page is not None else []
        return [f"{self.folder}/{n}" for n in names if n[:4] == "old-" and n.count("-") == 2]

    def _rendered(self, state: Any) -> bytes:
        return bytes(self._kind.render(state), "utf-8", "replace")

    def _close(self, ident: str, is_meant: Callable[[S], bool] | None) -> None:
        self._open()
        if is_meant is not None and not is_meant(self._state):
            return
        if self.page is not None and self._seen is not None:
            os.rename(self.page, f"{self.folder}/{self._seen.name}")
            self._take_old()
            files.sync_folder(os.path.dirname(self.page))
        target = self._closed(ident)
        if os.path.lexists(target):
            target += f"-{self._state.mark[:8]}"
        self._journal.move(target, self.page or "")

    def _redact(self, select: Callable[[Event], Event | None]) -> int:
        self._open()
        count = self._journal.redact(select)
        self._load()
        if count and not self._publish():
            self._settle()
        return count

    def _closed(self, ident: str) -> str:
        above = os.path.dirname(os.path.dirname(self.folder))
        return f"{above}/closed/{ident.replace('/', '_') or '-'}"

    def _missing(self) -> Any:
        raise NotFound("not-found", f"there is no revision in {self.folder}")
