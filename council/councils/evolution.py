"""How a conversation changes by its events: the fold."""

from __future__ import annotations

from council.councils import model as m
from council.councils.model import AGREED, DONE, SYNTHESIZE, WAITING, Entry, Event, State
from council.councils.verdict import begins, letter_of, plain, words
from council.kernel import times
from council.kernel.record import Any
from council.kernel.times import timedelta
from council.runs import work

SETTLING = ("round.closed", "ended")  # after them the page is synced


def evolve(state: State, event: Event) -> None:
    """Fold one event into the state."""
    before = speaker(state)
    EVENTS[event["type"]](state, event)
    if before and speaker(state) not in ("", before):
        _give_floor(state, event.get("at") or state.updated_at)
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
    if now.phase == SYNTHESIZE:  # one of its writers is enough
        is_written = any(entry.agent not in now.asked for entry in said_by(state, now.tour))
        return [] if is_written else list(now.order)
    return [agent for agent in now.order if agent in who and who[agent].status == WAITING]


def owing(state: State) -> list[str]:
    """Return who is asked in the open round, paused or not; in turn, only the next one."""
    if not state.rounds or state.ended_at or state.round().ended_at:
        return []
    found = [agent for agent in waiting(state) if agent not in state.round().absent]
    return found if state.round().parallel else found[:1]


def speaker(state: State) -> str:
    """Return who has the floor in a round that is not parallel, "" for nobody."""
    asked = owing(state)
    return asked[0] if asked and not state.round().parallel else ""


def as_answered(state: State, status: str) -> str:
    """Return RESPONDED for AGREED in a blind COLLECT, where there is nothing to agree with yet."""
    is_blind = state.sealed() and state.phase == m.COLLECT
    return m.RESPONDED if status == AGREED and is_blind else status


def _made(record: Any, event: Event, /, **more: Any) -> Any:
    """Return a record of those fields of an event that it has, and of `more`."""
    given = {key: event[key] for key in record._names if key in event}
    return record.from_json({**given, **more}, event["type"])


def _opened(state: State, event: Event) -> None:
    made: State = _made(State, event, createdAt=event["at"])
    for at, text in enumerate(made.config.options):
        made.options.append(m.Option(letter=letter_of(at), text=text))
    state.__dict__.update(made.__dict__)


def _begun(state: State, event: Event) -> None:
    state.status, state.closed_reason, state.stop, state.signed = m.ACTIVE, "", "", ""
    _set(state, event)
    state.rounds.append(_made(m.Round, event, startedAt=event["at"]))
    for agent in staying(state):
        state.participants[agent].status, state.participants[agent].origin = WAITING, ""
    _give_floor(state, event["at"])


def _give_floor(state: State, at: str) -> None:
    """Start the turn of the next speaker: it has its share of the phase's time."""
    if not (now := state.round()).parallel:
        shares = 1 if now.phase == SYNTHESIZE else max(1, len(now.order))
        state.timeout_at = times.later(at, timedelta(seconds=state.config.timeout // shares))


def _closed(state: State, event: Event) -> None:
    now = state.round()
    now.ended_at, now.reason = event["at"], event["reason"]
    now.absent = {a: m.Absence.from_json(why) for a, why in event["absent"].items()}
    now.asked, now.verdict = {}, event.get("verdict", "")
    for agent in list(state.drafts):
        _keep_draft(state, agent)
    now.agreed = [a for a, one in state.participants.items() if one.status == AGREED]
    if now.phase == SYNTHESIZE and state.config.sign_off:
        state.timeout_at = times.later(event["at"], timedelta(seconds=state.config.timeout))


def _ended(state: State, event: Event) -> None:
    state.ended_at, state.status = event["at"], event["status"]
    state.closed_reason, state.cancel_reason = event["reason"], event.get("why", "")
    if not state.round().ended_at:
        state.round().ended_at, state.round().reason = event["at"], event["reason"]


def _answered(state: State, event: Event) -> None:
    """Put an answer in the place of its author's first one; one with a question is not settled."""
    agent, now, question = event["agent"], state.round(), event.get("question")
    entry: Entry = _made(Entry, event, id=f"{event['tour']}-{agent}")
    places = [at for at, one in enumerate(state.entries) if one.id == entry.id]
    for at in places:
        state.entries[at] = entry
        state.blockers = [b for b in state.blockers if (b.agent, b.tour) != (agent, entry.tour)]
    state.entries += [] if places else [entry]
    _block(state, agent, entry.heard.blockers, entry.heard.resolved)
    _keep_draft(state, agent, entry.text)
    now.absent.pop(agent, None)
    now.asked.pop(agent, None)
    if question is not None:
        now.asked[agent] = question
    if (one := state.participants.get(agent)) is not None:
        one.last_action = entry.at
        if question is None:
            one.status, one.origin = entry.status, entry.origin


def _keep_draft(state: State, agent: str, said: str = "") -> None:
    """Move the draft of an agent to the notes, unless its words are in what the agent said."""
    if (draft := plain(state.drafts.pop(agent, ""))) and draft not in plain(said):
        state.notes += [*([""] if state.notes else []), *draft.split("\n")]


def _block(state: State, agent: str, raised: list[str], ended: list[str]) -> None:
    """Raise blockers, and end those that are repeated, perhaps with more words behind them."""
    for text in raised:
        open_ones = [words(one.text) for one in state.blockers if one.agent == agent and one.open]
        if words(text) not in open_ones:
            state.blockers.append(m.Blocker(agent=agent, text=text, tour=state.tour))
    for one in [one for one in state.blockers if one.agent == agent]:
        one.open = one.open and not any(begins(text, one.text) for text in ended)


def _passed(state: State, event: Event) -> None:
    """Wait no longer for an agent; where it was asked again, its first answer counts."""
    agent, now = event["agent"], state.round()
    if now.asked.pop(agent, None) is None:
        now.absent[agent] = m.Absence(code=event["code"], words=event["words"])
    elif (one := state.participants.get(agent)) is not None and one.status == WAITING:
        first = next(entry for entry in said_by(state, now.tour) if entry.agent == agent)
        one.status, one.origin = first.status, first.origin


def _late(state: State, event: Event) -> None:
    ident = f"{event['tour']}-{event['agent']}-late-{len(state.entries)}"
    state.entries.append(_made(Entry, event, id=ident, late=True))


def _guided(state: State, event: Event) -> None:
    last = next((old.id for old in reversed(state.entries) if old.kind == "guidance"), "0")
    ident = f"{state.tour}-say-{int(last.rpartition('-')[2]) + 1}"
    more = {"agent": event["by"], "phase": state.phase, "tour": state.tour, "kind": "guidance"}
    state.entries.append(_made(Entry, event, id=ident, **more))


def _status_set(state: State, event: Event) -> None:
    one = state.participants[event["agent"]]
    one.status = as_answered(state, event["status"])
    one.origin, one.last_action = event["origin"], event["at"]


def _draft_set(state: State, event: Event) -> None:
    drafts = {**state.drafts, event["agent"]: event["text"]}
    state.drafts = {agent: text for agent, text in drafts.items() if text}


def _noted(state: State, event: Event) -> None:
    """Apply splices; positions are those before the event, so the last one comes first."""
    for at, removed, lines in sorted(event["splices"], key=lambda one: one[0])[::-1]:
        state.notes[at : at + removed] = lines


def _joined(state: State, event: Event) -> None:
    state.participants[event["agent"]] = _made(m.Participant, event)
    if not state.round().ended_at and state.phase != SYNTHESIZE:
        state.round().order.append(event["agent"])


def _left(state: State, event: Event) -> None:
    agent, now = event["agent"], state.round()
    del state.participants[agent]
    _keep_draft(state, agent)
    now.asked.pop(agent, None)
    now.absent.pop(agent, None)
    now.order = [one for one in now.order if one != agent]


def _set(state: State, event: Event) -> None:
    """Set the fields of the state that an event names."""
    state.__dict__.update({State._names[key]: event[key] for key in event if key in State._names})


# These say nothing but new values of fields of the state.
_PATCHES = ("paused", "resumed", "extended", "stopped", "signed", "archived", "topic.set")
EVENTS: dict[str, Any] = {
    "opened": _opened, "round.begun": _begun, "round.closed": _closed,
    "options.named": lambda state, event: state.options.extend(
        m.Option.from_json(one, "option") for one in event["options"]
    ),
    **dict.fromkeys(_PATCHES, _set), "ended": _ended,
    "answered": _answered, "amended": _answered, "asked": _answered, "passed": _passed,
    "late": _late, "guided": _guided, "status.set": _status_set, "draft.set": _draft_set,
    "noted": _noted, "joined": _joined, "left": _left,
    "blocker.raised": lambda state, event: _block(state, event["agent"], [event["text"]], []),
    "blocker.ended": lambda state, event: _block(state, event["agent"], [], [event["text"]]),
    "kept": lambda state, event: state.kept_aside.append(event["file"]),
    **dict.fromkeys(work.TYPES, lambda state, event: work.evolve(state.runs, event)),
}  # fmt: skip
