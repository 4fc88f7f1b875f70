"""Forgetting one contribution everywhere: a named hole takes its place.

First the conversation gets a revision in which the hole stands, then the text
goes from every file of ours besides the journal, last from the journal: as
long as it is there, a purge that was killed knows what to search for. What others
wrote is left alone: it is only named.

A text is found by its lines and by its words, those apart that stand in the
conversation without it: what others quote of it is theirs.

Source: OP-016, XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import json
import os
import re
from datetime import datetime

from council.core.conversations.answers import sealed_digest
from council.core.conversations.conversation import (
    Conversation,
    Entry,
    Step,
    measure,
    raise_blockers,
)
from council.core.errors import CouncilError, NotFoundError
from council.core.events import Event
from council.core.ids import answer_op_id, split_task_id, text_digest
from council.core.reading import read_json
from council.core.record import Any
from council.core.times import render_instant
from council.store import events, files, shared
from council.store.conversations.closing import CLOSED_COPY
from council.store.conversations.conversations import Conversations
from council.store.conversations.minutes import DATA_SUFFIX
from council.store.conversations.naming import Places, decoded, is_closed
from council.store.conversations.session import Session, sealed_names
from council.store.documents import journal, version_one
from council.store.lock import engine_of
from council.store.paths import Workspace
from council.store.purging.conversations import minutes_of
from council.store.purging.erasing import overwrite_lines, scope_of
from council.store.purging.subjects import (
    Purged,
    contains,
    refuse_running,
    remove,
    remove_torn,
    tasks_of,
    walked,
)
from council.store.statefile import statefile
from council.store.statefile.marks import ENTRY
from council.store.statefile.quoting import MARK, quoted

_MARK = "purged"
_HOLES = {
    "en": "[purged {at} by {by}: this contribution was taken out]",
    "fr": "[effacée le {at} par {by} : cette contribution a été retirée]",
}
_LINE_CHARS = 8
_NEVER = "(?!)"
_WORD = re.compile(r"[^\W_]{4,}")
# What an event may hold of a text, by the names of its data.
_TELLING = frozenset({"text", "old", "new", "value", "line", "json", "block", "message", "stated"})


class Trail:
    """What a text is known by, wherever it stands, and the hole that takes its place.

    Args:
        olds: The contribution; several where another text had its id after a step back.
        new: The same with the hole.
        left: The conversation file without the text: what stands there is not looked for.

    Attributes:
        said: The longer lines of the text.
        lines: Those of them that are looked for.
    """

    def __init__(self, olds: list[Entry], new: Entry, left: str) -> None:
        self.olds, self.new = olds, new
        known = set(_WORD.findall(left))
        stripped = (one.strip() for old in olds for one in old.text.splitlines())
        self.said = {one for one in stripped if len(one) >= _LINE_CHARS}
        self.lines = sorted(one for one in self.said if one not in left)
        words = {word for old in olds for word in _WORD.findall(old.text)} - known
        forms = [*self.lines, *(json.dumps(one)[1:-1] for one in (*self.lines, *words))]
        forms += [json.dumps(one, ensure_ascii=False)[1:-1] for one in self.lines]
        parts = [re.escape(one) for one in sorted({*forms, *words}, key=len, reverse=True)]
        # Before a word may stand what JSON writes for the end of a line.
        begin, end = r"(?:(?<![^\W_])|(?<=\\[nrt]))", r"(?![^\W_])"
        self._pattern = re.compile(f"{begin}(?:{'|'.join(parts) or _NEVER}){end}")

    def is_in(self, data: bytes) -> bool:
        """Return true if something of the text stands in a file."""
        if any(old.digest[:16].encode() in data for old in self.olds):
            return True  # as a contribution, however short
        return self._pattern.search(decoded(data)) is not None

    def masked(self, text: str) -> str:
        """Return a text with signs of the same number in the place of what is looked for."""
        return self._pattern.sub(lambda found: "x" * len(found[0]), text)

    def cleaned(self, data: bytes) -> bytes:
        """Return a file of ours without the text: the hole where it stood whole, else masked."""
        text = data.decode("utf-8", "surrogateescape")
        text = _without_quote(text, self.new.id, self.new.text)
        for old in self.olds:
            for length in (len(old.digest), 16):
                text = text.replace(old.digest[:length], self.new.digest[:length])
        return self.masked(text).encode("utf-8", "surrogateescape")

    def event(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return an event whose data say nothing of the text."""
        data = record.get("data")
        if not isinstance(data, dict):
            return record
        clean = {key: self._said(one) if key in _TELLING else one for key, one in data.items()}
        return record if clean == data else {**record, "data": clean}

    def _said(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._said(one) for one in value]
        return self.masked(value) if isinstance(value, str) else value

    def head(self, head: dict[str, Any]) -> dict[str, Any]:
        """Return what must change in the head of a line of the journal."""
        changed: dict[str, Any] = {}
        told = [self.event(one) for one in head["events"]]
        if told != head["events"]:
            changed["events"] = told
        owner = head["events"][0]["conversationId"] if head["events"] else ""
        ids = [answer_op_id(owner, old.tour, old.agent, old.text) for old in self.olds]
        if head["op"] in ids:
            changed["op"] = ""  # a short text can be guessed from it
        return changed


def _without_quote(text: str, entry_id: str, hole: str) -> str:
    """Return minutes with the hole in the place of what is quoted of an entry."""
    mark = f"\n{MARK} id={entry_id} "
    at = text.find(mark)
    while at >= 0:
        start = text.find("\n> ", at) + 1
        limit = text.find(f"\n{MARK} id=", at + 1)
        if start and (limit < 0 or start < limit):
            end = start
            while text.startswith(">", end):
                end = text.find("\n", end) + 1 or len(text)
            text = f"{text[:start]}{quoted(hole)}\n{text[end:]}"
        at = text.find(mark, at + 1)
    return text


def purge_entry(
    workspace: Workspace,
    conversation_id: str,
    name: str,
    entry_id: str,
    *,
    by: str,
    now: datetime,
    max_runs: int,
) -> Purged:
    """Take one contribution out of everything that is kept. Repeatable, wherever it was cut off.

    Args:
        workspace: Where.
        conversation_id: The conversation, open or archived.
        name: Its name.
        entry_id: The id of the contribution, such as `1-henry`.
        by: Who wants it, for the hole.
        now: When.
        max_runs: How many runs there may be at once.

    Returns:
        The files that were changed or taken away; `history` counts earlier revisions whose text
        is gone.

    Raises:
        NotFoundError: There is no such conversation or contribution.
        ConflictError: A run for the conversation is under way.
        CouncilError: The system refuses; repeated, it goes on.
    """
    refuse_running(workspace, scope_of(conversation_id), max_runs)
    places = Places(workspace, name, conversation_id)
    done = Purged(conversation_id=conversation_id)
    door = Conversations(workspace)
    with files.explaining("purge", places.folder):
        closed = is_closed(journal.read_tail(places.journal))
        session = door.session(name, conversation_id, now) if closed else door.open(name, now)
        with session:
            if closed:
                session.load(session.past.text(session.last["digest"]), session.last["digest"])
            if version_one.files_of(places.folder):
                version_one.bring_over(places.folder, places.journal)  # what a kill left of it
            trail = _hole_made(session, entry_id, by, is_open=not closed)
            if trail is None:
                return done
            _clean(workspace, session, trail, done)
            _take_out_rows(session, trail, entry_id)
            done.history = journal.taken_out(
                places.journal, f"purged {entry_id}", trail.is_in, trail.head
            )
    done.left = sorted(_left(workspace, session.state, trail))
    return done


def _hole_made(session: Session, entry_id: str, by: str, *, is_open: bool) -> Trail | None:
    """Commit the revision with the hole; return what is to be looked for, None when all is done.

    Raises:
        NotFoundError: There is no such contribution, and never was.
    """
    state = session.state
    entry = next((one for one in state.entries if one.id == entry_id), None)
    olds = _texts_of(_pasts(session), session, entry_id)
    if not olds:
        if entry is not None or _says_so(session, entry_id):
            return None
        raise NotFoundError(
            f"{session.name} has no contribution {entry_id!r}",
            "they have: " + (", ".join(one.id for one in state.entries) or "none yet"),
        )
    last = olds[-1]
    at = render_instant(session.now)
    hole = _HOLES.get(state.lang, _HOLES["en"]).format(at=at, by=by)
    new = last.copy(
        text=hole,
        digest=sealed_digest(last.nonce, hole) if last.nonce else text_digest(hole),
        blocking=[],
        extra={**last.extra, _MARK: {"at": at, "by": by}},
    )
    if entry is not None and _MARK in entry.extra:
        new = entry  # a process died after this and before the end
    elif entry is not None or not _says_so(session, entry_id):
        entries = [new if one is entry else one for one in state.entries]
        following = state.copy(entries=entries, blocking_issues=[])
        raised = {issue for one in entries for issue in one.blocking}
        open_issues = [
            one for one in state.blocking_issues if one in raised or one not in last.blocking
        ]
        raise_blockers(following, open_issues if entry is not None else state.blocking_issues)
        if is_open:
            measure(following)
        event = Event(
            type="contribution.purged", agent=new.agent, data={"entry": entry_id, "by": by}
        )
        step = Step(state=following, events=[event])
        session.commit(step, session.page, actor=by, shown=is_open)
    return Trail(olds, new, decoded(session.text))


def _says_so(session: Session, entry_id: str) -> bool:
    """Return true if the last revision is that of a purge of this contribution."""
    return any(
        one["type"] == "contribution.purged" and one["data"]["entry"] == entry_id
        for one in session.last["events"]
    )


def _pasts(session: Session) -> list[journal.Past]:
    """Return the texts of a conversation, here and in the database of an engine."""
    engine = engine_of(session.places.journal)
    if engine is None:
        return [session.past]
    from council.store.purging.shared_rows import texts_of

    return [session.past, texts_of(engine, session.places.journal)]


def _take_out_rows(session: Session, trail: Trail, entry_id: str) -> None:
    """Take the text out of the database of an engine, and share the minutes as they are now."""
    path, owner = session.places.journal, session.conversation_id
    engine = engine_of(path)
    if engine is None:
        return
    from council.store.purging.shared_rows import rewrite, texts_of

    pages = minutes_of(session.workspace, owner, session.past)
    for page in pages:
        shared.bring(page)
    past = texts_of(engine, path)
    made, _ = journal.without(past, f"purged {entry_id}", trail.is_in, trail.head)

    def instead(_: str, line: bytes) -> bytes | None:
        clean = _event_line(line, owner, trail)
        return None if clean is None else clean[0]

    sealed = [old.digest for old in trail.olds if old.nonce]
    rewrite(engine, path, made, sealed, pages, [owner.encode()], instead)


def follow(session: Session) -> None:
    """Take out of the files here what was purged on another machine. Repeatable.

    Raises:
        CouncilError: The system refuses; repeated, it goes on.
    """
    left = files.paths_in(session.places.folder, journal.BEFORE_PURGE)
    if not left:
        return
    if not hasattr(session, "state"):
        session.load(session.past.text(session.last["digest"]), session.last["digest"])
    said = (one for line in session.past.lines for one in line.head["events"])
    holes = {str(one["data"]["entry"]) for one in said if one["type"] == "contribution.purged"}
    pasts = [journal.Past(path) for path in left]
    for entry_id in sorted(holes):
        olds = _texts_of(pasts, session, entry_id)
        if olds:
            gone = olds[-1].copy(text="", digest=text_digest(""))
            new = next((one for one in session.state.entries if one.id == entry_id), gone)
            trail = Trail(olds, new, decoded(session.text))
            _clean(session.workspace, session, trail, Purged(conversation_id=""))
    for path in left:
        files.remove(path)


def _texts_of(pasts: list[journal.Past], session: Session, entry_id: str) -> list[Entry]:
    """Return all that ever stood under the id of a contribution, oldest first, holes left out."""
    found: dict[str, Entry] = {}
    seen = set()
    mark = f"{ENTRY}id={entry_id} "
    for _, data in (one for past in pasts for one in past.texts()):
        text = decoded(data or b"")
        at = text.find(mark)
        said = text[at : text.find("\n", at)]
        if at < 0 or said in seen:
            continue
        seen.add(said)
        try:
            state, _ = statefile.load(text, session.places.journal)
        except CouncilError:
            continue  # as a process had left it
        for one in state.entries:
            if one.id == entry_id and _MARK not in one.extra:
                found[one.text] = one
    return list(found.values())


def _clean(workspace: Workspace, session: Session, trail: Trail, done: Purged) -> None:
    """Take the text out of every file of ours but the journal."""
    places, owner = session.places, session.conversation_id
    used = sealed_names(session.state)
    for folder in (places.displaced, places.sealed, places.prompts):
        for path in files.paths_in(folder):
            if os.path.basename(path) not in used and _holds(path, trail):
                remove(path, done.files, done)
    for path in (*files.paths_in(workspace.runs, f"{owner}."), *tasks_of(workspace, f"{owner}.")):
        if any(_is_of(path, old.task) for old in trail.olds) and _holds(path, trail):
            remove(path, done.runs, done)
        else:
            _rewrite(path, trail, done)
    copy = f"{places.folder}/{CLOSED_COPY}"
    reading = files.read_stable(copy)
    if reading is not None and session.past.knows(reading.digest) and _holds(copy, trail):
        files.replace(copy, session.text)
        done.files.append(copy)
    for path in (
        copy,
        *files.paths_in(places.conflicts),
        *files.paths_in(f"{workspace.control}/conflicts"),  # edits of minutes
        *minutes_of(workspace, owner, session.past),
    ):
        _rewrite(path, trail, done)
    for day in events.days(workspace):
        path = f"{workspace.events}/{day}"
        done.events += overwrite_lines(path, lambda line: _event_line(line, owner, trail))
    remove_torn(workspace, tuple(one.encode() for one in trail.lines))
    for path in (workspace.board, f"{workspace.control}/board.json"):
        files.remove(path)  # they are made anew


def _is_of(path: str, task: str) -> bool:
    named = os.path.basename(path)
    return bool(task) and split_task_id(task) is not None and named.startswith(f"{task}.")


def _holds(path: str, trail: Trail) -> bool:
    return trail.is_in(files.content_of(path))


def _rewrite(path: str, trail: Trail, done: Purged) -> None:
    reading = files.read_stable(path) if os.path.isfile(path) else None
    if reading is None:
        return
    clean = (
        _data(reading.data, trail) if path.endswith(DATA_SUFFIX) else trail.cleaned(reading.data)
    )
    if clean != reading.data:
        files.replace(path, clean)
        done.files.append(path)


def _data(data: bytes, trail: Trail) -> bytes:
    """Return what lies beside minutes for programs, with the hole."""
    try:
        record = read_json(data)
        known = record["texts"][trail.new.id]
    except (ValueError, LookupError, TypeError):
        return trail.cleaned(data)
    if known in [old.text for old in trail.olds]:
        record["texts"][trail.new.id] = trail.new.text
        for one in record["ledger"]:
            if one["id"] == trail.new.id:
                one.update(digest=trail.new.digest, blocking=[], **trail.new.extra)
        blockers = record["convergence"]["blockingIssues"]
        kept = [one for one in blockers if one not in trail.olds[-1].blocking]
        record["convergence"]["blockingIssues"] = kept
        data = (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode()
    return trail.cleaned(data)


def _event_line(line: bytes, owner: str, trail: Trail) -> tuple[bytes, bool] | None:
    record = events.parsed(line) if owner.encode() in line else None
    if record is None or record.get("conversationId") != owner:
        return None
    clean = trail.event(record)
    if clean is record:
        return None
    return json.dumps(clean, separators=(",", ":")).encode("ascii").ljust(len(line)), True


def _left(workspace: Workspace, state: Conversation, trail: Trail) -> list[str]:
    """Return what others wrote with a line of the text in it: contributions, and files."""
    found = [
        f"{one.id} of {one.agent}"
        for one in state.entries
        if one.id != trail.new.id and any(line in one.text for line in trail.said)
    ]
    wanted = tuple(line.encode() for line in trail.lines)
    return [*found, *(path for path in walked(workspace) if contains(path, wanted))]
