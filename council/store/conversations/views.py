"""A conversation as a process that only reads it sees it.

No lock is taken and nothing is written, so this works on a read-only mount
and while others write. The journal says which text is the last one; what
stands in the live file beyond that is taken in, in memory.

Here, too, stands the history of a conversation, as its journal records it. Where
the file is just what its last revision says, its digest names everything that
can be known of it, and what was made of that revision once need not be made again.

Source: C0-034, `store.md` sections 2 and 5, C0-078, `cli.md` section 2 (history, diff, restore).
"""

from __future__ import annotations

import os

from council.core.conversations.conversation import SCHEMA_VERSION, Conversation
from council.core.conversations.records import from_record
from council.core.errors import (
    CouncilError,
    InvalidStateError,
    NewerVersionError,
    NotFoundError,
    RefusedError,
)
from council.core.events import Event
from council.core.record import Any, Record
from council.store import files
from council.store.conversations.naming import Places, decoded, id_in_file, is_closed, pointer_of
from council.store.conversations.session import Latest, is_ahead, read_sealed, remember
from council.store.documents import journal, lines, live
from council.store.paths import DEFAULT_NAME, Workspace
from council.store.statefile import statefile
from council.store.statefile.statefile import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.documents.journal import Past, Tail
    from council.store.files import Reading

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
    state: Conversation
    page: Page
    text: str
    last: str
    standing: str
    events: list[Event] = []


def view(
    workspace: Workspace, name: str, now: datetime | None, latest: dict[str, Latest] | None = None
) -> View:
    """Return the present state of a conversation.

    A revision that `latest` remembers is not read again, but for its free text; another one is
    remembered there.

    Raises:
        NotFoundError: There is none of that name.
        InvalidStateError: Neither file nor journal can be read.
    """
    path = workspace.conversation_file(name)
    for _ in range(_TRIES):
        conversation_id = pointer_of(workspace, name) or id_in_file(workspace, name, now)
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
        found = live.standing(places, tail, reading, past, is_ahead)
        if found != live.HEAD and _is_passed(places, tail, reading):
            continue  # Another process commits right now: what was read belongs to two revisions.
        known = (latest or {}).get(conversation_id) if found == live.HEAD else None
        if known is not None and reading is not None and known.digest == reading.digest:
            return _shown(name, reading.data.decode("utf-8"), known.state, known.page or Page())
        seen = _view(name, places, tail, reading, past, found, now)
        if latest is not None and reading is not None and seen.standing == live.HEAD:
            page = seen.page if seen.page.gaps else None
            kept = Latest(digest=reading.digest, data=reading.data, state=seen.state, page=page)
            remember(latest, conversation_id, kept)
        return seen
    else:
        return _view(name, places, tail, None, past, live.MISSING, now)
    raise NotFoundError(f"no open conversation is named {name!r}", "see: council list")


def _alone(name: str, path: str) -> View:
    """Return what a file says to a process that may not read its journal.

    Raises:
        NotFoundError: There is no such file.
        InvalidStateError: It cannot be read as it stands.
    """
    reading = files.read_stable(path)
    if reading is None:
        raise NotFoundError(f"{path} is not there", "ask the owner of the workspace")
    text = reading.data.decode("utf-8", "replace")
    return _shown(name, text, *statefile.load(text, path))


def _shown(name: str, text: str, state: Conversation, page: Page) -> View:
    return View(name=name, state=state, page=page, text=text, last=text, standing=live.HEAD)


def _is_passed(places: Places, tail: Tail | None, reading: Reading | None) -> bool:
    """Return true if the journal has grown since it was read, or another file is live."""
    if _end(journal.read_tail(places.journal)) != _end(tail):
        return True
    if reading is None:
        return os.path.lexists(places.live)
    return not files.is_same(places.live, reading)


def _end(tail: Tail | None) -> int:
    return 0 if tail is None else tail.end


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
                hidden = read_sealed(places.sealed, state, just_looking=True)
                merged = merge(places, past, reading.data, ours, hidden, at)
                state, page, events = merged.state, merged.page, merged.events
                state.sealed = {one.agent: one for one in merged.seal}
    except NewerVersionError as newer:
        state, page = _newer(text, name, newer)
        found, last = "newer", text
    return View(
        name=name, state=state, page=page, text=text, last=last, standing=found, events=events
    )


def _newer(text: str, name: str, newer: NewerVersionError) -> tuple[Conversation, Page]:
    """Read as much of a file of a newer version as this one understands (XC-013).

    Raises:
        NewerVersionError: It is too different.
    """
    page = statefile.parse(text)
    record = dict(page.record or {})
    found = record.get("schemaVersion")
    record["schemaVersion"] = SCHEMA_VERSION
    brief = statefile.brief_of(page)
    try:
        state = from_record(record, topic=page.topic, brief=brief, texts=page.texts)
    except InvalidStateError:
        raise newer from None
    state.schema_version = found if isinstance(found, int) else SCHEMA_VERSION
    state.name = state.name or name
    return state, page


class Revision(Record):
    """One line of the history of a conversation: `seq` counts the lines of the journal.

    `hole` says why the text of the revision is not there any more, "" where it is.
    """

    _keys = "op_id:- outcome? hole?"

    seq: int
    rev: int
    at: str
    actor: str
    op_id: str
    phase: str
    tour: int
    outcome: str
    digest: str
    hole: str = ""
    events: list[dict[str, Any]]


# What a revision has under the name that it has in the head of its line.
_SAME = ("seq", "rev", "at", "phase", "tour", "digest", "events")


def history(workspace: Workspace, name: str) -> list[Revision]:
    """Return the revisions of an open conversation by its name, or of any by its id.

    Raises:
        NotFoundError: There is none.
    """
    found: dict[int, Revision] = {}
    for line in journal.Past(_places(workspace, name).journal).lines:
        record = line.head
        if record["rev"] not in found:  # archiving adds lines that make no revision
            found[record["rev"]] = Revision(
                **{name: record[name] for name in _SAME},
                actor=record["by"],
                op_id=record["op"],
                outcome=record["result"].get("outcome", ""),
            )
        found[record["rev"]].hole = str(line.change["hole"]) if lines.is_bare(line.body) else ""
    return list(found.values())


def text_at(workspace: Workspace, name: str, rev: int) -> str:
    """Return the text of one revision.

    Raises:
        NotFoundError: There is no such revision, or archiving took its text out.
        InvalidStateError: The journal is damaged.
    """
    past = journal.Past(_places(workspace, name).journal)
    for at in range(len(past.lines) - 1, -1, -1):
        if past.lines[at].head["rev"] == rev:
            return decoded(past.text_at(at))
    raise NotFoundError(f"{name} has no revision {rev}", f"see: council history --name {name}")


def foreign_text_at(workspace: Workspace, name: str, rev: int) -> str:
    """Return the file as others saved it, which revision `rev` took in.

    Raises:
        NotFoundError: That revision took nothing in, or archiving took it out.
    """
    from council.store.statefile.merging import saved_text

    places = _places(workspace, name)
    past = journal.Past(places.journal)
    for line in past.lines:
        if line.head["rev"] == rev and line.head.get("seen"):
            text = saved_text(places, past, line.head["seen"])
            if text is not None:
                return decoded(text)
    raise NotFoundError(f"revision {rev} of {name} took in no other text")


def _places(workspace: Workspace, name: str) -> Places:
    conversation_id = pointer_of(workspace, name)
    known_as = name if conversation_id else DEFAULT_NAME
    places = Places(workspace, known_as, conversation_id or name)
    if journal.read_tail(places.journal) is None:
        raise NotFoundError(f"{name} has no history", "see: council list --archived")
    return places


def standing_digest(workspace: Workspace, name: str) -> tuple[str, str]:
    """Return the id of an open conversation and the digest of its file.

    Both are empty when the file is not the last revision, for whatever
    reason; `Conversations.page` knows more then.

    Raises:
        CouncilError: The system refuses, or something else lies in the place of a file.
    """
    conversation_id, reading = _last_shown(workspace, name)
    return ("", "") if reading is None else (conversation_id, reading.digest)


def standing_state(workspace: Workspace, name: str) -> Conversation | None:
    """Return an open conversation whose file is its last revision, else None.

    It takes no lock. None is no judgement: `Conversations.page` knows more
    then, and says what is wrong.
    """
    try:
        _, reading = _last_shown(workspace, name)
        return None if reading is None else statefile.load(reading.data.decode("utf-8"), name)[0]
    except CouncilError:
        return None


def _last_shown(workspace: Workspace, name: str) -> tuple[str, Reading | None]:
    """Return the id of an open conversation, and its file if that is the last revision."""
    conversation_id = pointer_of(workspace, name)
    if not conversation_id:
        return "", None
    tail = journal.read_tail(Places(workspace, name, conversation_id).journal)
    reading = files.read_stable(workspace.conversation_file(name))
    if tail is None or reading is None or is_closed(tail) or tail.head["digest"] != reading.digest:
        return "", None
    return conversation_id, reading
