"""Who speaks in a room: shown by the token of a run, or claimed; and what strict trust refuses.

Source: XC-008, XC-014, `trust.md`.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, RefusedError, ignoring
from council.core.rooms.channels import Message
from council.operations.place import is_shown_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from council.operations.place import Place

    Prove = Callable[[Message], Message]


def prover(place: Place, channel_id: str) -> Prove:
    """Return what gives a word of a run the proof that it is of that run's agent."""
    from council.core.rooms.channels import proved
    from council.store.keys import run_key

    key = run_key(place.paths)
    return lambda message: proved(key, channel_id, message)


def check_shown(place: Place, agent: str) -> None:
    """Check that nothing has to be believed, where trust is strict.

    Raises:
        RefusedError: Nothing shows that it is `agent`.
    """
    if place.settings.trust == "strict" and not is_shown_run(place, agent):
        raise RefusedError(
            f"nothing shows that this is {agent}, and trust is strict",
            'speak from the run that was started, or set trust = "open" in council.toml',
        )


def report_refusal(place: Place, channel_id: str, agent: str, error: CouncilError) -> None:
    """Write the event of a refused word or turn; a disk that refuses that hides no refusal."""
    from council.core.events import Event
    from council.store.events import append, loose_records

    data = {"name": channel_id, "code": error.code, "message": error.message}
    event = Event(type="answer.refused", agent=agent, data=data)
    with ignoring(CouncilError):
        append(place.paths, loose_records([event], channel_id, place.now()))


def origins_of(place: Place, channel_id: str, messages: Iterable[Message]) -> dict[int, str]:
    """Return the origin of each message by its number; nothing is written.

    Raises:
        CouncilError: The key of the workspace cannot be read.
    """
    from council.core.rooms.channels import PROOF, origin_of
    from council.store.keys import run_key

    key: bytes | None = None
    found: dict[int, str] = {}
    for one in messages:
        if key is None and PROOF in one.extra and os.path.lexists(place.paths.key):
            key = run_key(place.paths)
        found[one.id] = origin_of(key, channel_id, one)
    return found
