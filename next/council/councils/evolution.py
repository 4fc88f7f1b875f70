"""How a conversation changes by its events: the fold that `rules.py` re-exports."""

from __future__ import annotations

from datetime import timedelta

from council.councils import model as m
from council.councils.model import DONE, RESPONDED, SYNTHESIZE, WAITING, Entry, Event, State
from council.councils.positions import letter_of, plain, words
from council.kernel import ids, times
from council.kernel.errors import Invalid
from council.runs import work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Fold = Callable[[State, Event], None]


_NOTHING = m.Heard()  # settled: shared by all that was not read
_QUIET = ("guided", "noted", "draft.set", "late", "kept", "rendered")  # they ask nobody


def known(event: Event) -> bool:
    """Return whether this version can fold an event."""
    return event.get("type") in (*_FOLDS, *work.TYPES)


def settles(event: Event) -> bool:
    """Return whether the page is to be synced: a round or the conversation ended."""
    return event["type"] in ("round.closed", "ended")


def evolve(state: State, event: Event) -> None:
    """Fold one event into the state.

    Raises:
        KeyError: The type is not known.
        Invalid: The body is broken (`bad-event`).
    """
    kind = event["type"]
    if not known(event):
        raise KeyError("unknown")
    try:
        if kind.startswith("run."):
            work.evolve(state.runs, event)
            if kind == "run.mended":  # its agent is asked again in this round
                state.round().absent.pop(event["agent"], None)
        elif kind in _QUIET:
            _FOLDS[kind](state, event)
        else:
            before = speaker(state) if state.rounds else ""
            _FOLDS[kind](state, event)
            if before and speaker(state) not in ("", before):
                _give_floor(state, event.get("at") or state.updated_at)
            _measure(state)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as fault:
        raise Invalid("bad-event", f"event {kind}: cannot be read: {fault!r}") from None
    state.updated_at = event.get("at") or state.updated_at


def staying(state: State) -> list[str]:
    """Return the participants that have not left."""
    return [agent for agent, one in state.participants.items() if one.status != DONE]


def said_by(state: State, tour: int) -> list[Entry]:
    """Return the answers of a round that count."""
    return [e for e in state.entries if e.tour == tour and not e.late and e.kind != "guidance"]


def waiting(state: State) -> list[str]:
    """Return whose answer the round still lacks, in its order; passed agents among them."""
    now, who = state.round(), state.participants
    if now.phase == SYNTHESIZE:
        written = {entry.agent for entry in said_by(state, now.tour)} - {*now.asked}
        return [agent for agent in now.order if agent not in written]
    return [agent for agent in now.order if agent in who and who[agent].status == WAITING]


def is_written(state: State) -> bool:
    """Return whether the synthesis of the open round is there, with nothing to be asked."""
    now = state.round()
    said = said_by(state, now.tour) if now.phase == SYNTHESIZE else []
    return any(entry.agent not in now.asked for entry in said)


def speaker(state: State) -> str:
    """Return who has the floor in a round that is not parallel, "" for nobody."""
    now = state.round()
    if now.parallel or now.ended_at or is_written(state):
        return ""
    return next((agent for agent in waiting(state) if agent not in now.absent), "")


def owing(state: State) -> list[str]:
    """Return who is asked in the open round, paused or not; in turn, only the next one."""
    if not state.rounds or state.ended_at or state.round().ended_at:
        return []
    if not state.round().parallel:
        return [agent for agent in (speaker(state),) if agent]
    return [agent for agent in waiting(state) if agent not in state.round().absent]


def as_answered(state: State, status: str) -> str:
    """Return RESPONDED for AGREED in a blind COLLECT, where there is nothing to agree with yet."""
    is_blind = bool(state.rounds) and state.round().blind and state.phase == m.COLLECT
    return RESPONDED if status == m.AGREED and is_blind else status


def _measure(state: State) -> None:
    """Count document 000's figures while a round of talk is open; otherwise the last ones stay."""
    if not state.rounds or state.round().ended_at or state.phase == SYNTHESIZE:
        return
    statuses = [one.status for one in state.participants.values()]
    rate = sum(one in m.ANSWERED for one in statuses) / max(1, len(statuses))
    agreed = m.AGREED in statuses and set(statuses) <= {m.AGREED, DONE}
    agreed = agreed and state.procedure == "council" and not any(b.open for b in state.blockers)
    state.convergence = m.Convergence(response_rate=rate, has_consensus=agreed)


# --- its life ---


def _opened(state: State, event: Event) -> None:
    for key in ("name", "topic", "brief", "procedure", "lang"):
        setattr(state, key, event[key])
    state.conversation_id, state.created_at = event["conversationId"], event["at"]
    state.config = m.Config.from_json(event["config"], "config")
    for agent, one in event["participants"].items():
        state.participants[agent] = m.Participant.from_json(one, agent)
    for at, text in enumerate(state.config.options):
        state.options.append(m.Option(letter=letter_of(at), text=text))


def _begun(state: State, event: Event) -> None:
    tour, at = event["tour"], event["at"]
    given = {key: event[key] for key in ("tour", "phase", "parallel", "blind")}
    mark = ids.digest(f"{state.conversation_id}:{tour}")[:8]
    state.rounds.append(m.Round(started_at=at, order=list(event["order"]), mark=mark, **given))
    state.phase, state.tour, state.timeout_at = event["phase"], tour, event["timeoutAt"]
    state.status, state.closed_reason = event.get("status", m.ACTIVE), event.get("closedReason", "")
    state.stop = state.signed = ""
    for one in state.participants.values():
        if one.status != DONE:
            one.status, one.origin = WAITING, ""
    _give_floor(state, at)


def _give_floor(state: State, at: str) -> None:
    """Start the turn of the next speaker: it has its share of the phase's time, at least."""
    now = state.round()
    if not now.parallel:
        shares = 1 if now.phase == SYNTHESIZE else max(1, len(now.order))
        now.floor_at = at
        now.turn_until = times.later(at, timedelta(seconds=state.config.timeout // shares))
        state.timeout_at = max(state.timeout_at or "", now.turn_until)


def _closed(state: State, event: Event) -> None:
    now = state.round()
    now.ended_at, now.reason, now.turn_until = event["at"], event["reason"], ""
    now.absent = {a: m.Absence.from_json(why) for a, why in event["absent"].items()}
    now.asked, now.verdict = {}, event.get("verdict", "")
    for agent in list(state.drafts):
        _keep_draft(state, agent)
    now.agreed = [a for a, one in state.participants.items() if one.status == m.AGREED]
    if now.verdict:
        state.convergence = state.convergence.copy(has_consensus=now.verdict != "none")
    if now.phase == SYNTHESIZE and state.config.sign_off:
        state.timeout_at = times.later(event["at"], timedelta(seconds=state.config.timeout))


def _resumed(state: State, event: Event) -> None:
    """Move the deadlines by the length of the pause."""
    gone = times.instant(event["at"]) - times.instant(state.paused_at or event["at"])
    state.paused_at, now = None, state.round()
    state.timeout_at = times.later(state.timeout_at, gone) if state.timeout_at else None
    now.turn_until = times.later(now.turn_until, gone) if now.turn_until else ""


def _extended(state: State, event: Event) -> None:
    state.timeout_at = event["timeoutAt"]
    if state.round().turn_until:
        state.round().turn_until = event["timeoutAt"]


def _ended(state: State, event: Event) -> None:
    state.ended_at, state.status = event["at"], event["status"]
    state.closed_reason, state.cancel_reason = event["reason"], event.get("why", "")
    if not state.round().ended_at:
        state.round().ended_at, state.round().reason = event["at"], event["reason"]


def _adopted(state: State, event: Event) -> None:
    rev, mark = state.rev, state.mark
    state.__dict__.update(State.from_json(event["state"], "state").__dict__)
    state.rev, state.mark = rev or state.rev, mark or state.mark


# --- what is said ---


def _entry(event: Event) -> Entry:
    keys = ("kind", "agent", "phase", "tour", "at", "text", "status", "origin", "target", "cut")
    given = {key: event[key] for key in (*keys, "key", "parts") if key in event}
    heard = m.Heard.from_json(event["heard"], "heard") if event.get("heard") else _NOTHING
    return Entry(**{"id": f"{event['tour']}-{event['agent']}", **given, "heard": heard})


def _answered(state: State, event: Event) -> None:
    now, entry = state.round(), _put(state, _entry(event))
    now.asked.pop(entry.agent, None)
    now.absent.pop(entry.agent, None)
    _act(state, entry, entry.status)


def _asked(state: State, event: Event) -> None:
    entry = _put(state, _entry(event))
    state.round().asked[entry.agent] = event["question"]
    _act(state, entry, "")


def _amended(state: State, event: Event) -> None:
    ident = f"{event['tour']}-{event['agent']}"
    old = next(entry for entry in state.entries if entry.id == ident)
    entry = _put(state, _entry({**old.to_json(), "parts": [], **event}))
    _act(state, entry, entry.status if entry.tour == state.tour else "")


def _act(state: State, entry: Entry, status: str) -> None:
    _keep_draft(state, entry.agent, entry.text)
    one = state.participants.get(entry.agent)
    if one is not None:
        one.last_action = entry.at
        one.status, one.origin = (status, entry.origin) if status else (one.status, one.origin)


def _keep_draft(state: State, agent: str, said: str = "") -> None:
    """Move the draft of an agent to the notes, unless its words are in what the agent said."""
    draft = plain(state.drafts.pop(agent, ""))
    if draft and draft not in plain(said):
        state.notes += [*([""] if state.notes else []), *draft.split("\n")]


def _put(state: State, entry: Entry) -> Entry:
    """Add an answer, or put it in the place of its author's earlier one of the round."""
    at = len(state.entries)
    while at and (state.entries[at - 1].tour >= entry.tour or state.entries[at - 1].late):
        at -= 1  # only an entry of this round can have its id
    places = [n for n in range(at, len(state.entries)) if state.entries[n].id == entry.id]
    if places:
        state.entries[places[0]], own = entry, (entry.agent, entry.tour)
        state.blockers = [one for one in state.blockers if (one.agent, one.tour) != own]
    else:
        state.entries.append(entry)
    for text in entry.heard.blockers:
        _raise(state, entry.agent, text, entry.tour)
    for text in entry.heard.resolved:
        _resolve(state, entry.agent, text)
    return entry


def _raise(state: State, agent: str, text: str, tour: int) -> None:
    there = [one for one in state.blockers if one.open and one.agent == agent]
    if words(text) not in [words(one.text) for one in there]:
        state.blockers.append(m.Blocker(agent=agent, text=text, tour=tour))


def _resolve(state: State, agent: str, text: str) -> None:
    """End the blocker of `agent` that `text` repeats, perhaps with more words behind it."""
    said = words(text)
    for one in state.blockers:
        if one.agent == agent and said[: len(words(one.text))] == words(one.text):
            one.open = False


def _unclear(state: State, event: Event) -> None:
    agent = event["agent"]
    state.round().asked.pop(agent, None)
    said = next(e for e in said_by(state, event["tour"]) if e.agent == agent)
    one = state.participants.get(agent)
    if one is not None and one.status == WAITING:
        one.status, one.origin = said.status or RESPONDED, said.origin


def _late(state: State, event: Event) -> None:
    entry, number = _entry(event), len(state.entries)
    state.entries.append(entry.copy(id=f"{entry.id}-late-{number}", late=True))


def _guided(state: State, event: Event) -> None:
    last = next((old.id for old in reversed(state.entries) if old.kind == "guidance"), "0")
    number = int(last.rpartition("-")[2]) + 1
    said = {**event, "agent": event["by"], "target": event["target"], "kind": "guidance"}
    entry = _entry({**said, "phase": state.phase, "tour": state.tour})
    state.entries.append(entry.copy(id=f"{state.tour}-say-{number}"))


# --- by hand on the page ---


def _status_set(state: State, event: Event) -> None:
    one = state.participants[event["agent"]]
    one.status = as_answered(state, event["status"])
    one.origin, one.last_action = event["origin"], event["at"]


def _noted(state: State, event: Event) -> None:
    """Apply splices; positions are those before the event, so the last one comes first."""
    for at, removed, lines in sorted(event["splices"], key=lambda one: one[0])[::-1]:
        state.notes[at : at + removed] = lines


def _draft_set(state: State, event: Event) -> None:
    state.drafts = {**state.drafts, event["agent"]: event["text"]}
    state.drafts = {agent: text for agent, text in state.drafts.items() if text}


def _joined(state: State, event: Event) -> None:
    given = {key: event[key] for key in ("name", "emoji", "role", "person", "model")}
    state.participants[event["agent"]] = m.Participant(**given)
    if not state.round().ended_at and state.phase != SYNTHESIZE:
        state.round().order.append(event["agent"])


def _left(state: State, event: Event) -> None:
    agent, now = event["agent"], state.round()
    del state.participants[agent]
    _keep_draft(state, agent)
    for there in (now.asked, now.absent):
        there.pop(agent, None)
    now.order = [one for one in now.order if one != agent]


def _set(**keys: str) -> Fold:
    return lambda state, event: state.__dict__.update({k: event[keys[k]] for k in keys})


_FOLDS: dict[str, Fold] = {
    "opened": _opened, "round.begun": _begun, "round.closed": _closed,
    "options.named": lambda state, event: state.options.extend(
        m.Option.from_json(one, "option") for one in event["options"]
    ),
    "paused": _set(paused_at="at"), "resumed": _resumed, "extended": _extended,
    "stopped": _set(stop="to"), "ended": _ended, "signed": _set(signed="word", signed_why="why"),
    "archived": _set(minutes="path"), "adopted": _adopted, "rendered": lambda *_: None,
    "answered": _answered, "amended": _amended, "asked": _asked, "unclear": _unclear,
    "late": _late, "guided": _guided,
    "passed": lambda s, event: s.round().absent.update(
        {event["agent"]: m.Absence(code=event["code"], words=event["words"])}
    ),
    "status.set": _status_set, "noted": _noted, "topic.set": _set(topic="topic"),
    "draft.set": _draft_set,
    "joined": _joined, "left": _left,
    "blocker.raised": lambda s, event: _raise(s, event["agent"], event["text"], s.tour),
    "blocker.ended": lambda s, event: _resolve(s, event["agent"], event["text"]),
    "kept": lambda state, event: state.kept_aside.append(event["file"]),
}  # fmt: skip
