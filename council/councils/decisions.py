"""What people and agents may do to a conversation: one pure function a command.

Each returns the events that the command causes, [] where it repeats what is recorded, and raises a
`Refusal` where it may not. What follows from the events (`rules.due`) is added by the document.
"""

from __future__ import annotations

from unicodedata import normalize

from council.councils import model as m
from council.councils import rules, sight
from council.councils.evolution import as_answered, evolve, said_by, speaker
from council.councils.hearing import Stated, Understood
from council.councils.model import DELIBERATE, DONE, SYNTHESIZE, VOTE, Entry, Event, State
from council.councils.verdict import held_after, plain
from council.kernel import times
from council.kernel.errors import Conflict, Invalid, NotFound, Refused
from council.kernel.ids import checked_name, cut, digest
from council.kernel.record import Any
from council.kernel.times import datetime, timedelta
from council.kernel.words import load

_HINT = "council explain says what it waits for"
_SAME = ("topic", "brief", "procedure", "lang", "config")  # they make opening it again a repeat


def opened(state: State, new: State, *, at: datetime) -> list[Event]:
    """Open a conversation with the fields of `new`, and its first round."""
    new = new.copy(config=new.config.copy(phases=m.phases(new.procedure, new.config.phases)))
    if state.created_at:
        is_same = all(getattr(state, key) == getattr(new, key) for key in _SAME)
        if is_same and list(state.participants) == list(new.participants) and not state.entries:
            return []
        what = f"{new.name} is open already: {cut(state.topic, 60)}"
        raise Conflict("exists", what, "choose another --name, or answer there")
    config = new.config
    for agent in (*new.participants, config.coordinator, config.synthesizer, config.sign_off):
        checked_name(agent or "a", "agent id")
    shown = new.row(("conversation_id", "name", *_SAME, "participants"))
    made: Event = {"type": "opened", "at": times.text(at), **shown}
    evolve(new, made)
    return [made, rules.begun(new, config.phases[0], made["at"])]


def respond(
    state: State, agent: str, said: Understood, stated: Stated, *, at: datetime,
    origin: str = "claimed", cut_off: str = "",
) -> list[Event]:  # fmt: skip
    """Take an answer of `agent`; one to a round that is over is kept as late.

    Where what was heard has faults the answer is kept and its author is asked the question, once.
    `cut_off` is the program's word for a cut answer.
    """
    if state.minutes or state.status == m.CANCELLED:
        raise Refused("over", f"{state.name} is over", "council list minutes")
    member(state, agent)
    text, heard, task, key, kind = said.text, said.heard, stated.task, stated.key, stated.only
    now, target = state.round(), _target(state, agent, task)
    is_open = not (target.ended_at or state.ended_at)
    own = next((e for e in said_by(state, now.tour) if e.agent == agent), None)
    again, tours = bool(own and agent in now.asked), [target.tour]
    if not (task or key or said_by(state, now.tour)):
        tours.append(now.tour - 1)  # sent again after it closed that round
    mine = [one for one in state.entries if one.agent == agent and one.kind != "guidance"]
    mine = [one for one in mine if kind in ("", one.kind)]
    changes = stated.amend and own and plain(own.text) != plain(text)
    if _is_recorded(mine, text, key, tours) and not changes:
        return []
    body: Event = {"agent": agent, "tour": target.tour, "at": times.text(at), "text": text}
    body |= {"kind": m.kind_of(target.phase), "phase": target.phase, "origin": origin}
    body |= {"parts": _prints(own, text, key), **({"cut": cut_off} if cut_off else {})}
    if not is_open and (task or agent in target.absent):
        return [{"type": "late", **body}]
    status = as_answered(state, (stated.status or heard.status or m.RESPONDED).upper())
    if status not in m.ANSWERED:
        raise Invalid("bad-status", f"no such status: {cut(status, 40)}", "agreed, responded, done")
    if not is_open or kind not in ("", body["kind"]):
        raise Refused("not-asked", f"no {kind or 'answer'} is asked for in {state.phase}", _HINT)
    if own and not (again or stated.amend):
        hint = "say --amend to replace your answer"
        raise Conflict("already-answered", f"{agent} has answered round {now.tour}", hint)
    if not own:
        _check_asked(state, agent)
    body |= {"status": status, "heard": heard.to_json()}
    codes = [one.code for one in heard.faults if one.code != "not-yours"]
    if codes == ["no-recommendation"] and not (heard.consensus or heard.disagreement):
        from council.councils.answers_forms import unlabelled  # late: few syntheses lack it

        codes = [] if unlabelled(text, m.Form(kind="synthesis")) else codes  # it is a whole one
    if codes and not own and status != DONE:
        return [{"type": "asked", "question": said.question or ", ".join(codes), **body}]
    if own and again:
        one, other = "".join(own.text.split()), "".join(text.split())
        if not other.startswith(one):
            more = not one.startswith(other)
            told = load(f"texts/question-{state.lang}.txt")["again"]
            body["text"] = f"{own.text.rstrip()}\n\n{told}\n\n{text}" if more else own.text
    options = list(state.options)
    if now.phase == DELIBERATE and not now.parallel:
        held_after(heard, "", options, False, agent)
    kind = "amended" if own and not again else "answered"
    return [{"type": kind, **body}, *sight.named(state, options)]


def outcome_of(events: list[Event]) -> str:
    """Return what came of `respond`: `recorded`, `already-recorded` or `late`."""
    is_late = any(one["type"] == "late" for one in events)
    return "late" if is_late else "recorded" if events else "already-recorded"


def mark(text: str) -> str:
    """Return the digest by which a text is known again."""
    return digest(normalize("NFC", plain(text)))[:16]


def _prints(own: Entry | None, text: str, key: str) -> list[str]:
    """Return the digests by which an answer, or the one that it replaces, is known again."""
    words = [text, *([f"key {key}"] if key else []), *([own.text] if own else [])]
    return [*(own.parts if own else []), *map(mark, words)]


def _is_recorded(mine: list[Entry], text: str, key: str, tours: list[int]) -> bool:
    """Return whether an author's text is among its entries (`mine`): by key, or in some rounds."""
    same = [one for one in mine if mark(text) in (*one.parts, mark(one.text))]
    keyed = [one for one in mine if key and mark(f"key {key}") in one.parts]
    if any(one not in same for one in keyed):
        hint = "use a new key for a new text"
        raise Conflict("key-reused", f"the key {cut(key, 40)} was used for another text", hint)
    return bool(keyed) or any(one.tour in tours for one in same)


def _target(state: State, agent: str, task: str) -> m.Round:
    """Return the round that an answer is for: one that is named, or the last that it can be."""
    if not task:
        now, before = state.round(), state.rounds[-2:][0]
        writes = now.phase != SYNTHESIZE or agent in (speaker(state), *now.absent)
        return now if writes or agent not in before.absent else before
    tour = task.removeprefix(f"{state.conversation_id}.").partition(".")[0]
    for one in state.rounds:
        if tour == str(one.tour):
            return one
    what = f"no round of {state.name}: {cut(task, 60)}"
    raise Refused("unknown-round", what, "council context shows the round that is open")


def member(state: State, agent: str) -> m.Participant | None:
    """Return a participant, None for one who only writes the synthesis; others are refused."""
    if agent not in state.participants and agent not in state.round().order:
        what, members = f"{cut(agent, 64)} takes no part in {state.name}", list(state.participants)
        raise Refused("not-a-participant", what, f"participants: {', '.join(members)}")
    return state.participants.get(agent)


def _check_asked(state: State, agent: str) -> None:
    """Refuse an answer that the open round does not ask for, or not yet."""
    now, one = state.round(), state.participants.get(agent)
    if agent not in now.order:
        has_left = one is not None and one.status == DONE
        what = f"has left {state.name}" if has_left else f"is not asked in {state.phase}"
        raise Refused("not-asked", f"{agent} {what}", _HINT)
    by_hand = one is not None and one.status in m.ANSWERED  # the status came before the text
    if not now.parallel and not by_hand and agent not in (speaker(state), *now.absent):
        turn = f"it is the turn of {speaker(state) or 'nobody'}"
        raise Refused("not-your-turn", turn, "council wait returns when it is yours")


def _decided(state: State, kind: str, at: datetime, **fields: Any) -> list[Event]:
    """Return an event of an open conversation."""
    if not state.rounds or state.ended_at:
        raise Conflict("over", f"{state.name} is over", "council list minutes")
    return [{"type": kind, "at": times.text(at), **fields}]


def say(
    state: State, text: str, by: str, *, at: datetime, to: str = "", key: str = ""
) -> list[Event]:
    """Tell all participants something, or one of them; the same again in a round is a repeat."""
    parts = _prints(None, text, key)
    made = _decided(state, "guided", at, text=text, target=to, by=by, parts=parts)
    if to and to not in state.participants:
        members = ", ".join(state.participants)
        raise NotFound("not-a-participant", f"{cut(to, 64)} takes no part", f"one of {members}")
    if not text.strip():
        raise Invalid("no-text", "nothing to say", "council say MESSAGE")
    mine = [e for e in state.entries if (e.kind, e.agent, e.target) == ("guidance", by, to)]
    return [] if _is_recorded(mine, text, key, [] if key else [state.tour]) else made


def stop(state: State, *, at: datetime, now: bool = False) -> list[Event]:
    """End the rounds: the vote or the synthesis is next; with `now` the minutes are, also again."""
    votes = state.phase == DELIBERATE and VOTE in state.config.phases
    to = m.MINUTES if now else VOTE if votes else SYNTHESIZE
    made = [] if now and state.ended_at else _decided(state, "stopped", at, stop=to)
    return [] if state.stop == to or (not now and state.phase in (VOTE, SYNTHESIZE)) else made


def pause(state: State, *, at: datetime) -> list[Event]:
    """Let nothing become due and start nobody until it is resumed."""
    made = _decided(state, "paused", at, pausedAt=times.text(at))
    return [] if state.paused_at else made


def resume(state: State, *, at: datetime, more: timedelta | None = None) -> list[Event]:
    """Continue with the time that was left; `more` moves the deadline, from now if it is over."""
    now, until = times.text(at), state.timeout_at or ""
    if state.paused_at and until:
        until = times.later(until, at - times.instant(state.paused_at))
    until = until if more is None else times.later(max(until, now), more)
    word = "resumed" if state.paused_at else "extended"
    made = _decided(state, word, at, timeoutAt=until or None, pausedAt=None)
    return made if state.paused_at or more is not None else []


def cancel(state: State, *, at: datetime, reason: str = "") -> list[Event]:
    """End the conversation without a decision."""
    if state.status == m.CANCELLED:
        return []
    return _decided(state, "ended", at, status=m.CANCELLED, reason="cancelled", why=reason)


def sign(
    state: State, by: str, *, at: datetime, approve: bool = False, why: str = ""
) -> list[Event]:
    """Approve or reject the decision as the person that has the last word."""
    word, owner = "approved" if approve else "rejected", state.config.sign_off
    if by == owner and state.signed == word:
        return []
    made = _decided(state, "signed", at, by=by, signed=word, signedWhy=why)
    if by != owner:
        what = f"{owner} has the last word" if owner else "nobody was named by --sign-off"
        raise Refused("not-yours", what)
    if not sight.signing(state):
        raise Refused("too-early", f"{state.name} is in {state.phase}", "wait for the synthesis")
    return made
