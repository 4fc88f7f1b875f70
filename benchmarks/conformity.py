"""Agents that answer one question and listen to each other: the model behind the simulation.

A question has one right option and several wrong ones. On its own an agent is
right with one probability, and its errors spread evenly over the wrong
options. Afterwards it hears what the others say, and nothing new about the
question, except in `REASONS`. What an agent says is a structured turn: its
answer as position, `agree` to those whose answer is the same, `disagree` to
the others it has heard. How a history is judged is left to the product.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from council.core.conversations.procedures import rotated
from council.core.deliberation.consensus import AGREE, DISAGREE
from council.core.deliberation.played import Played
from council.core.reading_answers.turns import Response, Turn

RIGHT = "A"
OPTIONS = "ABCDEFGH"
NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal")

MAJORITY = "the majority"
ANYONE = "anyone"
BELIEF = "belief"
REASONS = "reasons"


@dataclass(frozen=True)
class Setting:
    """What is asked of whom, and how they listen.

    Args:
        agents: How many answer, the devil's advocate among them.
        right: How probably an agent is right on its own.
        options: How many answers there are; the first is the right one.
        blind: Nobody hears anybody in the first round.
        hears: What an agent does with what it hears, in each round with the
            probability `conformity`: it takes the answer that most others gave
            (`MAJORITY`; its own if that is among the most frequent), or of one
            of them (`ANYONE`). In `REASONS` who is wrong is convinced by one
            who is right, and names it. In `BELIEF` it answers anew each round,
            each answer as probably as it believes in it: `right` and the rest
            at first, with the weight of `prior` answers, and one more for
            each answer heard.
        conformity: See `hears`; `BELIEF` has no use for it.
        prior: See `hears`; only for `BELIEF`.
        advocate: The place in the list of the one who contradicts whatever most
            others say and agrees with nobody, -1 for nobody.
    """

    agents: int = 5
    right: float = 0.5
    options: int = 4
    blind: bool = True
    hears: str = MAJORITY
    conformity: float = 0.5
    prior: float = 6.0
    advocate: int = -1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return all who speak, in list order."""
        return NAMES[: self.agents]

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """Return those whose stances count."""
        return tuple(name for seat, name in enumerate(self.names) if seat != self.advocate)


class Luck:
    """The chance of one run: the same in all settings, so that they can be compared."""

    def __init__(self, seed: int, run: int) -> None:
        draw = random.Random(f"{seed} {run}").random
        self._draw = draw
        self._rounds: list[dict[str, tuple[float, float]]] = []
        self.own = {name: draw() for name in NAMES}

    def of_turn(self, agent: str, tour: int) -> tuple[float, float]:
        """Return two numbers from 0 to 1: whether an agent gives way, and what it picks."""
        while len(self._rounds) < tour:
            self._rounds.append({name: (self._draw(), self._draw()) for name in NAMES})
        return self._rounds[tour - 1][agent]


class Talk:
    """One deliberation under way: who has said what, and what the next one says."""

    def __init__(self, setting: Setting, luck: Luck) -> None:
        self.setting = setting
        self._luck = luck
        self._mind = {name: _own_answer(setting, luck.own[name]) for name in setting.names}
        self._public: dict[str, str] = {}
        self._sealed: dict[str, str] = {}
        self._heard = {name: dict.fromkeys(OPTIONS[: setting.options], 0) for name in setting.names}

    def turn(self, agent: str, tour: int) -> Turn:
        """Let an agent speak in a round, given what it has heard so far."""
        if self._sealed and tour > 1:
            self._public, self._sealed = self._sealed, {}
        blind = self.setting.blind and tour == 1
        heard = {other: said for other, said in self._public.items() if other != agent}
        answer, convinced_by = self._answer(agent, tour, heard)
        self._mind[agent] = answer
        (self._sealed if blind else self._public)[agent] = answer
        return self._said(agent, heard, convinced_by)

    def vote(self, agent: str) -> Turn:
        """Let an agent state its answer once more, and its stance to everybody."""
        return self._said(agent, self._mind, "")

    def _said(self, agent: str, heard: dict[str, str], convinced_by: str) -> Turn:
        names = self.setting.names
        answers = "".join([heard.get(name, " ") for name in names])
        bends = not self._is_advocate(agent)
        return _said_to(names, agent, self._mind[agent], answers, bends, convinced_by)

    def _is_advocate(self, agent: str) -> bool:
        seat = self.setting.advocate
        return seat >= 0 and self.setting.names[seat] == agent

    def _answer(self, agent: str, tour: int, heard: dict[str, str]) -> tuple[str, str]:
        """Return what an agent answers, and who has convinced it, "" for nobody."""
        own = self._mind[agent]
        chance, pick = self._luck.of_turn(agent, tour)
        if self._is_advocate(agent):
            often = _most_frequent(heard)
            others = [one for one in OPTIONS[: self.setting.options] if one not in often]
            return (_picked(others, pick) if heard else own), ""
        if self.setting.hears == BELIEF and heard:
            return self._believed(agent, heard, pick), ""
        if not heard or chance >= self.setting.conformity:
            return own, ""
        return self._gives_way(own, heard, pick)

    def _gives_way(self, own: str, heard: dict[str, str], pick: float) -> tuple[str, str]:
        if self.setting.hears == REASONS:
            right = [other for other, answer in heard.items() if answer == RIGHT]
            return (RIGHT, _picked(right, pick)) if right and own != RIGHT else (own, "")
        if self.setting.hears == ANYONE:
            return _picked(list(heard.values()), pick), ""
        often = _most_frequent(heard)
        return (own if own in often else _picked(often, pick)), ""

    def _believed(self, agent: str, heard: dict[str, str], pick: float) -> str:
        counts = self._heard[agent]
        for answer in heard.values():
            counts[answer] += 1
        setting = self.setting
        wrong = (1 - setting.right) / (setting.options - 1)
        weights = {
            answer: setting.prior * (setting.right if answer == RIGHT else wrong) + count
            for answer, count in counts.items()
        }
        left = pick * sum(weights.values())
        for answer, weight in weights.items():
            left -= weight
            if left < 0:
                return answer
        return OPTIONS[setting.options - 1]


def rounds_of(talk: Talk) -> Iterator[Played]:
    """Yield the rounds of a talk, without end, in the product's order of speaking."""
    names, tour = talk.setting.names, 0
    while True:
        tour += 1
        turns = {agent: talk.turn(agent, tour) for agent in rotated(names, tour)}
        yield Played(tour=tour, turns=turns, blind=talk.setting.blind and tour == 1)


def vote_of(talk: Talk, tour: int) -> Played:
    """Return the round in which all state what they hold now, and judge each other."""
    votes = {agent: talk.vote(agent) for agent in talk.setting.names}
    return Played(tour=tour, turns=votes, vote=True)


@cache
def said(answer: str, stances: tuple[tuple[str, str], ...], convinced_by: str) -> Turn:
    """Return the one turn that says this; it is shared by all runs and never changed."""
    return Turn(
        position=answer,
        responses=[Response(agent=agent, stance=stance) for agent, stance in stances],
        reasoning=f"@{convinced_by} has shown it." if convinced_by else "",
        confidence=3,
    )


@cache
def _said_to(
    names: tuple[str, ...], agent: str, own: str, answers: str, bends: bool, convinced_by: str
) -> Turn:
    """Return the turn of one that has heard these answers, a blank where it heard none."""
    stances = tuple(
        (other, AGREE if answer == own and bends else DISAGREE)
        for other, answer in zip(names, answers, strict=True)
        if answer != " " and other != agent
    )
    return said(own, stances, convinced_by)


def wrong_when_unanimous(right: float, options: int, conformity: float) -> float:
    """Return the part of unanimous first rounds of three agents that are wrong, exactly.

    Each hears those before it, who say the same or it does not end unanimously;
    conformity 0 is a blind round.
    """

    def unanimous(chance: float) -> float:
        return chance * (conformity + (1 - conformity) * chance) ** 2

    wrong = (options - 1) * unanimous((1 - right) / (options - 1))
    return wrong / (wrong + unanimous(right))


def _own_answer(setting: Setting, chance: float) -> str:
    if chance < setting.right:
        return RIGHT
    part = (chance - setting.right) / (1 - setting.right)
    return OPTIONS[1 + int(part * (setting.options - 1))]


def _most_frequent(heard: dict[str, str]) -> list[str]:
    """Return the answers that were heard most often."""
    counts = Counter(heard.values())
    most = max(counts.values(), default=0)
    return [answer for answer, count in counts.items() if count == most]


def _picked(answers: list[str], pick: float) -> str:
    return answers[int(pick * len(answers))]
