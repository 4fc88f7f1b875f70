"""A conversation as it looks to somebody who only reads.

No lock is taken and nothing is written, so this works on a read-only mount
and while others write. The journal tells which text is the last one; what
stands in the live file beyond that is taken in, in memory.

Source: C0-034, `store.md` sections 2 and 5.
"""

from __future__ import annotations

from council.core.conversations.conversation import SCHEMA_VERSION, Conversation
from council.core.conversations.records import from_record
from council.core.errors import NewerVersionError, NotFoundError, RefusedError
from council.core.events import Event
from council.core.record import Record
from council.store import files
from council.store.conversations import naming, sealed
from council.store.conversations.places import Places, is_closed
from council.store.conversations.session import Latest, remember
from council.store.documents import journal, live
from council.store.statefile import statefile
from council.store.statefile.statefile import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.documents.journal import Past, Tail
    from council.store.files import Reading
    from council.store.paths import Workspace

_TRIES = 8


class View(Record):
    """What a reader finds.

    `text` is the live file as it is, "" when it is missing. `standing` says
    how it relates to the journal, in the words of `live.standing`, or `newer`
    (written by a newer council).
    `events` are those that taking it in will bring. `last` is the text of the
    last revision.
    """

    name: str
    path: str
    state: Conversation
    page: Page
    text: str
    last: str
    standing: str
    events: list[Event] = []


def view(
    workspace: Workspace, name: str, now: datetime | None, latest: dict[str, Latest] | None = None
) -> View:
    """Return what a conversation looks like now.

    A revision that `latest` remembers is not read again, but for its free text; another one is
    remembered there.

    Raises:
        NotFoundError: There is none of that name.
        InvalidStateError: Neither file nor journal can be read.
    """
    path = workspace.conversation_file(name)
    for _ in range(_TRIES):
        conversation_id = naming.pointer_of(workspace, name)
        conversation_id = conversation_id or naming.id_in_file(workspace, name, now)
        if not conversation_id:
            break
        places = Places(workspace, name, conversation_id)
        try:
            tail = journal.read_tail(places.journal)
        except RefusedError:
            return _alone(name, path)
        if is_closed(tail):
            break
        reading, past = files.read_stable(path), journal.Past(places.journal)
        found = _standing(places, tail, reading, past)
        if found == live.HEAD and reading is not None and latest is not None:
            known = latest.get(conversation_id)
            if known is not None and known.digest == reading.digest:
                text = reading.data.decode("utf-8")
                return View(
                    name=name,
                    path=path,
                    state=known.state,
                    page=known.page or Page(),
                    text=text,
                    last=text,
                    standing=found,
                )
            seen = _view(name, places, tail, reading, past, found, now)
            if seen.standing == live.HEAD:
                page = seen.page if seen.page.gaps else None
                digest, data = reading.digest, reading.data
                kept = Latest(digest=digest, data=data, state=seen.state, page=page)
                remember(latest, conversation_id, kept)
            return seen
        if found == live.HEAD or _end(journal.read_tail(places.journal)) == _end(tail):
            return _view(name, places, tail, reading, past, found, now)
        # Somebody commits right now: what was read belongs to two revisions.
    else:
        return _view(name, places, tail, None, past, live.MISSING, now)
    raise NotFoundError(f"no open conversation is named {name!r}", "see: council list")


def _alone(name: str, path: str) -> View:
    """Return what a file says to somebody who may not read its journal.

    Raises:
        NotFoundError: There is no such file.
        InvalidStateError: It cannot be read as it stands.
    """
    reading = files.read_stable(path)
    if reading is None:
        raise NotFoundError(f"{path} is not there", "ask the owner of the workspace")
    text = reading.data.decode("utf-8", "replace")
    state, page = statefile.load(text, path)
    return View(
        name=name, path=path, state=state, page=page, text=text, last=text, standing=live.HEAD
    )


def _end(tail: Tail | None) -> int:
    return 0 if tail is None else tail.end


def _standing(places: Places, tail: Tail | None, reading: Reading | None, past: Past) -> str:
    def is_ahead(data: bytes) -> bool:
        from council.store.conversations.intake import is_ahead

        return is_ahead(places, tail, past, data)

    return live.standing(tail, reading, past, places.live, places.displaced, is_ahead)


def _view(
    name: str,
    places: Places,
    tail: Tail | None,
    reading: Reading | None,
    past: Past,
    found: str,
    now: datetime | None,
) -> View:
    text = "" if reading is None else reading.data.decode("utf-8", "replace")
    events: list[Event] = []
    try:
        if tail is None:
            from council.store.statefile.merging import begin

            start = begin(text, name, places.live, now, strict=places.strict)
            state, page, events, last = start.state, start.page, start.events, ""
        elif found in (live.HEAD, live.AHEAD):
            state, page = statefile.load(text, places.live)
            last = text
        else:
            ours = past.text(tail.head["digest"])
            last = ours.decode("utf-8")
            state, page = statefile.load(last, f"revision {tail.head['rev']}")
            if found == live.EDITED and reading is not None:
                from council.store.statefile.merging import merge

                at = now or state.updated_at
                hidden = sealed.read_sealed(places.sealed, state, just_looking=True)
                merged = merge(places, past, reading.data, ours, hidden, at)
                state, page, events = merged.state, merged.page, merged.events
                state.sealed = {one.agent: one for one in merged.seal}
    except NewerVersionError:
        state, page = _newer(text, name)
        found, last = "newer", text
    return View(
        name=name,
        path=places.live,
        state=state,
        page=page,
        text=text,
        last=last,
        standing=found,
        events=events,
    )


def _newer(text: str, name: str) -> tuple[Conversation, Page]:
    """Read as much of a file of a newer version as this one understands (XC-013).

    Raises:
        NewerVersionError: It is too different.
        InvalidStateError: It is too different.
    """
    page = statefile.parse(text)
    record = dict(page.record or {})
    found = record.get("schemaVersion")
    record["schemaVersion"] = SCHEMA_VERSION
    state = from_record(record, topic=page.topic, brief=statefile.brief_of(page), texts=page.texts)
    state.schema_version = found if isinstance(found, int) else SCHEMA_VERSION
    state.name = state.name or name
    return state, page
