"""Following a conversation to its end, doing the heartbeat's work on the way.

For `ask` and `convene --run`: a person waits in front of the terminal. The
runs are detached all the same, so an interrupted wait loses nothing.

Source: `cli.md` section 2.
"""

from __future__ import annotations

import os
import time

from council.core.conversations.account import TIMEOUT, absences
from council.core.conversations.conversation import ClosedReason, Conversation, EntryKind
from council.core.errors import NotFoundError, TimedOutError
from council.core.record import Record
from council.operations.heartbeat import beat
from council.operations.place import Place
from council.operations.view import Standing, standing
from council.store.conversations.closing import minutes_path
from council.store.minutes.minutes_folder import archived_at, facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LOOK_AGAIN_S = 0.2
_BEAT_EVERY_S = 2.0


class Ended(Record):
    """A conversation that has come to its end: its minutes, and the exit code that says how.

    `code` is 0 where an agent was heard in time, 7 where none was, 1 where all of
    them failed or a person ended it before any was heard.
    """

    path: str
    front: dict[str, Any]
    text: str
    code: int = 0


def follow(place: Place, name: str, conversation_id: str) -> Iterator[Standing]:
    """Yield how a conversation stands whenever that has changed, until it is archived."""
    beaten_at, seen_rev = 0.0, -1
    while True:
        try:
            if time.monotonic() - beaten_at >= _BEAT_EVERY_S:
                beat(place, name)
                beaten_at = time.monotonic()
            state = place.conversations.read(name)
        except NotFoundError:
            return
        if state.conversation_id != conversation_id:
            return
        if state.rev != seen_rev:
            seen_rev = state.rev
            yield standing(place, state)
        time.sleep(_LOOK_AGAIN_S)


def minutes_of(place: Place, conversation_id: str) -> Ended:
    """Return the minutes of a conversation that is archived.

    Raises:
        NotFoundError: There are none.
    """
    path = minutes_path(place.paths, conversation_id)
    if not path or not os.path.exists(path):
        raise NotFoundError("the minutes are not there", "see: council list --archived")
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    return Ended(path=path, front=facts(path), text=text, code=_code(archived_at(path)))


def _code(state: Conversation) -> int:
    """Return the exit code that says what came of a conversation."""
    if state.closed_reason is ClosedReason.CANCELLED:
        return 1
    if any(one.kind in (EntryKind.CONTRIBUTION, EntryKind.DRAFT) for one in state.entries):
        return 0
    return TimedOutError.exit_code if any(one.cause == TIMEOUT for one in absences(state)) else 1
