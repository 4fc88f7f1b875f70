"""Turns, as hooks of agents report them: may this one speak, and it has ended.

Of many agents that ask at once all but one are asked to be silent, and for
that nothing need be written: they read and take no lock.

Source: DG-002, DG-004, DG-006, DG-061, DG-071 to DG-087, DG-145.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.errors import RefusedError
from council.core.events import Event
from council.core.rooms import cycles, floor
from council.core.rooms.channels import ChannelStep
from council.operations.place import Place, is_shown_run
from council.operations.rooms import rooms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.rooms.channel_session import ChannelSession

_ENDINGS = ("advanced", "awaiting-delivery")


def begin(place: Place, channel_id: str, agent: str, run: str) -> ChannelStep:
    """Answer whether an agent may speak; the speaker's turn begins with it.

    A channel that was never used is made, in the mode `none`.

    Raises:
        RefusedError: Nothing shows that the speaker is that agent, and trust is strict.
        CouncilError: The channel cannot be read or written.
    """
    now, rules = place.now(), rooms.rules_of(place)
    _make_sure(place, channel_id)
    view = rooms.look(place, channel_id, now)
    if not view.due:
        step = floor.begin(view.channel, agent, run, view.newest, now, rules=rules)
        if step.channel == view.channel:
            return step

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        begun = floor.begin(step.channel, agent, run, session.newest, session.now, rules=rules)
        if begun.outcome == "begun":
            rooms.check_shown(place, agent)
        return step.then(begun)

    return _act(place, channel_id, rule, agent)


def end(
    place: Place,
    channel_id: str,
    agent: str,
    run: str,
    text: str | floor.Report,
    *,
    post: bool = False,
) -> ChannelStep:
    """End the turn of an agent with its final text, or with what is told of that.

    Args:
        place: The workspace.
        channel_id: Which channel.
        agent: Whose turn.
        run: The id of the run; the same one ends a turn once.
        text: The final text; where that lies elsewhere, what is told of it, and none is posted.
        post: Whether to post it for the agent, unless it lies in the channel already.

    Raises:
        CouncilError: The channel cannot be read or written.
    """
    _make_sure(place, channel_id)
    is_tied = rooms.look(place, channel_id, place.now()).channel.discord is not None
    if is_tied:  # what it said may lie on Discord already
        from council.operations.rooms.discord import deliver, exchange

        exchange(place, channel_id, waits=True)

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        now = session.now
        ended = floor.end(step.channel, agent, run, text, now, rules=session.rules)
        if ended.outcome in _ENDINGS:
            rooms.check_shown(place, agent)
        step = step.then(ended)
        is_awaited = post and step.outcome == "awaiting-delivery"
        if not isinstance(text, str) or not is_awaited:
            return step
        if not floor.is_delivered(step.channel, session.messages):
            said = rooms.of_agent(step.channel, agent, now, text, run)
            prove = rooms.prover(place, channel_id) if is_shown_run(place, agent) else None
            session.post(said, prove)
        return step

    step = _act(place, channel_id, rule, agent)
    if is_tied and step.channel.delivery is not None:
        step.channel = deliver(place, channel_id)
        rooms.rouse(place, step.channel)
    return step


def _act(
    place: Place,
    channel_id: str,
    rule: Callable[[ChannelSession, ChannelStep], ChannelStep],
    agent: str,
) -> ChannelStep:
    try:
        return rooms.act(place, channel_id, rule, actor=agent)
    except RefusedError as error:
        rooms.report_refusal(place, channel_id, agent, error)
        raise


def wake(place: Place, channel_id: str, by: str) -> ChannelStep:
    """Wake a room by hand.

    Raises:
        RefusedError: No turns are taken there.
        NotFoundError: There is no such channel.
    """

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        return step.then(cycles.wake(step.channel, session.now, by=by, rules=session.rules))

    return rooms.act(place, channel_id, rule, actor=by)


def _make_sure(place: Place, channel_id: str) -> None:
    """Make a channel at its first use, once, in the mode that unknown channels have (DG-006)."""
    rooms.first_use(place, channel_id, Event(type="channel.initialized", data={"mode": "none"}))
