"""Discussions: opened with a guide, reminded of when they fall idle, completed with a summary.

A discussion is a private channel. What is due besides at its end, the word to the
channel it was called from and the minutes, is done after it is sealed, and by the
next process that comes if this one dies.

Source: DG-111 to DG-124, A-23, A-26.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from datetime import datetime

from council.core.conversations.due import Archive
from council.core.errors import (
    ConflictError,
    CouncilError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
)
from council.core.rooms import discussions, floor
from council.core.rooms.channels import Channel, ChannelStep, Discussion, MessageKind
from council.core.rooms.due import CallBack, pending
from council.operations.place import Place
from council.operations.rooms import rooms
from council.operations.rooms.channels import channel_id_of, make_once, members_of
from council.store import files
from council.store.paths import resolve_inside
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
        RefusedError: The workspace cannot be written, or it is a slave.
        ConflictError: Another channel has that name.
    """
    place.refuse_on_slave()
    now = place.now()
    folder = place.paths.shared
    while not os.path.lexists(folder) and folder != "/":
        folder = os.path.dirname(folder)  # it can be made where this one can be written
    if not os.access(folder, os.W_OK):
        raise RefusedError(
            f"{place.paths.shared} cannot be written",
            "discussions are opened in a workspace of yours",
        )
    tied = None
    if callback:
        called = rooms.look(place, callback, now).channel
        if sum(not one.moderator for one in called.members.values()) < 2:
            raise InvalidInputError(
                f"{callback} is no group channel", "call back to a channel of two members or more"
            )
        if called.discord is not None:
            from council.operations.rooms.discord_ties import tie_like

            tied = tie_like(place, called)
    members = members_of(place, participants, now)
    for one in members.values():
        if not one.agent and not one.moderator:
            raise NotFoundError(
                f"{one.account} is no agent", "see: council agent list; council agent add"
            )
    if len(members) < 2:
        raise InvalidInputError("a discussion needs participants", "such as: --participants a,b")
    channel = discussions.discussion_of(
        channel_id_of(name),
        name,
        Discussion(initiator=initiator, guide=guide, callback=callback),
        members,
        now,
    ).copy(discord=tied)
    made = make_once(place, floor.opened(channel, now, rules=rooms.rules_of(place)))
    about = made.discussion
    if about is None or (about.guide, about.callback) != (guide, callback):
        raise ConflictError(
            f"there is a channel {made.channel_id!r} already", "choose another name"
        )
    opened = rooms.advance(place, made.channel_id, now).channel
    rooms.rouse(place, opened)
    if tied is not None:
        from council.operations.rooms.discord import exchange

        exchange(place, made.channel_id, waits=True)
    return opened


def complete(
    place: Place, channel_id: str, caller: str, summary: str
) -> tuple[ChannelStep, list[CouncilError]]:
    """Complete a discussion: seal it, call back, write the minutes.

    Returns:
        The step, and what could not be done yet and is still due.

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


def finish(place: Place, channel_id: str, now: datetime) -> tuple[ChannelStep, list[CouncilError]]:
    """Do what is still due of a completed discussion: call back and minutes. Repeatable.

    Source: DG-123, DG-124, A-26.
    """
    channel = rooms.look(place, channel_id, now).channel
    troubles: list[CouncilError] = []
    posted: list[bool] = []
    for due in pending(channel, now):
        if isinstance(due, CallBack):
            try:
                _call_back(place, channel, due.channel)
                posted.append(True)
            except NotFoundError as error:  # the channel is gone, and no other will be informed
                posted.append(False)
                troubles.append(error)
            except CouncilError as error:
                troubles.append(error)

    def rule(_session: ChannelSession, step: ChannelStep) -> ChannelStep:
        for one in posted:
            step = step.then(discussions.called_back(step.channel, now, is_posted=one))
        if any(isinstance(one, Archive) for one in pending(step.channel, now)):
            step = step.then(_archive(place, step.channel))
        return step

    return rooms.change(place, channel_id, now, rule), troubles


def _call_back(place: Place, channel: Channel, target: str) -> None:
    """Have the moderator post where the summary lies, once; it wakes no one (A-26).

    Raises:
        NotFoundError: There is no such channel.
    """
    about, key = channel.discussion, f"summary {channel.channel_id}"
    assert about is not None
    text = f"The discussion {channel.name} is completed. Its summary: {about.summary}"
    kind, now = MessageKind.SUMMARY, place.now()

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        if session.find(key, rooms.MODERATOR) is None:
            session.post(rooms.of_moderator(now, text, kind, extra={"key": key}))
        return step

    rooms.change(place, target, now, rule)


def _archive(place: Place, channel: Channel) -> ChannelStep:
    from council.store.rooms.channel_minutes import write_minutes

    about = channel.discussion
    assert about is not None
    standing = files.read_stable(os.path.join(place.root, about.summary))
    text = "" if standing is None else standing.data.decode("utf-8", "replace")
    messages = rooms.channels(place).newest(channel)
    origins = rooms.origins_of(place, channel.channel_id, messages)
    path = write_minutes(place.paths, channel, messages, text, origins)
    return discussions.minuted(channel, os.path.relpath(path, place.root))


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
