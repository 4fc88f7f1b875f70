"""What the pages of councils show: people and what they hold now, the meter, the decision."""

from __future__ import annotations

from council.councils import model as m
from council.councils import rules, sight, views, words
from council.councils.evolution import waiting
from council.councils.model import Entry, Round, State, Tally
from council.kernel.ids import cut
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import explain, status

if TYPE_CHECKING:
    from council.app import App

HUES = 8  # colours of avatars
MANY, NEWEST = 40, 10  # where there are more answers than that, only so many are on the page
_LABELS = {m.VOTE: "Vote", m.SYNTHESIZE: "Synthesis"}
Shown = dict[str, Any]


class Faces(dict[str, Shown]):
    """What stands for somebody by id: emoji or initials, a name, the number of a colour."""

    def __init__(self, people: dict[str, Any]) -> None:
        super().__init__()
        for at, (ident, one) in enumerate(people.items()):
            self[ident] = {**self[ident], "hue": at % HUES, "role": getattr(one, "role", "")}
            self[ident] |= {"name": one.name or ident, "mark": one.emoji or self[ident]["mark"]}

    def __missing__(self, ident: str) -> Shown:
        mark, hue = "".join(word[:1] for word in ident.split()[:2]).upper(), sum(ident.encode())
        return {"id": ident, "name": ident, "mark": mark or "?", "hue": hue % HUES, "role": ""}


def label(one: Round) -> str:
    """Return the name of a round for people."""
    name = _LABELS.get(one.phase, one.phase.capitalize())
    return f"Round {one.tour}" if one.phase == m.DELIBERATE else name


def glance(app: App, state: State) -> Shown:
    """Return what a card of the home page shows of an open council."""
    tally, who = sight.tally(state), Faces(state.participants)
    people = _people(app, state, tally, who)
    return {"state": state, "people": people, "meter": meter(state, tally, who),
            "label": label(state.round())}  # fmt: skip


def portrait(app: App, state: State, as_: str = "", all_: bool = False) -> Shown:
    """Return what the page of a council shows, with all that was said or only the last of it.

    `as_` is for whom it offers an answer.
    """
    tally, who, is_open = sight.tally(state), Faces(state.participants), not state.ended_at
    said = [e for e in state.entries if not state.is_sealed(e)]
    people, asked = _people(app, state, tally, who), rules.asked(state) if is_open else []
    hands = [a for a in asked if not state.paused_at and status.by_hand(app, state, a)]
    hands.sort(
        key=lambda a: (a != as_, a not in state.participants, not state.participants[a].person)
    )
    phases, signing = state.config.phases, sight.signing(state)
    begun = phases.index(state.phase) if state.phase in phases else 0
    matrix = {e.agent: e.heard.stances for e in said if e.heard.stances and not e.late}
    questions = sight.unanswered(state) if is_open else []
    return {
        **{"state": state, "open": is_open, "who": who, "said": said, "people": people},
        **{"label": label, "later": [_LABELS.get(p, p.capitalize()) for p in phases[begun + 1 :]]},
        **{"told": words.told(state, tally, {a: who[a]["name"] for a in who}), "tally": tally},
        **{"meter": meter(state, tally, who), "matrix": matrix, "blockers": sight.blockers(state)},
        **{"used": views.used(state), "signing": signing, "hands": hands},
        "speaking": [one for one in people if one["does"] in ("writing", "owes")],
        "acknowledged": lambda entry: sight.acknowledged(state, entry),
        "sealed": [e.agent for e in state.entries if state.is_sealed(e)],
        "questions": [one for one in questions if one[1] not in state.participants],
        "why": explain.explained(app, state.name, state) if is_open else {},
        "synthesis": next((e for e in said[::-1] if e.kind == "synthesis" and not e.late), None),
        "came": views.decision(state) if signing or not is_open else None,
        "shown": _shown(state, said, all_),
        "needs": sight.needs(state, hands[0]) if hands else [],
    }


def _shown(state: State, said: list[Entry], all_: bool) -> list[int]:
    """Return the rounds whose answers are on the page."""
    tours, count = list[int](), 0
    for one in state.rounds[::-1]:
        count += sum(entry.tour == one.tour for entry in said)
        tours += [one.tour] if all_ or len(said) <= MANY or count <= NEWEST or not tours else []
    return tours


def meter(state: State, tally: Tally, who: Faces) -> Shown:
    """Return what each counted member says to what leads, and how many have to approve it."""
    by_size = sorted(tally.options, key=lambda side: -len(side.holders))
    ahead = [*tally.winners, *tally.leading, *[one.letter for one in by_size if one.holders]]
    side = next((one for one in tally.options if one.letter in ahead[:1]), None)
    is_council = state.procedure == "council"
    groups = {word: getattr(side, key) for word, key in _SAYS.items()} if side else {}
    groups = {"agree": tally.agreed} if is_council else groups
    groups |= {"abstain": tally.abstained}
    said = {agent: word for word, many in groups.items() for agent in many}
    members = [a for a, one in state.participants.items() if is_council or not one.advocate]
    seats = [(who[a], said.get(a, "")) for a in members]
    seats.sort(key=lambda seat: [*groups, ""].index(seat[1]))
    return {"seats": seats, "count": len(groups.get("agree", ())), "n": tally.n,
            "needed": tally.threshold, "letter": side.letter if side else ""}  # fmt: skip


_SAYS = {"agree": "approve", "partial": "partial", "disagree": "disagree"}


def _people(app: App, state: State, tally: Tally, who: Faces) -> list[Shown]:
    """Return each participant with what it does, what it holds and how that changed."""
    row, talks = status.row(app, state), [r for r in state.rounds if r.phase != m.SYNTHESIZE]
    held = [{a: o.letter for o in t.options for a in o.holders} for t in [*tally.rounds, tally]]
    texts, made = {one.letter: one.text for one in tally.options}, list[Shown]()
    for agent, one in state.participants.items():
        own = [
            e for e in state.entries if e.agent == agent and not e.late and not state.is_sealed(e)
        ]
        own = [e for e in own if e.kind not in ("guidance", "synthesis")]
        last, before = own[-1] if own else None, own[-2] if len(own) > 1 else None
        letters, moved = [now.get(agent, "") for now in held], None
        for talk, old, new, seen in zip(talks[1:], letters, letters[1:], held, strict=False):
            entry = next((e for e in own if e.tour == talk.tour), None)
            if entry and old not in ("", new):
                moved = _move(entry, label(talk), [a for a in seen if seen[a] == new])
        if last and before and not texts and _differ(before, last):
            moved = _move(last, label(next(r for r in state.rounds if r.tour == last.tour)), [])
        text = texts.get(letters[-1]) or (last and (last.heard.position or _begin(last.text)))
        shown = {**who[agent], **_doing(state, row, agent), "moved": moved, "position": text}
        shown |= {"person": one.person, "advocate": one.advocate, "letter": letters[-1]}
        shown["sure"] = next((e.heard.confidence for e in own[::-1] if e.heard.confidence), None)
        shown["trail"] = [
            a for a, b in zip(letters, ["", *letters], strict=False) if a not in ("", b)
        ]
        made.append(shown)
    return made


def _differ(before: Entry, last: Entry) -> bool:
    """Return whether a member of a council agrees since its last answer, or says another thing."""
    old, new = before.heard.position, last.heard.position
    is_new = old and new and not last.heard.unchanged and old.casefold() != new.casefold()
    return last.status == m.AGREED != before.status or bool(is_new)


def _move(entry: Entry, tour: str, holders: list[str]) -> Shown:
    """Return a change of mind: when, with whom, and why in its own words."""
    said = {p: s.comment for p, s in entry.heard.stances.items() if s.word == "agree"}
    by = [peer for peer in said if peer in holders]
    why = next((said[peer] for peer in by if said[peer]), "") or _begin(entry.heard.reasoning)
    return {"by": by[:3], "why": why, "round": tour, "anchor": entry.id, "tour": entry.tour,
            "status": entry.status}  # fmt: skip


def _doing(state: State, row: Shown, agent: str) -> Shown:
    """Return what a participant does now: a word, and since when or why."""
    now, runs = state.round(), state.runs.by_id.values()
    since = next((run.at for run in runs if run.agent == agent and run.is_open()), "")
    if since or agent in row["waiting"]:
        return {"does": "writing" if since else "owes", "since": since or now.started_at,
                "cause": row["failures"].get(agent, "")}  # fmt: skip
    if agent in now.absent:
        return {"does": "absent", "cause": now.absent[agent].words or now.absent[agent].code}
    status_, later = state.participants[agent].status, agent in waiting(state)
    later = later or (status_ == m.WAITING and not state.ended_at)
    sealed = now.tour == state.sealed() and not later
    word = (
        "agreed"
        if status_ == m.AGREED
        else "sealed"
        if sealed
        else "later"
        if later
        else "answered"
    )
    return {"does": word if not state.ended_at else ""}


def _begin(text: str) -> str:
    """Return the first sentence of a text that is no heading."""
    lines = [line.strip(" *_>#-") for line in text.split("\n") if line.strip() and line[0] != "#"]
    first = lines[0] if lines else ""
    head = first.partition(". ")[0]
    return cut(head if len(head) > 20 else first, 180)
