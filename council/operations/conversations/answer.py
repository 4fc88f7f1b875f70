"""Answering: `council respond`, `council vote` and `council synthesize`.

The answer is recorded, and the next agents are woken without waiting for them.

Source: C0-021, C0-041 to C0-046, `cli.md` section 3.
"""

from __future__ import annotations

from council.core.conversations import owed
from council.core.errors import CouncilError
from council.operations.conversations.recording import Answered, record_answer
from council.operations.place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Conversation
    from council.operations.conversations.stating import Stated


def respond(
    place: Place,
    name: str,
    agent: str,
    text: str,
    *,
    task: str = "",
    status: str = "responded",
    token: str = "",
    only: str = "",
    stated: Stated | None = None,
    check: bool = False,
) -> Answered:
    """Record what `agent` says and have the next agents woken, without waiting for them.

    The arguments are those of `record_answer`.
    """
    answered, state = record_answer(
        place,
        name,
        agent,
        text,
        task=task,
        status=status,
        token=token,
        only=only,
        stated=stated,
        check=check,
    )
    if answered.finished and not check and not place.is_in_run:
        answered.minutes = _minutes(place, state)
    if (
        not check
        and not answered.minutes
        and owed.pending(state, place.now(), backoff=place.settings.retry_backoff)
    ):
        wake_next(place)
    return answered


def _minutes(place: Place, state: Conversation) -> str:
    """Return where the minutes are written now, "" where that is left to a heartbeat."""
    from council.operations.conversations.steer import archived

    try:
        return archived(place, state)
    except CouncilError:
        return ""  # the answer stands, and is what was asked for


def wake_next(place: Place) -> None:
    """Have a heartbeat done by a process of its own, without waiting for it."""
    from council.operations.detach import detach
    from council.store.files import make_folder

    make_folder(place.paths.control)  # a new workspace may have had nothing to keep there yet

    def work() -> None:
        from council.operations.heartbeat.beat import beat_in_turn

        beat_in_turn(place)

    detach(work, log_file=place.paths.failure_log)
