"""Recalling a conversation, open or archived, by whatever people call it.

Of one that is over it says where its minutes lie, for those who still ask; and
of an attempt whose caller got no answer, what it has done: an open conversation
finds that in its journal, an ended one in what is left of it.

Source: DL-100, DL-104, `cli.md` sections 1 and 2, HR-029, `cli.md` section 2, OP-008.
"""

from __future__ import annotations

import os
from contextlib import suppress

from council.core.conversations.conversation import Conversation, Step
from council.core.errors import CouncilError, NotFoundError
from council.core.ids import folded, is_conversation_name
from council.core.record import Any, Record
from council.operations.place import Place, conversation_name
from council.store.conversations.closing import archived as archived_ones
from council.store.conversations.closing import minutes_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.outbox import Operation


def name_of(place: Place, wanted: str) -> str:
    """Return the name of the open conversation that has an id, of either form, else `wanted`.

    Source: DL-051.
    """
    if len(wanted) < _ID_CHARS or place.conversations.is_open(folded(wanted)):
        return wanted
    for name in place.conversations.names():
        with suppress(CouncilError):
            state = place.conversations.read(name)
            if wanted in (state.conversation_id, state.session_id):
                return name
    return wanted


_ID_CHARS = 25  # of a cuid; the other form is longer


class Recalled(Record):
    """A conversation and where it was found: its live file, or its minutes.

    `text` is the file as it was at an earlier revision, "" for the one at `path`.
    """

    state: Conversation
    path: str
    archived: bool
    text: str = ""


def recall(
    place: Place, wanted: str = "", *, archived: bool = False, exactly: bool = False
) -> Recalled:
    """Return the open conversation of that name, else the one that minutes keep.

    Args:
        place: The workspace.
        wanted: A name, or the slug, file name, path or id of minutes, a beginning of one that no
            other has, or a part of a title. "" is the conversation any command means, or else
            the newest minutes.
        archived: Whether only minutes are meant.
        exactly: Whether only a whole name, id or path counts, as inside a run.

    Raises:
        NotFoundError: There is neither.
        InvalidStateError: It was found and cannot be read.
        RefusedError: It is open and anonymous, and a run asks.
        UsageError: It fits several.
    """
    name = conversation_name(place, "") if not (wanted or archived) else folded(wanted)
    if not archived and is_conversation_name(name) and name in place.conversations.names():
        state = place.conversations.read(name)
        if place.is_in_run:
            from council.core.conversations.anonymity import refuse_names

            refuse_names(state)
        return Recalled(
            state=state,
            path=place.paths.conversation_file(name),
            archived=False,
        )
    from council.store.conversations.filed import archived_conversation

    wanted = wanted or name
    try:
        state, path = archived_conversation(place.paths, wanted)
    except NotFoundError as error:
        if not (exactly or place.is_in_run):
            from council.operations.conversations.finding import find

            found = find(place, wanted, open_too=not archived)
            if found is not None:
                one = found.candidate
                return recall(place, one.path or one.name, archived=bool(one.path), exactly=True)
        if "/" in wanted:
            raise
        raise NotFoundError(
            f"no conversation and no minutes are called {wanted!r}", error.hint
        ) from None
    return Recalled(state=state, path=path, archived=True)


def paged(shown: dict[str, Any], after: str, last: int | None) -> dict[str, Any]:
    """Return the contributions of what `show --json` prints: those after one, so many at most.

    Raises:
        NotFoundError: There is no contribution `after`.
    """
    found = shown["contributions"]
    if after:
        ids = [one["id"] for one in found]
        if after not in ids:
            known = f"the newest is {ids[-1]}" if ids else "there is none yet"
            raise NotFoundError(f"no contribution {after!r}", known)
        found = found[ids.index(after) + 1 :]
    return {"contributions": found[-last:] if last else found}


class Over(Record):
    """A conversation that is over; `minutes` is their path, "" where there are none."""

    name: str
    conversation_id: str
    minutes: str = ""


def over(place: Place, name: str, conversation_id: str) -> Over:
    """Return what is left of a conversation that is known to be over."""
    path = minutes_path(place.paths, conversation_id)
    there = path if path and os.path.exists(path) else ""
    return Over(name=name, conversation_id=conversation_id, minutes=there)


def last_over(place: Place, name: str) -> Over | None:
    """Return the last conversation of a name that was archived; "" means any name."""
    found = [one for one in archived_ones(place.paths) if name in ("", one.name)]
    return over(place, found[-1].name, found[-1].conversation_id) if found else None


def explained(place: Place, name: str, error: NotFoundError) -> NotFoundError:
    """Return the refusal that says that a conversation is over, if that is why it is not there.

    Args:
        place: The workspace.
        name: The name that was asked for; "" when none was.
        error: What was found instead.
    """
    try:
        found = last_over(place, name)
    except CouncilError:
        return error
    if found is None:
        return error
    where = f"its minutes: {found.minutes}" if found.minutes else "its minutes are not there"
    return NotFoundError(f"the conversation {found.name!r} is over; {where}", error.hint)


def done_before(place: Place, name: str, operation: Operation) -> Conversation | None:
    """Return the conversation, ended or not, in which an earlier attempt was done, else None."""
    if not operation.is_repeat:
        return None
    if place.conversations.is_open(name) and _is_done(place, name, operation):
        # Its line may not be synced, as its process died: an edit sees to that.
        return place.conversations.edit(
            name, lambda state: Step(state=state), op_id=operation.id, now=place.now()
        ).state
    return done_and_over(place, name, operation)


def done_and_over(place: Place, name: str, operation: Operation) -> Conversation | None:
    """Return the ended conversation of that name in which an operation was done, else None."""
    if not operation.is_repeat:
        return None
    from council.store.conversations.filed import archived_conversation

    place.conversations.clear_ended(name, place.now())
    found = last_over(place, name)
    if found is None or not _is_done(place, found.conversation_id, operation):
        return None
    return archived_conversation(place.paths, found.conversation_id)[0]


def _is_done(place: Place, name: str, operation: Operation) -> bool:
    """Return true if the history of a conversation, by name or id, holds an operation."""
    try:
        return any(one.op_id == operation.id for one in place.conversations.history(name))
    except NotFoundError:
        return False
