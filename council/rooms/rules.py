"""Who has the floor of a room, and when it goes on to the next.

A room has no process: hooks say that a turn begins or ends, people and agents post, the heartbeat
comes by. Each asks the state, so any number of processes agree on one speaker.

    asleep    ── somebody speaks ──▶  on the floor  ── real turn ──▶  delivering
       ▲                                │  ▲  │                          │
       └─── all passed, or calmed ──────┘  │  └── pass: the next one     │
                                           └── arrived, or out of time ──┘

A real turn waits for its text, since a run ends before its words arrive. A word of anybody else
begins a new cycle then, for all must hear it. A cycle in which all passed puts the room to sleep,
unless a member joined or somebody spoke whom not all have heard; any word but the moderator's wakes
it. The list of speakers changes between cycles. After `max_cycles` without a person, or
`max_repeats` that only repeat, a room is calmed: a person has to wake it. Who is silent passes.
"""

from __future__ import annotations

from council.kernel import times
from council.kernel.ids import shuffled
from council.kernel.times import datetime, timedelta
from council.rooms import hearing
from council.rooms import model as m
from council.rooms.model import Event, Member, Message, Room, Turn
from council.runs import work as runs
from council.runs.work import Try, Work

new = Room
REMINDER = "Discussion is idle. Please summarize and call discussion-complete."
MOST_ENDED = 50
_TYPES = "created said cycle dormant turned floor began ended missed mode joined left"
EVENTS = frozenset(f"{_TYPES} amended noted kept tied completed filed".split()) | {*runs.TYPES}


def turn_state(mode: str, agents: int, concluded: bool = False) -> str:
    """Return how turns are taken in a room of that mode and head count (document 001)."""
    if mode == m.REPORT:
        return m.DEAD
    if mode == m.DISCUSSION and concluded:
        return m.ARCHIVED
    if mode not in (m.DISCUSSION, m.CHAT) or agents < 2:
        return m.DISABLED
    return m.NORMAL if agents == 2 else m.SHUFFLE


def rebuilt(previous: list[str], here: list[str]) -> list[str]:
    """Return those who are still here in their order, then the newcomers in theirs."""
    return [o for o in previous if o in here] + [o for o in here if o not in previous]


def is_dormant(empty: list[bool | None], joined: int) -> bool:
    """Return whether a cycle of such turns ends in sleep; None is one who left before its turn."""
    return not joined and all(one for one in empty if one is not None)


def evolve(state: Room, event: Event) -> None:
    """Fold one event."""
    kind = event["type"]
    if kind[:4] == "run.":
        runs.evolve(state.runs, event)
        state.anchor = state.count if kind == "run.claimed" else state.anchor
        return
    state.updated_at = event.get("at", state.updated_at)
    if kind == "created":
        state.__dict__.update(Room.from_json(event["room"]).__dict__)
    elif kind == "said":
        _said(state, event)
    elif kind in ("cycle", "dormant", "turned"):
        _turned(state, event)
    elif kind == "floor":
        state.queue = state.queue[state.queue.index(event["agent"]) + 1 :]
        _give(state, event["agent"], event["at"])
    elif kind == "began":
        state.began_at, state.run_id, state.anchor = event["at"], event["runId"], state.count
    elif kind == "ended":
        _ended(state, event)
    elif kind == "missed":
        if not state.tail:  # else it is the text that was missed
            state.results.append(Turn(agent=event["agent"], empty=True, heard=state.anchor))
        state.tail, state.is_over = "", True
    elif kind == "joined":
        state.members[event["id"]] = Member.from_json(event["member"])
    elif kind == "left":
        del state.members[event["id"]]
    elif kind == "amended":
        place = next(n for n, one in enumerate(state.messages) if one.id == event["id"])
        state.messages[place] = state.messages[place].copy(content=event["content"])
    elif kind == "noted":
        for at, count, lines in event["splices"]:
            state.notes[at : at + count] = lines
    elif kind == "kept":
        state.kept_aside = [*state.kept_aside, event["file"]][-20:]
    elif kind == "completed":
        state.completed_at, state.summary = event["at"], event["summary"]
    else:  # `mode`, `tied` and `filed` say new values of fields
        state.__dict__.update({Room._names[key]: event[key] for key in event if key in Room._names})


def _said(state: Room, event: Event) -> None:
    state.count += 1
    fields = {key: value for key, value in event.items() if key != "type"}
    one = Message.from_json({"id": state.count, **fields})
    state.messages.append(one)
    del state.messages[: -m.KEPT]
    if one.kind in ("message", "guide") and state.turn_state != m.ARCHIVED:
        _hear(state, one)


def _hear(state: Room, one: Message) -> None:
    """Do what a message does to the floor: it wakes, interrupts, or is just heard."""
    agent, speaker = one.agent_id, state.current_speaker
    queue = [one.asks, *(ident for ident in state.queue if ident != one.asks)]
    others = [ident for ident in state.speakers if ident != speaker]
    if not agent:
        state.cycles_alone, state.repeats = int(not state.dormant_at), 0
    if state.dormant_at:
        state.stirred = "" if agent and (state.calmed or state.agents() == [agent]) else "woken"
    elif state.tail and agent != speaker:
        state.stirred = "interrupted"
    elif state.tail:
        _arrived(state)
    elif speaker and state.turn_at is None:  # the first word: there is an answer due
        state.turn_at = one.at
        if one.asks in state.queue:
            state.queue = [speaker, *queue[1:]]
            _give(state, one.asks, one.at)
        elif agent != speaker and not state.began_at:
            state.anchor = one.id  # its turn begins with this word
    elif speaker != agent and one.asks in (state.queue if agent else others):
        state.queue = queue


def _arrived(state: Room) -> None:
    who = str(state.current_speaker)
    if state.tail and hearing.has_arrived(state.tail, state.messages, state.anchor, who):
        state.tail, state.is_over = "", True


def _ended(state: Room, event: Event) -> None:
    agent, state.is_over = event["agent"], event["empty"]
    state.results.append(Turn(agent=agent, empty=event["empty"], heard=state.anchor))
    state.ended_runs = [*state.ended_runs, f"{agent} {event['runId']}"][-MOST_ENDED:]
    if not event["empty"]:
        state.tail, state.tail_until = event["tail"], event["until"]
        state.anchor = event["anchor"]
        _arrived(state)


def _turned(state: Room, event: Event) -> None:
    """Begin a cycle, fall asleep, or end the taking of turns."""
    kind, reason, at = event["type"], event.get("reason", ""), event["at"]
    state.turn_state, state.results, state.stirred = event["turnState"], [], ""
    state.speakers = event.get("speakers", state.speakers)
    state.repeats = event.get("repeats", 0)
    state.dormant_at = at if kind == "dormant" else None
    state.calmed = reason if reason in ("max-cycles", "repetition") else ""
    state.cycle += kind == "cycle"
    state.cycles_alone += kind == "cycle"
    is_asked = kind == "cycle" and (state.initiator or reason != "started")  # by some word
    first, *state.queue = event["queue"] if kind == "cycle" else [""]
    _give(state, first or None, at if is_asked else None)


def _give(state: Room, agent: str | None, at: str | None) -> None:
    """Give the floor to an agent, or to nobody; runs are numbered by it, also one for a summary."""
    state.current_speaker, state.turn_at, state.anchor = agent, at, state.count
    state.turn += 1
    state.began_at, state.run_id, state.is_over, state.tail = None, "", False, ""


def due(state: Room, now: datetime) -> list[Event]:
    """Return the next event that the state and the time make true; [] when nothing is due."""
    at = times.text(now)
    found = _due(state, at) if state.channel_id else None
    made = [{**found, "at": at}] if found else []
    if state.initiator and found and found["type"] == "dormant":
        made.append(by_moderator("reminder", REMINDER, at))
    return made


def _due(state: Room, at: str) -> Event | None:
    wanted, is_talk = _wanted(state), state.mode in (m.CHAT, m.DISCUSSION)
    takes_turns = state.current_speaker is not None or state.dormant_at is not None
    if is_talk and wanted != m.ARCHIVED:
        if takes_turns and not state.stirred:
            return None if state.dormant_at else _of_turn(state, at)
        if takes_turns or state.agents():
            return _begun(state, state.stirred or "started")
    is_new = takes_turns or wanted != state.turn_state
    return {"type": "turned", "turnState": wanted} if is_new else None


def _wanted(state: Room) -> str:
    return turn_state(state.mode, len(state.agents()), bool(state.completed_at))


def by_moderator(kind: str, content: str, at: str) -> Event:
    """Return what the moderator says."""
    said = {"type": "said", "author": m.MODERATOR, "kind": kind, "content": content}
    return {**said, "origin": "verified", "at": at}


def _of_turn(state: Room, at: str) -> Event | None:
    """Return what becomes of the turn of the speaker."""
    agent, wait, after, ends = state.current_speaker, state.tail, _try(state), until(state)
    code, words = "" if agent in state.agents() else "left", ""
    if state.is_over or (code and not wait):
        return _passed_on(state)
    if after and after.gave_up:
        code, words = after.gave_up.code or "no-answer", after.gave_up.words
    elif ends and at >= ends:
        code = "undelivered" if wait else "timeout"
    return {"type": "missed", "agent": agent, "code": code, "words": words} if code else None


def until(state: Room) -> str:
    """Return until when the speaker or its text is waited for; "" while it is run, or for none."""
    if state.tail:
        return state.tail_until
    since = state.began_at or state.turn_at
    own = [run for run in state.runs.by_id.values() if run.tour == state.turn]
    if not since or any(not run.outcome for run in own):
        return ""
    since = max([since, *(run.ended or "" for run in own)])
    return times.later(since, timedelta(seconds=state.rules.turn_timeout))


def _passed_on(state: Room) -> Event:
    """Return who has the floor next, or what comes after the cycle."""
    here, before, results, reason = state.agents(), state.speakers, state.results, ""
    following = next((one for one in state.queue if one in here), "")
    if following:
        return {"type": "floor", "agent": following}
    real = [one.agent for one in results if not one.empty]
    repeats = state.repeats + 1 if real and all(_repeats(state, one) for one in real) else 0
    joined = [one for one in here if one not in before]
    is_heard = all(_has_heard_all(state, one) for one in results if one.agent in here)
    is_alone = len(here) == 1 and not joined  # it would answer itself
    if is_heard and (is_alone or is_dormant([one.empty for one in results], len(joined))):
        reason = "idle"
    elif 0 < state.rules.max_repeats <= repeats:
        reason = "repetition"
    elif 0 < state.rules.max_cycles <= state.cycles_alone:
        reason = "max-cycles"
    last = results[-1].agent if results else before[-1]
    made = _begun(state, reason or "boundary", repeats, last)
    return {**made, "type": "dormant"} if reason else made


def _has_heard_all(state: Room, turn: Turn) -> bool:
    """Return whether nobody else, but the moderator, has spoken since a turn began."""
    newer = [one for one in state.messages if one.id > turn.heard]
    return all(one.author in (turn.agent, m.MODERATOR) for one in newer)


def _repeats(state: Room, agent: str) -> bool:
    """Return whether an agent's newest message says what it has said shortly before."""
    own = [one.content for one in state.messages if one.agent_id == agent]
    return any(hearing.is_alike(one, own[-1]) for one in own[-4:-1])


def _begun(state: Room, reason: str, repeats: int = 0, last: str = "") -> Event:
    """Return that a cycle begins; `last` spoke last, where another one has ended."""
    speakers, wanted = rebuilt(state.speakers, state.agents()), _wanted(state)
    if last and wanted == m.SHUFFLE:
        speakers = shuffled(speakers, last, f"{state.channel_id}/{state.cycle + 1}")
    asks = state.messages[-1].asks if state.messages and state.stirred else ""
    first = [asks] if asks in speakers else []
    queue = first + [one for one in speakers if one not in first]
    made = {"reason": reason, "turnState": wanted, "speakers": speakers, "queue": queue}
    return {"type": "cycle" if speakers else "dormant", **made, "repeats": repeats}


def asked(state: Room) -> tuple[str, str]:
    """Return whom a run is for and its task: a `turn`, or the `summary` of an idle discussion."""
    if state.dormant_at and state.by_agent:
        return state.initiator, "summary"
    waits = state.turn_at and not (state.began_at or state.tail or state.is_over)
    return (state.current_speaker or "", "turn") if waits else ("", "")


def _try(state: Room) -> Try | None:
    agent, task = asked(state)
    return runs.next_try(state.runs, agent, task, state.turn, state.backoff) if agent else None


def work(state: Room, now: datetime) -> list[Work]:
    """Return the run that ought to be under way."""
    after, (agent, task) = _try(state), asked(state)
    if not after or not after.attempt or (after.at or "") > times.text(now):
        return []
    return [Work(agent=agent, task=task, tour=state.turn, attempt=after.attempt)]


def wake(state: Room, by_hand: frozenset[str] = frozenset()) -> datetime | None:
    """Return the next instant at which `due` or `work` can be other than empty; None for never.

    The work of agents that are not run here (`by_hand`) does not count. What is said on Discord
    has to be asked for again and again.
    """
    after, moments = _try(state), [until(state), state.created_at if state.channel else ""]
    moments += [] if state.minutes else [state.completed_at]
    if after and (after.open or (after.attempt and asked(state)[0] not in by_hand)):
        moments.append(after.at or state.updated_at)
    return min((times.instant(one) for one in moments if one), default=None)
