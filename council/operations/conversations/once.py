"""What an earlier attempt of the same command has done, whose caller was not told.

An open conversation finds that in its journal, an ended one in what is left of it.

Source: OP-008.
"""

from __future__ import annotations

from council.core.errors import NotFoundError
from council.core.step import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Conversation
    from council.operations.place import Place
    from council.store.outbox import Operation


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
    from council.operations.conversations.ended import last_over
    from council.store.conversations.minutes import archived_conversation

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
