"""What the verdict would have been: equal to brute force, and quick."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest

from council.core.deliberation.consensus import hangs_on, replay, standing
from council.core.deliberation.played import Played
from council.core.reading_answers.turns import Turn
from tests.core.deliberations import all_say, of_stances, played, turn
from tests.timing import assert_cheap

NAMES = ("claude", "gpt", "glm", "kimi", "sage", "nova", "mira", "opal")
THREE = NAMES[:3]


def history_of(chance: random.Random, agents: Sequence[str]) -> list[Played]:
    """Return a random history: up to four rounds, some blind, with flips, silence, absence."""
    rounds = []
    count = chance.randint(1, 4)
    for tour in range(1, count + 1):
        turns = {}
        for agent in agents:
            if chance.random() < 0.1:
                continue
            views = {
                other: chance.choice(("agree", "agree", "agree", "partial", "disagree"))
                for other in agents
                if other != agent and chance.random() < 0.7
            }
            turns[agent] = turn(views, confidence=chance.randint(0, 5))
            if chance.random() < 0.1:
                turns[agent] = Turn()
        is_blind = tour == 1 and chance.random() < 0.3
        rounds.append(played(tour, turns, blind=is_blind, vote=tour == count and tour > 1))
    return rounds


def brute(
    agents: Sequence[str],
    history: Sequence[Played],
    threshold: int,
    *,
    floor: int = 0,
    without: Sequence[str] = (),
    blind: bool = False,
    without_flips: bool = False,
) -> str:
    """Return the type of the verdict, reckoned anew from every single stance."""
    left = [agent for agent in agents if agent not in without]
    said: dict[str, list[tuple[int, str, str]]] = {agent: [] for agent in left}
    sure = dict.fromkeys(left, 0)
    for one in history:
        for agent in left:
            if agent in one.turns:
                sure[agent] = one.turns[agent].confidence or sure[agent]
                if not one.blind:
                    said[agent] += [
                        (one.tour, line.agent, line.stance) for line in one.turns[agent].responses
                    ]
    there = [
        agent
        for agent in left
        if agent in history[-1].turns
        and history[-1].turns[agent].is_readable
        and sure[agent] >= floor
    ]

    def view(one: str, other: str) -> str:
        if one not in there:
            return ""
        lines = said[one]
        if blind:
            lines = [line for line in lines if line[0] == lines[0][0]]
        about = [stance for _, who, stance in lines if who == other]
        if not about:
            return ""
        return about[0] if without_flips else about[-1]

    if len(there) < 2 <= len(left):
        return "none"
    best: tuple[Any, ...] = ()
    for place, one in enumerate(there):
        others = [other for other in there if other != one]
        support = [
            other
            for other in others
            if view(other, one) == "agree" and view(one, other) != "disagree"
        ]
        mutual = [other for other in support if view(one, other) in ("agree", "")]
        against = [other for other in others if view(other, one) == "disagree"]
        found = (len(mutual), len(support), -len(against), sure[one], -place, 1 + len(support))
        best = max(best, found)
    most = best[-1] if best else 0
    views = {view(one, other) for one in left for other in left if one != other}
    if most and most == len(left) and not views & {"partial", "disagree"}:
        return "strong"
    needed = min(threshold, len(left)) if threshold else -(-2 * len(left) // 3)
    return "soft" if most and most >= needed else "none"


def scenes(seed: int, count: int, most: int):
    """Yield random (agents, history, options)."""
    chance = random.Random(seed)
    for _ in range(count):
        agents = NAMES[: chance.randint(2, most)]
        threshold = chance.choice((0, 0, chance.randint(2, len(agents))))
        options = {"threshold": threshold, "floor": chance.choice((0, 0, 0, 2))}
        yield agents, history_of(chance, agents), options


@pytest.mark.req("DL-104")
def test_a_replay_with_nothing_changed_is_the_real_verdict():
    for agents, history, options in scenes(1, 150, 7):
        assert replay(agents, history, **options) == standing(agents, history, **options)


@pytest.mark.req("DL-104")
def test_every_replay_of_up_to_six_agents_equals_brute_force():
    seen = set()
    for agents, history, options in scenes(2, 40, 6):
        sets = [left for size in range(len(agents) + 1) for left in combinations(agents, size)]
        for without in sets:
            for change in ({}, {"blind": True}, {"without_flips": True}):
                every = {**options, **change, "without": without}
                found = replay(agents, history, **every)
                expected = brute(agents, history, every.pop("threshold"), **every)
                assert found.type == expected, (agents, history, without, change)
                assert list(found.towards) == [one for one in agents if one not in without]
                seen.add((expected, *change))
        for threshold in range(2, len(agents) + 1):
            found = replay(agents, history, threshold=threshold)
            assert found.type == brute(agents, history, threshold)
    assert len(seen) == 9


def smallest_changes(agents: Sequence[str], history: Sequence[Played], options: dict[str, Any]):
    """Return what turns the verdict, by trying everything: sets, thresholds, no flips."""
    threshold, floor = options["threshold"], options["floor"]
    real = brute(agents, history, threshold, floor=floor)
    turning = [
        frozenset(left)
        for size in range(1, len(agents) - 1)
        for left in combinations(agents, size)
        if brute(agents, history, threshold, floor=floor, without=left) != real
    ]
    sets = {one for one in turning if not any(other < one for other in turning)}
    used = threshold or -(-2 * len(agents) // 3)
    others = [
        other
        for other in range(2, len(agents) + 1)
        if other != used and brute(agents, history, other, floor=floor) != real
    ]
    nearest = min((abs(other - used) for other in others), default=0)
    flipped = brute(agents, history, threshold, floor=floor, without_flips=True) != real
    return sets, nearest, flipped


@pytest.mark.req("DL-104")
def test_what_the_verdict_hangs_on_equals_brute_force():
    kinds = set()
    for agents, history, options in scenes(3, 150, 6):
        found = hangs_on(agents, history, **options)
        sets, nearest, flipped = smallest_changes(agents, history, options)
        assert {frozenset(one.without) for one in found if one.without} == sets
        assert sum(one.size for one in found if one.threshold) == nearest
        assert any(one.without_flips for one in found) == flipped
        assert [one.size for one in found] == sorted(one.size for one in found)
        real = standing(agents, history, **options)
        for one in found:
            given = {
                "threshold": one.threshold or options["threshold"],
                "floor": options["floor"],
                "without": one.without,
                "without_flips": one.without_flips,
            }
            assert one.verdict == replay(agents, history, **given)
            assert one.verdict.type != real.type
            kinds.add(one.name.split()[0] + str(len(one.without)))
    assert {"without1", "without2", "without3", "threshold0"} <= kinds


@pytest.mark.req("DL-104")
def test_without_the_one_that_holds_it_together_there_is_no_consensus():
    agents = NAMES[:4]
    matrix = {"gpt": {"claude": "agree"}, "glm": {"claude": "agree"}, "kimi": {"gpt": "partial"}}
    history = [of_stances(1, agents, matrix)]
    assert standing(agents, history).type == "soft"
    found = {one.name: one.verdict.type for one in hangs_on(agents, history)}
    assert found["without claude"] == "none"
    assert found["without kimi"] == "strong"
    assert found["threshold 4"] == "none"
    assert next(iter(found)) == "without claude"


@pytest.mark.req("DL-104")
def test_leaving_somebody_out_moves_the_default_threshold_and_keeps_a_configured_one():
    agents = NAMES[:4]
    history = [of_stances(1, agents, {"gpt": {"claude": "agree"}})]
    assert replay(agents, history).threshold == 3
    assert replay(agents, history, without=("kimi",)).type == "soft"
    held = replay(agents, history, threshold=3, without=("kimi",))
    assert (held.type, held.threshold) == ("none", 3)
    assert replay(agents, history, threshold=4, without=("kimi", "glm")).threshold == 2


@pytest.mark.req("DL-104")
def test_undoing_the_flips_shows_the_first_word_and_the_first_look_the_first_round():
    first = of_stances(1, THREE, {"gpt": {"claude": "disagree"}, "glm": {"claude": "disagree"}})
    second = of_stances(2, THREE, all_say("agree", THREE))
    history = [first, second]
    assert standing(THREE, history).type == "strong"
    first_word = replay(THREE, history, without_flips=True)
    assert (first_word.type, first_word.reference, first_word.agree) == ("soft", "gpt", 2)
    look = replay(THREE, history, blind=True)
    assert (look.type, look.reference, look.contested) == ("none", "gpt", ["claude"])
    assert look.towards == {"claude": "partial", "gpt": "agree", "glm": "absent"}
    names = [one.name for one in hangs_on(THREE, history)]
    assert names == ["without flips"]
    assert hangs_on(THREE, history)[0].size == 2


@pytest.mark.req("DL-104")
def test_two_agents_are_always_left_and_beyond_six_only_pairs_are_tried():
    assert [one.without for one in hangs_on(NAMES[:2], [of_stances(1, NAMES[:2], {})])] == []
    chance = random.Random(4)
    sizes = set()
    for _ in range(30):
        sizes |= {len(one.without) for one in hangs_on(NAMES, history_of(chance, NAMES))}
    assert sizes == {0, 1, 2}


def test_a_history_without_rounds_hangs_on_nothing():
    assert replay(THREE, []).type == "none"
    assert hangs_on(THREE, []) == []
    assert hangs_on((), []) == []


@pytest.mark.req("DL-104")
def test_a_thousand_variants_take_a_moment():
    chance = random.Random(5)
    history = [of_stances(tour, NAMES[:6], all_say("agree", NAMES[:6])) for tour in range(1, 7)]
    changes = [chance.sample(NAMES[:6], chance.randint(0, 3)) for _ in range(1000)]

    def replay_all() -> None:
        for without in changes:
            replay(NAMES[:6], history, without=without)

    assert_cheap(replay_all, within_s=2)


@pytest.mark.req("HR-018", "DL-104")
def test_the_position_of_one_who_refuses_all_is_the_decision_of_no_variant():
    agents = NAMES[:4]
    matrix = {**all_say("agree", agents), "kimi": dict.fromkeys(agents[:3], "disagree")}
    views = {one: turn(matrix[one], confidence=5) for one in agents}
    history = [played(1, views), played(2, views, vote=True)]
    found = [
        standing(agents, history),
        replay(agents, history, blind=True),
        replay(agents, history, without_flips=True),
        *(replay(agents, history, without=(one,)) for one in agents),
        *(replay(agents, history, threshold=number) for number in (2, 3, 4)),
        *(one.verdict for one in hangs_on(agents, history)),
    ]
    assert {one.reference for one in found if one.reached} == {"claude", "gpt"}
    assert [one.reached for one in found].count(False) >= 2
    pair = replay(agents, history, without=("claude", "gpt"))
    assert (pair.type, pair.contested) == ("none", ["glm"])
