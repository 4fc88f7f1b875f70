"""What may be done to a room: one pure function a command, which returns events or refuses."""

from __future__ import annotations

from council.kernel import times
from council.kernel.errors import Conflict, Invalid, Refused, Usage
from council.kernel.record import camel
from council.kernel.times import datetime, timedelta
from council.rooms import hearing, rules
from council.rooms import model as m
from council.rooms.model import Event, Member, Room

CLOSED = "This discussion is closed."
ARCHIVED = "This channel is archived and no longer active."


def create(state: Room, room: Room) -> list[Event]:
    """Open a room; of a discussion the guide is the first message. The same again is a repeat."""
    at, asked = room.created_at, ("mode", "members", "initiator", "guide", "callback")
    if state.channel_id:
        if all(getattr(state, key) == getattr(room, key) for key in asked):
            return []
        what = f"there is a {state.mode} room {room.name} already"
        raise Conflict("exists", what, "choose another name")
    made: Event = {"type": "created", "room": room.to_json(), "at": at}
    if room.mode != m.DISCUSSION:
        return [made]
    hearing.check_guide(room.guide)
    return [made, rules.by_moderator("guide", room.guide, at)]


def mode(state: Room, to: str, at: datetime) -> list[Event]:
    """Change the mode, unless it is locked on either side (document 001, Channel Modes)."""
    if state.mode not in m.FREE or to not in m.FREE:
        what = f"{state.name} is a {state.mode} room: it cannot become a {to} room"
        raise Refused("locked-mode", what, f"only these change: {', '.join(m.FREE)}")
    return [] if to == state.mode else [{"type": "mode", "mode": to, "at": times.text(at)}]


def join(state: Room, ident: str, one: Member | None, at: datetime) -> list[Event]:
    """Add a member, who has the floor from the next cycle on; None removes it, and its turn."""
    if state.turn_state == m.ARCHIVED:
        raise Refused("archived", f"{state.name} is archived", "make another room")
    if ident == m.MODERATOR:
        raise Refused("moderator", "the moderator is always a member", "name another one")
    made: Event = {"type": "joined" if one else "left", "id": ident, "at": times.text(at)}
    made |= {"member": one.to_json()} if one else {}
    return [made] if state.members.get(ident) != one else []


def post(
    state: Room, author: str, agent: str | None, text: str, at: datetime, **more: str
) -> list[Event]:
    """Say something; `more` has further fields of `Message`. A key stands for one text."""
    if not text.strip():
        raise Invalid("no-text", "there is no text", "say something")
    key = more.get("key", "")
    if old := next((one for one in state.messages if key and one.key == key), None):
        if (old.content.split(), old.author) == (text.split(), author):
            return []
        what = f"the key {key[:40]!r} stands for message {old.id}, another text"
        raise Conflict("key", what, "use another --key")
    made: Event = {"type": "said", "at": times.text(at), "author": author, "agentId": agent}
    asks = hearing.addressed(text, state.members)
    fields = {"content": text, "asks": asks if asks != agent else "", **more}
    events = [made | {camel(name): one for name, one in fields.items() if one}]
    answer = CLOSED if state.initiator else ARCHIVED
    auto = rules.by_moderator("auto", answer, times.text(at))
    return events + [auto] * (state.turn_state == m.ARCHIVED)


def why_not(state: Room, agent: str, run: str = "") -> str:
    """Return why an agent may not speak now, "" where it may."""
    if state.turn_state in (m.DEAD, m.ARCHIVED):
        return state.turn_state
    if state.turn_state == m.DISABLED:
        return ""
    if state.dormant_at or agent != state.current_speaker:
        return "dormant" if state.dormant_at else "not-the-speaker"
    is_ended = run and f"{agent} {run}" in state.ended_runs
    return "run-over" if is_ended else "awaiting-delivery" if state.tail else ""


def begin(state: Room, agent: str, run: str, at: datetime) -> list[Event]:
    """Begin the speaker's turn; what was said before it does not count as its text."""
    is_begun = state.began_at and run in ("", state.run_id)
    if is_begun or agent != state.current_speaker or why_not(state, agent, run):
        return []
    return [{"type": "began", "agent": agent, "runId": run, "at": times.text(at)}]


def end(state: Room, agent: str, run: str, text: str, anchor: int, at: datetime) -> list[Event]:
    """End the speaker's turn with its final text, or its tail; other ends are ignored.

    `anchor` is the newest message that it knew, if its program says so; 0 is that of its begin.
    """
    is_other = state.run_id and run and run != state.run_id
    if why_not(state, agent, run) or agent != state.current_speaker or is_other:
        return []
    made: Event = {"type": "ended", "agent": agent, "runId": run, "empty": hearing.is_pass(text)}
    made["tail"] = hearing.tail_of(text, state.rules.tail_length)
    made["anchor"] = max(state.anchor, min(anchor, state.count))
    made["until"] = times.until(at, timedelta(seconds=state.rules.delivery_timeout))
    return [{**made, "at": times.text(at)}]


def complete(state: Room, caller: str, summary: str, at: datetime) -> list[Event]:
    """Complete a discussion with the path of its summary; only its initiator may."""
    if not state.initiator:
        what = f"{state.name} is no discussion but a {state.mode} room"
        raise Invalid("no-discussion", what, "only discussions are completed")
    if caller != state.initiator:
        what = f"{caller} may not complete {state.name}"
        raise Refused("not-the-initiator", what, f"only its initiator may: {state.initiator}")
    if state.completed_at and state.summary != summary:
        raise Conflict("completed", f"{state.name} was completed with {state.summary}")
    made = {"type": "completed", "summary": summary, "at": times.text(at)}
    return [] if state.completed_at else [made]


def tie(state: Room, channel: str, at: datetime) -> list[Event]:
    """Let a room be a channel of Discord from now on."""
    if not channel.isdecimal():
        raise Usage("no-channel", f"no channel of Discord: {channel[:40]!r}", "give its number")
    made: Event = {"type": "tied", "channel": channel, "read": "0", "at": times.text(at)}
    made |= {"posted": state.count, "signalled": state.turn}
    return [made] if state.channel != channel else []
