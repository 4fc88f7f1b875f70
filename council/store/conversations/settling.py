"""Bringing the files of a conversation in line before anything is done to it.

A crash between commit and publication is finished, a file that is missing is
published again, a line that the journal lost is written again, what a person
or a tool wrote is taken in as a revision of its own, and a file without
history is taken up.

Source: C0-001, C0-019, C0-078, `store.md` sections 2 (steps 3, 4, 10), 3 and 5.
"""

from __future__ import annotations

from council import __version__
from council.core.errors import NotFoundError
from council.core.events import Event
from council.store import events as event_log
from council.store.conversations import journal, recovery, sealed, snapshots, untouched
from council.store.conversations.places import decoded, is_lost_revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import SealedText
    from council.store.conversations.session import Session
    from council.store.files import Reading


def settle(session: Session) -> None:
    """Bring files and journal in line, taking in what people and tools wrote.

    Raises:
        NotFoundError: There is nothing.
        InvalidStateError: What is there cannot be read.
        NewerVersionError: It is of a newer version and must not be written.
    """
    recovery.settle(session, _KIND)


def _load(session: Session, data: bytes, digest: str) -> None:
    known = session.latest.get(session.conversation_id)
    if known is not None and known.digest == digest:
        session.stand(known.state, known.page, data, digest)
    elif session.last.get("untouched") and session.last["digest"] == digest:
        by_us = session.last["untouched"] == __version__
        state = untouched.read(data, session.places.live, by_us=by_us)
        session.stand(state, None, data, digest)
    else:
        from council.store.statefile import statefile

        state, page = statefile.load(data.decode("utf-8"), session.places.live)
        session.stand(state, page, data, digest)


def _begin_again(session: Session, data: bytes, digest: str) -> None:
    """Write the line of a revision again that the journal has lost."""
    _load(session, data, digest)
    lost = Event(type="journal.repaired", data={"rev": session.state.rev})
    session.add_record(
        session.line(digest, session.state, rev=session.state.rev, events=[lost], anew=True)
    )
    event_log.append(session.workspace, session.last["events"])


def _is_complete(data: bytes) -> bool:
    from council.store.statefile import statefile

    return statefile.parse(decoded(data)).complete


def _is_known(session: Session, digest: str) -> bool:
    return any(
        digest in (record["digest"], record["seen"])
        for record in journal.records(session.places.journal)
    )


def take_in(session: Session, theirs: bytes) -> None:
    """Make a revision of what differs from the text that somebody had before them."""
    from council.store.statefile.merging import merge

    hidden = sealed.read_sealed(session.places.sealed, session.state)
    merged = merge(session.places, theirs, session.text, hidden, session.now)
    for kept in merged.kept:
        session.keep(kept.what, kept.text)
    # A sealed text that stands in it must not be found there, nor among the earlier texts.
    is_hidden = _shows_one_of([*hidden.values(), *merged.seal], theirs)
    if not (merged.changed or merged.events or is_hidden):
        return  # other line ends, say: the file is left as its owner likes it
    recovery.affirm(session)
    snapshots.keep(session.places.sealed if is_hidden else session.places.history, theirs)
    session.commit(
        merged.state,
        merged.page,
        events=merged.events,
        actor="external",
        seal=merged.seal,
        seen=snapshots.digest_of(theirs),
    )


def _shows_one_of(hidden: list[SealedText], data: bytes) -> bool:
    """Return true if one of these texts, or its draft, stands in a file."""
    text = "\n".join(decoded(data).splitlines())
    said = [
        "\n".join(part.strip().splitlines()) for one in hidden for part in (one.text, *one.drafts)
    ]
    return any(part in text for part in said if part)


def _begin_from_file(session: Session) -> None:
    """Take up a live file that has no journal: written by hand, or its folder is lost.

    Raises:
        NotFoundError: There is no live file either.
    """
    if session.reading is None:
        raise NotFoundError(
            f"no open conversation {session.name!r}", "see: council list; or council convene"
        )
    from council.store.statefile.merging import begin

    data = session.reading.data
    places = session.places
    start = begin(decoded(data), session.name, places.live, session.now, strict=places.strict)
    snapshots.keep(session.places.history, data)
    state = start.state.copy(conversation_id=session.conversation_id)
    session.state, session.page, session.text = state, start.page, data
    digest = session.reading.digest
    session.add_record(session.line(digest, state, rev=state.rev, events=start.events, anew=True))
    event_log.append(session.workspace, session.last["events"])
    if not start.as_it_stands or state != start.state:
        session.commit(state, start.page, actor="external", seal=start.seal)


def read_live(session: Session) -> Reading | None:
    """Read the live file, waiting a little for an editor that is just writing it."""
    return recovery.read_live(session, _KIND)


def _recognise(session: Session, reading: Reading | None) -> None:
    """Spare the digest of a text that this process has had before it already."""
    known = session.latest.get(session.conversation_id)
    if reading is not None and known is not None and known.data == reading.data:
        reading.know(known.digest)


def _is_whole(session: Session, data: bytes) -> bool:
    from council.store.statefile import statefile

    page = statefile.parse(decoded(data))
    # A file written by hand has no marks at all; one of ours ends with one.
    return page.complete or (session.tail is None and page.record is not None)


_KIND = recovery.Kind(
    load=_load,
    is_lost=lambda session, data: is_lost_revision(session.places, session.tail, data),
    begin_again=_begin_again,
    take_in=lambda session, theirs: take_in(session, theirs),  # noqa: PLW0108 - looked up late
    is_known=lambda session, digest: _is_known(session, digest),  # noqa: PLW0108
    is_complete=_is_complete,
    is_whole=_is_whole,
    recognise=_recognise,
    begin_from_file=_begin_from_file,
)
