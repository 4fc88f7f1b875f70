"""Judgement: what a deliberation has come to, gathered once for all that report it.

Verdict, tallies, dissent, changes of mind and what is odd about them, all by
rule from the turns and votes of the closed rounds. Minutes, digest, metrics
and `what-if` phrase or count what is found here; nothing here is phrased.

Source: DL-027, DL-084, DL-097, DL-098, DL-101, DL-102, DL-104, HR-018, HR-019,
`peers.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from council.core.conversations.conversation import Conversation
from council.core.conversations.handles import is_anonymous, named, names
from council.core.deliberation.casting import only_model
from council.core.deliberation.consensus import (
    AGREE,
    Variant,
    Verdict,
    Weighted,
    counted_in,
    hangs_on,
    standing,
    weighted,
)
from council.core.deliberation.deliberation import counted, history, rules_of
from council.core.deliberation.flips import SAME_POSITION, Flip, collapses, flips
from council.core.deliberation.likeness import are_alike, same_position
from council.core.deliberation.played import (
    Group,
    Played,
    confidences,
    diversity,
    present_in,
    stances_until,
    tally,
)
from council.core.record import Record

CANCELLED = "cancelled"


class Said(Record):
    """A position and where it was stated: the round, and whether that was the vote."""

    position: str
    confidence: int
    tour: int
    vote: bool


class Objection(Record):
    """Why one agent keeps a verdict from being unanimous.

    `stance` is how it stands to the one whose position is judged: `absent`
    where it said nothing that counts, `agree` where only what it says to others
    that agree, `beside`, stands out. `counts` is False for the devil's advocate.
    """

    agent: str
    stance: str
    comment: str = ""
    counts: bool = True
    beside: dict[str, str] = {}


class Doubt(Record):
    """One thing that makes a verdict doubtful.

    `kind` is `contested` (agents agree with the reference, which disagrees with
    them), `otherwise` (most final positions of those that agree read otherwise
    than the decision), `equal` (enough agents state the same position for a
    consensus, and their stances come to none), `least-sure` (all others are
    surer than the reference) or `blind` (before they saw each other most held
    another position). `agents` are those it is about; `position` is the one that
    they hold together, "" for none.
    """

    kind: str
    agents: tuple[str, ...]
    position: str = ""


class Judgement(Record):
    """What a deliberation has come to.

    Args:
        agents: Who counts, in list order.
        history: The closed rounds, oldest first, names in the place of pseudonyms.
        everything: The same with the rounds that are open or were cut off.
        verdict: How things stand after the last of them.
        confidence: The latest each stated of itself.
        weighted: The same count by confidence, to stand beside the verdict (DL-102).
        hangs_on: The smallest changes that give another verdict (DL-104).
        flips: Who changed its mind (DL-098).
        collapses: The rounds in which all went over to the others at once.
        blind: The positions of a blind first round, None when there was none (DL-097).
        final: The final positions, grouped in the same way.
        last: The final position of each agent that stated one.
        model: The one model that all declare, "" when they differ (DL-101).
    """

    agents: tuple[str, ...]
    history: list[Played]
    everything: list[Played]
    verdict: Verdict
    confidence: dict[str, int]
    weighted: Weighted
    hangs_on: list[Variant]
    flips: list[Flip]
    collapses: list[int]
    blind: list[Group] | None
    final: list[Group]
    last: dict[str, Said]
    model: str

    @property
    def diversity(self) -> float:
        """Return how far the final positions lie apart (DL-094)."""
        return diversity([one.position for one in self.last.values()])

    @property
    def blind_diversity(self) -> float:
        """Return how far the positions of the blind first round lay apart; 0 without one."""
        return diversity(list(_positions(self.history[0]).values())) if self.blind else 0.0

    @property
    def suspect(self) -> list[Flip]:
        """Return the changes of mind that nothing explains."""
        return [one for one in self.flips if one.is_suspect]


def named_history(state: Conversation) -> list[Played]:
    """Return all rounds, the open one too, with names in the place of pseudonyms."""
    played = history(state)
    return [_named(state, one) for one in played] if is_anonymous(state) else played


def _named(state: Conversation, played: Played) -> Played:
    new = played.copy()
    for agent, turn in new.turns.items():
        turn.position = named(state, agent, turn.position)
        turn.reasoning = named(state, agent, turn.reasoning)
        for one in turn.responses:
            one.comment = named(state, agent, one.comment)
    return new


def judge(state: Conversation, played: list[Played] | None = None) -> Judgement:
    """Gather what a deliberation has come to so far: by `played`, or by its closed rounds."""
    rules = rules_of(state)
    everything = named_history(state)
    # Neither the round under way, nor one that was cut off by `cancel`.
    closed = {one.tour for one in state.rounds if one.ended_at and one.reason != CANCELLED}
    played = [one for one in everything if one.tour in closed] if played is None else played
    agents = counted(state)
    sure = confidences(played)
    bounds = {"threshold": rules.threshold, "floor": rules.confidence_floor}
    verdict = standing(agents, played, **bounds)
    last = last_words(state, played)
    is_blind = bool(played) and played[0].blind
    return Judgement(
        agents=agents,
        history=played,
        everything=everything,
        verdict=verdict,
        confidence=sure,
        weighted=weighted(verdict, sure),
        hangs_on=hangs_on(agents, played, **bounds),
        flips=flips(played, names(state)),
        collapses=collapses(played, agents, floor=rules.confidence_floor),
        blind=tally(_positions(played[0])) if is_blind else None,
        final=tally({agent: one.position for agent, one in last.items()}),
        last=last,
        model=only_model(state),
    )


def _positions(played: Played) -> dict[str, str]:
    return {agent: turn.position for agent, turn in played.turns.items() if turn.position}


def last_words(state: Conversation, played: Sequence[Played]) -> dict[str, Said]:
    """Return the last position of each participant, the vote's if it gave one."""
    found: dict[str, Said] = {}
    for one in played:
        for agent, turn in one.turns.items():
            if turn.position and agent in state.participants:
                found[agent] = Said(
                    position=turn.position, confidence=turn.confidence, tour=one.tour, vote=one.vote
                )
    return {agent: found[agent] for agent in state.participants if agent in found}


def dissent(state: Conversation, judged: Judgement) -> list[Objection]:
    """Return all that keeps a verdict from being unanimous, in the order of the participants.

    It is reported whatever the type of the verdict is: who is left alone by a soft
    consensus is what readers of a summary miss.

    Source: DL-027, A-84.
    """
    verdict = judged.verdict
    stances = stances_until(judged.history)
    heard = counted_in(judged.history, rules_of(state).confidence_floor)
    found: list[Objection] = []
    for agent in state.participants:
        counts = agent in judged.agents
        stated = stances.get(agent, {}) if agent in heard else {}
        stance = verdict.towards.get(agent) or stated.get(verdict.reference, AGREE)
        beside = {
            other: view
            for other, view in stated.items()
            if view != AGREE and verdict.towards.get(other) == AGREE
        }
        if stance != AGREE or (beside and counts):
            one = Objection(agent=agent, stance=stance, counts=counts)
            one.comment = _comment(judged.history, agent, stance, verdict.reference)
            one.beside = beside if stance == AGREE else {}
            found.append(one)
    return found


def doubts(judged: Judgement) -> list[Doubt]:
    """Return what makes a verdict doubtful; nothing where fewer than two have spoken.

    Source: HR-019.
    """
    verdict = judged.verdict
    if verdict.spoke < 2 or not verdict.agree:
        return []
    found = []
    if verdict.contested:
        found.append(Doubt(kind="contested", agents=tuple(verdict.contested)))
    final = {one: judged.last[one].position for one in judged.agents if one in judged.last}
    decision = final.get(verdict.reference, "")
    if verdict.reached and decision:
        found += _other_positions(judged, final, decision)
    elif not verdict.reached:
        found += [
            Doubt(kind="equal", agents=one.agents, position=one.position)
            for one in tally(final)
            if len(one.agents) >= max(verdict.threshold, 2)
        ]
    present = [one for one in verdict.towards if one not in verdict.silent]
    others = [judged.confidence.get(one, 0) for one in present if one != verdict.reference]
    own = judged.confidence.get(verdict.reference, 0)
    if own and others and min(others) > own:
        found.append(Doubt(kind="least-sure", agents=(verdict.reference,)))
    return found


def _other_positions(judged: Judgement, final: Mapping[str, str], decision: str) -> Iterator[Doubt]:
    """Yield what most agents hold or held that is not what was decided."""
    said = same_position(decision)
    same = [one for one in tally(final) if same_position(one.position) != said]
    otherwise = [one for one in final if not are_alike(final[one], decision, SAME_POSITION)]
    together = [agent for one in same if 2 * len(one.agents) > len(final) for agent in one.agents]
    if together or 2 * len(otherwise) > len(final):
        yield Doubt(kind="otherwise", agents=tuple(together or otherwise))
    groups = judged.blind or []
    most = groups[0] if groups else None
    is_largest = len(groups) == 1 or (most and len(groups[1].agents) < len(most.agents))
    if most and is_largest and len(most.agents) > 1 and same_position(most.position) != said:
        yield Doubt(kind="blind", agents=most.agents, position=most.position)


def _comment(played: Sequence[Played], agent: str, stance: str, towards: str) -> str:
    """Return the latest words with which an agent took a stance other than agree."""
    if stance == AGREE:
        return ""
    for one in reversed(played):
        turn = one.turns.get(agent)
        for response in reversed(turn.responses if turn else []):
            if (response.agent, response.stance) == (towards, stance) and response.comment:
                return response.comment
    return ""


def unreadable(judged: Judgement) -> list[tuple[int, str]]:
    """Return (round, agent) of every contribution of which nothing of the form could be read."""
    return [
        (one.tour, agent)
        for one in judged.history
        for agent, turn in one.turns.items()
        if not turn.is_readable
    ]


def below_floor(state: Conversation, judged: Judgement) -> list[str]:
    """Return who spoke last and counts as absent because it is not sure enough (DL-102)."""
    floor = rules_of(state).confidence_floor
    spoke = present_in(judged.history[-1]) if judged.history else []
    return [one for one in judged.agents if one in spoke and judged.confidence.get(one, 0) < floor]


def rounds_to_consensus(verdicts: Sequence[tuple[str, bool]]) -> int:
    """Return in which round of talk a consensus was first reached and kept, 0 when it was not.

    Args:
        verdicts: Kind (`turn` or `vote`) and whether the verdict was reached, of
            each judged round in order. One that only the vote brought took all rounds.

    Source: DL-092.
    """
    if not verdicts or not verdicts[-1][1]:
        return 0
    talks = [reached for kind, reached in verdicts if kind == "turn"]
    number = len(talks)
    while number > 1 and talks[number - 2] and talks[number - 1]:
        number -= 1
    return max(number, 1)


def round_of(judged: Judgement, tour: int) -> Played:
    """Return what was said in one round, closed or not."""
    known = (one for one in judged.everything if one.tour == tour)
    return next(known, Played(tour=tour, turns={}))
