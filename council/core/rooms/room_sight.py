"""What an agent may see of a room when it has the floor, as JSON.

Everything that is said in a room is said to all of it, so nothing is hidden
but what the agent has heard long ago: a prompt shows what was said since its
last word, as far as it fits. How it is put into words stands in the templates.

Source: DG-117, DG-119, DG-141, OP-014, A-24, `trust.md` (Text of others is data).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from council.core.record import Any
from council.core.rooms.channels import (
    Channel,
    Discussion,
    Member,
    Message,
    MessageKind,
    author_of,
    is_concluded,
)
from council.core.rooms.due import heard_up_to

MOST_MESSAGES = 60
MOST_CHARS = 48_000
# Who speaks after a long silence of its own still gets what the talk hangs on.
_LEAST_MESSAGES = 6


def parts(
    channel: Channel,
    newest: Sequence[Message],
    agent: str,
    task: str,
    origins: Mapping[int, str],
) -> dict[str, Any]:
    """Return what the prompt of a turn is made of.

    Args:
        channel: The channel, with `agent` on the floor, or idle and to be summed up by it.
        newest: Its newest messages, oldest first, `MOST_MESSAGES` if there are so many.
        agent: Who speaks or sums up.
        task: The run it is woken for.
        origins: Whether it is verified who said a message, by its number.
    """
    about = channel.discussion or Discussion(initiator="")
    # Who sums up needs all of it, also what it said itself.
    said = shown(newest, agent if channel.speaker else "")
    heard = heard_up_to(channel, agent)
    first = said[0].id if said else channel.seen + 1
    # What it was shown, what it said itself, and the guide, it knows.
    known = max(heard, about.guide_id, *(one.id for one in newest if one.agent == agent), 0)
    known = known if channel.speaker else about.guide_id
    return {
        "procedure": "room",
        **channel.as_json("channel_id:channel name mode topic"),
        "agent": agent,
        "task": task,
        **channel.as_json("cycle speakers:order"),
        "members": [_member(one, agent) for one in channel.members.values()],
        **about.as_json("guide initiator"),
        "concluded": is_concluded(channel),
        "said": [
            {**_message(one, agent, heard), "origin": origins.get(one.id, "")} for one in said
        ],
        "leftOut": max(0, first - 1 - known),
    }


def shown(newest: Sequence[Message], agent: str) -> list[Message]:
    """Return the messages that a prompt shows: those since the agent's own last word.

    For "" it is all of them.

    The guide of a discussion is shown by itself. Of very much only the end is
    shown; the newest message always.
    """
    spoken = [at for at, one in enumerate(newest) if agent and one.agent == agent]
    start = min(spoken[-1], len(newest) - _LEAST_MESSAGES) if spoken else 0
    wanted = [one for one in newest[max(0, start) :] if one.kind is not MessageKind.GUIDE]
    kept: list[Message] = []
    room = MOST_CHARS
    for one in reversed(wanted[-MOST_MESSAGES:]):
        room -= len(one.content)
        if kept and room < 0:
            break
        kept.insert(0, one)
    return kept


def _member(one: Member, agent: str) -> dict[str, Any]:
    kind = "moderator" if one.moderator else "agent" if one.agent else "person"
    return {
        **one.as_json("account agent"),
        "name": one.name or one.agent or one.account,
        "kind": kind,
        "you": bool(one.agent) and one.agent == agent and not one.moderator,
    }


def _message(one: Message, agent: str, heard: int) -> dict[str, Any]:
    return {
        "id": one.id,
        "author": author_of(one),
        "kind": "you" if one.agent == agent else _kind(one),
        "new": one.id > heard and one.agent != agent,
        **one.as_json("at content:text"),
    }


def _kind(one: Message) -> str:
    if one.kind is not MessageKind.MESSAGE:
        return "moderator"
    return "agent" if one.agent else "person"
