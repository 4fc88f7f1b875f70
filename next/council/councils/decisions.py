"""What people and agents may do to a conversation: one pure function a command.

Each returns the events that the command causes, [] where it repeats what is recorded, and raises a
`Refusal` where it may not. What follows from the events (`rules.due`) is added by the document.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.councils import model as m
from council.councils import procedures, rules, sight
from council.councils.evolution import as_answered, said_by, speaker
from council.councils.model import DELIBERATE, DONE, SYNTHESIZE, Entry, Event, Heard, State
from council.councils.positions import held_after, plain
from council.kernel import times
from council.kernel.errors import Conflict, Invalid, NotFound, Refused, Usage
from council.kernel.ids import checked_name, cut, digest

_HINT = "council explain says what it waits for"


def opened(
    state: State, *, config: m.Config, participants: dict[str, m.Participant], at: datetime,
    **of: str,
) -> list[Event]:  # fmt: skip
    """Open a conversation and its first round; the same one again is a repeat.

    `of` has its `conversation_id`, `name`, `topic`, and perhaps `brief`, `procedure` and `lang`.

    Raises:
        Conflict: Another conversation of this name is open (`exists`).
        Usage: It has no topic or no participants.
        Invalid: An id is no legal name.
    """
    of = {"brief": "", "procedure": "council", "lang": "en", **of}
    phases = procedures.phases(of["procedure"], ",".join(config.phases))
    config = config.copy(phases=phases)
    if state.created_at:
        keys = ("topic", "brief", "procedure", "lang")
        same = all(getattr(state, key) == of[key] for key in keys) and state.config == config
        if same and list(state.participants) == list(participants) and not state.entries:
            return []
        what = f"{of['name']} is open already: {cut(state.topic, 60)}"
        raise Conflict("exists", what, "choose another --name, or answer there")
    if not of["topic"].strip() or not participants:
        code = "no-participants" if participants == {} else "no-topic"
        what = "a conversation needs a topic and participants"
        raise Usage(code, what, "council convene TOPIC --agents a,b")
    for agent in (*participants, config.coordinator, config.synthesizer, config.sign_off):
        checked_name(agent or "a", "agent id")
    made: Event = {"type": "opened", "conversationId": of.pop("conversation_id"), **of}
    made |= {"config": config.to_json(), "at": times.text(at)}
    made["participants"] = {agent: one.to_json() for agent, one in participants.items()}
    after = rules.new()
    rules.evolve(after, made)
    return [made, rules.begun(after, phases[0], made["at"])]


# --- answers ---


def respond(
    state: State, agent: str, text: str, heard: Heard | None = None, *, at: datetime,
    kind: str = "", status: str = "", origin: str = "claimed", task: str = "", amend: bool = False,
    key: str = "", round_mark: str = "", question: str = "", cut_off: str = "",
) -> list[Event]:  # fmt: skip
    """Take an answer of `agent`.

    An answer with faults is kept, and its author is asked once more; the second answer takes its
    place. A repeat gives []; an answer to a round that is over is kept as late.

    `heard` is what was understood, together with `provisional`. `kind` is what it is meant as, ""
    for what the phase asks for; `status` is AGREED, RESPONDED or DONE, "" for what the text says.
    `round_mark`, or `task` (the id of a run), name the round that it is for. `question` is what its
    author is asked where it has faults, `cut_off` the program's word for a cut answer.

    Raises:
        Conflict: Another answer is recorded (`already-answered`), or the key names another text.
        Refused: Not a participant, not asked now, or the round is not one of this conversation.
    """
    _check_member(state, agent)
    now, target = state.round(), _target(state, agent, task, round_mark)
    more = {"agent": agent, "at": times.text(at), "text": text, "origin": origin, "key": key}
    more |= {"cut": cut_off} if cut_off else {}
    own = next((e for e in said_by(state, now.tour) if e.agent == agent), None)
    is_second = agent in now.asked and target is now
    tours = [target.tour]
    if not (task or round_mark or key or said_by(state, now.tour)):
        tours.append(now.tour - 1)  # sent again after it closed that round
    asked_by_run = is_second and task.rpartition(".")[2].startswith("q")  # nothing else to say
    is_open = not (target.ended_at or state.ended_at)
    known = _with_key(state, agent, text, key)
    known = known or _is_repeat(
        state, agent, text, kind, tours, now.tour if amend and is_open else 0
    )
    if known and not asked_by_run:
        return []
    if not is_open:
        if not (task or round_mark or agent in target.absent):
            raise Refused("not-asked", f"{agent} is not asked for anything now", _HINT)
        asked_for = {"kind": procedures.kind_of(target.phase), "phase": target.phase}
        return [{"type": "late", "tour": target.tour, **asked_for, **more}]
    heard = heard or Heard()
    said = as_answered(state, (status or heard.status or m.RESPONDED).upper())
    if said not in m.ANSWERED:
        raise Invalid("bad-status", f"no such status: {cut(status, 40)}", "agreed, responded, done")
    body = {"tour": now.tour, **more, "status": said, "heard": heard.to_json()}
    _check_kind(state, kind)
    if own and not is_second:
        if amend:
            return [{"type": "amended", **body, "parts": _parts(own)}]
        hint = "say --amend to replace your answer"
        raise Conflict("already-answered", f"{agent} has answered round {now.tour}", hint)
    _check_asked(state, agent)
    body |= {"kind": procedures.kind_of(now.phase), "phase": now.phase}
    faults = _to_ask(heard)
    if faults and not is_second and said != DONE:
        return [{"type": "asked", "question": question or ", ".join(faults), **body}]
    if own and not _is_same(own, text):
        body["parts"] = [*_parts(own), _print(text)]
        body["text"] = _both(own.text, text)
    unclear = {"type": "unclear", "agent": agent, "tour": now.tour, "at": more["at"]}
    events = [*[unclear] * bool(own and faults), {"type": "answered", **body}]
    if now.phase == DELIBERATE and not now.parallel:
        options = list(state.options)
        held_after(heard, "", options, False, agent)
        named = [one.copy(tour=now.tour).to_json() for one in options[len(state.options) :]]
        events += [{"type": "options.named", "options": named}] if named else []
    return events


def _to_ask(heard: Heard) -> list[str]:
    """Return the faults about which an author is asked; plain text is a whole synthesis."""
    codes = [fault.code for fault in heard.faults]
    has_parts = heard.consensus or heard.disagreement or heard.insights
    return codes if has_parts or codes != ["no-recommendation"] else []


def outcome_of(events: list[Event]) -> str:
    """Return what came of `respond`: `recorded`, `already-recorded` or `late`."""
    if not events:
        return "already-recorded"
    return "late" if any(one["type"] == "late" for one in events) else "recorded"


def provisional(state: State, agent: str) -> Heard | None:
    """Return what was understood of the answer about which `agent` is asked again."""
    if not state.rounds or agent not in state.round().asked:
        return None
    return next(e.heard for e in said_by(state, state.tour) if e.agent == agent)


def _print(text: str) -> str:
    return digest(plain(text))[:16]


def _parts(entry: Entry) -> list[str]:
    return [*entry.parts, _print(entry.text), *([_print(entry.key)] if entry.key else [])]


def _is_same(entry: Entry, text: str, whole: bool = False) -> bool:
    return plain(entry.text) == plain(text) or (not whole and _print(text) in entry.parts)


def _both(first: str, second: str) -> str:
    """Return a first answer and what was added to it; one that begins with it takes its place."""
    one, other = "".join(first.split()), "".join(second.split())
    if one.startswith(other) and 2 * len(other) > len(one):
        return first
    return second if other.startswith(one) else f"{first.rstrip()}\n\n{second}"


def _with_key(state: State, by: str, text: str, key: str) -> bool:
    """Return whether a key was used; with another text that is a mistake of its caller."""
    mine = [entry for entry in state.entries if key and entry.agent == by]
    found = [entry for entry in mine if entry.key == key or _print(key) in entry.parts]
    if any(not _is_same(entry, text) for entry in found):
        hint = "use a new key for a new text"
        raise Conflict("key-reused", f"the key {cut(key, 40)} was used for another text", hint)
    return bool(found)


def _is_repeat(
    state: State, agent: str, text: str, kind: str, tours: list[int], amends: int
) -> bool:
    """Return whether an answer is recorded already, of that kind if one is named.

    In the round that is amended, an earlier wording may be chosen again.
    """
    return any(
        (entry.agent, entry.kind) == (agent, kind or entry.kind)
        and _is_same(entry, text, entry.tour == amends)
        for entry in state.entries
        if entry.tour in tours and entry.kind != "guidance"
    )


def _target(state: State, agent: str, task: str, mark: str) -> m.Round:
    """Return the round that an answer is for."""
    now, found = state.round(), list(state.rounds)
    if mark:
        found = [one for one in found if one.mark == mark]
    elif task:
        tour = task.removeprefix(f"{state.conversation_id}.").partition(".")[0]
        found = [one for one in found if str(one.tour) == tour]
    else:
        writes = now.phase != SYNTHESIZE or agent in (speaker(state), *now.absent)
        is_asked = not now.ended_at and agent in now.order and writes
        found = found[-1:] if is_asked or agent not in found[-2:][0].absent else found[-2:]
    if not found:
        what = f"no round of {state.name}: {cut(mark or task, 60)}"
        raise Refused("unknown-round", what, "council context shows the round that is open")
    return found[0]


def _check_member(state: State, agent: str) -> None:
    if not state.rounds or state.minutes or state.status == m.CANCELLED:
        raise Refused("over", f"{state.name or 'the conversation'} is over", "council list minutes")
    member(state, agent)


def member(state: State, agent: str) -> m.Participant | None:
    """Return a participant, None for one who only writes the synthesis; others are refused."""
    if agent not in state.participants and agent not in state.round().order:
        what, members = f"{cut(agent, 64)} takes no part in {state.name}", list(state.participants)
        raise Refused("not-a-participant", what, f"participants: {', '.join(members)}")
    return state.participants.get(agent)


def _check_kind(state: State, kind: str) -> None:
    wanted = procedures.kind_of(state.phase)
    if kind and kind != wanted and {kind, wanted} & {"vote", "synthesis"}:
        what = f"{state.name} is in {state.phase}: no {kind} is asked for now"
        raise Refused("not-asked", what, _HINT)


def _check_asked(state: State, agent: str) -> None:
    """Refuse an answer that the open round does not ask for."""
    now = state.round()
    one = state.participants.get(agent)
    if one and one.status == DONE and now.phase != SYNTHESIZE:
        raise Refused("left", f"{agent} has left {state.name}", _HINT)
    if agent not in now.order:
        raise Refused("not-asked", f"{agent} is not asked in {state.phase}", _HINT)
    by_hand = one is not None and one.status in m.ANSWERED  # the status came before the text
    if not now.parallel and not by_hand and agent not in now.absent and speaker(state) != agent:
        turn = f"it is the turn of {speaker(state) or 'nobody'}"
        raise Refused("not-your-turn", turn, "council wait returns when it is yours")


# --- steering ---


def _open(state: State) -> None:
    if not state.rounds or state.ended_at:
        what = f"{state.name or 'the conversation'} is over"
        raise Conflict("over", what, "council list minutes")


def say(
    state: State, text: str, by: str, *, at: datetime, to: str = "", key: str = ""
) -> list[Event]:
    """Tell all participants something, or one of them; the same again in a round is a repeat."""
    _open(state)
    if to and to not in state.participants:
        members = ", ".join(state.participants)
        raise NotFound("not-a-participant", f"{cut(to, 64)} takes no part", f"one of {members}")
    if not text.strip():
        raise Invalid("no-text", "nothing to say", "council say MESSAGE")
    mine = ("guidance", by, to, state.tour)
    said = [e for e in state.entries if (e.kind, e.agent, e.target, e.tour) == mine]
    again = any(_is_same(entry, text) for entry in said) and not key
    if again or _with_key(state, by, text, key):
        return []
    made: Event = {"type": "guided", "text": text, "target": to, "by": by, "at": times.text(at)}
    return [{**made, **({"key": key} if key else {})}]


def stop(state: State, *, at: datetime, now: bool = False) -> list[Event]:
    """End the rounds: the vote or the synthesis is next; with `now` the minutes are."""
    _open(state)
    votes = state.phase == DELIBERATE and m.VOTE in state.config.phases
    to = m.MINUTES if now else m.VOTE if votes else SYNTHESIZE
    if state.stop == to or (not now and state.phase in (m.VOTE, SYNTHESIZE)):
        return []
    return [{"type": "stopped", "at": times.text(at), "to": to}]


def pause(state: State, *, at: datetime) -> list[Event]:
    """Let nothing become due and start nobody until it is resumed."""
    _open(state)
    return [] if state.paused_at else [{"type": "paused", "at": times.text(at)}]


def resume(state: State, *, at: datetime, more: timedelta | None = None) -> list[Event]:
    """Continue with the time that was left; `more` is added to the deadline."""
    _open(state)
    after = state.copy()
    events: list[Event] = [{"type": "resumed", "at": times.text(at)}] if state.paused_at else []
    for event in events:
        rules.evolve(after, event)
    return events + ([] if more is None else extend(after, more, at=at))


def extend(state: State, by: timedelta, *, at: datetime) -> list[Event]:
    """Move the deadline: `by` later, or that long from now where it has passed."""
    _open(state)
    until = times.later(max(state.timeout_at or "", times.text(at)), by)
    return [{"type": "extended", "timeoutAt": until, "at": times.text(at)}]


def cancel(state: State, *, at: datetime, reason: str = "") -> list[Event]:
    """End the conversation without a decision."""
    if state.status == m.CANCELLED:
        return []
    _open(state)
    end = {"at": times.text(at), "status": m.CANCELLED, "reason": "cancelled", "why": reason}
    return [{"type": "ended", **end}]


def sign(state: State, by: str, *, approve: bool, at: datetime, why: str = "") -> list[Event]:
    """Approve or reject the decision as the person that has the last word.

    Raises:
        Refused: That is another person, or there is nothing to sign yet.
    """
    word, owner = "approved" if approve else "rejected", state.config.sign_off
    if by == owner and state.signed == word:
        return []
    _open(state)
    if by != owner:
        what = f"{owner} has the last word" if owner else "nobody was named by --sign-off"
        raise Refused("not-yours", what)
    if not sight.signing(state):
        raise Refused("too-early", f"{state.name} is in {state.phase}", "wait for the synthesis")
    return [{"type": "signed", "at": times.text(at), "by": by, "word": word, "why": why}]


def joined(state: State, agent: str, one: m.Participant, *, at: datetime) -> list[Event]:
    """Add a participant; in a round of talk it is asked at once."""
    _open(state)
    if agent in state.participants:
        return []
    made = {key: getattr(one, key) for key in ("name", "emoji", "role", "person", "model")}
    made |= {"agent": checked_name(agent, "agent id"), "at": times.text(at)}
    return [{"type": "joined", **made}]


def left(state: State, agent: str, *, at: datetime) -> list[Event]:
    """Remove a participant; what it said stays."""
    _open(state)
    if agent not in state.participants:
        return []
    if len(state.participants) == 1:
        raise Refused("last-one", f"{agent} is the last participant", "council cancel ends it")
    return [{"type": "left", "agent": agent, "at": times.text(at)}]
