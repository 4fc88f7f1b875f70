"""What can be read off a conversation: the tally, who may see what, what is still owed."""

from __future__ import annotations

from council.councils import model as m
from council.councils import verdict
from council.councils.evolution import said_by, staying
from council.councils.model import SYNTHESIZE, Entry, Form, State, Tally
from council.councils.verdict import alike, words
from council.kernel.record import Any
from council.kernel.words import fill, load, template

_SHARE = 1.5  # of an equal share of all words; who says more dominates (document 003)


def tally(state: State, *, closing: bool = False) -> Tally:
    """Return the tally of a conversation; `closing` counts what is still sealed, too."""
    if state.procedure == "council":
        return _statuses(state)
    place = {agent: at for at, agent in enumerate(state.participants)}
    rounds = []
    for one in state.talks():
        said = said_by(state, one.tour) if closing or one.tour != state.sealed() else []
        if (kind := "blind" if one.blind else "parallel" if one.parallel else "turn") != "turn":
            said.sort(key=lambda entry: place.get(entry.agent, len(place)))
        kind = "vote" if one.phase == m.VOTE else kind
        rounds.append((kind, [(entry.agent, entry.heard) for entry in said]))
    members = [agent for agent, one in state.participants.items() if not one.advocate]
    given, floor = state.config.threshold, state.config.confidence_floor
    blocking = sum(one.open for one in state.blockers)
    return verdict.count(members, rounds, state.options, given, floor, blocking)


def converged(state: State) -> bool:
    """Return whether the last round of talk found a consensus or, while it is open, has one."""
    closed = [one.verdict for one in state.talks()[-1:] if one.verdict]
    said = {one.status for one in state.participants.values()}
    agreed = state.procedure == "council" and m.AGREED in said <= {m.AGREED, m.DONE}
    return closed != ["none"] if closed else agreed and not any(b.open for b in state.blockers)


def convergence(state: State) -> dict[str, Any]:
    """Return document 000's figures of the last round of talk."""
    people, talk = state.participants, state.talks()[-1:]
    lacking = {a for a, one in people.items() if one.status not in m.ANSWERED}
    if talk and talk[0].verdict:
        lacking = talk[0].absent.keys() & people
    rate = 1 - len(lacking) / max(1, len(people))
    return {"responseRate": rate, "hasConsensus": converged(state), "blockingIssues": issues(state)}


def _statuses(state: State) -> Tally:
    """Return the tally of a council: of the round that is open, or that closed last."""
    talks, stay, reached = state.talks(), staying(state), converged(state)
    agreed = [agent for agent, one in state.participants.items() if one.status == m.AGREED]
    agreed = talks[-1].agreed if talks and talks[-1].ended_at else agreed
    made = Tally(n=len(stay), threshold=len(stay), agreed=agreed, reached=reached)
    said = [one for talk in talks[-1:] for one in said_by(state, talk.tour)]
    made.edited = [a for a in agreed if (a, m.AGREED) not in [(e.agent, e.status) for e in said]]
    made.waiting = [agent for agent in stay if agent not in agreed]
    made.type = "strong" if reached else "none"
    return made


def told(state: State, tally: Tally, names: dict[str, str], holders: bool = True) -> list[str]:
    """Return all that can be said of a tally, the verdict first; perhaps with who holds what."""
    file, count = f"texts/tally-{state.lang}.txt", len(tally.agreed)
    key = "nobody" if not count else "everybody" if count == tally.n else "some"
    leading = tally.winners or tally.leading
    if state.procedure == "deliberation":
        sides = [len(one.approve) for one in tally.options if one.letter in leading]
        count, apart = max(sides, default=0), min(sides, default=0) >= tally.threshold
        if not leading:
            own = tally.n - len(tally.absent)
            key = "unsaid" if own > 1 else "aside" if own + len(tally.abstained) > 1 else "unheard"
        elif len(leading) == 1:
            key = tally.type if tally.winners else "leads"
        else:
            key = f"{tally.type}_tie" if tally.winners else "camps" if apart else "tied"
    values = {**vars(tally), "leading": leading, "count": count, "holding": holders, key: True}
    held = [one for one in tally.options if one.holders or one.letter in leading]
    values["options"] = [{**vars(one), "count": len(one.approve)} for one in held]
    values["blockers"] = len(blockers(state))
    values["advocates"] = [who for who, one in state.participants.items() if one.advocate]
    forms = {**load(file), "name": lambda one: names.get(one, one)}
    return fill(template(file).partition("\n====\n")[2], values, forms).rstrip("\n").split("\n")


def named(state: State, options: list[m.Option] | list[m.Side]) -> list[m.Event]:
    """Return the event that names those options that have no letter yet."""
    new = [m.Option(letter=o.letter, text=o.text, by=o.by) for o in options]
    fresh = [one.to_json() for one in new[len(state.options) :]]
    return [{"type": "options.named", "options": fresh}] if fresh else []


def visible(state: State, agent: str) -> list[Entry]:
    """Return what `agent` may see now: all that is not sealed, and its own; nothing late."""
    in_time = [entry for entry in state.entries if not entry.late]
    return [one for one in in_time if one.agent == agent or not state.is_sealed(one)]


def blockers(state: State) -> list[m.Blocker]:
    """Return the open blockers that everybody may see; those of a page have no author."""
    sealed = state.sealed() or -1
    return [one for one in state.blockers if one.open and (one.tour != sealed or not one.agent)]


def issues(state: State) -> list[str]:
    """Return the open blockers that everybody may see as lines, with their authors."""
    return [f"{one.agent}: " * bool(one.agent) + one.text for one in blockers(state)]


def needs(state: State, agent: str) -> list[str]:
    """Return the participants to whom `agent` owes a stance: whose position it could see."""
    now, turns = state.round(), [e for e in visible(state, agent) if e.kind in ("turn", "vote")]
    spoken = {entry.agent for entry in turns if entry.tour < now.tour or not now.parallel}
    return [peer for peer in state.participants if peer in spoken and peer != agent]


def form(state: State, agent: str) -> Form:
    """Return what an answer of `agent` is asked for now, as the reader of answers wants it."""
    now, who = state.round(), state.participants
    peers = {peer: who[peer].name for peer in who if peer != agent}
    made = Form(kind=m.kind_of(now.phase), lang=state.lang, author=agent, peers=peers)
    made.raised = bool(blockers(state))
    raised = [one for one in state.blockers if one.agent == agent and one.open]
    made.blockers += [one.text for one in raised if one.tour < now.tour or agent in now.asked]
    for entry in said_by(state, now.tour) if agent in now.asked else []:
        made.asked += [one.part for one in entry.heard.faults if entry.agent == agent]
    if state.procedure == "deliberation":
        sides, made.needs = tally(state).options, needs(state, agent)
        made.options = {side.letter: side.text for side in sides}
        made.held = "".join(side.text for side in sides if agent in side.holders)
        said = [one.heard for one in state.entries if one.agent == agent and one.kind == "turn"]
        own = [one.position for one in said if one.position or one.choice][-1:]
        made.held = (made.held and "".join(own)) or made.held  # in its own words
    return made


def open_questions(state: State, agent: str) -> list[tuple[str, str]]:
    """Return what `agent` is asked, by whom: a stance to the asker or its @name is an answer."""
    owed: list[tuple[str, str]] = []
    for entry in visible(state, agent):
        if entry.agent == agent:
            text, stances = entry.text.casefold(), entry.heard.stances
            owed = [(a, q) for a, q in owed if a not in stances and f"@{a}" not in text]
        elif (entry.agent, asks := entry.heard.questions.get(agent, "")) not in owed and asks:
            owed.append((entry.agent, asks))
        elif entry.kind == "guidance" and agent not in state.participants:
            owed = []  # a person has answered
    return owed


def unanswered(state: State) -> list[tuple[str, str, str]]:
    """Return the questions that nobody answered: who asked, whom, the question."""
    asked = sorted({peer for entry in state.entries for peer in entry.heard.questions})
    return [(a, peer, text) for peer in asked for a, text in open_questions(state, peer)]


def acknowledged(state: State, reader: str = "") -> dict[str, list[str]]:
    """Return, by guidance, who of those that it is meant for `reader` may see answer after it."""
    seen, made = visible(state, reader), dict[str, list[str]]()
    last = {one.agent: at for at, one in enumerate(seen)}
    for at, one in enumerate(seen):
        if one.kind == "guidance":
            meant = [a for a in state.participants if one.target in ("", a)]
            made[one.id] = [a for a in meant if last.get(a, -1) > at]
    return made


def guidance(state: State, agent: str) -> list[Entry]:
    """Return what people said to all or to `agent` since its last answer: to be acknowledged."""
    owed = [ident for ident, heard in acknowledged(state, agent).items() if agent not in heard]
    return [one for one in state.entries if one.id in owed and one.target in ("", agent)]


def signing(state: State) -> str:
    """Return whose approval the conversation waits for, "" for nobody's."""
    waits = state.phase == SYNTHESIZE and state.rounds[-1].ended_at
    is_over = state.ended_at or state.signed or state.stop
    return state.config.sign_off if waits and not is_over else ""


def dominating(state: State) -> list[str]:
    """Return who has said more than its share of all words in the rounds before this one."""
    said = dict.fromkeys(state.participants, 0)
    for entry in state.entries:
        if entry.agent in said and not entry.late and entry.tour < state.tour:
            said[entry.agent] += len(entry.text.split())
    share = _SHARE * sum(said.values()) / max(1, len(said))
    counts = state.tour > 1 and len(said) > 2
    return [agent for agent, count in said.items() if counts and count > share]


def repeats(state: State) -> bool:
    """Return whether most speakers of a third or later round of talk repeat what they said."""
    talks = [said_by(state, one.tour) for one in state.rounds if one.phase == m.DELIBERATE]
    if len(talks) < 3:
        return False
    before, same = {entry.agent: entry for entry in talks[-2]}, 0
    for new, old in [(entry, before[entry.agent]) for entry in talks[-1] if entry.agent in before]:
        kept = new.heard.unchanged or words(new.heard.position) == words(old.heard.position)
        why = new.heard.reasoning or new.text * (not new.heard.unchanged)
        same += kept and (not why or alike(why, old.heard.reasoning or old.text))
    return 2 * same > len(talks[-1])
