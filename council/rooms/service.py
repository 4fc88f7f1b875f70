"""The verbs of rooms: one function each, with what `json.md` names as its result."""

from __future__ import annotations

import os
import time

from council.kernel import ids, times
from council.kernel.errors import Invalid, NotFound, Refused, Unexpected
from council.kernel.record import TYPE_CHECKING, Any
from council.rooms import decisions, hearing, page, relay
from council.rooms import model as m
from council.rooms.model import Event, Member, Room
from council.rooms.row import ROOMS, SUMMARIES, author, discord, member, view

if TYPE_CHECKING:
    from council.app import App
    from council.kernel.document import Change
    from council.kernel.times import datetime

POLL = 1.0  # seconds between two looks for a text on Discord
SILENT = "dirigent/no-reply"  # the model that says nothing (document 001, Turn Flow)


def named(app: App, which: str) -> str:
    """Return the id of the room of that id, name or channel of Discord; NotFound: `no-room`."""
    relay.refuse_slave(app)
    word = which if ids.is_name(which) else ids.slug(which)
    if ids.is_name(word) and ROOMS.document(app, word).exists():
        return word
    for name in ROOMS.names(app) if word.isdecimal() else ():
        if ROOMS.document(app, name).peek().channel == word:
            return name
    hint = f"there are: {', '.join(ROOMS.names(app)[:10]) or 'none'}"
    raise NotFound("no-room", f"there is no room {which[:64]!r}", hint)


def create(
    app: App, mode: str, name: str, by: str, people: list[str], guide: str = "", callback: str = ""
) -> dict[str, Any]:
    """Make a room; of a discussion `by` is the initiator, and `callback` the room to report to."""
    relay.refuse_slave(app)
    ident = ids.checked_name(name if ids.is_name(name) else ids.slug(name) or name, "room name")
    room = Room(name=ident, mode=mode, channel_id=f"{ident}-{os.urandom(4).hex()}")
    room.created_at, room.lang = times.text(app.now), app.settings.language or "en"
    others = [word for word in people if hearing.same_name(word) != m.MODERATOR]
    room.members = {m.MODERATOR: Member(), **dict(member(app, word) for word in others)}
    room.rules, room.backoff = app.settings.channels, app.settings.retry_backoff
    if mode == m.DISCUSSION:
        room.initiator, one = member(app, by)
        room.by_agent, room.guide = one.agent_id is not None, guide
        room.callback = named(app, callback) if callback else ""
        os.makedirs(f"{app.root}/{SUMMARIES}", exist_ok=True)
    made = change(app, ident, by, lambda state, _: decisions.create(state, room), create=True)
    persons = [name for name, one in list(room.members.items())[1:] if one.agent_id is None]
    outcome = "created" if made["outcome"] == "changed" else made["outcome"]
    return {**made, "persons": persons, "outcome": outcome}


def change(
    app: App, name: str, by: str, decide: Any, *words: Any, create: bool = False
) -> dict[str, Any]:
    """Record what is decided of the room's state, words and time; return what is said of it."""
    made, woken = _done(app, name, by, decide, *words, create=create)
    if made.events and not app.env.get("COUNCIL_TOKEN"):
        from council.runs import heartbeat  # late: as below

        runs, turn = made.state.runs.by_id.values(), made.state.turn
        heartbeat.end_runs(app, [one for one in runs if one.tour != turn])  # heard no more
    outcome = "changed" if made.events else "unchanged"
    return {**view(made.state), "outcome": outcome, "woken": woken}


def _done(
    app: App, name: str, by: str, decide: Any, *words: Any, create: bool = False
) -> tuple[Change, list[str]]:
    """Do what is due, then what is decided; show whose turn it is, and start its run.

    Inside a run its supervisor starts it.
    """
    room, at, is_run = ROOMS.document(app, name), app.now, app.env.get("COUNCIL_TOKEN")
    if not create and page.due(room.read(), at):
        room.change(lambda _: [], by="council", at=at)
    made = room.change(lambda state: decide(state, *words, at), by=by, at=at, create=create)
    app.changed(made, ROOMS)
    state: Room = made.state
    path = f"{app.root}/memory/shared/channels/{name}.signal"
    try:  # both are hints: the heartbeat says what is wrong, and does it again
        if any(one["type"] in ("floor", "cycle") for one in made.events):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
            os.unlink(path)  # the schedule identifier is posted, and deleted (document 001)
        if state.channel and made.events and not is_run:
            ROOMS.exchange(app, name)
            state = room.peek()
    except (OSError, Unexpected):
        pass
    ours = [f"{one.agent}/tasks/{one.ident(state.channel_id)}" for one in page.work(state, at)]
    if is_run or all(os.path.lexists(f"{app.root}/memory/agents/{one}.md") for one in ours):
        return made, []
    from council.runs import starting  # late: only where somebody is woken

    return made, list(starting.start(app, ROOMS, name, state).woken)


def post(app: App, which: str, text: str, by: str, key: str = "") -> dict[str, Any]:
    """Say something in a room; in an archived one the moderator answers."""
    name, found = named(app, which), list[Event]()

    def decide(state: Room, at: datetime) -> list[Event]:
        ident, agent, origin = author(app, state, by)
        found[:] = decisions.post(state, ident, agent, text, at, origin=origin, key=key)
        return found

    made = change(app, name, by, decide)
    told = {"reply": "".join(event["content"] for event in found[1:])}
    return {**made, "outcome": "posted" if found else "already-posted", **told}


def begin(app: App, which: str, agent: str, run: str = "") -> dict[str, Any]:
    """Return whether an agent may speak now; the speaker's turn begins (document 001)."""
    if relay.is_slave(app):
        try:
            return relay.ask(app, "check-turn", channelId=which, agentId=agent, runId=run)
        except Unexpected as error:  # then nobody may
            silent = {"allowed": False, "currentSpeaker": None, "model": SILENT, "anchor": 0}
            return {**silent, "reason": error.code, "words": error.message}
    try:
        state = _done(app, named(app, which), agent, decisions.begin, agent, run)[0].state
    except NotFound:
        state = Room()  # a room that was never seen takes no turns
    why = decisions.why_not(state, agent, run)
    reason = m.DISABLED if state.turn_state == m.DISABLED else why
    made = {"allowed": not why, "currentSpeaker": state.current_speaker, "reason": reason}
    return {**made, **({"model": SILENT} if why else {}), "anchor": state.anchor}


def end(
    app: App, which: str, agent: str, run: str, text: str, anchor: int = 0, is_said: bool = True
) -> dict[str, Any]:
    """End an agent's turn with its final text: the next one has the floor once that has arrived.

    Unless `is_said`, the text is said here first, if it is the speaker's.
    """
    if not (is_said or hearing.is_pass(text)) and begin(app, which, agent, run)["allowed"]:
        post(app, which, text, agent, run)
    if relay.is_slave(app):
        told = {"channelId": which, "agentId": agent, "runId": run, "anchor": anchor}
        tail = hearing.tail_of(text, app.settings.channels.tail_length)
        return relay.ask(app, "turn-complete", **told, isEmpty=hearing.is_pass(text), tail=tail)
    try:
        name = named(app, which)
    except NotFound:  # as above
        return {**view(Room(name=which)), "outcome": "ignored", "woken": []}
    made, woken = _done(app, name, agent, decisions.end, agent, run, text, anchor)
    is_end = any(one["type"] == "ended" for one in made.events)
    while made.state.channel and made.state.tail:  # until it lies there, or time is up
        time.sleep(POLL)
        ROOMS.exchange(app, name)
        made, woken = _done(app, name, agent, lambda *_: [])
    is_over = run and f"{agent} {run}" in made.state.ended_runs
    outcome = "advanced" if is_end else "already-ended" if is_over else "ignored"
    outcome = "awaiting-delivery" if is_end and made.state.tail else outcome
    return {**view(made.state), "outcome": outcome, "woken": woken}


def complete(app: App, which: str, path: str, by: str) -> dict[str, Any]:
    """Complete a discussion with a summary that lies in `discussion-summary/`."""
    name, root = named(app, which), os.path.realpath(app.root)
    whole = os.path.realpath(os.path.join(root, path))
    if not os.path.lexists(whole) and os.path.basename(path) == path:
        whole = os.path.realpath(f"{root}/{SUMMARIES}/{path}")

    def decide(state: Room, at: datetime) -> list[Event]:
        made = decisions.complete(state, by, os.path.relpath(whole, root), at)
        if not f"{whole}/".startswith(f"{root}/{SUMMARIES}/"):
            raise Refused("outside", f"{path} is not in {SUMMARIES}", "put the summary there")
        if not os.path.isfile(whole):
            kind = Invalid if os.path.lexists(whole) else NotFound
            raise kind("no-summary", f"{path} is no file", f"write the summary into {SUMMARIES}/")
        return made

    return {**change(app, name, by, decide), "minutes": ROOMS.finish(app, name)}


def guilds(app: App) -> list[dict[str, Any]]:
    """Return the guilds of Discord that the bot administers, with the rooms that channels are."""
    states = [ROOMS.document(app, name).peek() for name in ROOMS.names(app)]
    return [{**one, "tied": {o.channel: o for o in states}} for one in discord().guilds(app)]


def answer(app: App, rule: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the master's answer to a request of a slave, by the rule's name."""
    relay.refuse_slave(app)
    keys, anchor = ("channelId", "agentId", "runId", "tail", "discordUserId"), request.get("anchor")
    room, agent, run, tail, account = (str(request.get(key) or "") for key in keys)
    if rule == "check-turn":
        return begin(app, room, agent, run)
    if rule == "turn-complete":
        text = "" if str(request.get("isEmpty")) in ("True", "true") else tail or "?"
        return end(app, room, agent, run, text, anchor if isinstance(anchor, int) else 0)
    if rule == "get-channel-state":
        state = ROOMS.document(app, room).peek() if room in ROOMS.names(app) else Room()
        return {**view(state), "tmState": state.turn_state}
    from council.runs import starting  # late: few ask for an identity

    if found := starting.registry_of(app, True).identities.get(account):
        return {"discordUserId": account, **found.to_json()}
    raise NotFound("no-identity", f"no agent has the account {account[:40]!r}")
