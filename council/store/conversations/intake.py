"""What becomes of a conversation file that somebody else wrote.

An edit is taken in as a revision of its own, a later revision than the journal
knows is imported with what is missing from it merged back, and a file without
history is taken up. Loaded only when there is such a text.

Source: C0-001, C0-019, C0-078, `store.md` sections 3, 5 and 9.
"""

from __future__ import annotations

from council.core.conversations.conversation import Step
from council.core.conversations.records import to_record
from council.core.errors import CouncilError, NotAdoptedError, NotFoundError
from council.core.events import Event
from council.core.ids import sha256_hex
from council.store.conversations.naming import decoded
from council.store.conversations.session import read_sealed
from council.store.statefile import statefile
from council.store.statefile.merging import begin, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import SealedText
    from council.store.conversations.naming import Places
    from council.store.conversations.session import Session
    from council.store.documents.journal import Past, Tail


def take_in(session: Session, theirs: bytes) -> None:
    """Make a revision of what differs from the text that somebody had before them."""
    hidden = read_sealed(session.places.sealed, session.state)
    merged = merge(session.places, session.past, theirs, session.text, hidden, session.now)
    for kept in merged.kept:
        session.keep(kept.what, kept.text)
    # A sealed text that stands in it must not be found there, nor among the earlier texts.
    is_hidden = _shows_one_of([*hidden.values(), *merged.seal], theirs)
    if merged.changed or merged.events or is_hidden:  # else other line ends, say: it is left
        step = Step(state=merged.state, events=merged.events, seal=merged.seal)
        session.take(step, merged.page, theirs, is_hidden=is_hidden)


def _shows_one_of(hidden: list[SealedText], data: bytes) -> bool:
    """Return true if one of these texts, or its draft, stands in a file."""
    text = "\n".join(decoded(data).splitlines())
    said = [
        "\n".join(part.strip().splitlines()) for one in hidden for part in (one.text, *one.drafts)
    ]
    return any(part in text for part in said if part)


def is_ahead(places: Places, tail: Tail | None, past: Past, data: bytes) -> bool:
    """Return true if a text is a later revision of ours than the journal knows.

    It must hold every contribution of the last revision that the journal knows,
    and more than another number: a number that a person has changed is an edit.
    """
    rev = (statefile.outline(decoded(data)).record or {}).get("rev")
    if tail is None or not isinstance(rev, int) or rev <= tail.head["rev"]:
        return False
    try:
        theirs, _ = statefile.load(data.decode("utf-8"), places.live)
        ours, _ = statefile.load(decoded(past.text(tail.head["digest"])), places.live)
    except (CouncilError, ValueError):
        return False
    if theirs.conversation_id != ours.conversation_id:
        return False
    said = {one.id: one.digest for one in theirs.entries}
    if any(said.get(one.id) != one.digest for one in ours.entries):
        return False
    if to_record(theirs) == to_record(ours.copy(rev=theirs.rev)):
        return False
    # Such a file is what its state makes of it, with free text of people between.
    return statefile.render(theirs, statefile.parse(decoded(data))).encode() == data


def import_ahead(session: Session, data: bytes) -> None:
    """Make a later text than the journal knows a revision, as it stands and with its number.

    Raises:
        NotAdoptedError: Trust is strict, and nobody adopts it (SC-003).
    """
    _refuse_unadopted(session)
    state, page = statefile.load(decoded(data), session.places.live)
    known = session.last["rev"]
    behind = Event(type="journal.behind", data={"rev": state.rev, "known": known})
    digest = sha256_hex(data)
    session.add(session.line(digest, state, [behind], anew=True), data)
    session.stand(state, page, data, digest)


def begin_from_file(session: Session) -> None:
    """Take up a live file that has no journal: written by hand, or its folder is lost.

    Raises:
        NotFoundError: There is no live file either.
        NotAdoptedError: Trust is strict, and nobody adopts it (SC-003).
    """
    if session.reading is None:
        raise NotFoundError(
            f"no open conversation {session.name!r}", "see: council list; or council convene"
        )
    _refuse_unadopted(session)
    data, places = session.reading.data, session.places
    start = begin(decoded(data), session.name, places.live, session.now, strict=places.strict)
    state = start.state.copy(conversation_id=session.conversation_id)
    session.state, session.page, session.text = state, start.page, data
    session.add(session.line(session.reading.digest, state, start.events, anew=True), data)
    if start.changed or state != start.state:
        session.commit(Step(state=state, seal=start.seal), start.page, actor="external")


def _refuse_unadopted(session: Session) -> None:
    if session.places.strict and not session.is_adopting:
        raise NotAdoptedError(session.name)
