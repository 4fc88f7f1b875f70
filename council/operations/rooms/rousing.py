"""Waking the next speaker of a room at once, without waiting for the clock.

Whoever posts, or ends a turn, may give the floor to somebody whom a driver
wakes. A heartbeat is then done by a process of its own; cron stays the safety
net. Agents that come by themselves, by hooks or by hand, see it from the
signal and the state document, and their prompt comes with the next heartbeat.

Source: DG-085, DG-101, `architecture.md` section 3.
"""

from __future__ import annotations

from council.core.conversations.owed import Wake
from council.operations.rooms.rooms import pending_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.rooms.channels import Channel
    from council.operations.place import Place


def rouse(place: Place, channel: Channel) -> None:
    """Have the speaker, or who is to sum up, woken if it is owed a run and a driver wakes it."""
    owed = pending_in(place, channel, place.now())
    wakes = [one for one in owed if isinstance(one, Wake)]
    if channel.speaker:  # who waits for a place gets the next one that becomes free
        wakes = [one for one in wakes if one.task not in channel.tasks]
    if not wakes:
        return
    from council.store.agents import is_woken

    if not any(is_woken(place.root, place.settings, one.agent) for one in wakes):
        return
    from council.operations.detach import detach

    def work() -> None:
        from council.operations.heartbeat.beat import beat_in_turn

        beat_in_turn(place)

    detach(work, log_file=place.paths.failure_log)
