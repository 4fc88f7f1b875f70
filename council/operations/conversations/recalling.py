"""Recalling a conversation, open or archived, by whatever people call it.

Source: DL-100, DL-104, `cli.md` sections 1 and 2.
"""

from __future__ import annotations

from council.core.conversations.anonymity import refuse_names
from council.core.conversations.conversation import Conversation
from council.core.conversations.procedures import PROCEDURES
from council.core.errors import NotFoundError
from council.core.ids import folded, is_conversation_name
from council.core.record import Record
from council.operations.place import Place, conversation_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.conversations.revisions import Revision


class Recalled(Record):
    """A conversation and where it was found: its live file, or its minutes."""

    state: Conversation
    path: str
    archived: bool


def recall(place: Place, wanted: str = "") -> Recalled:
    """Return the open conversation of that name, else the one that minutes keep.

    Args:
        place: The workspace.
        wanted: A name, or the slug, file name, path or id of minutes. "" is the
            conversation any command means, or else the newest minutes.

    Raises:
        NotFoundError: There is neither.
        InvalidStateError: It was found and cannot be read.
        RefusedError: It is open and anonymous, and a run asks.
    """
    if is_conversation_name(folded(wanted)) or not wanted:
        wanted = conversation_name(place, wanted)
        if wanted in place.conversations.names():
            state = place.conversations.read(wanted)
            if place.is_in_run:
                refuse_names(state)
            return Recalled(
                state=state,
                path=place.paths.conversation_file(wanted),
                archived=False,
            )
    from council.store.conversations.minutes import archived_conversation

    try:
        state, path = archived_conversation(place.paths, wanted)
    except NotFoundError as error:
        if "/" in wanted:
            raise
        raise NotFoundError(
            f"no conversation and no minutes are called {wanted!r}", error.hint
        ) from None
    return Recalled(state=state, path=path, archived=True)


def history_of(place: Place, wanted: str) -> tuple[str, list[Revision]]:
    """Return the history of the open conversation of that name, or of the one it was last.

    With it comes how the store knows that conversation: by its name, or its id.

    Raises:
        NotFoundError: There is none.
    """
    try:
        return wanted, place.conversations.history(wanted)
    except NotFoundError:
        known = recall(place, wanted).state.conversation_id
        return known, place.conversations.history(known)


def text_of(found: Recalled) -> str:
    """Return what people read of it: the live file without marks, or the minutes.

    Raises:
        CouncilError: It cannot be read.
    """
    from council.operations.view import readable
    from council.store.files import explaining, read_stable

    with explaining("read", found.path):
        reading = read_stable(found.path)
    text = reading.data.decode("utf-8", "replace") if reading is not None else ""
    if found.archived:
        return readable(text.partition("\n---\n")[2] if text.startswith("---\n") else text)
    shown = readable(text)
    if PROCEDURES[found.state.procedure].verdict == "stances":
        # A mode shapes councils alone; the line stays in the file, whose form is fixed.
        shown = shown.replace(f"\n- Mode: {found.state.mode}\n", "\n", 1)
    return shown
