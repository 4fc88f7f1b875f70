"""What may be done to a room: one pure function a command, which returns events or refuses."""

from __future__ import annotations

from datetime import datetime, timedelta

from council.kernel import times
from council.kernel.errors import Conflict, Invalid, Refused, Usage
from council.kernel.record import camel
from council.rooms import hearing, rules
from council.rooms import model as m
from council.rooms.model import Event, Member, Room, Tie

Told = tuple[bool, str] | None


def settled(state: Room, at: datetime) -> tuple[Room, list[Event]]:
    """Return the state after all that is due, and that; the state itself stays as it is."""
    events: list[Event] = []
    while more := rules.due(state, at):
        state = state if events else state.copy()
        for event in more:
            rules.evolve(state, event)
        events += more
    return state, events


def create(state: Room, room: Room) -> list[Event]:
    """Open a room; of a discussion the guide is its first message. The same again is a repeat.

    Raises:
        Conflict: Another room has this name (`exists`).
        Invalid: The guide of a discussion lacks a part.
    """
    about = room.discussion
    if state.channel_id:
        guides = [one.discussion and one.discussion.guide for one in (state, room)]
        if (state.mode, guides[0]) == (room.mode, guides[1]) and not room.members.keys() - (
            state.members.keys()
        ):
            return []
        what = f"there is a room {room.name} already, a {state.mode} room"
        raise Conflict("exists", what, "choose another name")
    made: Event = {"type": "created", "room": room.to_json(), "at": room.created_at}
    if about is None:
        return [made]
    hearing.check_guide(about.guide)
    guide = {"type": "said", "author": m.MODERATOR, "kind": "guide", "origin": "verified"}
    return [made, {**guide, "content": about.guide, "at": room.created_at}]


def mode(state: Room, to: str, at: datetime) -> list[Event]:
    """Change the mode. Refused where it is locked on either side (document 001, Channel Modes)."""
    if to not in (*m.FREE, m.WORK, m.DISCUSSION):
        raise Usage("bad-mode", f"no such mode: {to[:40]!r}", f"use {', '.join(m.FREE)}")
    if state.mode not in m.FREE:
        what = f"{state.name} is a {state.mode} room: its mode is locked"
        raise Refused("locked", what, "make another: council channel create")
    if to not in m.FREE:
        what = f"no room can be changed to {to}: only its creation sets that mode"
        raise Refused("locked", what, f"use {', '.join(m.FREE)}")
    return [] if to == state.mode else [{"type": "mode", "mode": to, "at": times.text(at)}]


def join(state: Room, ident: str, member: Member, at: datetime) -> list[Event]:
    """Add a member, who has the floor from the next cycle on."""
    _check_open(state)
    made = {"type": "joined", "id": ident, "member": member.to_json(), "at": times.text(at)}
    return [] if state.members.get(ident) == member else [made]


def leave(state: Room, ident: str, at: datetime) -> list[Event]:
    """Remove a member, whose turn of this cycle is skipped; the moderator always stays."""
    _check_open(state)
    if ident == m.MODERATOR:
        raise Refused("moderator", "the moderator is always a member", "name another one")
    is_member = ident in state.members
    return [{"type": "left", "id": ident, "at": times.text(at)}] if is_member else []


def _check_open(state: Room) -> None:
    if state.turn_state == m.ARCHIVED:
        raise Refused("archived", f"{state.name} is archived", "make another room")


def post(
    state: Room, author: str, agent: str | None, text: str, at: datetime, **more: str
) -> list[Event]:
    """Say something; `more` has further fields of `Message`.

    Raises:
        Conflict: Its key was used for another text (`key`).
    """
    key = more.get("key", "")
    old = next((one for one in state.messages if key and one.key == key), None)
    if old is not None:
        if (old.content, old.author) == (text, author):
            return []
        what = f"the key {key[:40]!r} stands for message {old.id}, another text"
        raise Conflict("key", what, "use another --key")
    made: Event = {"type": "said", "at": times.text(at), "author": author, "agentId": agent}
    asks = hearing.addressed(text, state.members)
    fields = {"content": text, "asks": asks if asks != agent else "", **more}
    return [made | {camel(name): one for name, one in fields.items() if one}]


def why_not(state: Room, agent: str, run: str = "") -> str:
    """Return why an agent may not speak now, "" where it may."""
    if state.turn_state in (m.DEAD, m.ARCHIVED):
        return state.turn_state
    if state.turn_state == m.DISABLED:
        return ""
    if state.dormant_at:
        return "dormant"
    if agent != state.current_speaker:
        return "not-the-speaker"
    is_ended = run and f"{agent} {run}" in state.ended_runs
    return "run-over" if is_ended else "awaiting-delivery" if state.delivery else ""


def begin(state: Room, agent: str, run: str, at: datetime) -> list[Event]:
    """Begin the speaker's turn; what was said before it does not count as its text."""
    state, events = settled(state, at)
    is_begun = state.began_at and run in ("", state.run_id)
    if is_begun or agent != state.current_speaker or why_not(state, agent, run):
        return events
    return [*events, {"type": "began", "agent": agent, "runId": run, "at": times.text(at)}]


def end(
    state: Room, agent: str, run: str, text: str, at: datetime, anchor: int = 0, told: Told = None
) -> list[Event]:
    """End the speaker's turn with its final text; what ends another turn is ignored.

    `told` is whether it was a pass, and the fingerprint of a text that is not here (relay).
    """
    state, events = settled(state, at)
    is_other = state.run_id and run and run != state.run_id
    if why_not(state, agent, run) or agent != state.current_speaker or is_other:
        return events
    empty, tail = told or (hearing.is_pass(text), hearing.tail_of(text, state.rules.tail_length))
    words, before = hearing.gist(text), state.said.get(agent, "")
    until = at + timedelta(seconds=state.rules.delivery_timeout, microseconds=999_999)
    made: Event = {"type": "ended", "agent": agent, "runId": run, "empty": empty, "tail": tail}
    made |= {"alike": not empty and hearing.is_alike(before, words), "gist": words}
    made |= {"anchor": max(state.anchor, min(anchor, state.count)), "until": times.text(until)}
    return [*events, {**made, "at": times.text(at)}]


def complete(state: Room, caller: str, summary: str, at: datetime) -> list[Event]:
    """Complete a discussion with the path of its summary.

    Raises:
        Invalid: It is no discussion.
        Refused: The caller is not its initiator.
        Conflict: It was completed with another summary.
    """
    about = state.discussion
    if about is None:
        what = f"{state.name} is no discussion but a {state.mode} room"
        raise Invalid("no-discussion", what, "only discussions are completed")
    if caller != about.initiator:
        what = f"{caller} may not complete {state.name}"
        raise Refused("not-the-initiator", what, f"only its initiator may: {about.initiator}")
    if about.completed_at:
        if about.summary == summary:
            return []
        raise Conflict("completed", f"{state.name} was completed with {about.summary}")
    return [{"type": "completed", "summary": summary, "at": times.text(at)}]


def tie(state: Room, channel: str) -> list[Event]:
    """Let a room be a channel of Discord from now on."""
    same = state.tie and state.tie.channel == channel
    made = Tie(channel=channel, posted=state.count)
    return [] if same else [{"type": "tied", "tie": made.to_json()}]
