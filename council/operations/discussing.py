"""Discussions: opened with a guide, reminded of when they fall idle, completed with a summary.

A discussion is a private channel. What its end owes besides, the word to the
channel it was called from and the minutes, is done after it is sealed and by
whoever comes next if that one dies.

Source: DG-111 to DG-124, A-23, A-26.
"""

from __future__ import annotations

import os
import stat

from council.core import discussions, floor
from council.core.channel_owed import CallBack, pending
from council.core.channels import Channel, ChannelStep, Discussion, Member, MessageKind
from council.core.errors import (
    ConflictError,
    CouncilError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
)
from council.core.owed import Archive
from council.operations import rooms
from council.operations.channels import channel_id_of, make_once, post_by_moderator
from council.operations.members import members_of
from council.operations.rousing import rouse
from council.store import files
from council.store.paths import resolve_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from council.operations.place import Place
    from council.store.channel_session import ChannelSession

SUMMARIES = "discussion-summary"


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
    if not os.access(place.paths.shared, os.W_OK):
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
    if made.discussion is None or made.discussion.guide != guide:
        raise ConflictError(
            f"there is a channel {made.channel_id!r} already", "choose another name"
        )
    opened = rooms.advance(place, made.channel_id, now).channel
    rouse(place, opened)
    return opened


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


def remind(place: Place, channel: Channel, now: datetime) -> ChannelStep:
    """Leave the initiator of an idle discussion a word in its tasks (DG-119)."""
    about = channel.discussion
    assert about is not None
    folder = place.paths.tasks(about.initiator)
    text = (
        f"{discussions.REMINDER}\n\nDiscussion: {channel.name} ({channel.channel_id})\n\n"
        f"    council discussion complete {channel.channel_id} --as {about.initiator} "
        f"--summary memory/shared/{SUMMARIES}/{channel.channel_id}.md\n"
    )
    files.make_folder(folder)
    path = f"{folder}/{channel.channel_id}.{channel.cycle}.idle.md"
    files.replace(path, text.encode("utf-8", "replace"))
    return discussions.reminded(channel, now)


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
    path = _checked_summary(place, summary)

    def rule(_session: ChannelSession, step: ChannelStep) -> ChannelStep:
        return step.then(discussions.completed(step.channel, caller, path, now))

    step = rooms.change(place, channel_id, now, rule, actor=caller)
    finished, troubles = finish(place, channel_id, now)
    return step.then(finished), troubles


def finish(place: Place, channel_id: str, now: datetime) -> tuple[ChannelStep, list[CouncilError]]:
    """Do what a completed discussion still owes: call back and minutes. Repeatable."""
    channel = rooms.look(place, channel_id, now).channel
    troubles: list[CouncilError] = []
    told: list[Callable[[Channel, datetime], ChannelStep]] = []
    for owed in pending(channel, now):
        if isinstance(owed, CallBack):
            try:
                _call_back(place, channel, owed.channel)
                told.append(discussions.called_back)
            except NotFoundError as error:  # the channel is gone, and nobody else will be told
                told.append(discussions.unreachable)
                troubles.append(error)
            except CouncilError as error:
                troubles.append(error)

    def rule(_session: ChannelSession, step: ChannelStep) -> ChannelStep:
        for note in told:
            step = step.then(note(step.channel, now))
        if any(isinstance(one, Archive) for one in pending(step.channel, now)):
            step = step.then(_archive(place, step.channel))
        return step

    return rooms.change(place, channel_id, now, rule), troubles


def _call_back(place: Place, channel: Channel, target: str) -> None:
    about = channel.discussion
    assert about is not None
    text = f"The discussion {channel.name} is completed. Its summary: {about.summary}"
    key = f"summary {channel.channel_id}"
    post_by_moderator(place, target, text, MessageKind.SUMMARY, key)


def _archive(place: Place, channel: Channel) -> ChannelStep:
    from council.store.channel_minutes import write_minutes

    about = channel.discussion
    assert about is not None
    standing = files.read_stable(os.path.join(place.root, about.summary))
    text = "" if standing is None else standing.data.decode("utf-8", "replace")
    messages = rooms.channels(place).messages(channel)
    path = write_minutes(place.paths, channel, messages, text)
    return discussions.minuted(channel, os.path.relpath(path, place.root))


def _checked_summary(place: Place, given: str) -> str:
    """Return the path of a summary from the root (DG-122).

    Raises:
        RefusedError: It lies outside the folder of summaries, or leaves it by a link.
        NotFoundError: It is not there.
        InvalidInputError: It is no file, or no text.
    """
    folder = resolve_inside(place.paths.shared, SUMMARIES)
    bases = (os.getcwd(), place.root, folder)
    places = [os.path.normpath(os.path.join(base, os.path.expanduser(given))) for base in bases]
    inside = [one for one in places if one.startswith(folder + "/")]
    path = next((one for one in places if os.path.lexists(one)), (inside or places)[0])
    real = os.path.realpath(path)
    if not real.startswith(os.path.realpath(folder) + "/"):
        raise RefusedError(
            f"the summary {given} does not lie in {folder}", "write it there and try again"
        )
    try:
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        raise NotFoundError(f"no such summary: {path}", "write it first") from None
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"{path} is not a regular file", "give the path of a text")
    return os.path.relpath(real, os.path.realpath(place.root))
