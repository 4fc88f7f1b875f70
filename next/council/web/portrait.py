"""What the page of a council shows, read off its state: people, meter, options, rounds, decision."""

from __future__ import annotations

import os

from council.councils import rules, sight, views, words
from council.councils.evolution import waiting
from council.councils.model import AGREED, DELIBERATE, SYNTHESIZE, Entry, Round, State, Tally
from council.councils.positions import same
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import explain, status

if TYPE_CHECKING:
    from council.app import App

HUES = 8
_LABELS = {"VOTE": "Vote", SYNTHESIZE: "Synthesis"}
Shown = dict[str, Any]


def face(ident: str, one: Any = None, at: int = -1) -> Shown:
    """Return what stands for somebody: emoji or initials, name, and the number of a colour."""
    name = (one and one.name) or ident
    initials = "".join(word[0] for word in name.split()[:2]).upper()
    hue = at % HUES if at >= 0 else sum(ident.encode()) % HUES
    made = {"id": ident, "name": name, "mark": (one and one.emoji) or initials or "?", "hue": hue}
    return made | {key: getattr(one, key, "") for key in ("role", "model", "person", "advocate")}


def faces(state: State) -> dict[str, Shown]:
    """Return the faces of the participants, in list order."""
    return {a: face(a, one, at) for at, (a, one) in enumerate(state.participants.items())}


def glance(app: App, state: State) -> Shown:
    """Return what a card of the home page shows of an open council."""
    row, who, tally = status.row(app, state), faces(state), sight.tally(state)
    people = [{**who[a], **_doing(state, row, a)} for a in who]
    return {
        **{"name": state.name, "topic": state.topic, "phase": phase(state.round())},
        **{"timeoutAt": state.timeout_at, "pausedAt": state.paused_at, "people": people},
        **{"meter": meter(state, tally, who), "over": bool(state.ended_at)},
    }


def phase(one: Round, number: int = 0) -> str:
    """Return the name of a round for people."""
    tour = f"Round {number or one.tour}"
    return tour if one.phase == DELIBERATE else _LABELS.get(one.phase, one.phase.capitalize())


def portrait(app: App, state: State, as_: str = "") -> Shown:
    """Return all that the page of a council shows; `as_` is for whom it offers to answer."""
    tally, who, is_open = sight.tally(state), faces(state), not state.ended_at
    row = status.row(app, state)
    why = explain.conversation(app, state.name) if is_open else {}
    moves, said = _moves(state, tally), [e for e in state.entries if not state.is_sealed(e)]
    people = [{**who[a], **_doing(state, row, a), **_holds(state, tally, said, a)} for a in who]
    people = [{**one, "moved": moves.get(one["id"])} for one in people]
    lines = words.told(state, tally, {a: one["name"] for a, one in who.items()})
    asked = rules.asked(state) if is_open and not state.paused_at else []
    hands = [a for a in asked if status.by_hand(app, state, a)]
    hands.sort(key=lambda a: (a != as_, not who.get(a, {}).get("person")))
    sides = [{**vars(one), "faces": [who[a] for a in one.holders if a in who]}
             for one in tally.options if one.holders or one.approve or one.partial or is_open]  # fmt: skip
    runs, config = state.runs, state.config
    return {
        **views.fields(state, "name topic brief lang phase tour timeout_at paused_at rev"),
        **{"id": state.conversation_id, "procedure": state.procedure, "mode": config.mode},
        **{"open": is_open, "steps": _steps(state), "people": people, "told": lines, "why": why},
        **{"speaking": [one for one in people if one["does"] in ("writing", "owes")]},
        **{"meter": meter(state, tally, who), "options": sides, "winners": tally.winners},
        **{"matrix": _matrix(said, who), "rounds": _rounds(state, who), "notes": state.notes},
        **{"used": views.used(state), "unpriced": runs.unpriced, "most": config, "sealed": state.sealed()},
        **{"blockers": sight.blockers(state), "questions": _questions(state, who)},
        **{"hands": hands, "form": _form(state, hands[0]) if hands else None},
        **{"signing": sight.signing(state) if is_open else "", "synthesis": _last(said, "synthesis")},
        "minutes": os.path.basename(state.minutes).removesuffix(".md"),
        "came": views.decision(state) if state.ended_at or sight.signing(state) else None,
        **{"endedAt": state.ended_at, "closedReason": state.closed_reason, "who": who},
    }  # fmt: skip


def meter(state: State, tally: Tally, who: dict[str, Shown]) -> Shown:
    """Return what each counted member says to what leads, and how many have to approve it."""
    ahead = [*tally.winners, *tally.leading]
    ahead += [s.letter for s in sorted(tally.options, key=lambda s: -len(s.holders)) if s.holders]
    side = next((one for one in tally.options if ahead and one.letter == ahead[0]), None)
    groups = (
        {"agree": side.approve, "partial": side.partial, "disagree": side.disagree} if side else {}
    )
    groups = {"agree": tally.agreed} if state.procedure == "council" else groups
    groups["abstain"] = tally.abstained
    said = {a: word for word, many in groups.items() for a in many}
    counted = [a for a in who if not who[a]["advocate"] or state.procedure == "council"]
    order = [*groups, ""]
    seats = [{"face": who[a], "word": said.get(a, "")} for a in counted]
    seats.sort(key=lambda seat: order.index(seat["word"]))
    count = sum(seat["word"] == "agree" for seat in seats)
    made = {"seats": seats, "count": count, "n": tally.n, "needed": tally.threshold}
    return {**made, "type": tally.type, "letter": side.letter if side else ""}


def _doing(state: State, row: Shown, agent: str) -> Shown:
    """Return what a participant does now: a word, and since when or why."""
    now, one = state.round(), state.participants[agent]
    run = next((r for r in state.runs.by_id.values() if r.agent == agent and r.is_open()), None)
    if state.ended_at:
        return {"does": "", "since": ""}
    if run:
        return {"does": "writing", "since": run.at}
    if agent in row["waiting"]:
        word = "retry" if agent in row["failures"] else "owes"
        return {"does": word, "since": now.started_at, "cause": row["failures"].get(agent, "")}
    if agent in now.absent:
        why = now.absent[agent]
        return {"does": "absent", "since": "", "cause": why.words or why.code}
    if one.status == AGREED:
        return {"does": "agreed", "since": ""}
    later = agent in waiting(state) or one.status == "WAITING"
    return {"does": "later" if later else "sealed" if now.tour == state.sealed() else "answered",
            "since": ""}  # fmt: skip


def _holds(state: State, tally: Tally, said: list[Entry], agent: str) -> Shown:
    """Return the present position of a participant: its letter, words and confidence."""
    own = [e for e in said if e.agent == agent and e.kind not in ("guidance", "synthesis")]
    own = [e for e in own if not e.late]
    side = next((one for one in tally.options if agent in one.holders), None)
    last = next((e for e in own[::-1] if e.heard.position), own[-1] if own else None)
    text = side.text if side else last.heard.position or _begin(last.text) if last else ""
    sure = next((e.heard.confidence for e in own[::-1] if e.heard.confidence), None)
    return {"letter": side.letter if side else "", "position": text, "sure": sure,
            "anchor": last.id if last else ""}  # fmt: skip


def _begin(text: str) -> str:
    """Return the first sentence or line of a text that is no heading."""
    lines = [line.strip(" *_>#-") for line in text.split("\n") if line.strip() and line[0] != "#"]
    first = lines[0] if lines else text.strip(" *_>#-\n")
    head = first.partition(". ")[0]
    return cut(head if len(head) > 20 else first, 180)


def _moves(state: State, tally: Tally) -> dict[str, Shown]:
    """Return who changed its mind last when, from what to what, and what it said of the reason."""
    found, held = dict[str, Shown](), dict[str, str]()
    talks = [one for one in state.rounds if one.phase != SYNTHESIZE]
    for one, now in zip(talks, [*tally.rounds, tally], strict=False):
        answers = {e.agent: e for e in state.entries if e.tour == one.tour and e.kind != "guidance"}
        for move in now.moved:
            heard = answers[move["agent"]].heard
            by = {p: s.comment for p, s in heard.stances.items()
                  if s.word == "agree" and held.get(p) == move["to"]}  # fmt: skip
            why = next(filter(None, by.values()), "") or _begin(heard.reasoning)
            found[move["agent"]] = {**move, "by": [*by][:3], "why": why, "round": phase(one),
                                    "anchor": answers[move["agent"]].id}  # fmt: skip
        held = {a: side.letter for side in now.options for a in side.holders}
    if state.procedure == "council":
        last = dict[str, Entry]()
        for e in state.entries:
            if e.kind == "contribution" and not e.late and not state.is_sealed(e):
                old, new = last.get(e.agent), e.heard.position
                if old and (e.status == AGREED != old.status or e.heard.moved or (
                        new and old.heard.position and same(new, [old.heard.position]) is None)):  # fmt: skip
                    what = {"from": "", "to": "agrees now" if e.status == AGREED else "", "by": []}
                    why = _begin(e.heard.reasoning or e.text)
                    label = phase(next(one for one in state.rounds if one.tour == e.tour))
                    found[e.agent] = {**what, "why": why, "round": label, "anchor": e.id}
                last[e.agent] = e
    return found


def _steps(state: State) -> list[Shown]:
    """Return the rounds that were, the one that is open, and the phases to come."""
    made, last = list[Shown](), state.round()
    for at, one in enumerate(state.rounds):
        now = one is last and not state.ended_at
        made.append({"label": phase(one, at + 1), "is": "now" if now else "done", "tour": one.tour})
    phases = state.config.phases
    later = (
        phases[phases.index(last.phase) + 1 :]
        if last.phase in phases and not state.ended_at
        else []
    )
    return made + [{"label": _LABELS.get(p, p.capitalize()), "is": "later"} for p in later]


def _matrix(said: list[Entry], who: dict[str, Shown]) -> dict[str, dict[str, str]]:
    """Return the last word of each to each, {} where nobody said one."""
    made = dict[str, dict[str, str]]()
    for e in said:
        if e.heard.stances and e.agent in who and not e.late:
            made[e.agent] = {p: s.word for p, s in e.heard.stances.items() if p in who}
    return made


def _rounds(state: State, who: dict[str, Shown]) -> list[Shown]:
    made = list[Shown]()
    for at, one in enumerate(state.rounds):
        mine = [e for e in state.entries if e.tour == one.tour]
        shown = [_entry(state, e, who) for e in mine if not state.is_sealed(e)]
        sealed = [who.get(e.agent, face(e.agent)) for e in mine if state.is_sealed(e)]
        absent = [{**who.get(a, face(a)), **vars(why)} for a, why in one.absent.items()]
        made.append({"tour": one.tour, "label": phase(one, at + 1), "entries": shown, "sealed": sealed,
                     "absent": absent, "endedAt": one.ended_at, "reason": one.reason, "blind": one.blind,
                     "verdict": one.verdict})  # fmt: skip
    made = [r for r in made if r["entries"] or r["sealed"] or r["absent"]] or made[-1:]
    made[-1]["opened"] = True
    return made if state.ended_at else made[::-1]  # while it runs the newest comes first


def _entry(state: State, e: Entry, who: dict[str, Shown]) -> Shown:
    heard, is_read = e.heard, bool(e.heard.position and e.heard.reasoning)
    said = [{**who.get(p, face(p)), **vars(s)} for p, s in heard.stances.items()]
    quotes = [{**vars(q), "by": who.get(q.of, {}).get("name", q.of)} for q in heard.quotations]
    more = {"body": heard.reasoning if is_read else e.text, "whole": e.text if is_read else ""}
    if e.kind == "guidance":
        more["acknowledged"] = [who[a]["name"] for a in sight.acknowledged(state, e) if a in who]
        more["to"] = who.get(e.target, face(e.target))["name"] if e.target else ""
    shown = {"face": who.get(e.agent) or face(e.agent), "stances": said, "quotes": quotes}
    shown |= {"asks": [(who.get(p, face(p))["name"], text) for p, text in heard.questions.items()]}
    return {**vars(e), **shown, "is_read": is_read, **more}


def _questions(state: State, who: dict[str, Shown]) -> list[Shown]:
    """Return the questions that wait for a person, who takes no part or answers by hand."""
    open_ = sight.unanswered(state) if not state.ended_at else []
    return [{"face": who.get(a) or face(a), "to": p, "text": text} for a, p, text in open_
            if p not in who or who[p]["person"]]  # fmt: skip


def _form(state: State, agent: str) -> Shown:
    """Return what the form to answer asks for."""
    form = sight.form(state, agent)
    is_talk = state.procedure == "deliberation" and form.kind in ("turn", "vote")
    who, again = faces(state), state.round().asked.get(agent, "")
    return {"as": who.get(agent) or face(agent), "kind": form.kind, "options": form.options if is_talk else {},
            "held": form.held, "peers": [who[p] for p in form.needs] if is_talk else [], "talk": is_talk,
            "vote": form.kind == "vote", "again": again, "mark": state.round().mark}  # fmt: skip


def _last(said: list[Entry], kind: str) -> Entry | None:
    return next((e for e in said[::-1] if e.kind == kind and not e.late), None)
