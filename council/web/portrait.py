"""What the pages of councils show: people and what they hold now, the meter, the decision."""

from __future__ import annotations

from council.app import App
from council.councils import model as m
from council.councils import rules, sight, views
from council.councils.model import Entry, Round, State, Tally
from council.kernel.ids import cut
from council.kernel.record import Any
from council.observe import explain, status

HUES = 8  # colours of avatars
MANY, NEWEST = 40, 10  # where there are more answers than that, only so many are on the page
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


def label(one: Round | Entry) -> str:
    """Return the name of a round, or of that of an entry, for people."""
    return f"Round {one.tour}" if one.phase == m.DELIBERATE else one.phase.capitalize()


def glance(app: App, state: State) -> Shown:
    """Return what a card of the home page shows of an open council, and its own page as well."""
    tally, who = sight.tally(state), Faces(state.participants)
    people, counted = _people(app, state, tally, who), meter(state, tally, who)
    return {"state": state, "tally": tally, "who": who, "people": people, "meter": counted}


def portrait(app: App, state: State, as_: str = "", all_: bool = False) -> Shown:
    """Return what the page of a council shows, with all that was said or only the last of it.

    `as_` is for whom it offers an answer.
    """
    made, is_open = glance(app, state), not state.ended_at
    said = [e for e in state.entries if not state.is_sealed(e)]
    tally, who, members = made["tally"], made["who"], state.participants
    by_round = {one.tour: list[Entry]() for one in state.rounds}
    for entry in said:
        by_round.setdefault(entry.tour, []).append(entry)
    hands = [a for a in rules.asked(state) if is_open and status.by_hand(app, state, a)]
    hands.sort(key=lambda a: (a != as_, a not in members, not members[a].person))
    phases, signing = state.config.phases, sight.signing(state)
    begun = phases.index(state.phase) if state.phase in phases else 0
    options = [o for o in tally.options if not o.by or o.holders or o.letter in tally.leading]
    return {
        **made,
        **{"open": is_open, "said": by_round, "options": options, "hands": hands},
        "later": [one.capitalize() for one in phases[begun + 1 :]],
        "told": sight.told(state, tally, {a: who[a]["name"] for a in who}),
        "matrix": {e.agent: e.heard.stances for e in said if e.heard.stances and not e.late},
        **{"blockers": sight.blockers(state), "used": views.used(state), "signing": signing},
        "speaking": [one for one in made["people"] if one["does"] in ("writing", "owes")],
        **{"acknowledged": sight.acknowledged(state), "shown": _shown(by_round, all_)},
        "sealed": [e.agent for e in state.entries if state.is_sealed(e)],
        "questions": [one for one in sight.unanswered(state) if is_open and one[1] not in members],
        "why": explain.explained(app, state.name, state) if is_open else {},
        "synthesis": next((e for e in said[::-1] if e.kind == "synthesis" and not e.late), None),
        "came": views.decision(state) if signing or not is_open else None,
        "needs": sight.needs(state, hands[0]) if hands else [],
    }


def _shown(said: dict[int, list[Entry]], all_: bool) -> list[int]:
    """Return the rounds whose answers are on the page."""
    tours, left = list[int](), MANY if sum(map(len, said.values())) <= MANY else NEWEST
    for tour in sorted(said)[::-1]:
        left -= len(said[tour])
        tours += [tour] if all_ or left >= 0 or not tours else []
    return tours


def meter(state: State, tally: Tally, who: Faces) -> Shown:
    """Return what each counted member says to what leads, and how many have to approve it."""
    side = next((one for one in tally.options if one.letter in tally.leading[:1]), None)
    is_council = state.procedure == "council"
    groups = {"agree": tally.agreed} if is_council else {}
    if side and not is_council:
        groups = {"agree": side.approve, "partial": side.partial, "disagree": side.disagree}
    groups["abstain"] = tally.abstained
    said = {agent: word for word, many in groups.items() for agent in many}
    members = [a for a, one in state.participants.items() if is_council or not one.advocate]
    seats = [(who[a], said.get(a, "")) for a in members]
    seats.sort(key=lambda seat: [*groups, ""].index(seat[1]))
    return {"seats": seats, "count": len(groups.get("agree", ())), "n": tally.n,
            "needed": tally.threshold, "letter": side.letter if side else ""}  # fmt: skip


def _people(app: App, state: State, tally: Tally, who: Faces) -> list[Shown]:
    """Return each participant with what it does, what it holds and how that changed."""
    row, moves = status.row(app, state), dict[str, Shown]()
    said = [e for e in state.entries if not e.late and not state.is_sealed(e)]
    said = [e for e in said if e.kind not in ("guidance", "synthesis")]
    talks = [r for r in state.rounds if r.phase != m.SYNTHESIZE]
    for talk, count in zip(talks, [*tally.rounds, tally], strict=False):
        for move in count.moved:
            entry = next((e for e in said if (e.agent, e.tour) == (move["agent"], talk.tour)), None)
            holders = [a for o in count.options if o.letter == move["to"] for a in o.holders]
            moves |= {move["agent"]: _move(entry, holders)} if entry else {}
    held, texts = ({a: getattr(o, key) for o in tally.options for a in o.holders}
                   for key in ("letter", "text"))  # fmt: skip
    made = list[Shown]()
    for agent, one in state.participants.items():
        own = [e for e in said if e.agent == agent]
        if len(own) > 1 and not tally.options and _differ(*own[-2:]):
            moves[agent] = _move(own[-1], [])
        text = own[-1].heard.position or _begin(own[-1].text) if own else ""
        shown = {**who[agent], "moved": moves.get(agent), "position": texts.get(agent) or text}
        shown |= {"person": one.person, "advocate": one.advocate, "letter": held.get(agent, "")}
        shown["sure"] = next((e.heard.confidence for e in own[::-1] if e.heard.confidence), None)
        made.append({**shown, **_doing(state, row, agent)})
    return made


def _differ(before: Entry, last: Entry) -> bool:
    """Return whether a member of a council agrees since its last answer, or says another thing."""
    old, new = before.heard.position, last.heard.position
    is_new = old and new and not last.heard.unchanged and old.casefold() != new.casefold()
    return last.status == m.AGREED != before.status or bool(is_new)


def _move(entry: Entry, holders: list[str]) -> Shown:
    """Return a change of mind: when, with whom, and why in its own words."""
    said = {p: s.comment for p, s in entry.heard.stances.items() if s.word == "agree"}
    by = [peer for peer in said if peer in holders]
    why = next((said[peer] for peer in by if said[peer]), "") or _begin(entry.heard.reasoning)
    return {"by": by[:3], "why": why, "entry": entry}


def _doing(state: State, row: Shown, agent: str) -> Shown:
    """Return what a participant does now as a word for its looks, and in words."""
    said, absent = row["participants"][agent], state.round().absent.get(agent)
    does = {m.AGREED: "agreed", m.WAITING: "later"}.get(said["status"], "answered")
    does = "absent" if absent else "owes" if agent in row["waiting"] else does
    does = "writing" if agent in row["running"] else does
    failed = f"failed: {row['failures'][agent]}" if agent in row["failures"] else ""
    told = (absent.words or absent.code) if absent else failed or said["doing"] or does
    return {"does": does, "doing": told} if not state.ended_at else {"does": "", "doing": ""}


def _begin(text: str) -> str:
    """Return the first sentence of a text that is no heading."""
    lines = [line.strip(" *_>#-") for line in text.split("\n") if line.strip() and line[0] != "#"]
    first = lines[0] if lines else ""
    head = first.partition(". ")[0]
    return cut((head if len(head) > 20 else first).replace("**", ""), 180)
