"""Flips: who changed its mind, towards whom, and whether it said why.

Research on conformity is why this is written down: agents give up right
answers because others said something else. A flip is no fault; one without a
cited reason, and a collapse, in which all move to the majority in one round,
are worth a warning. A new stance to a peer that has moved itself is an answer
to that, and worth none. No verdict depends on any of this.

Source: DL-098, DL-097, HR-021, `peers.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from council.core.deliberation.consensus import AGREE, standing
from council.core.deliberation.likeness import are_alike, negates, same_position
from council.core.deliberation.played import Played, Stances, stated, tally
from council.core.reading_answers.names import Names
from council.core.reading_answers.structure import own_lines
from council.core.reading_answers.turns import Turn
from council.core.record import Record

_Stated = tuple[str, str]  # the latest stance to a peer, and the position it was about
STANCE = "stance"
POSITION = "position"

# Below this two positions of one agent are taken for two different ones.
SAME_POSITION = 0.5

# A shorter name is cited by @name alone: agent `a` is not meant by every article.
_NAME_MIN_CHARS = 3
_JOINTS = frozenset("-_")

_ENDS_OF_SENTENCES = re.compile(r"(?<=[.!?])[\"')\]*_”»]*\s+|\n\s*(?=\n|[-*+•#]|\d+[.)])")
_MARKUP = " \t\r\n*_`\"')]”»"
_CREDITED_BEFORE = re.compile(
    r"\b(?:(?:moved|convinced|persuaded|swayed) by|thanks to|thank you|credit (?:to|goes to)"
    r"|gr[âa]ce à|merci à|(?:convaincue?|persuadée?|ébranlée?) par"
    r"|überzeugt (?:von|durch)|dank|gracias a|(?:convencid|persuadid)[oa] por)\b"
)
_CREDITED_AFTER = re.compile(
    r"\b(?:(?:convinced|persuaded|moved|swayed) (?:me|us)|m['’](?:a|ont) (?:convainc|persuad)"
    r"|mich überzeugt|me (?:ha )?convenc)"
)
# How far from a name the words stand that credit it, in characters.
_NEAR = 80
_BETWEEN_CLAUSES = re.compile("[,;:()—–]")


class Flip(Record):
    """One change of mind.

    `kind` is `stance` or `position`. `towards` is the peer a stance is about,
    "" for a position. `cites` are the peers named in what the agent said in
    that round, in its own words; a question that names a peer cites no one,
    unless it credits that peer ("thanks to @x"). `reasoned`: a stance flip has a
    comment, or the position or reasoning names that peer; a position flip names
    anybody. `peer_moved`: the peer a stance is about had itself another position
    than when the stance before was stated, or the agent says of a peer that it
    was moved by it: of that one for a stance, of anybody for a position.
    """

    tour: int
    agent: str
    kind: str
    towards: str = ""
    before: str
    after: str
    cites: tuple[str, ...] = ()
    reasoned: bool = False
    peer_moved: bool = False

    @property
    def is_suspect(self) -> bool:
        """Return true if nothing that was said explains the change."""
        return not (self.reasoned or self.peer_moved)


def flips(history: Sequence[Played], names: Mapping[str, str]) -> list[Flip]:
    """Return every change of a stance or a position, in the order in which they happened.

    Args:
        history: The rounds played, oldest first, with names in the place of pseudonyms.
        names: Every word that stands for an agent (a display name), and the
            agent it stands for. Ids need not be in it.
    """
    everybody = {agent: agent for played in history for agent in played.turns}
    citations = _Citations({**everybody, **names})
    stances: dict[str, dict[str, _Stated]] = {}
    positions: dict[str, str] = {}
    found: list[Flip] = []
    for played in history:
        now = stated(played)
        is_hidden = played.blind or played.vote
        seen = dict(positions) if is_hidden else positions
        for agent, turn in played.turns.items():
            latest = stances.setdefault(agent, {})
            before, after = positions.get(agent, ""), turn.position
            positions[agent] = after or before
            flip = Flip(tour=played.tour, agent=agent, kind=POSITION, before=before, after=after)
            changes = [flip] if _has_moved(before, after) else []
            changes += _stance_changes(flip, latest, now.get(agent, {}), seen)
            if changes:
                _explain(changes, turn, citations)
                found += changes
    return found


@lru_cache(maxsize=1024)  # most positions are repeated, and each is about to be compared often
def _has_moved(before: str, after: str) -> bool:
    return bool(before and after) and not are_alike(before, after, SAME_POSITION)


def _stance_changes(
    like: Flip, latest: dict[str, _Stated], now: Mapping[str, str], seen: Mapping[str, str]
) -> list[Flip]:
    """Return which of the stances stated now are others than the latest. Changes `latest`.

    They are of the turn that `like` is of; `seen` are the positions that were to be seen then.
    """
    changes: list[Flip] = []
    for other, stance in now.items():
        position = seen.get(other, "")
        before, about = latest.get(other, (stance, position))
        if before != stance:
            moved = _has_moved(about, position)
            change = {"kind": STANCE, "towards": other, "before": before, "after": stance}
            changes.append(like.copy(**change, peer_moved=moved))
        latest[other] = (stance, position)
    return changes


def _explain(changes: list[Flip], turn: Turn, citations: _Citations) -> None:
    """Add to the changes of one turn what the turn says about them."""
    own = {changes[0].agent}
    reasons = citations.in_texts(turn.position, turn.reasoning)
    commented = {one.agent: one.comment for one in turn.responses if one.comment.strip()}
    named = [*reasons, *citations.in_texts(*commented.values())]
    credited = {agent for agent, credit in named if credit} - own
    cites = tuple(dict.fromkeys(agent for agent, _ in named if agent not in own))
    for one in changes:
        towards = one.towards
        one.cites = cites
        is_named = towards in commented or any(agent == towards for agent, _ in reasons)
        one.reasoned = is_named if towards else bool(cites)
        one.peer_moved |= towards in credited if towards else bool(credited)


class _Citations:
    """Finds who is named in a text, by `@name` or by the name as a word of its own."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._any = Names(names.items())
        self._plain = Names(
            (name, agent) for name, agent in names.items() if len(name) >= _NAME_MIN_CHARS
        )

    def in_texts(self, *texts: str) -> list[tuple[str, bool]]:
        """Return who is cited outside quotations, in order.

        With each stands whether it is said to have moved the author: "moved by @x",
        "@x convinced me".
        """
        return [one for text in texts for one in self._cited(text)]

    def _cited(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield who is cited, and whether it is credited; a question alone cites no one."""
        own = "\n".join(line if is_own else "" for line, is_own in own_lines(text))
        for sentence in _ENDS_OF_SENTENCES.split(own):
            is_question = sentence.rstrip(_MARKUP).endswith("?")
            for at, agent in self._mentions(sentence):
                credit = _credits(sentence, at)
                if credit or not is_question:
                    yield agent, credit

    def _mentions(self, sentence: str) -> Iterator[tuple[int, str]]:
        before = " "
        for at, letter in enumerate(sentence):
            if letter.isalnum() and not before.isalnum() and before not in _JOINTS:
                agent = (self._any if before == "@" else self._plain).at(sentence, at)
                if agent:
                    yield at, agent
            before = letter


def _credits(sentence: str, at: int) -> bool:
    """Return true if the name at `at` is credited with a change of mind, and not denied it."""
    before = _BETWEEN_CLAUSES.split(sentence[max(at - _NEAR, 0) : at])[-1].casefold()
    after = _BETWEEN_CLAUSES.split(sentence[at : at + _NEAR])[0].casefold()
    if _CREDITED_BEFORE.search(before):
        return not negates(before)
    return bool(_CREDITED_AFTER.search(after)) and not negates(after)


def collapses(history: Sequence[Played], agents: Sequence[str], *, floor: int = 0) -> list[int]:
    """Return the rounds in which all who stood apart went over to the others at once.

    By stances: two or more agents that did not agree with the reference of the
    round before now do, and no agent is left who does not. By positions: two or
    more whose position was not that of the largest group of the blind round
    now take it word for word, and no agent is left outside.

    Args:
        history: The rounds played, oldest first.
        agents: Who counts, in list order.
        floor: The confidence below which an agent counts as absent.
    """
    rounds = {
        *_collapses_of_stances(history, agents, floor),
        *_collapses_of_positions(history, agents),
    }
    return sorted(rounds)


def _collapses_of_stances(
    history: Sequence[Played], agents: Sequence[str], floor: int
) -> Iterator[int]:
    latest: Stances = {}
    for number, played in enumerate(history):
        apart = {one: _apart_from(one, agents, latest) for one in agents}
        for agent, stances in stated(played).items():
            latest.setdefault(agent, {}).update(stances)
        joined = [one for one in agents if apart[one] >= 2 and not _apart_from(one, agents, latest)]
        # To whom all went over is known in few rounds, and only then is it judged who led.
        if joined and standing(agents, history[:number], floor=floor).reference in joined:
            yield played.tour


def _apart_from(reference: str, agents: Sequence[str], stances: Stances) -> int:
    """Return how many agents have another latest stance to the reference than agree."""
    return sum(stances.get(one, {}).get(reference, AGREE) != AGREE for one in agents)


def _collapses_of_positions(history: Sequence[Played], agents: Sequence[str]) -> Iterator[int]:
    said: dict[str, str] = {}
    majority = ""
    for played in history:
        apart = [agent for agent, position in said.items() if position != majority]
        for agent in agents:
            turn = played.turns.get(agent)
            position = same_position(turn.position) if turn else ""
            if position:
                said[agent] = position
        if not majority:
            majority = _majority(said) if played.blind else ""
        elif len(apart) >= 2 and all(position == majority for position in said.values()):
            yield played.tour


def _majority(positions: Mapping[str, str]) -> str:
    """Return the position of the largest group, "" when two groups are equally large."""
    groups = tally(positions)
    if not groups or [len(group.agents) for group in groups[1:2]] == [len(groups[0].agents)]:
        return ""
    return same_position(groups[0].position)
