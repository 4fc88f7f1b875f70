"""A document: a journal, the state that it adds up to, and the page that people read and edit.

The state is always folded from the journal. The page is compared, by its digest, with what was
last made of the state: if it differs, its edits become events like any others, and our page is
published again. So a stale save, a formatter or a sync tool cannot lose what others said.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from council.kernel import codec, files, times
from council.kernel.errors import Conflict, Invalid, NotFound, Unexpected
from council.kernel.ids import digest
from council.kernel.journal import SEGMENT, Journal, Line, Moved
from council.kernel.lock import Lock
from council.kernel.record import TYPE_CHECKING, Any, Record, copied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from council.kernel.files import Seen
    from council.kernel.page import Taken

    class Kind(Protocol):
        """What makes a kind of document: a module with these pure functions.

        The state is a `Record` with `rev` and `mark`, which the document sets. The document itself
        folds the events `adopted` (the whole state as JSON) and `rendered` (nothing changes); all
        others go to `evolve`, also `kept` (`file`, `why`: words that were put in `conflicts/`).
        A kind may also have `EVENTS`, whose keys are its event types: others are of a newer
        version, kept as they are, and nothing is written. `settles(event) -> bool` says that a
        round or the document ended: then the page survives a power cut, too.
        """

        def new(self) -> Any:
            """Return the state before the first event."""

        def evolve(self, state: Any, event: Event) -> None:
            """Fold an event, in place."""

        def due(self, state: Any, now: datetime) -> list[Event]:
            """Return what time alone makes true; nothing when it has been folded."""

        def render(self, state: Any) -> str:
            """Return the page."""

        def edits(self, base: Any, now: Any, page: str, at: datetime, ours: bool) -> Taken:
            """Return what was changed by hand between `base` and `page` and is not in `now`."""

        def adopt(self, page: str) -> list[Event]:
            """Return the event `adopted` for a page without a journal, or nothing."""


Event = dict[str, Any]
_LOOKS = 20
_EOF = "<!--council:eof rev="


class Change(Record):
    """What a command did.

    Attributes:
        state: The state after it.
        rev: The revision that it made; of a repetition, the one that the first time made.
        repeated: Its `op` was there before, so nothing was written.
        events: What was decided, and what became due by it.
    """

    state: Any
    rev: int
    repeated: bool = False
    events: list[Any] = []


class Document:
    """A document on disk. Errors of the system come out as refusals.

    Args:
        folder: Of its journal, lock and conflicts; made by the first change.
        page: The path of its page, None for a kind without one.
        kind: See `Kind`.
        patience: Seconds to wait for the lock.
        now: The time of hand edits that `read` finds; the system's clock if None.

    Attributes:
        segment: A new segment is begun when the lines since the last one weigh this many bytes
            and four times the page.
    """

    segment = 1 << 20

    def __init__(
        self,
        folder: str,
        page: str | None,
        kind: Kind,
        *,
        patience: float = 30.0,
        now: datetime | None = None,
    ) -> None:
        self.folder, self.page = folder, page
        self._kind, self._patience, self._now = kind, patience, now
        self._journal = Journal(folder)
        self._lines: list[Line] = []
        self._state: Any = None
        self._newer = ""  # an event type of a newer version
        self._seen: Seen | None = None  # the live page, whose words are all taken in
        self._durable = False

    def exists(self) -> bool:
        """Return whether there is a journal, or a page that can be adopted."""
        with files.reported("read", self.folder):
            if self._journal.is_begun():
                return True
            return bool(self._adopted(self._look()))

    def read(self) -> Any:
        """Return the state; hand edits are taken in first.

        Raises:
            NotFound: There is nothing (`not-found`).
            Invalid: The journal is damaged, or the page is no regular file.
        """
        with files.reported("read", self.folder):
            self._seen = self._look()
            self._load()
            if self._newer or (self._lines and self._agrees() and not self._touched()):
                return self._state
            self._check_there()
            self._locked(lambda: self._opened(self._clock()))
            return self._state

    def peek(self, upto: int | None = None) -> Any:
        """Return the state as the journal has it, at revision `upto`; nothing is written.

        Raises:
            NotFound: There is no journal (`not-found`), or no such revision (`no-revision`).
        """
        with files.reported("read", self.folder):
            lines = self._journal.read(upto)
        if not lines:
            raise self._missing()
        if upto is not None:
            lines = [line for line in lines if line.rev <= upto]
            if not lines or lines[-1].rev != upto:
                raise NotFound("no-revision", f"{self.folder} has no revision {upto}")
        return self._folded(lines)[0]

    def history(self) -> list[Line]:
        """Return all revisions, oldest first.

        Raises:
            NotFound: There is no journal.
        """
        with files.reported("read", self.folder):
            lines = self._journal.history()
        if not lines:
            raise self._missing()
        return lines

    def change(
        self,
        decide: Callable[[Any], list[Event]],
        *,
        op: str = "",
        by: str,
        at: datetime,
        via: str = "cli",
        create: bool = False,
    ) -> Change:
        """Append what is decided, with all that is due then, as one revision.

        Args:
            decide: Returns events for a state, or raises a refusal. Pure: it may be asked again.
            op: A key; where a revision has it already, nothing is written.
            by: Who.
            at: When.
            via: By what.
            create: Whether the document is made where there is none.

        Raises:
            Refusal: As `decide` says; or the journal is damaged, newer, or locked for too long.
        """
        with files.reported("write", self.folder):
            if create and not os.path.isdir(self.folder) and not self.exists():
                decide(self._kind.new())  # a refusal leaves no folder behind
                files.make_folder(self.folder)
            self._check_there()
            return self._locked(lambda: self._changed(decide, op, by, at, via, create), create)

    def close(self, ident: str) -> None:
        """Remove the page, and move the folder to `.council/closed/<ident>`."""
        with files.reported("close", self.folder):
            if not os.path.isdir(self.folder) and os.path.isdir(self._closed(ident)):
                return
            self._check_there()
            self._locked(lambda: self._close(ident))

    def redact(self, select: Callable[[Event], Event | None]) -> int:
        """Take words out of the journal and the page; return how many lines changed.

        Args:
            select: Returns an event without the words, None to leave it. Whole states (`adopted`)
                are passed to it, too.
        """
        with files.reported("write", self.folder):
            self._check_there()
            return self._locked(lambda: self._redacted(select))

    # With the lock

    def _locked(self, act: Callable[[], Any], create: bool = False) -> Any:
        """Return what `act` does under the lock; it does it again after a conflict."""
        while True:
            try:
                with Lock(f"{self.folder}/lock", self._patience):
                    return act()
            except Moved:
                continue
            except NotFound as refusal:
                if refusal.code != "gone" or not create:
                    raise
                files.make_folder(self.folder)  # it was closed while we waited

    def _opened(self, at: datetime, create: bool = False) -> None:
        """Read the journal, adopt a page that has none, and take in hand edits."""
        self._load()
        if not self._lines:
            self._adopt(at, create)
        if self._lines and not self._newer:
            self._settle(at)

    def _changed(
        self,
        decide: Callable[[Any], list[Event]],
        op: str,
        by: str,
        at: datetime,
        via: str,
        create: bool,
    ) -> Change:
        self._opened(at, create)
        if self._newer:
            raise Conflict(
                "newer-version",
                f"{self.folder} has events of a newer version: {self._newer[:60]}",
                "update council; until then it can only be read",
            )
        done = op and self._done("op", op)
        if done:
            self._journal.sync()
            return Change(state=self._state, rev=done.rev, repeated=True, events=done.events)
        events = self._commit(decide(self._state), op, by, at, via)
        if events:
            self._show(at)
        elif self._lines:
            self._journal.sync()  # what is there already is acknowledged again
        return Change(state=self._state, rev=self._state.rev, events=events)

    def _settle(self, at: datetime) -> None:
        """Take in what others wrote, until page and journal agree."""
        for _ in range(_LOOKS):
            self._take_old_pages(at)
            self._seen = self._look()
            if self._agrees():
                return
            if self._seen is not None:
                self._take(self._seen, at)
            if self._publish(at):
                return
        raise Conflict(
            "busy-page", f"{self.page} is being changed all the time", "close it in other programs"
        )

    def _show(self, at: datetime) -> None:
        if self.page is not None and not self._publish(at):
            self._settle(at)

    def _commit(
        self, decided: Iterable[Event], op: str, by: str, at: datetime, via: str
    ) -> list[Event]:
        """Append events and what is due after them as one line; return them all."""
        state, events = self._state.copy(), list(decided)
        for event in events:
            self._evolve(state, copied(event))
        for _ in range(1000):
            due = self._kind.due(state, at)
            if not due:
                break
            for event in due:
                self._evolve(state, copied(event))
            events += due
        else:
            raise Unexpected("endless", f"{self.folder}: something stays due: {due[0]['type']}")
        if events:
            self._begin_segment()
            rev = self._lines[-1].rev + 1 if self._lines else 1
            self._append(state, events, rev, _drawn(), op, by, at, via)
        return events

    def _append(
        self,
        state: Any,
        events: list[Event],
        rev: int,
        mark: str,
        op: str,
        by: str,
        at: datetime,
        via: str,
    ) -> None:
        state.rev, state.mark = rev, mark
        page = digest(self._rendered(state)) if self.page is not None else ""
        fields = {"op": op, "by": by, "via": via, "events": events, "page": page}
        line = Line(rev=rev, mark=mark, at=times.text(at), prev="", **fields)
        self._journal.append(self._lines[-1].rev if self._lines else 0, line)
        self._lines.append(line)
        self._state = state
        settles = getattr(self._kind, "settles", None)
        self._durable = self._durable or bool(settles and any(map(settles, events)))

    def _begin_segment(self) -> None:
        weight = self._journal.weight
        if not self._lines or weight < self.segment:
            return
        state, last = self._state.to_json(), self._lines[-1]
        size = len(self._seen.data) if self._seen else len(codec.encoded(state))
        if weight > 4 * size:
            events = [{"type": "adopted", "state": state}]
            self._journal.begin(last.copy(op="", via=SEGMENT, events=events, was=""))

    def _publish(self, at: datetime) -> bool:
        """Publish the page; return False where the live file has to be looked at again."""
        data = self._rendered(self._state)
        if digest(data) != self._lines[-1].page:  # an older version wrote the line
            self._commit([{"type": "rendered"}], "", "council", at, "render")
            data = self._rendered(self._state)
        assert self.page is not None
        rev, durable = self._state.rev, self._durable
        self._durable = False
        return files.publish(self.page, data, self.folder, self._seen, rev, durable)

    # What others wrote

    def _take_old_pages(self, at: datetime) -> None:
        for path in self._old_pages():
            if files.discard(path, later=True) is not False:
                continue
            seen = files.read_whole(path, _looks_whole)
            if seen is not None:
                self._take(seen, at)
                now = f"{self.folder}/{seen.name(self._state.rev)}"
                os.rename(path, now)
                files.discard(now)

    def _take(self, seen: Seen, at: datetime, base: tuple[Any, Line] | None = None) -> None:
        """Append what was typed in a page; words that cannot be taken in go to `conflicts/`."""
        if not seen.data.strip(b"\0 \t\r\n") or self._is_known(seen.digest):
            return
        text = _decoded(seen.data)
        base = base or self._base(text)
        events: list[Event] = []
        refused: list[str] = []
        if base is not None:
            ours = digest(self._rendered(base[0])) == base[1].page
            taken = self._kind.edits(base[0], self._state, text, at, ours)
            events, refused = list(taken.events), taken.refused
        elif not self._rendered(self._state).startswith(seen.data.rstrip(b"\0 \t\r\n")):
            refused = ["the page names no revision that is known here"]
        if refused:
            name = f"{seen.digest[:16]}.md"
            files.make_folder(f"{self.folder}/conflicts")
            files.write(f"{self.folder}/conflicts/{name}", seen.data)
            files.sync_folder(self.folder)
            events.append({"type": "kept", "file": name, "why": "; ".join(refused)})
        if events:
            self._commit(events, f"edit:{seen.digest}", "external", at, "edit")

    def _is_known(self, found: str) -> bool:
        """Return whether a page is one of ours, or was taken in before."""
        return bool(self._done("page", found) or self._done("op", f"edit:{found}"))

    def _done(self, key: str, value: str) -> Line | None:
        for line in self._lines:
            if line.__dict__[key] == value:
                return line
        return self._journal.find(key, value) if self._journal.is_long() else None

    def _base(self, text: str) -> tuple[Any, Line] | None:
        """Return the state and the line of the revision that a page names, if we know it."""
        rev, mark = revision(text) or (0, "")
        lines = self._lines
        if rev and rev < lines[0].rev:
            lines = self._journal.read(rev)
        lines = [line for line in lines if line.rev <= rev]
        if lines and (lines[-1].rev, lines[-1].mark) == (rev, mark):
            return self._folded(lines)[0], lines[-1]
        return None

    def _adopt(self, at: datetime, create: bool) -> None:
        """Begin a journal with what a page without one says."""
        seen = self._seen = self._look()
        events = self._adopted(seen)
        if seen is None or not events:
            if not create:
                raise self._missing()
            if seen is not None:
                self._make_room(seen)
            self._state = self._kind.new()
            return
        state = self._kind.new()
        for event in events:
            state = self._evolve(state, copied(event))
        rev, mark = revision(_decoded(seen.data)) or (1, _drawn())
        self._append(state, events, max(1, rev), mark, "", "external", at, "adopt")
        self._take(seen, at, (state, self._lines[-1]))
        self._show(at)

    def _adopted(self, seen: Seen | None) -> list[Event]:
        """Return how a page would be adopted: not at all where its conversation is closed."""
        events = self._kind.adopt(_decoded(seen.data)) if seen else []
        if events and os.path.isdir(self._closed(_ident(events))):
            return []
        return events

    def _make_room(self, seen: Seen) -> None:
        """Move a page of a closed conversation, saved late by an editor, into its folder."""
        assert self.page is not None
        events = self._kind.adopt(_decoded(seen.data))
        if not events:
            raise Conflict(
                "page-taken", f"{self.page} is another file", "move it away, or use another name"
            )
        os.rename(self.page, f"{self._closed(_ident(events))}/late-{seen.digest[:16]}.md")
        self._seen = None

    # Reading

    def _load(self) -> None:
        self._lines = self._journal.read()
        self._state, self._newer = self._folded(self._lines)

    def _folded(self, lines: list[Line]) -> tuple[Any, str]:
        """Return the state that lines add up to, and an event type of a newer version if any."""
        state, newer = self._kind.new(), ""
        known = getattr(self._kind, "EVENTS", None)
        for line in lines:
            for event in line.events:
                try:
                    if known is None or event["type"] in known:
                        state = self._evolve(state, event)
                    else:
                        newer = event["type"]
                except (LookupError, TypeError, ValueError, AttributeError, Invalid) as error:
                    raise Invalid(
                        "damaged-journal",
                        f"{self.folder}: revision {line.rev} has a damaged event: {event!r:.80}",
                        "nothing is written until it is repaired: see `council doctor`",
                    ) from error
            state.rev, state.mark = line.rev, line.mark
        return state, newer

    def _evolve(self, state: Any, event: Event) -> Any:
        """Return the state after an event; it is folded in place but for `adopted`."""
        if event["type"] == "adopted":
            return type(state).from_json(event["state"])
        if event["type"] != "rendered":
            self._kind.evolve(state, event)
        return state

    def _look(self) -> Seen | None:
        return None if self.page is None else files.read_whole(self.page, _looks_whole)

    def _agrees(self) -> bool:
        """Return whether the page is what the last line says."""
        if self.page is None:
            return True
        return self._seen is not None and self._seen.digest == self._lines[-1].page

    def _old_pages(self) -> list[str]:
        names = sorted(files.names(self.folder)) if self.page is not None else []
        return [f"{self.folder}/{n}" for n in names if n[:4] == "old-" and n.count("-") == 6]

    def _touched(self) -> bool:
        return not all(map(files.is_untouched, self._old_pages()))

    def _rendered(self, state: Any) -> bytes:
        text = self._kind.render(state)
        return text.encode("utf-8", "replace")

    def _close(self, ident: str) -> None:
        at = self._clock()
        self._opened(at)
        if self.page is not None and self._seen is not None:
            os.rename(self.page, f"{self.folder}/{self._seen.name(self._state.rev)}")
            self._take_old_pages(at)
            files.sync_folder(os.path.dirname(self.page))
        target = self._closed(ident)
        if os.path.lexists(target):
            target += f"-{self._state.mark[:8]}"
        files.make_folder(os.path.dirname(target))
        os.rename(self.folder, target)
        files.sync_folders(os.path.dirname(target))
        files.sync_folder(os.path.dirname(self.folder))

    def _redacted(self, select: Callable[[Event], Event | None]) -> int:
        at = self._clock()
        self._opened(at)
        count = self._journal.redact(select)
        if count:
            self._load()
            self._show(at)
        return count

    def _closed(self, ident: str) -> str:
        above = os.path.dirname(os.path.dirname(self.folder))
        return f"{above}/closed/{ident.replace('/', '_') or '-'}"

    def _check_there(self) -> None:
        """Make the folder of a page that can be adopted; refuse where there is nothing."""
        if not os.path.isdir(self.folder):
            if not self.exists():
                raise self._missing()
            files.make_folder(self.folder)

    def _missing(self) -> NotFound:
        return NotFound("not-found", f"there is nothing in {self.folder}")

    def _clock(self) -> datetime:
        return self._now or datetime.now(UTC)


def revision(text: str) -> tuple[int, str] | None:
    """Return the revision and mark that a page's last mark names."""
    at = text.rfind(_EOF)
    words = text[at + len(_EOF) : at + 100].partition("-->")[0].split() if at >= 0 else []
    if len(words) == 2 and words[0].isdecimal() and words[1][:5] == "mark=":
        return int(words[0]), words[1][5:]
    return None


def _ident(events: list[Event]) -> str:
    state = events[0].get("state") or {}
    return str(state.get("conversationId", ""))


def _drawn() -> str:
    return os.urandom(16).hex()


def _looks_whole(data: bytes) -> bool:
    return _EOF.encode() in data


def _decoded(data: bytes) -> str:
    """Return the text of a page, "" where it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""
