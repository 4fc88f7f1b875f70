"""What a text that others wrote means for a conversation.

It finds the text that the person had before them, hands all three to the
rules of `edits`, and distinguishes a file without history from one with it. Loaded
only when such a text is there.

Source: C0-019, `store.md` sections 2 (step 4), 3 and 5.
"""

from __future__ import annotations

import os
from datetime import datetime

from council.core.conversations.conversation import Conversation, SealedText
from council.core.errors import InvalidStateError, NewerVersionError, NotFoundError
from council.core.events import Event
from council.core.ids import sha256_hex
from council.store import files
from council.store.conversations.naming import Places, decoded
from council.store.documents.journal import Past
from council.store.statefile import statefile
from council.store.statefile.facts import Taken
from council.store.statefile.freetext import lines_without
from council.store.statefile.statefile import Page

_SAVES = 20


def merge(
    places: Places,
    past: Past,
    theirs: bytes,
    ours: bytes,
    hidden: dict[str, SealedText],
    now: datetime,
) -> Taken:
    """Take in `theirs` over `ours`, the text of the last revision.

    Args:
        places: Where the conversation lies.
        past: Its earlier revisions.
        theirs: What a person wrote.
        ours: The last revision.
        hidden: The sealed texts of the round under way.
        now: The time of the edit.

    Raises:
        NewerVersionError: It is of a newer version.
        InvalidStateError: A revision that is needed is damaged.
    """
    from council.store.statefile.edits import take_in

    base = _base_of(places, past, theirs, ours)
    taken = take_in(
        decoded(base),
        decoded(theirs),
        _without_common(base, theirs, ours),
        now=now,
        nonce=os.urandom(16).hex(),
        sealed=hidden,
        strict=places.strict,
    )
    taken.changed = statefile.render(taken.state, taken.page) != decoded(ours)
    return taken


def _base_of(places: Places, past: Past, theirs: bytes, ours: bytes) -> bytes:
    """Return the text of which `theirs` is an edit: the revision that it names, or a later save.

    Who saves twice before anybody else writes has, the second time, their own
    first save before them; against the revision, what it added would be added
    again.
    """
    digest = sha256_hex(theirs)
    if past.knows(digest):
        return theirs  # all of it was taken in before
    named_rev = (statefile.outline(decoded(theirs)).record or {}).get("rev")
    named = [at for at, one in enumerate(past.lines) if one.head["rev"] == named_rev]
    if not named:
        return ours
    try:
        base = past.text_at(named[-1])
    except NotFoundError:
        return ours
    taken_in = [one.head["seen"] for one in past.lines[named[-1] + 1 :] if one.head.get("seen")]
    for seen in reversed(taken_in[-_SAVES:]):
        save = saved_text(places, past, seen)
        if save is not None and _goes_on_from(save, base, theirs):
            return save
    return base


def saved_text(places: Places, past: Past, digest: str) -> bytes | None:
    """Return a text that a person saved, if it is kept: one with a sealed text lies apart."""
    hidden = files.read_stable(f"{places.sealed}/{digest}")
    return past.saved(digest) if hidden is None else hidden.data


def _goes_on_from(save: bytes, base: bytes, theirs: bytes) -> bool:
    """Return true if `theirs` has all that an earlier save added to the revision `base`."""
    added = set(save.splitlines()) - set(base.splitlines())
    if not added or not added <= set(theirs.splitlines()):
        return False
    try:
        statefile.load(decoded(save), "an earlier save")
    except InvalidStateError:
        return False
    return True


def _without_common(base: bytes, theirs: bytes, ours: bytes) -> str:
    """Return our text without the free lines that both sides have added in one place.

    They come again with `theirs`. Without this, a person who saves twice, or
    so slowly that half of it was taken in, would find them there twice.
    """
    if base == ours:
        return decoded(ours)
    state, page = statefile.load(decoded(ours), "the last revision")
    before, saved = statefile.parse(decoded(base)), statefile.parse(decoded(theirs), like=state)
    found = False
    for key, gap in saved.gaps.items():
        was = before.gaps.get(key, "")
        added = _lines_added(was, gap)
        common = [line for line in _lines_added(was, page.gaps.get(key, "")) if line in added]
        if common:
            page.gaps[key] = "\n".join(lines_without(page.gaps[key], common))
            found = True
    return statefile.render(state, page) if found else decoded(ours)


def _lines_added(before: str, after: str) -> list[str]:
    return [line for line in lines_without(after, before.split("\n")) if line.strip()]


def begin(text: str, name: str, where: str, now: datetime | None, *, strict: bool = False) -> Taken:
    """Return the first state of a file that has no journal.

    Args:
        text: The file.
        name: The name under which it lies.
        where: Its path, for messages.
        now: The time of what it does not date.
        strict: Whether text in a section stays a note, as nothing shows who wrote it.

    Raises:
        NewerVersionError: It is of a newer version.
        InvalidStateError: It cannot be read as a conversation.
    """
    page = statefile.parse(text)
    if page.complete:
        try:
            state, page = statefile.load(text, where)
        except NewerVersionError:
            raise
        except InvalidStateError:
            pass  # without history it is unknown what stood there: it is taken as it stands
        else:
            return _begin_from_ours(state.copy(name=name), page, state, now, strict)
    from council.store.statefile import handwritten  # for a file that no command has seen yet

    state, page = handwritten.import_page(text, name, now)
    imported = Event(type="conversation.imported", data={"name": name})
    return Taken(state=state, page=page, events=[imported])


def _begin_from_ours(
    state: Conversation, page: Page, written: Conversation, now: datetime | None, strict: bool
) -> Taken:
    """Go on from a file of ours, with what agents have written into it since."""
    from council.store.statefile.edits import take_texts

    warning = "the journal is gone; the file goes on from here, its history is lost"
    lost = Event(type="history.lost", data={"rev": state.rev, "warning": warning})
    taken = take_texts(
        state, page, now=now or state.updated_at, nonce=os.urandom(16).hex(), strict=strict
    )
    taken.events.insert(0, lost)
    if written.name == state.name and taken.state == state:
        return Taken(state=state, page=page, events=taken.events, changed=False)
    return taken
