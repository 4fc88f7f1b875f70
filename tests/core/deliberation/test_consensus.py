"""The verdict: total, deterministic, blind to words, and equal to the rule as it is written."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest

from council.core.deliberation.consensus import (
    Verdict,
    default_threshold,
    standing,
    threshold_for,
    verdict,
    verdict_of_counts,
)
from council.core.reading_answers.turns import Turn
from tests.core.deliberations import Matrix, all_say, of_stances, played, turn

WORDS = ("agree", "partial", "disagree")
CELLS = (*WORDS, "")
NAMES = ("claude", "gpt", "glm", "kimi", "sage", "nova", "mira")


def matrices(agents: tuple[str, ...]):
    """Yield every matrix of stances of `agents`, silence included."""
    pairs = [(one, other) for one in agents for other in agents if one != other]
    for cells in product(CELLS, repeat=len(pairs)):
        matrix: dict[str, dict[str, str]] = {agent: {} for agent in agents}
        for (one, other), cell in zip(pairs, cells, strict=True):
            if cell:
                matrix[one][other] = cell
        yield matrix


def any_matrix(chance: random.Random, agents: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return a random matrix in which agreement is as frequent as all else together."""
    return {
        one: {
            other: chance.choice(("agree", "agree", "agree", *CELLS))
            for other in agents
            if other != one
        }
        for one in agents
    }


def as_written(
    agents: tuple[str, ...], matrix: Matrix, confidence: dict[str, int], threshold: int
) -> tuple[str, str, list[int]]:
    """Return type, reference and counts, straight from the three sentences of the rule."""
    best: list[tuple[int, int, int, int]] = []
    for place, one in enumerate(agents):
        views = [matrix.get(other, {}).get(one) for other in agents if other != one]
        support, against = 1 + views.count("agree"), views.count("disagree")
        best.append((-support, against, -confidence.get(one, 0), place))
    reference = agents[min(best)[3]]
    views = [matrix.get(other, {}).get(reference) for other in agents if other != reference]
    agree, partial = 1 + views.count("agree"), views.count("partial")
    disagree = views.count("disagree")
    absent = len(agents) - agree - partial - disagree
    said = {matrix.get(a, {}).get(b) for a in agents for b in agents if a != b}
    if agree == len(agents) and not said & {"partial", "disagree"}:
        kind = "strong"
    else:
        kind = "soft" if agree >= threshold else "none"
    return kind, reference, [agree, partial, disagree, absent]


def counts_of(found: Verdict) -> list[int]:
    return [found.agree, found.partial, found.disagree, found.absent]


def consistent(found: Verdict, agents: tuple[str, ...]) -> bool:
    """Tell whether the parts of a verdict say the same thing."""
    return (
        list(found.towards) == list(agents)
        and found.reached == (found.type in ("strong", "soft"))
        and sum(counts_of(found)) == len(agents)
        and counts_of(found)
        == [list(found.towards.values()).count(word) for word in (*WORDS, "absent")]
    )


@pytest.mark.req("DL-042")
def test_two_thirds_are_rounded_up():
    assert [default_threshold(count) for count in range(8)] == [0, 1, 2, 2, 3, 4, 4, 5]
    assert all(
        3 * default_threshold(n) >= 2 * n > 3 * (default_threshold(n) - 1) for n in range(99)
    )


@pytest.mark.req("DL-042")
def test_a_configured_threshold_holds_and_is_never_more_than_all():
    assert [threshold_for(3, configured) for configured in (0, 2, 3, 9, -1)] == [2, 2, 3, 3, 2]


@pytest.mark.req("DL-043", "DL-044", "DL-045")
@pytest.mark.parametrize("count", [2, 3])
def test_every_matrix_of_few_agents_is_judged_as_the_rule_is_written(count: int):
    agents = NAMES[:count]
    for matrix in matrices(agents):
        for confidence in ({}, {"gpt": 5}):
            found = verdict(agents, matrix, confidence)
            expected = as_written(agents, matrix, confidence, default_threshold(count))
            assert (found.type, found.reference, counts_of(found)) == expected
            assert consistent(found, agents)


@pytest.mark.req("DL-043", "DL-044", "DL-045")
def test_any_matrix_of_more_agents_is_judged_as_the_rule_is_written():
    chance = random.Random(85)
    seen = set()
    for _ in range(1500):
        agents = NAMES[: chance.randint(2, 7)]
        matrix = any_matrix(chance, agents)
        confidence = {agent: chance.randint(0, 5) for agent in agents}
        threshold = chance.randint(2, len(agents))
        found = verdict(agents, matrix, confidence, threshold)
        expected = as_written(agents, matrix, confidence, threshold)
        assert (found.type, found.reference, counts_of(found)) == expected
        seen.add(found.type)
    assert seen == {"strong", "soft", "none"}


@pytest.mark.req("DL-045", "DL-046")
def test_the_counts_alone_give_the_verdict_that_the_stances_give():
    for matrix in matrices(NAMES[:3]):
        found = verdict(NAMES[:3], matrix, {})
        said = {stance for stances in matrix.values() for stance in stances.values()}
        by_counts = verdict_of_counts(3, 0, *counts_of(found), only_agreement=not said - {"agree"})
        assert by_counts == found.type


@pytest.mark.req("DL-045")
def test_every_count_has_a_verdict_and_more_agreement_never_makes_it_weaker():
    rank = {"none": 0, "soft": 1, "strong": 2}
    for count in range(8):
        for agree, partial, disagree in product(range(count + 1), repeat=3):
            absent = count - agree - partial - disagree
            if absent < 0:
                continue
            for threshold in range(count + 2):
                kind = verdict_of_counts(count, threshold, agree, partial, disagree, absent)
                assert kind in rank
                if absent:
                    joined = verdict_of_counts(
                        count, threshold, agree + 1, partial, disagree, absent - 1
                    )
                    assert rank[joined] >= rank[kind]


@pytest.mark.req("DL-045")
def test_nobody_at_all_is_no_consensus():
    found = verdict((), {"ghost": {"other": "agree"}}, {})
    assert (found.type, found.reached, found.reference, found.towards) == ("none", False, "", {})
    assert verdict_of_counts(0, 0, 0, 0, 0, 0) == "none"


@pytest.mark.req("DL-045")
def test_other_names_change_nothing_but_the_names():
    chance = random.Random(1)
    for _ in range(200):
        agents = NAMES[: chance.randint(2, 6)]
        matrix = any_matrix(chance, agents)
        new = dict(zip(agents, chance.sample(NAMES, len(agents)), strict=True))
        renamed = {
            new[one]: {new[other]: stance for other, stance in stances.items()}
            for one, stances in matrix.items()
        }
        found = verdict(agents, matrix, {})
        other = verdict(tuple(new[one] for one in agents), renamed, {})
        assert other.type == found.type
        assert other.reference == new[found.reference]
        assert counts_of(other) == counts_of(found)


@pytest.mark.req("DL-043")
def test_the_order_of_the_list_only_breaks_ties():
    for matrix in matrices(NAMES[:3]):
        found = [verdict(order, matrix, {}) for order in permutations(NAMES[:3])]
        assert len({(one.type, one.agree) for one in found}) == 1
        tied = {one.reference for one in found}
        for order, one in zip(permutations(NAMES[:3]), found, strict=True):
            assert one.reference == next(agent for agent in order if agent in tied)


@pytest.mark.req("DL-043")
def test_ties_go_to_fewer_refusals_then_to_confidence_then_to_the_list():
    agents = ("a", "b", "c", "d")
    matrix = {"a": {"b": "agree"}, "b": {"a": "agree"}, "c": {"a": "disagree", "b": "partial"}}
    assert verdict(agents, matrix, {"a": 5}).reference == "b"
    matrix["c"]["b"] = "disagree"
    assert verdict(agents, matrix, {"a": 3, "b": 4}).reference == "b"
    assert verdict(agents, matrix, {"a": 4, "b": 4}).reference == "a"
    matrix["d"] = {"b": "agree"}
    assert verdict(agents, matrix, {"a": 5, "b": 1}).reference == "b"


@pytest.mark.req("DL-045")
def test_going_missing_never_makes_an_agreement():
    chance = random.Random(2)
    rank = {"none": 0, "soft": 1, "strong": 2}
    for _ in range(400):
        agents = NAMES[: chance.randint(2, 6)]
        matrix = any_matrix(chance, agents)
        there = set(agents)
        before = verdict(agents, matrix, {}, present=there)
        while there:
            there.discard(chance.choice(agents))
            after = verdict(agents, matrix, {}, present=there)
            assert rank[after.type] <= rank[before.type]
            assert consistent(after, agents)
            before = after
        assert (before.type, before.absent) == ("none", len(agents))


@pytest.mark.req("DL-044")
def test_who_did_not_speak_is_absent_whatever_it_said_before():
    agents = NAMES[:3]
    matrix = all_say("agree", agents)
    assert verdict(agents, matrix, {}).type == "strong"
    found = verdict(agents, matrix, {}, present={"gpt", "glm"})
    assert (found.type, found.reference) == ("soft", "gpt")
    assert found.towards == {"claude": "absent", "gpt": "agree", "glm": "agree"}
    nobody = verdict(agents, matrix, {}, present=())
    assert (nobody.type, nobody.reference, nobody.absent) == ("none", "claude", 3)


@pytest.mark.req("DL-045")
def test_four_refusals_are_no_agreement():
    agents = NAMES[:4]
    found = verdict(agents, all_say("disagree", agents), {})
    assert (found.type, found.agree, found.disagree) == ("none", 1, 3)


def circle(agents: tuple[str, ...], following: str, others: str) -> dict[str, dict[str, str]]:
    """Return the matrix in which each says `following` to who comes next, `others` to the rest."""
    return {
        one: {
            other: following if other == agents[(place + 1) % len(agents)] else others
            for other in agents
            if other != one
        }
        for place, one in enumerate(agents)
    }


@pytest.mark.req("DL-045")
@pytest.mark.parametrize("count", range(3, 8))
def test_a_circle_of_preferences_is_no_consensus(count: int):
    """Each holds its own view, finds something in the next one's and refuses the rest."""
    found = verdict(NAMES[:count], circle(NAMES[:count], "partial", "disagree"), {})
    assert (found.type, counts_of(found)) == ("none", [1, 1, count - 2, 0])


@pytest.mark.req("DL-045")
def test_a_circle_of_agreement_is_never_strong_and_none_from_four_on():
    for count in range(3, 8):
        found = verdict(NAMES[:count], circle(NAMES[:count], "agree", "disagree"), {})
        assert counts_of(found) == [2, 0, count - 2, 0]
        # With three, two agree and one disagrees: soft, as A-85 says, with the dissent on record.
        assert found.type == ("soft" if count == 3 else "none")


@pytest.mark.req("DL-044", "DL-045")
def test_a_silent_majority_agrees_with_nobody():
    agents = NAMES[:5]
    found = verdict(agents, {"claude": {"gpt": "agree"}, "gpt": {"claude": "agree"}}, {})
    assert (found.type, counts_of(found)) == ("none", [2, 0, 0, 3])


@pytest.mark.req("DL-045")
@pytest.mark.parametrize(
    "word", ["", "AGREE", "agree?", "abstain", "I do not approve", "acknowledged"]
)
def test_what_is_none_of_the_three_words_is_silence(word: str):
    agents = NAMES[:3]
    matrix = {
        "claude": {"gpt": "agree"},
        "gpt": {"claude": "agree"},
        "glm": {"claude": word, "gpt": word},
    }
    found = verdict(agents, matrix, {})
    assert (found.type, found.towards["glm"]) == ("soft", "absent")


@pytest.mark.req("DL-045")
def test_nobody_agrees_with_itself_and_strangers_have_no_voice():
    agents = NAMES[:3]
    alone = {agent: {agent: "agree"} for agent in agents}
    assert counts_of(verdict(agents, alone, {})) == [1, 0, 0, 2]
    assert verdict(agents, {"glm": {"glm": "agree"}}, {}).reference == "claude"
    crowd = {f"ghost{number}": {"glm": "agree"} for number in range(9)}
    assert verdict(agents, crowd, {}).reference == "claude"
    strong = all_say("agree", agents)
    strong["claude"].update(ghost="disagree", claude="disagree")
    assert verdict(agents, {**strong, "ghost": {"claude": "disagree"}}, {}).type == "strong"


@pytest.mark.req("DL-095")
def test_the_advocate_that_is_not_counted_spoils_no_agreement_and_adds_none():
    agents, advocate = NAMES[:3], "devil"
    everybody = (*agents, advocate)
    refusing = {**all_say("agree", agents), advocate: dict.fromkeys(agents, "disagree")}
    assert standing(agents, [of_stances(1, everybody, refusing)]).type == "strong"
    helping = {"claude": {"gpt": "agree"}, advocate: dict.fromkeys(agents, "agree")}
    assert counts_of(standing(agents, [of_stances(1, everybody, helping)]))[0] == 2


@pytest.mark.req("DL-047", "DL-044")
def test_rounds_and_votes_are_judged_by_one_rule_over_the_latest_stances():
    agents = NAMES[:3]
    apart = of_stances(1, agents, all_say("disagree", agents))
    joined = of_stances(2, agents, {"gpt": {"claude": "agree"}, "glm": {"claude": "agree"}})
    vote = of_stances(3, agents, all_say("agree", agents), vote=True)
    assert standing(agents, [apart]).type == "none"
    assert standing(agents, [apart, joined]).type == "soft"
    assert standing(agents, [apart, joined, vote]).type == "strong"


@pytest.mark.req("DL-044")
def test_who_gives_nothing_readable_in_the_last_round_is_absent():
    agents = NAMES[:3]
    first = of_stances(1, agents, all_say("agree", agents))
    silent = played(2, {"claude": turn({"gpt": "agree"}), "gpt": turn(), "glm": Turn()})
    assert standing(agents, [first]).type == "strong"
    for last in (silent, played(2, {"claude": turn(), "gpt": turn()}, vote=True)):
        found = standing(agents, [first, last])
        assert (found.type, found.towards["glm"]) == ("soft", "absent")
    assert standing(agents, []).type == "none"


@pytest.mark.req("DL-045")
def test_agreeing_blindly_with_everybody_is_no_consensus():
    agents = NAMES[:3]
    blind = of_stances(1, agents, all_say("agree", agents), blind=True)
    assert counts_of(standing(agents, [blind])) == [1, 0, 0, 2]


@pytest.mark.req("DL-102")
def test_below_the_floor_of_confidence_an_agent_counts_as_absent():
    agents = NAMES[:3]
    votes = all_say("agree", agents)
    last = played(
        1,
        {
            one: turn(votes[one], confidence=sure)
            for one, sure in zip(agents, (5, 3, 0), strict=True)
        },
    )
    assert standing(agents, [last]).type == "strong"
    assert standing(agents, [last], floor=3).towards == {
        "claude": "agree",
        "gpt": "agree",
        "glm": "absent",
    }
    assert standing(agents, [last], floor=4).type == "none"


@pytest.mark.req("DL-046")
def test_the_record_of_a_verdict_gives_it_back():
    agents = NAMES[:3]
    found = verdict(agents, {"gpt": {"claude": "agree"}, "glm": {"claude": "partial"}}, {})
    record = found.to_record()
    assert record == {
        "type": "soft",
        "reached": True,
        "reference": "claude",
        "agree": 2,
        "partial": 1,
        "disagree": 0,
        "absent": 0,
        "threshold": 2,
        "towards": {"claude": "agree", "gpt": "agree", "glm": "partial"},
    }
    assert Verdict.from_record({**record, "later": 1}) == found
    record["towards"].clear()
    assert found.towards
