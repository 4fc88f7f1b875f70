"""Discussions: opened with a guide, reminded of when they fall idle, completed with a summary.

A discussion is a private channel. What its end owes besides, the word to the
channel it was called from and the minutes, is done after it is sealed and by
whoever comes next if that one dies.

Source: DG-111 to DG-124, A-23, A-26.
"""

from __future__ import annotations

import os
import stat

from council.core.errors import (
    ConflictError,
    CouncilError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
)
from council.core.rooms import discussions, floor
from council.core.rooms.channels import Channel, ChannelStep, Discussion, Member
from council.operations.rooms import rooms
from council.operations.rooms.channels import channel_id_of, make_once
from council.operations.rooms.concluding import finish
from council.operations.rooms.members import members_of
from council.operations.rooms.rousing import rouse
from council.store.paths import resolve_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from council.operations.place import Place
    from council.store.rooms.channel_session import ChannelSession


def create(
    place: Place,
    name: str,
    initiator: str,
    guide: str,
    participants: Iterable[str],
    *,
    callback: str = "",
) -> Channel:
    """Open a discussion: a private channel whose first message is the guide.

    Raises:
        InvalidInputError: The guide lacks a heading, or the channel to call back is no group.
        NotFoundError: A participant is no agent, or the channel to call back is unknown.
        RefusedError: The workspace cannot be written.
        ConflictError: Another channel has that name.
    """
    now = place.now()
    if not _can_be_written(place.paths.shared):
        raise RefusedError(
            f"{place.paths.shared} cannot be written",
            "discussions are opened in a workspace of yours",
        )
    if callback:
        _check_callback(place, callback)
    members = members_of(place, participants, now)
    _check_agents(members)
    channel = discussions.discussion_of(
        channel_id_of(name),
        name,
        Discussion(initiator=initiator, guide=guide, callback=callback),
        members,
        now,
    )
    made = make_once(place, floor.opened(channel, now, rules=rooms.rules_of(place)))
    about = made.discussion
    if about is None or (about.guide, about.callback) != (guide, callback):
        raise ConflictError(
            f"there is a channel {made.channel_id!r} already", "choose another name"
        )
    opened = rooms.advance(place, made.channel_id, now).channel
    rouse(place, opened)
    return opened


def _can_be_written(folder: str) -> bool:
    """Tell whether a folder can be written; one that is not there yet, whether it can be made."""
    while not os.path.lexists(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return os.access(folder, os.W_OK)


def _check_callback(place: Place, callback: str) -> None:
    channel = rooms.look(place, callback, place.now()).channel
    others = [one for one in channel.members.values() if not one.moderator]
    if len(others) < 2:
        raise InvalidInputError(
            f"{callback} is no group channel", "call back to a channel of two members or more"
        )


def _check_agents(members: dict[str, Member]) -> None:
    for one in members.values():
        if not one.agent and not one.moderator:
            raise NotFoundError(
                f"{one.account} is no agent", "see: council agent list; council agent add"
            )
    if len(members) < 2:
        raise InvalidInputError("a discussion needs participants", "such as: --participants a,b")


def complete(
    place: Place, channel_id: str, caller: str, summary: str
) -> tuple[ChannelStep, list[CouncilError]]:
    """Complete a discussion: seal it, call back, write the minutes.

    Returns:
        The step, and what could not be done yet and is still owed.

    Raises:
        RefusedError: The caller is not the initiator, or the summary lies outside its folder.
        NotFoundError: There is no such channel or no such summary.
        InvalidInputError: The channel is no discussion, or the summary no file.
    """
    now = place.now()
    discussions.check_completing(rooms.look(place, channel_id, now).channel, caller)
    path = checked_summary(place, summary)

    def rule(_session: ChannelSession, step: ChannelStep) -> ChannelStep:
        return step.then(discussions.completed(step.channel, caller, path, now))

    step = rooms.change(place, channel_id, now, rule, actor=caller)
    finished, troubles = finish(place, channel_id, now)
    return step.then(finished), troubles


def checked_summary(place: Place, given: str) -> str:
    """Return the path of a summary from the root (DG-122).

    Raises:
        RefusedError: It lies outside the folder of summaries, or leaves it by a link.
        NotFoundError: It is not there.
        InvalidInputError: It is no file, or no text.
    """
    folder = resolve_inside(place.paths.shared, discussions.SUMMARIES)
    bases = (os.getcwd(), place.root, folder)
    places = [os.path.normpath(os.path.join(base, os.path.expanduser(given))) for base in bases]
    inside = [one for one in places if one.startswith(folder + "/")]
    path = next((one for one in places if os.path.lexists(one)), (inside or places)[0])
    real = os.path.realpath(path)
    whole = os.path.realpath(folder)
    if real != whole and not real.startswith(whole + "/"):
        where = "leads out of" if path.startswith(folder + "/") else "does not lie in"
        raise RefusedError(f"the summary {given} {where} {folder}", "write it there and try again")
    try:
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        raise NotFoundError(f"no such summary: {path}", "write it first") from None
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"{path} is not a regular file", "give the path of a text")
    return os.path.relpath(real, os.path.realpath(place.root))
