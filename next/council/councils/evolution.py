"""How a conversation changes by its events: the fold that `rules.py` re-exports."""

from __future__ import annotations

from datetime import timedelta

from council.councils import model
from council.councils.model import (
    AGREED,
    ANSWERED,
    COLLECT,
    DONE,
    RESPONDED,
    SYNTHESIZE,
    WAITING,
    Absence,
    Blocker,
    Config,
    Convergence,
    Entry,
    Event,
    Heard,
    Option,
    Participant,
    Round,
    State,
)
from council.councils.positions import words
from council.kernel import ids, times
from council.kernel.errors import Invalid
from council.runs import work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def known(event: Event) -> bool:
    """Return whether this version can fold an event."""
    kind = str(event.get("type"))
    return kind in _FOLDS or kind in ("run.claimed", "run.answered", "run.failed")


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
    missing = [key for key in model.EVENTS.get(kind, ()) if key not in event]
    if missing:
        raise Invalid("bad-event", f"event {kind}: {missing[0]} is missing")
    try:
        if kind.startswith("run."):
            work.evolve(state.runs, event)
        else:
            before = speaker(state) if state.rounds else ""
            _FOLDS[kind](state, event)
            if before and speaker(state) not in ("", before):
                _give_floor(state, event.get("at") or state.updated_at)
            _measure(state)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:
        raise Invalid("bad-event", f"event {kind}: cannot be read: {fault}") from None
    state.updated_at = event.get("at") or state.updated_at


def staying(state: State) -> list[str]:
    """Return the participants that have not left."""
    return [agent for agent, one in state.participants.items() if one.status != DONE]


def waiting(state: State) -> list[str]:
    """Return whose answer the round still lacks, in its order; passed agents among them."""
    now = state.round()
    if now.phase == SYNTHESIZE:
        written = {entry.agent for entry in said_by(state, now.tour)}
        return [agent for agent in now.order if agent not in written or agent in now.asked]
    who = state.participants
    return [agent for agent in now.order if agent in who and who[agent].status == WAITING]


def speaker(state: State) -> str:
    """Return who has the floor in a round that is not parallel, "" for nobody."""
    now = state.round()
    if now.parallel or now.ended_at:
        return ""
    if now.phase == SYNTHESIZE and any(e.agent not in now.asked for e in said_by(state, now.tour)):
        return ""
    return next((agent for agent in waiting(state) if agent not in now.absent), "")


def said_by(state: State, tour: int) -> list[Entry]:
    """Return the answers of a round that count."""
    return [e for e in state.entries if e.tour == tour and not e.late and e.kind != "guidance"]


def _measure(state: State) -> None:
    """Count document 000's figures while a round of talk is open; else the last ones stay."""
    if not state.rounds or state.round().ended_at or state.phase == SYNTHESIZE:
        return
    who = state.participants.values()
    rate = sum(one.status in ANSWERED for one in who) / len(who) if who else 0.0
    agreed = state.procedure == "council" and any(one.status == AGREED for one in who)
    whole = agreed and all(one.status in (AGREED, DONE) for one in who)
    has_consensus = whole and not any(one.open for one in state.blockers)
    state.convergence = Convergence(response_rate=rate, has_consensus=has_consensus)


def _opened(state: State, event: Event) -> None:
    for key in ("name", "topic", "brief", "procedure", "lang"):
        setattr(state, key, event[key])
    state.conversation_id, state.created_at = event["conversationId"], event["at"]
    state.config = Config.from_json(event["config"], "config")
    for agent, one in event["participants"].items():
        state.participants[agent] = Participant.from_json(one, agent)
    from council.councils.positions import letter_of  # only here

    for at, text in enumerate(state.config.options):
        state.options.append(Option(letter=letter_of(at), text=text))


def _begun(state: State, event: Event) -> None:
    tour, at = event["tour"], event["at"]
    now = Round(tour=tour, phase=event["phase"], started_at=at, order=list(event["order"]))
    now.parallel, now.blind = event["parallel"], event["blind"]
    now.mark = ids.digest(f"{state.conversation_id}:{tour}")[:8]
    state.rounds.append(now)
    state.phase, state.tour, state.timeout_at = now.phase, tour, event["timeoutAt"]
    state.status = event.get("status") or model.ACTIVE
    state.closed_reason = event.get("closedReason", "")
    state.stop = state.signed = ""
    for one in state.participants.values():
        if one.status != DONE:
            one.status, one.origin = WAITING, ""
    _give_floor(state, at)


def _give_floor(state: State, at: str) -> None:
    """Start the turn of the next speaker: it has its share of the phase's time, at least."""
    now = state.round()
    if now.parallel or now.ended_at:
        return
    shares = 1 if now.phase == SYNTHESIZE else max(1, len(now.order))
    now.floor_at = at
    now.turn_until = times.later(at, timedelta(seconds=state.config.timeout // shares))
    state.timeout_at = max(state.timeout_at or "", now.turn_until)


def _closed(state: State, event: Event) -> None:
    now = state.round()
    now.ended_at, now.reason, now.turn_until = event["at"], event["reason"], ""
    now.absent = {a: Absence.from_json(why) for a, why in event["absent"].items()}
    now.asked, now.verdict = {}, event.get("verdict", "")
    now.agreed = [a for a, one in state.participants.items() if one.status == AGREED]
    if now.verdict:
        state.convergence = state.convergence.copy(has_consensus=now.verdict != "none")
    if now.phase == SYNTHESIZE and state.config.sign_off:
        state.timeout_at = times.later(event["at"], timedelta(seconds=state.config.timeout))


def _entry(event: Event) -> Entry:
    keys = ("kind", "agent", "phase", "tour", "at", "text", "status", "origin", "cut", "key")
    given = {key: event[key] for key in keys if key in event}
    heard = Heard.from_json(event.get("heard") or {}, "heard")
    ident = f"{event['tour']}-{event['agent']}"
    return Entry(id=ident, heard=heard, parts=list(event.get("parts", ())), **given)


def _answered(state: State, event: Event) -> None:
    entry, now = _entry(event), state.round()
    _put(state, entry)
    now.asked.pop(entry.agent, None)
    now.absent.pop(entry.agent, None)
    state.drafts.pop(entry.agent, None)
    if entry.agent in state.participants:
        one = state.participants[entry.agent]
        one.status, one.origin, one.last_action = entry.status, entry.origin, entry.at


def _asked(state: State, event: Event) -> None:
    entry = _entry(event)
    _put(state, entry)
    state.round().asked[entry.agent] = event["question"]
    state.drafts.pop(entry.agent, None)
    if entry.agent in state.participants:
        state.participants[entry.agent].last_action = entry.at


def _amended(state: State, event: Event) -> None:
    ident = f"{event['tour']}-{event['agent']}"
    old = next(entry for entry in state.entries if entry.id == ident)
    _put(state, _entry({**old.to_json(), "parts": [], **event}))
    if event["tour"] == state.tour and event["agent"] in state.participants:
        one = state.participants[event["agent"]]
        one.status, one.origin, one.last_action = event["status"], event["origin"], event["at"]


def _put(state: State, entry: Entry) -> None:
    """Add an answer, or put it in the place of its author's earlier one of the round."""
    at = next((at for at, old in enumerate(state.entries) if old.id == entry.id), None)
    state.said += len(entry.text)
    if at is None:
        state.entries.append(entry)
    else:
        state.said -= len(state.entries[at].text)
        state.entries[at] = entry
        state.blockers = [
            one for one in state.blockers if (one.agent, one.tour) != (entry.agent, entry.tour)
        ]
    for text in entry.heard.blockers:
        _raise(state, entry.agent, text, entry.tour)
    for text in entry.heard.resolved:
        _resolve(state, entry.agent, text)


def _raise(state: State, agent: str, text: str, tour: int) -> None:
    same = [one for one in state.blockers if one.agent == agent and words(one.text) == words(text)]
    if not any(one.open for one in same):
        state.blockers.append(Blocker(agent=agent, text=text, tour=tour))


def _resolve(state: State, agent: str, text: str) -> None:
    """End the blocker of `agent` that `text` repeats, perhaps with more words behind it."""
    said = words(text)
    for one in state.blockers:
        if one.agent == agent and said[: len(words(one.text))] == words(one.text):
            one.open = False


def _unclear(state: State, event: Event) -> None:
    now, agent = state.round(), event["agent"]
    now.asked.pop(agent, None)
    said = next((e for e in state.entries if e.id == f"{event['tour']}-{agent}"), None)
    if agent in state.participants and state.participants[agent].status == WAITING:
        state.participants[agent].status = said.status or RESPONDED if said else RESPONDED


def _late(state: State, event: Event) -> None:
    entry = _entry(event)
    number = sum(old.late for old in state.entries) + 1
    state.entries.append(entry.copy(id=f"{entry.id}-late-{number}", late=True))


def _passed(state: State, event: Event) -> None:
    state.round().absent[event["agent"]] = Absence(code=event["code"], words=event["words"])


def _guided(state: State, event: Event) -> None:
    number = sum(old.kind == "guidance" for old in state.entries) + 1
    made = Entry(
        id=f"{state.tour}-say-{number}",
        kind="guidance",
        agent=event["by"],
        phase=state.phase,
        tour=state.tour,
        at=event["at"],
        text=event["text"],
        target=event["target"],
        key=event.get("key", ""),
    )
    state.entries.append(made)


def _status_set(state: State, event: Event) -> None:
    """Set a status by hand; nobody can agree with what is still sealed."""
    agent, status = event["agent"], event["status"]
    one = state.participants[agent]
    one.status = agreed_blind(state, status)
    one.origin, one.last_action = event["origin"], event["at"]


def agreed_blind(state: State, status: str) -> str:
    """Return RESPONDED for AGREED in a blind COLLECT, any other status as it is."""
    blind = bool(state.rounds) and state.round().blind and state.phase == COLLECT
    return RESPONDED if status == AGREED and blind else status


def _noted(state: State, event: Event) -> None:
    """Apply splices; positions are those before the event."""
    for at, removed, lines in sorted(event["splices"], key=lambda one: -int(one[0])):
        state.notes[at : at + removed] = lines


def _draft_set(state: State, event: Event) -> None:
    state.drafts[event["agent"]] = event["text"]
    if not event["text"]:
        del state.drafts[event["agent"]]


def _joined(state: State, event: Event) -> None:
    given = {key: event[key] for key in ("name", "emoji", "role", "person", "model")}
    agent = event["agent"]
    state.participants[agent] = Participant(joined=state.tour, **given)
    if state.rounds and not state.round().ended_at and state.phase != SYNTHESIZE:
        state.round().order.append(agent)


def _left(state: State, event: Event) -> None:
    agent, now = event["agent"], state.round()
    del state.participants[agent]
    state.drafts.pop(agent, None)
    now.asked.pop(agent, None)
    now.absent.pop(agent, None)
    now.order = [one for one in now.order if one != agent]


def _resumed(state: State, event: Event) -> None:
    """Go on: what was left of the time before the pause is left again."""
    gone = times.instant(event["at"]) - times.instant(state.paused_at or event["at"])
    state.paused_at = None
    if state.timeout_at:
        state.timeout_at = times.later(state.timeout_at, gone)
    if state.round().turn_until:
        state.round().turn_until = times.later(state.round().turn_until, gone)


def _extended(state: State, event: Event) -> None:
    state.timeout_at = event["timeoutAt"]
    if state.round().turn_until:
        state.round().turn_until = event["timeoutAt"]


def _ended(state: State, event: Event) -> None:
    state.ended_at, state.status = event["at"], event["status"]
    state.closed_reason, state.cancel_reason = event["reason"], event.get("why", "")
    if state.rounds and not state.round().ended_at:
        state.round().ended_at, state.round().reason = event["at"], event["reason"]


def _signed(state: State, event: Event) -> None:
    state.signed, state.signed_why = event["word"], event["why"]
    state.sign_rounds += 1


def _adopted(state: State, event: Event) -> None:
    rev, mark = state.rev, state.mark
    state.__dict__.update(State.from_json(event["state"], "state").__dict__)
    state.rev, state.mark = rev or state.rev, mark or state.mark


def _set(name: str, key: str) -> Callable[[State, Event], None]:
    return lambda state, event: setattr(state, name, event[key])


_FOLDS: dict[str, Callable[[State, Event], None]] = {
    "opened": _opened,
    "round.begun": _begun,
    "round.closed": _closed,
    "paused": _set("paused_at", "at"),
    "resumed": _resumed,
    "extended": _extended,
    "stopped": _set("stop", "to"),
    "ended": _ended,
    "signed": _signed,
    "archived": _set("minutes", "path"),
    "adopted": _adopted,
    "rendered": lambda *_: None,
    "answered": _answered,
    "amended": _amended,
    "asked": _asked,
    "unclear": _unclear,
    "late": _late,
    "passed": _passed,
    "guided": _guided,
    "options.named": lambda state, event: state.options.extend(
        Option.from_json(one, "option") for one in event["options"]
    ),
    "status.set": _status_set,
    "draft.set": _draft_set,
    "noted": _noted,
    "topic.set": _set("topic", "topic"),
    "joined": _joined,
    "left": _left,
    "blocker.raised": lambda state, event: _raise(state, event["agent"], event["text"], state.tour),
    "blocker.ended": lambda state, event: _resolve(state, event["agent"], event["text"]),
    "kept": lambda state, event: state.kept_aside.append(event["file"]),
}
